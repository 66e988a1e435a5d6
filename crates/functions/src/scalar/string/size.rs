//! `length`, `lengthUTF8`, `empty`, `notEmpty`: the size of a string, an array or a map.
//!
//! Syntax: `length(x)`. Bytes of a string, code points for `lengthUTF8`, elements of an array, as UInt64;
//! `empty` and `notEmpty` are 1 or 0, and take a UUID too. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt8Array, UInt64Array};
use basalt_base::{Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::Bytes;
use crate::scalar::{Arity, Bound, Operand};

pub(super) static LENGTH: Definition =
    Definition::new("length", Arity::Exactly(1), |call| bind_length(call, |bytes| bytes.len() as u64))
        .aliases(&["OCTET_LENGTH"])
        .case_insensitive();

pub(super) static LENGTH_UTF8: Definition =
    Definition::new("lengthUTF8", Arity::Exactly(1), |call| bind_length(call, code_points))
        .aliases(&["CHAR_LENGTH", "CHARACTER_LENGTH"])
        .case_insensitive();

pub(super) static EMPTY: Definition =
    Definition::new("empty", Arity::Exactly(1), |call| bind_empty(call, true));

pub(super) static NOT_EMPTY: Definition =
    Definition::new("notEmpty", Arity::Exactly(1), |call| bind_empty(call, false));

fn bind_length(call: &Call<'_>, size: fn(&[u8]) -> u64) -> Result<Bound> {
    let ty = call.ty(0);
    if ty.is_string() {
        return Ok(Bound::of(SqlType::UInt64, move |args: &[Operand], _| {
            let text = Bytes::of(&args[0].array)?;
            let sizes = (0..args[0].array.len()).map(|row| size(text.get(row)));
            Ok(Arc::new(UInt64Array::from_iter_values(sizes)))
        }));
    }
    if !matches!(ty, SqlType::Array(_) | SqlType::Map(..)) {
        return Err(call.illegal(0));
    }
    Ok(Bound::of(SqlType::UInt64, |args: &[Operand], _| {
        Ok(Arc::new(UInt64Array::from_iter_values(list_lengths(&args[0].array))))
    }))
}

fn list_lengths(array: &ArrayRef) -> impl Iterator<Item = u64> {
    array.as_list::<i32>().value_offsets().windows(2).map(|pair| (pair[1] - pair[0]) as u64)
}

fn bind_empty(call: &Call<'_>, answer: bool) -> Result<Bound> {
    let ty = call.ty(0).clone();
    let is_identifier = matches!(ty, SqlType::Uuid | SqlType::Ipv6);
    let fits = ty.is_string() || is_identifier || matches!(ty, SqlType::Array(_) | SqlType::Map(..));
    if !fits {
        return Err(call.illegal(0));
    }
    let zeroes_are_empty = is_identifier || matches!(ty, SqlType::FixedString(_));
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], _| {
        let array = &args[0].array;
        let flags: Vec<u8> = if ty.is_string() || is_identifier {
            let text = Bytes::of(array)?;
            let is_empty =
                |bytes: &[u8]| bytes.is_empty() || (zeroes_are_empty && bytes.iter().all(|&byte| byte == 0));
            (0..array.len()).map(|row| u8::from(is_empty(text.get(row)) == answer)).collect()
        } else {
            list_lengths(array).map(|length| u8::from((length == 0) == answer)).collect()
        };
        Ok(Arc::new(UInt8Array::from(flags)))
    }))
}

/// The number of code points: bytes that are not continuation bytes.
pub(super) fn code_points(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte as i8 >= -0x40).count() as u64
}
