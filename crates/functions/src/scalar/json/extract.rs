//! `JSONExtract` and variants: a value from a document.
//!
//! Syntax: `JSONExtractInt(json [, name or position]...)`, `JSONExtract(json [, ...], type)`. Invalid JSON, a missing
//! path and a value of another kind give the type's default.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, Float64Array, Int64Array, ListArray, UInt8Array, UInt64Array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, SqlType};
use basalt_formats::text::{ColumnBuilder, JsonScanner, TextSettings};

use super::document::Json;
use super::fit::{float_of, write_fitting, write_text};
use super::path::{expect_path, for_each_found};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::push_string;
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

/// Declares functions that convert the found value to a number.
macro_rules! numbers {
    ($($constant:ident $name:literal $ty:ident $array:ident $of:ident;)+) => { $(
        pub(super) static $constant: Definition = Definition::new($name, Arity::AtLeast(1), |call| {
            expect_path(call, call.len())?;
            Ok(Bound::of(SqlType::$ty, |args: &[Operand], rows| {
                let mut values = Vec::with_capacity(rows);
                for_each_found(args, rows, |found| {
                    values.push(found.and_then($of).unwrap_or_default());
                    Ok(())
                })?;
                Ok(Arc::new($array::from(values)))
            }))
        }).low_cardinality(LowCardinality::Dropped);
    )+ };
}

numbers! {
    JSON_EXTRACT_INT "JSONExtractInt" Int64 Int64Array int_of;
    JSON_EXTRACT_UINT "JSONExtractUInt" UInt64 UInt64Array uint_of;
    JSON_EXTRACT_FLOAT "JSONExtractFloat" Float64 Float64Array float_of;
    JSON_EXTRACT_BOOL "JSONExtractBool" UInt8 UInt8Array bool_of;
}

pub(super) static JSON_EXTRACT_STRING: Definition =
    Definition::new("JSONExtractString", Arity::AtLeast(1), |call| bind_text(call, write_text))
        .low_cardinality(LowCardinality::Dropped);

pub(super) static JSON_EXTRACT_RAW: Definition =
    Definition::new("JSONExtractRaw", Arity::AtLeast(1), |call| bind_text(call, Json::print))
        .low_cardinality(LowCardinality::Dropped);

/// The names of an object's entries.
pub(super) static JSON_EXTRACT_KEYS: Definition =
    Definition::new("JSONExtractKeys", Arity::AtLeast(1), |call| {
        bind_list(call, |value, push| match value {
            Json::Object(entries) => entries.iter().try_for_each(|(name, _)| push(name)),
            _ => Ok(()),
        })
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

/// The elements of an array, each as JSON.
pub(super) static JSON_EXTRACT_ARRAY_RAW: Definition =
    Definition::new("JSONExtractArrayRaw", Arity::AtLeast(1), |call| {
        bind_list(call, |value, push| match value {
            Json::Array(elements) => elements.iter().try_for_each(|element| {
                let mut text = Vec::new();
                element.print(&mut text);
                push(&text)
            }),
            _ => Ok(()),
        })
    })
    .sees_null()
    .low_cardinality(LowCardinality::Dropped);

pub(super) static JSON_EXTRACT: Definition =
    Definition::new("JSONExtract", Arity::AtLeast(2), bind_typed).low_cardinality(LowCardinality::Dropped);

fn int_of(value: &Json) -> Option<i64> {
    match value {
        Json::Int(value) => Some(*value),
        Json::Float(value) if value.abs() < 9.3e18 => Some(*value as i64),
        Json::String(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

fn uint_of(value: &Json) -> Option<u64> {
    match value {
        Json::Int(value) => u64::try_from(*value).ok(),
        Json::UInt(value) => Some(*value),
        Json::Float(value) if *value >= 0.0 && *value < 1.9e19 => Some(*value as u64),
        Json::String(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

fn bool_of(value: &Json) -> Option<u8> {
    match value {
        Json::Bool(value) => Some(u8::from(*value)),
        Json::Int(value) => Some(u8::from(*value != 0)),
        Json::UInt(_) => Some(1),
        _ => None,
    }
}

fn bind_text(call: &Call<'_>, write: fn(&Json, &mut Vec<u8>)) -> Result<Bound> {
    expect_path(call, call.len())?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let mut builder = BinaryViewBuilder::with_capacity(rows);
        let mut text = Vec::new();
        for_each_found(args, rows, |found| {
            text.clear();
            if let Some(value) = found {
                write(value, &mut text);
            }
            push_string(&mut builder, &text)
        })?;
        Ok(Arc::new(builder.finish()))
    }))
}

type Push<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

fn bind_list(call: &Call<'_>, elements: fn(&Json, Push<'_>) -> Result<()>) -> Result<Bound> {
    if call.args.iter().any(|arg| arg.ty == SqlType::Nothing.into_nullable()) {
        let ty = SqlType::Nothing.into_nullable();
        return Ok(Bound::new(ty, |_: &[Operand], rows| Ok(new_null_array(&DataType::Null, rows))));
    }
    // An array result cannot be NULL.
    if let Some(index) = (0..call.len()).find(|&index| call.ty(index).accepts_null()) {
        return Err(call.illegal(index));
    }
    expect_path(call, call.len())?;
    Ok(Bound::of(SqlType::array_of(SqlType::String), move |args: &[Operand], rows| {
        let (mut builder, mut lengths) = (BinaryViewBuilder::new(), Vec::with_capacity(rows));
        for_each_found(args, rows, |found| {
            let mut count = 0;
            let mut push = |text: &[u8]| {
                count += 1;
                push_string(&mut builder, text)
            };
            found.map_or(Ok(()), |value| elements(value, &mut push))?;
            lengths.push(count);
            Ok(())
        })?;
        let field = SqlType::String.element_field();
        let list =
            ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), Arc::new(builder.finish()), None);
        Ok(Arc::new(list.map_err(Error::logical)?))
    }))
}

/// Whether values of the type contain integers of more than 64 bits.
fn holds_wide(ty: &SqlType) -> bool {
    match ty.stripped() {
        SqlType::Array(element) => holds_wide(element),
        SqlType::Tuple(elements) => elements.iter().any(|element| holds_wide(&element.ty)),
        SqlType::Map(key, value) => holds_wide(key) || holds_wide(value),
        other => other.wide().is_some(),
    }
}

/// The last argument is the type; the value is parsed like JSON input of a column of that type.
fn bind_typed(call: &Call<'_>) -> Result<Bound> {
    let last = call.len() - 1;
    expect_path(call, last)?;
    let ty = basalt_sql::resolve_type(&basalt_sql::parse_type(call.expect_text(last)?.as_bytes())?)?;
    // Numbers of JSON beyond 64 bits are floats here.
    if holds_wide(&ty) {
        return Err(Error::not_implemented(format!("function `{}` to type {ty}", call.name)));
    }
    let settings = TextSettings { zone: call.context.zone, ..TextSettings::default() };
    // Fails once, here, for a type that cannot be parsed.
    ColumnBuilder::new(&ty, &settings)?;
    Ok(Bound::new(ty.clone(), move |args: &[Operand], rows: usize| {
        let mut builder = ColumnBuilder::new(&ty, &settings)?;
        let mut text = Vec::new();
        for_each_found(&args[..last], rows, |found| {
            let before = builder.len();
            text.clear();
            let Some(value) = found.filter(|value| **value != Json::Null) else {
                builder.append_default();
                return Ok(());
            };
            write_fitting(value, &ty, &settings, &mut text);
            if builder.parse_json(&mut JsonScanner::new(&text)).is_err() {
                builder.truncate(before);
                builder.append_default();
            }
            Ok(())
        })?;
        Operand { constant: builder.len() != rows, array: builder.finish() as ArrayRef }.full(rows)
    }))
}
