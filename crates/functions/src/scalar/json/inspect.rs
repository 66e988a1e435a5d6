//! `isValidJSON`, `JSONHas`, `JSONLength`, `JSONType`: properties of a document.
//!
//! Syntax: `JSONHas(json [, name or position]...)`.

use std::sync::Arc;

use arrow::array::{Int8Array, UInt8Array, UInt64Array};
use basalt_base::{Result, SqlType};

use super::document::Json;
use super::path::{expect_path, for_each_found};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, LowCardinality, Operand};

/// ClickHouse's names and numbers of the kinds of values.
const KINDS: &[(&str, i8)] = &[
    ("Null", 0),
    ("String", b'"' as i8),
    ("Array", b'[' as i8),
    ("Bool", b'b' as i8),
    ("Double", b'd' as i8),
    ("Int64", b'i' as i8),
    ("UInt64", b'u' as i8),
    ("Object", b'{' as i8),
];

pub(super) static IS_VALID_JSON: Definition =
    Definition::new("isValidJSON", Arity::Exactly(1), |call| bind_flag(call, |found| found.is_some()))
        .low_cardinality(LowCardinality::Dropped);

pub(super) static JSON_HAS: Definition =
    Definition::new("JSONHas", Arity::AtLeast(1), |call| bind_flag(call, |found| found.is_some()))
        .low_cardinality(LowCardinality::Dropped);

pub(super) static JSON_LENGTH: Definition = Definition::new("JSONLength", Arity::AtLeast(1), |call| {
    expect_path(call, call.len())?;
    Ok(Bound::of(SqlType::UInt64, |args: &[Operand], rows| {
        let mut lengths = Vec::with_capacity(rows);
        for_each_found(args, rows, |found| {
            lengths.push(found.map_or(0, |value| value.len() as u64));
            Ok(())
        })?;
        Ok(Arc::new(UInt64Array::from(lengths)))
    }))
})
.low_cardinality(LowCardinality::Dropped);

pub(super) static JSON_TYPE: Definition = Definition::new("JSONType", Arity::AtLeast(1), |call| {
    expect_path(call, call.len())?;
    let ty = SqlType::Enum8(KINDS.iter().map(|&(name, number)| (name.to_owned(), number)).collect());
    Ok(Bound::of(ty, |args: &[Operand], rows| {
        let mut kinds = Vec::with_capacity(rows);
        for_each_found(args, rows, |found| {
            kinds.push(found.map_or(0, kind_of));
            Ok(())
        })?;
        Ok(Arc::new(Int8Array::from(kinds)))
    }))
})
.low_cardinality(LowCardinality::Dropped);

fn kind_of(value: &Json) -> i8 {
    (match value {
        Json::Null => 0,
        Json::String(_) => b'"',
        Json::Array(_) => b'[',
        Json::Bool(_) => b'b',
        Json::Float(_) => b'd',
        Json::Int(_) => b'i',
        Json::UInt(_) => b'u',
        Json::Object(_) => b'{',
    }) as i8
}

fn bind_flag(call: &Call<'_>, flag: fn(Option<&Json>) -> bool) -> Result<Bound> {
    expect_path(call, call.len())?;
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], rows| {
        let mut flags = Vec::with_capacity(rows);
        for_each_found(args, rows, |found| {
            flags.push(u8::from(flag(found)));
            Ok(())
        })?;
        Ok(Arc::new(UInt8Array::from(flags)))
    }))
}
