//! Arrays to strings, tuples and flat arrays: `arrayStringConcat`, `arrayZip`, `arrayFlatten`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewBuilder, StructArray, UInt32Array};
use arrow::compute::take;
use basalt_base::{Error, Result, SqlType, bail};

use super::count::expect_same_size;
use super::lists::{Lists, element_of};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Converter, Operand};

/// Skips NULL elements.
pub(super) static ARRAY_STRING_CONCAT: Definition =
    Definition::new("arrayStringConcat", Arity::Between(1, 2), bind_string_concat);

pub(super) static ARRAY_ZIP: Definition = Definition::new("arrayZip", Arity::AtLeast(1), bind_zip);

/// Removes all levels of nesting.
pub(super) static ARRAY_FLATTEN: Definition =
    Definition::new("arrayFlatten", Arity::Exactly(1), bind_flatten).aliases(&["flatten"]);

fn bind_string_concat(call: &Call<'_>) -> Result<Bound> {
    let element = element_of(call, 0)?;
    if call.len() == 2 {
        call.expect_string(1)?;
        if call.args[1].constant.is_none() {
            bail!(IllegalColumn, "the separator of `arrayStringConcat` is a constant");
        }
    }
    let nullable = element.accepts_null();
    let text = if nullable { SqlType::String.into_nullable() } else { SqlType::String };
    let print = Converter::new(element, &text, call.context)?;
    Ok(Bound::new(SqlType::String, move |operands: &[Operand], rows: usize| {
        let lists = Lists::of(&operands[0], rows)?;
        let texts = print.convert(lists.elements())?;
        let texts = texts.as_binary_view();
        let separator: &[u8] = match operands.get(1) {
            Some(operand) => operand.array.as_binary_view_opt().map_or(b"", |array| array.value(0)),
            None => b"",
        };
        let mut builder = BinaryViewBuilder::with_capacity(rows);
        let mut joined = Vec::new();
        for row in 0..rows {
            joined.clear();
            let mut is_first = true;
            for element in lists.range(row).filter(|&element| texts.is_valid(element)) {
                if !is_first {
                    joined.extend_from_slice(separator);
                }
                is_first = false;
                joined.extend_from_slice(texts.value(element));
            }
            builder.append_value(&joined);
        }
        Ok(Arc::new(builder.finish()) as ArrayRef)
    }))
}

fn bind_zip(call: &Call<'_>) -> Result<Bound> {
    let elements =
        (0..call.len()).map(|index| Ok(element_of(call, index)?.clone())).collect::<Result<Vec<_>>>()?;
    let tuple = SqlType::tuple_of(elements);
    Ok(Bound::new(SqlType::array_of(tuple.clone()), move |operands: &[Operand], rows: usize| {
        let lists =
            operands.iter().map(|operand| Lists::of(operand, rows)).collect::<Result<Vec<Lists>>>()?;
        for row in 0..rows {
            expect_same_size(&lists, row)?;
        }
        let columns = lists.iter().map(used_elements).collect::<Result<Vec<ArrayRef>>>()?;
        let zipped = StructArray::try_new(tuple.struct_fields(), columns, None).map_err(Error::of_arrow)?;
        let lengths = (0..rows).map(|row| lists[0].len(row)).collect();
        super::lists::build(&tuple, Arc::new(zipped), lengths)
    }))
}

/// The elements of the rows only: a slice of a column holds more.
fn used_elements(lists: &Lists) -> Result<ArrayRef> {
    let used: usize = (0..lists.rows()).map(|row| lists.len(row)).sum();
    if used == lists.elements().len() {
        return Ok(Arc::clone(lists.elements()));
    }
    let picked = (0..lists.rows()).flat_map(|row| lists.range(row)).map(|element| element as u32);
    take(lists.elements(), &UInt32Array::from_iter_values(picked), None).map_err(Error::of_arrow)
}

fn bind_flatten(call: &Call<'_>) -> Result<Bound> {
    let mut innermost = element_of(call, 0)?;
    let mut levels = 0;
    while let SqlType::Array(element) = innermost {
        innermost = element;
        levels += 1;
    }
    let element = innermost.clone();
    Ok(Bound::new(SqlType::array_of(element.clone()), move |operands: &[Operand], rows: usize| {
        let mut current = operands[0].full(rows)?;
        for _ in 0..levels {
            current = flatten_once(&current)?;
        }
        Ok(current)
    }))
}

/// Lists of lists of elements into lists of elements.
fn flatten_once(array: &ArrayRef) -> Result<ArrayRef> {
    let outer = Lists::of_array(array)?;
    let inner = Lists::of_array(outer.elements())?;
    let mut picked = Vec::with_capacity(inner.elements().len());
    let mut lengths = Vec::with_capacity(outer.rows());
    for row in 0..outer.rows() {
        let before = picked.len();
        outer.range(row).for_each(|list| picked.extend(inner.range(list).map(|element| element as u32)));
        lengths.push(picked.len() - before);
    }
    let elements = take(inner.elements(), &UInt32Array::from(picked), None).map_err(Error::of_arrow)?;
    let field = match outer.elements().data_type() {
        arrow::datatypes::DataType::List(field) => Arc::clone(field),
        other => return Err(Error::logical(format!("{other} inside an array of arrays"))),
    };
    let offsets = arrow::buffer::OffsetBuffer::from_lengths(lengths);
    let list = arrow::array::ListArray::try_new(field, offsets, elements, None).map_err(Error::logical)?;
    Ok(Arc::new(list))
}
