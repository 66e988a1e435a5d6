//! `position`, `locate`, `countSubstrings`, `startsWith`, `endsWith`, `hasToken`: search for a string in another.
//!
//! Syntax: `position(haystack, needle [, start])`, `locate(needle, haystack)`. Positions count bytes from 1 (code
//! points in the UTF8 forms); 0 means not found. An empty needle is found at the start. The CaseInsensitive forms
//! fold ASCII letters. NULL if an argument is NULL.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{UInt8Array, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::{ErrorCode, Result, SqlType};
use memchr::memmem::Finder;

use super::size::code_points;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, Operand};

/// A FixedString is accepted neither as the needle nor as a column to search in.
const POSITIONS: &[Refused] =
    &[Refused::all(1, ErrorCode::IllegalTypeOfArgument), Refused::column(0, ErrorCode::IllegalColumn)];

pub(super) static POSITION: Definition =
    Definition::new("position", Arity::Between(2, 3), |call| bind_position(call, PLAIN))
        .case_insensitive()
        .refuses_fixed_string(POSITIONS);

pub(super) static POSITION_CASE_INSENSITIVE: Definition =
    Definition::new("positionCaseInsensitive", Arity::Between(2, 3), |call| {
        bind_position(call, Mode { folds: true, ..PLAIN })
    })
    .refuses_fixed_string(POSITIONS);

pub(super) static POSITION_UTF8: Definition = Definition::new("positionUTF8", Arity::Between(2, 3), |call| {
    bind_position(call, Mode { letters: true, ..PLAIN })
})
.refuses_fixed_string(POSITIONS);

pub(super) static LOCATE: Definition = Definition::new("locate", Arity::Between(2, 3), |call| {
    bind_position(call, Mode { needle_first: true, ..PLAIN })
})
.case_insensitive()
.refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static COUNT_SUBSTRINGS: Definition =
    Definition::new("countSubstrings", Arity::Exactly(2), |call| bind_count(call, false))
        .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalColumn)]);

pub(super) static COUNT_SUBSTRINGS_CASE_INSENSITIVE: Definition =
    Definition::new("countSubstringsCaseInsensitive", Arity::Exactly(2), |call| bind_count(call, true))
        .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalColumn)]);

pub(super) static STARTS_WITH: Definition = Definition::new("startsWith", Arity::Exactly(2), |call| {
    bind_test(call, |text, part| text.starts_with(part))
});

pub(super) static ENDS_WITH: Definition =
    Definition::new("endsWith", Arity::Exactly(2), |call| bind_test(call, |text, part| text.ends_with(part)));

pub(super) static HAS_TOKEN: Definition =
    Definition::new("hasToken", Arity::Exactly(2), |call| bind_test(call, has_token))
        .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalColumn)]);

#[derive(Clone, Copy)]
struct Mode {
    needle_first: bool,
    folds: bool,
    letters: bool,
}

const PLAIN: Mode = Mode { needle_first: false, folds: false, letters: false };

fn fold(text: &[u8], folds: bool) -> Cow<'_, [u8]> {
    if folds { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) }
}

fn bind_position(call: &Call<'_>, mode: Mode) -> Result<Bound> {
    call.expect_string(0)?;
    call.expect_string(1)?;
    if call.len() == 3 {
        call.expect_integer(2)?;
    }
    Ok(Bound::of(SqlType::UInt64, move |args: &[Operand], rows| {
        let (haystack, needle) = if mode.needle_first { (1, 0) } else { (0, 1) };
        let (haystacks, needles) = (args[haystack].bytes()?, args[needle].bytes()?);
        let starts = args.get(2).map(Operand::numbers::<UInt64Type>).transpose()?;
        let constant = needles.constant().map(|needle| Finder::new(&fold(needle, mode.folds)).into_owned());
        let positions = (0..rows_needed(args, rows)).map(|row| {
            let haystack = fold(haystacks.get(row), mode.folds);
            let start = starts.as_ref().map_or(1, |starts| starts.get(row).max(1));
            match &constant {
                Some(finder) => position(&haystack, finder, start, mode.letters),
                None => position(
                    &haystack,
                    &Finder::new(&fold(needles.get(row), mode.folds)),
                    start,
                    mode.letters,
                ),
            }
        });
        Ok(Arc::new(UInt64Array::from_iter_values(positions)))
    }))
}

/// The position, from 1, of the first occurrence at `start` or later; 0 if there is none.
fn position(haystack: &[u8], finder: &Finder<'_>, start: u64, letters: bool) -> u64 {
    let skipped = usize::try_from(start - 1).unwrap_or(usize::MAX);
    let from = if letters { byte_of_letter(haystack, skipped) } else { skipped };
    let Some(rest) = haystack.get(from..) else { return 0 };
    match finder.find(rest) {
        Some(at) if letters => code_points(&haystack[..from + at]) + 1,
        Some(at) => (from + at) as u64 + 1,
        None => 0,
    }
}

/// The byte at which a code point begins; past the end if there is no such code point.
fn byte_of_letter(text: &[u8], letter: usize) -> usize {
    let mut starts = text.iter().enumerate().filter(|&(_, &byte)| byte as i8 >= -0x40).map(|(at, _)| at);
    match starts.nth(letter) {
        Some(at) => at,
        None if code_points(text) == letter as u64 => text.len(),
        None => text.len() + 1,
    }
}

fn bind_count(call: &Call<'_>, folds: bool) -> Result<Bound> {
    call.expect_string(0)?;
    call.expect_string(1)?;
    Ok(Bound::of(SqlType::UInt64, move |args: &[Operand], rows| {
        let (haystacks, needles) = (args[0].bytes()?, args[1].bytes()?);
        let counts = (0..rows_needed(args, rows)).map(|row| {
            let needle = fold(needles.get(row), folds);
            if needle.is_empty() {
                return 0;
            }
            Finder::new(&needle).find_iter(&fold(haystacks.get(row), folds)).count() as u64
        });
        Ok(Arc::new(UInt64Array::from_iter_values(counts)))
    }))
}

fn bind_test(call: &Call<'_>, test: fn(&[u8], &[u8]) -> bool) -> Result<Bound> {
    call.expect_string(0)?;
    call.expect_string(1)?;
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], rows| {
        let (texts, parts) = (args[0].bytes()?, args[1].bytes()?);
        let flags = (0..rows_needed(args, rows)).map(|row| u8::from(test(texts.get(row), parts.get(row))));
        Ok(Arc::new(UInt8Array::from_iter_values(flags)))
    }))
}

/// Whether `token` occurs in `text` between bytes that are neither letters nor digits.
fn has_token(text: &[u8], token: &[u8]) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    !token.is_empty()
        && memchr::memmem::find_iter(text, token).any(|at| {
            let before = at.checked_sub(1).and_then(|before| text.get(before));
            !is_part(before) && !is_part(text.get(at + token.len()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one() {
        let find = |needle: &str, start| position(b"hello", &Finder::new(needle), start, false);
        assert_eq!([find("l", 1), find("l", 4), find("x", 1), find("", 1)], [3, 4, 0, 1]);
        assert_eq!([find("", 3), find("", 10), find("l", u64::MAX)], [3, 0, 0]);
        assert_eq!(position("\u{e0}bc".as_bytes(), &Finder::new("b"), 1, true), 2);
    }

    #[test]
    fn tokens_stand_alone() {
        assert!(has_token(b"hello world", b"world"));
        assert!(!has_token(b"hello world", b"wor"));
    }
}
