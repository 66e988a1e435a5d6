//! `substring`, `left`, `right` and their UTF8 forms: a part of a string.
//!
//! Syntax: `substring(s, offset [, length])`, `left(s, n)`, `right(s, n)`. Positions count from 1, or from the end if
//! they are negative; position 0 is before the string. A negative length counts back from the end. Units are bytes,
//! or code points in the UTF8 forms. NULL if an argument is NULL.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::Int64Type;
use basalt_base::{ErrorCode, Result, SqlType, bail};

use super::size::code_points;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::number::wrap_to;
use crate::scalar::operand::{rows_needed, slice_strings};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static SUBSTRING: Definition =
    Definition::new("substring", Arity::Between(2, 3), |call| bind_substring(call, bytes_of))
        .aliases(&["substr", "mid", "byteSlice"])
        .case_insensitive();

pub(super) static SUBSTRING_UTF8: Definition =
    Definition::new("substringUTF8", Arity::Between(2, 3), |call| bind_substring(call, letters_of))
        .aliases(&["substrUTF8"])
        .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static LEFT: Definition =
    Definition::new("left", Arity::Exactly(2), |call| bind(call, left, bytes_of)).case_insensitive();

pub(super) static LEFT_UTF8: Definition =
    Definition::new("leftUTF8", Arity::Exactly(2), |call| bind(call, left, letters_of))
        .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static RIGHT: Definition =
    Definition::new("right", Arity::Exactly(2), |call| bind(call, right, bytes_of)).case_insensitive();

pub(super) static RIGHT_UTF8: Definition =
    Definition::new("rightUTF8", Arity::Exactly(2), |call| bind(call, right, letters_of))
        .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

/// The range within a string of this many units, from two numbers; the second may be missing.
type Part = fn(i64, i64, Option<i64>) -> Range<usize>;
/// The bytes of a range of units.
type Cut = for<'a> fn(&'a [u8], &dyn Fn(i64) -> Range<usize>) -> &'a [u8];

fn bind_substring(call: &Call<'_>, cut: Cut) -> Result<Bound> {
    let is_zero = |first: &ArrayRef| wrap_to::<Int64Type>(first).is_ok_and(|first| first.value(0) == 0);
    if call.constant(0).is_none() && call.constant(1).is_some_and(is_zero) {
        bail!(ZeroArrayOrTupleIndex, "`{}` counts positions from 1, there is none of number 0", call.name);
    }
    bind(call, substring, cut)
}

fn bind(call: &Call<'_>, part: Part, cut: Cut) -> Result<Bound> {
    call.expect_string(0)?;
    (1..call.len()).try_for_each(|index| call.expect_number(index))?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let text = args[0].bytes()?;
        let first = args[1].numbers::<Int64Type>()?;
        let second = args.get(2).map(Operand::numbers::<Int64Type>).transpose()?;
        Ok(Arc::new(slice_strings(rows_needed(args, rows), |row| {
            let second = second.as_ref().map(|second| second.get(row));
            Ok(cut(text.get(row), &|length| part(length, first.get(row), second)))
        })?))
    }))
}

fn bytes_of<'a>(text: &'a [u8], part: &dyn Fn(i64) -> Range<usize>) -> &'a [u8] {
    &text[part(text.len() as i64)]
}

fn letters_of<'a>(text: &'a [u8], part: &dyn Fn(i64) -> Range<usize>) -> &'a [u8] {
    if text.is_ascii() {
        return bytes_of(text, part);
    }
    let letters = part(code_points(text) as i64);
    let starts = |letter: usize| {
        let mut starts = text.iter().enumerate().filter(|&(_, &byte)| byte as i8 >= -0x40);
        starts.nth(letter).map_or(text.len(), |(at, _)| at)
    };
    // Continuation bytes before the first letter belong to no letter.
    &text[starts(letters.start)..starts(letters.end)]
}

/// The range from `start` (from 0, possibly out of bounds) to `end`, clamped to the string.
fn within(length: i64, start: i64, end: i64) -> Range<usize> {
    let start = start.clamp(0, length);
    let end = end.clamp(start, length);
    start as usize..end as usize
}

fn substring(length: i64, offset: i64, count: Option<i64>) -> Range<usize> {
    if offset == 0 {
        // Position 0 does not exist; even a length beyond it finds nothing.
        return 0..0;
    }
    let start = if offset > 0 { offset - 1 } else { length.saturating_add(offset) };
    let end = match count {
        None => length,
        Some(count) if count >= 0 => start.saturating_add(count),
        Some(count) => length.saturating_add(count),
    };
    within(length, start, end)
}

fn left(length: i64, count: i64, _: Option<i64>) -> Range<usize> {
    within(length, 0, if count >= 0 { count } else { length.saturating_add(count) })
}

fn right(length: i64, count: i64, _: Option<i64>) -> Range<usize> {
    within(length, if count >= 0 { length - count.min(length) } else { count.saturating_neg() }, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substrings_are_clickhouses() {
        let cut = |offset, count| &"hello"[substring(5, offset, count)];
        assert_eq!(
            [cut(2, None), cut(2, Some(2)), cut(-3, None), cut(-3, Some(2))],
            ["ello", "el", "llo", "ll"]
        );
        assert_eq!(
            [cut(0, Some(2)), cut(2, Some(-1)), cut(10, None), cut(-10, Some(7))],
            ["", "ell", "", "he"]
        );
        assert_eq!([cut(1, Some(-2)), cut(-10, None), cut(i64::MIN, Some(i64::MIN))], ["hel", "hello", ""]);
        assert_eq!([&"hello"[left(5, -2, None)], &"hello"[right(5, -2, None)]], ["hel", "llo"]);
        assert_eq!(letters_of("\u{e0}bcd".as_bytes(), &|length| substring(length, 2, Some(2))), b"bc");
    }
}
