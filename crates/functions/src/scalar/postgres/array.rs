//! `array_length`, `array_lower`, `array_upper`, `array_ndims`, `array_to_string`, `string_to_array`, `parse_ident`:
//! arrays by Postgres' rules.
//!
//! Syntax: `array_length(array, dimension)` is NULL for an empty array; `array_to_string(array, separator [, null])`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, Int64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use basalt_base::{Result, SqlType};
use basalt_formats::TextSettings;
use basalt_formats::text::{Style, ValueWriter};

use super::column::Column;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

pub(super) static ARRAY_LENGTH: Definition =
    Definition::any_case("array_length", Arity::Exactly(2), |call| bounds(call, |length| length))
        .aliases(&["array_upper"])
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static ARRAY_LOWER: Definition =
    Definition::any_case("array_lower", Arity::Exactly(2), |call| bounds(call, |_| 1))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static ARRAY_DIMS: Definition =
    Definition::any_case("array_ndims", Arity::Exactly(1), |call| bounds(call, |_| 1))
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static ARRAY_TO_STRING: Definition =
    Definition::any_case("array_to_string", Arity::Between(2, 3), bind_array_to_string)
        .sees_null()
        .low_cardinality(LowCardinality::Dropped);

pub(super) static STRING_TO_ARRAY: Definition =
    Definition::any_case("string_to_array", Arity::Exactly(2), |_| Ok(bind_string_to_array()))
        .low_cardinality(LowCardinality::Dropped);

/// The parts of a name with points between, without their quotes.
pub(super) static PARSE_IDENT: Definition = Definition::any_case("parse_ident", Arity::Between(1, 2), |_| {
    Ok(Bound::of(SqlType::array_of(SqlType::String), |operands: &[Operand], rows| {
        let names = Column::of(&operands[0])?;
        Ok(lists((0..rows).map(|row| parts_of_name(&names.text(row).unwrap_or_default()))))
    }))
})
.low_cardinality(LowCardinality::Dropped);

/// A number of the length of each array; NULL for an empty one and for NULL.
fn bounds(call: &Call<'_>, number: fn(i64) -> i64) -> Result<Bound> {
    if !matches!(call.ty(0).stripped(), SqlType::Array(_) | SqlType::Nothing) {
        return Err(call.illegal(0));
    }
    Ok(Bound::of(SqlType::Int64.into_nullable(), move |operands: &[Operand], rows| {
        let lengths = (0..rows).map(|row| {
            let length = list_at(&operands[0], row).map_or(0, |list| list.len());
            (length > 0).then(|| number(length as i64))
        });
        Ok(Arc::new(lengths.collect::<Int64Array>()))
    }))
}

fn list_at(operand: &Operand, row: usize) -> Option<ArrayRef> {
    let lists = operand.array.as_list_opt::<i32>()?;
    let row = if operand.constant { 0 } else { row };
    lists.is_valid(row).then(|| lists.value(row))
}

fn bind_array_to_string(call: &Call<'_>) -> Result<Bound> {
    let element = match call.ty(0).stripped() {
        SqlType::Array(element) => element.as_ref().clone(),
        SqlType::Nothing => SqlType::Nothing,
        _ => return Err(call.illegal(0)),
    };
    Ok(Bound::of(SqlType::String.into_nullable(), move |operands: &[Operand], rows| {
        let separators = Column::of(&operands[1])?;
        let nulls = operands.get(2).map(Column::of).transpose()?;
        let mut builder = BinaryViewBuilder::with_capacity(rows);
        for row in 0..rows {
            let null = nulls.as_ref().and_then(|nulls| nulls.text(row));
            match (list_at(&operands[0], row), separators.text(row)) {
                (Some(list), Some(separator)) => {
                    builder.append_value(joined(&element, &list, &separator, null)?)
                }
                _ => builder.append_null(),
            }
        }
        Ok(Arc::<BinaryViewArray>::new(builder.finish()))
    }))
}

/// The elements with a separator between; those that are NULL are left out, or written as `null`.
fn joined(element: &SqlType, list: &ArrayRef, separator: &str, null: Option<String>) -> Result<Vec<u8>> {
    let writer = ValueWriter::new(element, list, &TextSettings::default())?;
    let (mut out, mut is_first) = (Vec::new(), true);
    for row in 0..list.len() {
        if writer.is_null(row) && null.is_none() {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.extend_from_slice(separator.as_bytes());
        }
        match (&null, writer.is_null(row)) {
            (Some(null), true) => out.extend_from_slice(null.as_bytes()),
            _ => writer.write(row, Style::Raw, &mut out),
        }
    }
    Ok(out)
}

fn bind_string_to_array() -> Bound {
    Bound::of(SqlType::array_of(SqlType::String), move |operands: &[Operand], rows| {
        let (texts, separators) = (Column::of(&operands[0])?, Column::of(&operands[1])?);
        let parts = |row| {
            let text = texts.text(row).unwrap_or_default();
            match separators.text(row).unwrap_or_default() {
                separator if separator.is_empty() => vec![text],
                _ if text.is_empty() => Vec::new(),
                separator => text.split(&separator).map(str::to_owned).collect(),
            }
        };
        Ok(lists((0..rows).map(parts)))
    })
}

/// Arrays of texts.
fn lists(rows: impl Iterator<Item = Vec<String>>) -> Arc<ListArray> {
    let (mut lengths, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        lengths.push(row.len());
        values.extend(row);
    }
    let values = Arc::new(BinaryViewArray::from_iter_values(values));
    Arc::new(ListArray::new(
        SqlType::String.element_field(),
        OffsetBuffer::from_lengths(lengths),
        values,
        None,
    ))
}

/// `a."b.c"` as `a` and `b.c`.
fn parts_of_name(name: &str) -> Vec<String> {
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = name.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => part.push('"'),
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => parts.push(std::mem::take(&mut part)),
            _ => part.push(letter),
        }
    }
    parts.push(part);
    parts
}
