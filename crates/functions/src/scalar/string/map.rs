//! Functions from a string to a string: letter case, order of characters, validity of UTF-8.
//!
//! Syntax: `lower(s)`, `upper(s)`, `lowerUTF8(s)`, `upperUTF8(s)`, `reverse(s)`, `reverseUTF8(s)`, `toValidUTF8(s)`,
//! `initcap(s)`. Invalid UTF-8 does not change, except that `toValidUTF8` replaces it by U+FFFD. The result of a
//! FixedString is a FixedString if the length does not change. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, UInt8Array, UInt32Array};
use arrow::compute::take;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::size::code_points;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::{Bytes, build_strings};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static LOWER: Definition = Definition::new("lower", Arity::Exactly(1), |call| {
    bind_same_length(call, |text, out| out.extend(text.iter().map(u8::to_ascii_lowercase)))
})
.aliases(&["lcase"])
.case_insensitive();

pub(super) static UPPER: Definition = Definition::new("upper", Arity::Exactly(1), |call| {
    bind_same_length(call, |text, out| out.extend(text.iter().map(u8::to_ascii_uppercase)))
})
.aliases(&["ucase"])
.case_insensitive();

pub(super) static LOWER_UTF8: Definition = Definition::new("lowerUTF8", Arity::Exactly(1), |call| {
    bind_text(call, |text, out| map_letters(text, out, |letters| letters.to_lowercase()))
})
.refuses_fixed_string(&[Refused::all(0, ErrorCode::BadArguments)]);

pub(super) static UPPER_UTF8: Definition = Definition::new("upperUTF8", Arity::Exactly(1), |call| {
    bind_text(call, |text, out| map_letters(text, out, |letters| letters.to_uppercase()))
})
.refuses_fixed_string(&[Refused::all(0, ErrorCode::BadArguments)]);

pub(super) static INITCAP: Definition =
    Definition::new("initcap", Arity::Exactly(1), |call| bind_same_length(call, capitalise))
        .case_insensitive();

pub(super) static REVERSE_UTF8: Definition =
    Definition::new("reverseUTF8", Arity::Exactly(1), |call| bind_text(call, reverse_code_points))
        .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalColumn)]);

pub(super) static TO_VALID_UTF8: Definition = Definition::new("toValidUTF8", Arity::Exactly(1), |call| {
    bind_text(call, |text, out| out.extend_from_slice(String::from_utf8_lossy(text).as_bytes()))
})
.refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalColumn)]);

pub(super) static IS_VALID_UTF8: Definition = Definition::new("isValidUTF8", Arity::Exactly(1), |call| {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::UInt8, |args: &[Operand], _| {
        let text = Bytes::of(&args[0].array)?;
        let valid = (0..args[0].array.len()).map(|row| u8::from(std::str::from_utf8(text.get(row)).is_ok()));
        Ok(Arc::new(UInt8Array::from_iter_values(valid)))
    }))
});

pub(super) static REVERSE: Definition = Definition::new("reverse", Arity::Exactly(1), |call| {
    if let ty @ SqlType::Array(_) = call.ty(0) {
        return Ok(Bound::new(ty.clone(), |args: &[Operand], _| reverse_lists(&args[0].array)));
    }
    bind_same_length(call, |text, out| out.extend(text.iter().rev()))
})
.case_insensitive();

/// A function that preserves the length, and therefore the type.
pub(super) fn bind_same_length(
    call: &Call<'_>,
    map: impl Fn(&[u8], &mut Vec<u8>) + Send + Sync + 'static,
) -> Result<Bound> {
    let SqlType::FixedString(width) = *call.ty(0) else { return bind_text(call, map) };
    Ok(Bound::of(SqlType::FixedString(width), move |args: &[Operand], _| {
        let text = Bytes::of(&args[0].array)?;
        let mut bytes = Vec::with_capacity(width * args[0].array.len());
        (0..args[0].array.len()).for_each(|row| map(text.get(row), &mut bytes));
        let array = FixedSizeBinaryArray::try_new(width as i32, bytes.into(), None);
        Ok(Arc::new(array.map_err(Error::logical)?))
    }))
}

fn bind_text(call: &Call<'_>, map: impl Fn(&[u8], &mut Vec<u8>) + Send + Sync + 'static) -> Result<Bound> {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], _| {
        let text = Bytes::of(&args[0].array)?;
        Ok(Arc::new(build_strings(args[0].array.len(), |row, out| {
            map(text.get(row), out);
            Ok(())
        })?))
    }))
}

/// Applies `map` to the valid UTF-8; other bytes stay.
fn map_letters(text: &[u8], out: &mut Vec<u8>, map: impl Fn(&str) -> String) {
    for chunk in text.utf8_chunks() {
        out.extend_from_slice(map(chunk.valid()).as_bytes());
        out.extend_from_slice(chunk.invalid());
    }
}

/// The first letter of every word in upper case, the others in lower.
fn capitalise(text: &[u8], out: &mut Vec<u8>) {
    let mut in_word = false;
    for byte in text {
        out.push(if in_word { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() });
        in_word = byte.is_ascii_alphanumeric();
    }
}

fn reverse_code_points(text: &[u8], out: &mut Vec<u8>) {
    let mut end = text.len();
    for start in (0..text.len()).rev() {
        if code_points(&text[start..=start]) == 1 || start == 0 {
            out.extend_from_slice(&text[start..end]);
            end = start;
        }
    }
}

fn reverse_lists(array: &ArrayRef) -> Result<ArrayRef> {
    let list = array.as_list::<i32>();
    let offsets = list.value_offsets();
    // Positions before the first offset and after the last one belong to no row and stay in place.
    let mut indices: Vec<u32> = (0..list.values().len() as u32).collect();
    for pair in offsets.windows(2) {
        indices[pair[0] as usize..pair[1] as usize].reverse();
    }
    let values = take(list.values(), &UInt32Array::from(indices), None).map_err(Error::of_arrow)?;
    let (field, nulls) = match array.data_type() {
        arrow::datatypes::DataType::List(field) => (Arc::clone(field), list.nulls().cloned()),
        other => return Err(Error::logical(format!("{other} is not the carrier of an array"))),
    };
    let reversed = arrow::array::ListArray::try_new(field, list.offsets().clone(), values, nulls);
    Ok(Arc::new(reversed.map_err(Error::logical)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_bytes_stay_and_code_points_turn() {
        let mut out = Vec::new();
        map_letters(b"\xc3\x80B\xff", &mut out, |letters| letters.to_lowercase());
        assert_eq!(out, b"\xc3\xa0b\xff");
        out.clear();
        reverse_code_points("\u{e0}b".as_bytes(), &mut out);
        assert_eq!(out, "b\u{e0}".as_bytes());
    }
}
