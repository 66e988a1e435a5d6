//! `arrayElement(array, index)`, which is `array[index]`, and `map[key]`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Int64Type};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::lists::{Keys, Lists, chain};
use super::map::KeyReader;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

/// Positions count from 1, negative ones from the end. Beyond the array the result is the type's default.
pub(super) static ARRAY_ELEMENT: Definition =
    Definition::new("arrayElement", Arity::Exactly(2), |call| match call.ty(0) {
        SqlType::Map(key, value) => bind_map(call, key, value),
        SqlType::Array(element) => bind_array(call, element),
        _ => Err(call.illegal(0)),
    });

fn bind_array(call: &Call<'_>, element: &SqlType) -> Result<Bound> {
    call.expect_integer(1)?;
    if let Some(index) = &call.args[1].constant
        && !index.is_null(0)
        && whole(index)?.as_primitive::<Int64Type>().value(0) == 0
        && call.args[0].constant.is_none()
    {
        return Err(Error::new(
            ErrorCode::ArgumentOutOfBound,
            "positions in an array count from 1, there is no element 0",
        ));
    }
    let element = element.clone();
    Ok(Bound::new(element.clone(), move |operands: &[Operand], rows: usize| {
        let lists = Lists::shared(&operands[0], rows)?;
        let indices = whole(&operands[1].full(rows)?)?;
        let indices = indices.as_primitive::<Int64Type>();
        take_or_default(
            &element,
            lists.elements(),
            (0..rows).map(|row| {
                let range = lists.range(row);
                let count = range.len() as i64;
                let position = match indices.value(row) {
                    index if index > 0 => index - 1,
                    index => count.saturating_add(index),
                };
                (0..count)
                    .contains(&position)
                    .then(|| range.start + position as usize)
                    .filter(|_| indices.value(row) != 0)
            }),
        )
    }))
}

fn whole(numbers: &ArrayRef) -> Result<ArrayRef> {
    cast(numbers, &DataType::Int64).map_err(Error::of_arrow)
}

fn bind_map(call: &Call<'_>, key: &SqlType, value: &SqlType) -> Result<Bound> {
    if !is_key(call.args[1].ty.stripped(), key.stripped()) {
        return Err(call.illegal(1));
    }
    let value = value.clone();
    let Some(of_key) = KeyReader::new(call, key)? else {
        return Ok(Bound::new(
            value.clone(),
            move |_: &[Operand], rows: usize| Ok(value.default_array(rows)),
        ));
    };
    Ok(Bound::new(value.clone(), move |operands: &[Operand], rows: usize| {
        let lists = Lists::shared(&operands[0], rows)?;
        let entries = lists.elements().as_struct();
        let wanted = of_key.read(&operands[1].full(rows)?)?;
        let keys = Keys::of_all(&[entries.column(0), &wanted])?;
        take_or_default(
            &value,
            entries.column(1),
            (0..rows).map(|row| lists.range(row).find(|&entry| keys[0].get(entry) == keys[1].get(row))),
        )
    }))
}

/// Whether a value of type `given` can be used as a key of type `key`.
fn is_key(given: &SqlType, key: &SqlType) -> bool {
    let is_nothing = |ty: &SqlType| *ty == SqlType::Nothing;
    let is_time = SqlType::is_date_or_time;
    given == key
        || is_nothing(given)
        || is_nothing(key)
        || given.is_integer() && (key.is_integer() || key.enum_number().is_some())
        || given.is_whole() && key.wide().is_some()
        || given.is_string() && (key.is_string() || key.enum_number().is_some())
        || is_time(given) && is_time(key)
        || !(given.is_number() || given.is_whole() || given.is_string() || is_time(given))
}

/// The elements at `indices`, and the default of the type for `None`.
fn take_or_default(
    element: &SqlType,
    elements: &ArrayRef,
    indices: impl Iterator<Item = Option<usize>>,
) -> Result<ArrayRef> {
    let mut misses = false;
    let default = elements.len();
    let picked: Vec<u32> = indices
        .map(|index| {
            misses |= index.is_none();
            index.unwrap_or(default) as u32
        })
        .collect();
    let elements = if misses {
        chain(element, &[Arc::clone(elements), element.default_array(1)])?
    } else {
        Arc::clone(elements)
    };
    take(&elements, &UInt32Array::from(picked), None).map_err(Error::of_arrow)
}
