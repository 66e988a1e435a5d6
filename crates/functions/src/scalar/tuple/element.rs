//! `tupleElement(tuple, which)`, also written `tuple.which`: by position from 1, or by name. For an array of tuples,
//! the array of the elements.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use basalt_base::suggest::did_you_mean;
use basalt_base::types::TupleElement;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

/// The third argument is the default if the tuple has no such element.
pub(super) static TUPLE_ELEMENT: Definition =
    Definition::new("tupleElement", Arity::Between(2, 3), bind).sees_null();

fn bind(call: &Call<'_>) -> Result<Bound> {
    let (elements, in_array) = match call.ty(0) {
        SqlType::Tuple(elements) => (elements, false),
        SqlType::Array(element) => match element.as_ref() {
            SqlType::Tuple(elements) => (elements, true),
            _ => return Err(call.illegal(0)),
        },
        _ => return Err(call.illegal(0)),
    };
    let position = match find(call, elements) {
        Ok(position) => position,
        Err(_) if call.len() == 3 => {
            let default = call.args[2].ty.full().clone();
            return Ok(Bound::new(default, |operands: &[Operand], rows: usize| operands[2].full(rows)));
        }
        Err(error) => return Err(error),
    };
    let element = elements[position].ty.clone();
    if in_array {
        return Ok(Bound::new(
            SqlType::array_of(element.clone()),
            move |operands: &[Operand], rows: usize| {
                let array = operands[0].full(rows)?;
                let list = array.as_list::<i32>();
                let column = Arc::clone(list.values().as_struct().column(position));
                let lists = ListArray::try_new(element.element_field(), list.offsets().clone(), column, None);
                Ok(Arc::new(lists.map_err(Error::logical)?) as ArrayRef)
            },
        ));
    }
    Ok(Bound::new(element, move |operands: &[Operand], rows: usize| {
        Ok(Arc::clone(operands[0].full(rows)?.as_struct().column(position)))
    }))
}

/// The position, from 0, of the element in the second argument.
fn find(call: &Call<'_>, elements: &[TupleElement]) -> Result<usize> {
    let which = &call.args[1];
    let constant = which.constant.as_ref().filter(|value| !value.is_null(0)).ok_or_else(|| {
        Error::new(ErrorCode::IllegalTypeOfArgument, "the second argument of `tupleElement` is a constant")
    })?;
    if *which.ty.stripped() == SqlType::String {
        let name = String::from_utf8_lossy(constant.as_binary_view().value(0)).into_owned();
        return find_name(&name, elements);
    }
    call.expect_integer(1)?;
    let index = cast(constant, &DataType::Int64).map_err(Error::of_arrow)?;
    let index = index.as_primitive::<Int64Type>().value(0);
    let count = elements.len() as i64;
    let position = if index > 0 { index - 1 } else { count.saturating_add(index) };
    if index == 0 || !(0..count).contains(&position) {
        return Err(Error::new(
            ErrorCode::ArgumentOutOfBound,
            format!("the tuple has elements 1 to {count}, there is no element {index}"),
        ));
    }
    Ok(position as usize)
}

fn find_name(name: &str, elements: &[TupleElement]) -> Result<usize> {
    // Elements without a name are named by their position.
    let named = elements.iter().position(|element| element.name.as_deref() == Some(name));
    let position = named.or_else(|| {
        let position = name.parse::<usize>().ok()?.checked_sub(1)?;
        (position < elements.len()).then_some(position)
    });
    position.ok_or_else(|| {
        let hint = did_you_mean(name, elements.iter().filter_map(|element| element.name.as_deref()));
        Error::new(ErrorCode::BadArguments, format!("the tuple has no element `{name}`{hint}"))
    })
}
