//! Reads the values of a column.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::sync::Arc;

use arrow::array::{ArrayRef, ListArray, NullArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::low_cardinality;
use super::source::Source;
use super::sparse::{self, Kinds};
use crate::binary::{array_of_fixed, check_labels, fixed_width, null_buffer};

/// Reads `rows` values, at least one, and what stands in front of them.
pub(super) fn read_column(
    ty: &SqlType,
    kinds: &Kinds,
    rows: usize,
    source: &mut Source<'_>,
) -> Result<ArrayRef> {
    read_versions(ty, source)?;
    read_as(ty, kinds, rows, source)
}

/// The versions of all LowCardinality in a type.
fn read_versions(ty: &SqlType, source: &mut Source<'_>) -> Result<()> {
    match ty {
        SqlType::LowCardinality(_) => low_cardinality::read_version(source),
        SqlType::Array(element) => read_versions(element, source),
        SqlType::Map(key, value) => {
            read_versions(key, source)?;
            read_versions(value, source)
        }
        SqlType::Tuple(elements) => {
            elements.iter().try_for_each(|element| read_versions(&element.ty, source))
        }
        _ => Ok(()),
    }
}

/// Reads values that are serialized as `kinds` says.
fn read_as(ty: &SqlType, kinds: &Kinds, rows: usize, source: &mut Source<'_>) -> Result<ArrayRef> {
    match (kinds, ty) {
        (Kinds::Sparse, _) => sparse::read(ty, rows, source),
        (Kinds::Elements(kinds), SqlType::Tuple(elements)) if !elements.is_empty() => {
            let pairs = elements.iter().zip(kinds);
            let columns = pairs.map(|(element, kinds)| read_as(&element.ty, kinds, rows, source));
            tuple(ty, columns.collect::<Result<_>>()?)
        }
        _ => read_values(ty, rows, None, source),
    }
}

/// Reads `rows` values; `nulls` are those of a Nullable around the type. No rows take no bytes.
pub(super) fn read_values(
    ty: &SqlType,
    rows: usize,
    nulls: Option<NullBuffer>,
    source: &mut Source<'_>,
) -> Result<ArrayRef> {
    if let Some(width) = fixed_width(ty) {
        let array = array_of_fixed(ty, source.bytes(rows, width)?, rows, nulls);
        source.charge_all(rows, ty.fixed_bytes().unwrap_or(width) - width)?;
        check_labels(ty, &array)?;
        return Ok(array);
    }
    match ty {
        _ if rows == 0 => Ok(ty.default_array(0)),
        SqlType::String => {
            // A view is larger than a length.
            source.charge_all(rows, size_of::<u128>())?;
            Ok(Arc::new(source.strings(rows, nulls)?))
        }
        SqlType::Nullable(inner) => {
            let nulls = null_buffer(&source.bytes(rows, 1)?);
            read_values(inner, rows, Some(nulls), source)
        }
        SqlType::LowCardinality(inner) => low_cardinality::read(inner, rows, source),
        SqlType::Nothing => {
            source.bytes(rows, 1)?;
            Ok(Arc::new(NullArray::new(rows)))
        }
        SqlType::Array(element) => {
            let offsets = read_offsets(rows, source)?;
            let values = read_values(element, last(&offsets), None, source)?;
            Ok(Arc::new(ListArray::new(element.element_field(), offsets, values, None)))
        }
        SqlType::Map(key, value) => {
            let offsets = read_offsets(rows, source)?;
            let keys = read_values(key, last(&offsets), None, source)?;
            let values = read_values(value, last(&offsets), None, source)?;
            let entries = StructArray::new(ty.struct_fields(), vec![keys, values], None);
            let DataType::List(field) = ty.carrier() else {
                unreachable!("maps are carried by lists");
            };
            Ok(Arc::new(ListArray::new(field, offsets, Arc::new(entries), None)))
        }
        SqlType::Tuple(elements) if elements.is_empty() => {
            source.bytes(rows, 1)?;
            Ok(Arc::new(StructArray::new_empty_fields(rows, None)))
        }
        SqlType::Tuple(elements) => {
            let columns = elements.iter().map(|element| read_values(&element.ty, rows, None, source));
            tuple(ty, columns.collect::<Result<_>>()?)
        }
        other => Err(Error::not_implemented(format!("reading type {other} from Native"))),
    }
}

fn tuple(ty: &SqlType, columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    Ok(Arc::new(StructArray::new(ty.struct_fields(), columns, None)))
}

#[expect(clippy::cast_sign_loss, reason = "offsets ascend from 0")]
fn last(offsets: &OffsetBuffer<i32>) -> usize {
    offsets.last().map_or(0, |&end| end as usize)
}

/// The ends of `rows` lists.
fn read_offsets(rows: usize, source: &mut Source<'_>) -> Result<OffsetBuffer<i32>> {
    let raw = source.bytes(rows, size_of::<u64>())?;
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut before = 0;
    offsets.push(before);
    for bytes in raw.as_chunks().0 {
        let end = u64::from_le_bytes(*bytes);
        let Ok(end) = i32::try_from(end) else {
            let what = format!("the arrays of a block have {end} elements, more than {}", i32::MAX);
            return Err(Error::new(ErrorCode::TooLargeArraySize, what));
        };
        if end < before {
            let what = "an array ends before it begins";
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
        offsets.push(end);
        before = end;
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}
