//! `leftPad`, `rightPad`, `repeat`, `space`: padded and repeated strings.
//!
//! Syntax: `leftPad(s, length [, filling])`, `repeat(s, n)`, `space(n)`. A string longer than `length` is truncated;
//! an empty filling means a space. Units are bytes, or code points in the UTF8 forms. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::datatypes::Int64Type;
use basalt_base::{ErrorCode, Result, SqlType, bail};

use super::size::code_points;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::{build_strings, nulls_of, reserve, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

/// The maximum length of a padded string, in bytes or code points.
const PADDED_MAX: i64 = 1_000_000;
/// The maximum number of repetitions.
const TIMES_MAX: i64 = 1_000_000;
/// The maximum bytes of a repeated string.
const REPEATED_MAX: usize = 1 << 30;

pub(super) static LEFT_PAD: Definition =
    Definition::new("leftPad", Arity::Between(2, 3), |call| bind_pad(call, true, false))
        .aliases(&["lpad"])
        .case_insensitive();

pub(super) static RIGHT_PAD: Definition =
    Definition::new("rightPad", Arity::Between(2, 3), |call| bind_pad(call, false, false))
        .aliases(&["rpad"])
        .case_insensitive();

pub(super) static LEFT_PAD_UTF8: Definition =
    Definition::new("leftPadUTF8", Arity::Between(2, 3), |call| bind_pad(call, true, true));

pub(super) static RIGHT_PAD_UTF8: Definition =
    Definition::new("rightPadUTF8", Arity::Between(2, 3), |call| bind_pad(call, false, true));

pub(super) static REPEAT: Definition = Definition::new("repeat", Arity::Exactly(2), |call| {
    call.expect_string(0)?;
    call.expect_integer(1)?;
    Ok(Bound::of(SqlType::String, |args: &[Operand], rows| {
        let (texts, counts) = (args[0].bytes()?, args[1].numbers::<Int64Type>()?);
        let rows = rows_needed(args, rows);
        let nulls = nulls_of(args, rows);
        Ok(Arc::new(build_strings(rows, |row, out| {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(());
            }
            repeat(texts.get(row), counts.get(row), out)
        })?))
    }))
})
.case_insensitive()
.refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static SPACE: Definition = Definition::new("space", Arity::Exactly(1), |call| {
    call.expect_integer(0)?;
    Ok(Bound::of(SqlType::String, |args: &[Operand], rows| {
        let counts = args[0].numbers::<Int64Type>()?;
        let rows = rows_needed(args, rows);
        let nulls = nulls_of(args, rows);
        Ok(Arc::new(build_strings(rows, |row, out| {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(());
            }
            repeat(b" ", counts.get(row), out)
        })?))
    }))
})
.case_insensitive();

fn repeat(text: &[u8], count: i64, out: &mut Vec<u8>) -> Result<()> {
    if count > TIMES_MAX {
        bail!(TooLargeStringSize, "a string cannot be repeated {count} times: at most {TIMES_MAX} times");
    }
    let count = usize::try_from(count).unwrap_or(0);
    match text.len().checked_mul(count) {
        Some(bytes) if bytes <= REPEATED_MAX => {
            reserve(out, bytes)?;
            (0..count).for_each(|_| out.extend_from_slice(text));
        }
        _ => bail!(
            TooLargeStringSize,
            "{} bytes repeated {count} times: at most {REPEATED_MAX} bytes",
            text.len()
        ),
    }
    Ok(())
}

fn bind_pad(call: &Call<'_>, left: bool, letters: bool) -> Result<Bound> {
    call.expect_string(0)?;
    call.expect_integer(1)?;
    if call.len() == 3 {
        call.expect_string(2)?;
    }
    let pad = Pad { left, letters };
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let (texts, lengths) = (args[0].bytes()?, args[1].numbers::<Int64Type>()?);
        let fillings = args.get(2).map(Operand::bytes).transpose()?;
        let rows = rows_needed(args, rows);
        let nulls = nulls_of(args, rows);
        Ok(Arc::new(build_strings(rows, |row, out| {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(());
            }
            let filling = fillings.as_ref().map_or(&b""[..], |fillings| fillings.get(row));
            pad.write(texts.get(row), lengths.get(row), if filling.is_empty() { b" " } else { filling }, out)
        })?))
    }))
}

#[derive(Clone, Copy)]
struct Pad {
    left: bool,
    letters: bool,
}

impl Pad {
    fn write(self, text: &[u8], length: i64, filling: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if length > PADDED_MAX {
            bail!(TooLargeStringSize, "padding to {length}: at most {PADDED_MAX} is possible");
        }
        let length = usize::try_from(length).unwrap_or(0);
        let has = self.size(text);
        if has >= length {
            out.extend_from_slice(&text[..self.bytes_of(text, length)]);
            return Ok(());
        }
        if !self.left {
            out.extend_from_slice(text);
        }
        let (missing, once) = (length - has, self.size(filling).max(1));
        (0..missing / once).for_each(|_| out.extend_from_slice(filling));
        out.extend_from_slice(&filling[..self.bytes_of(filling, missing % once)]);
        if self.left {
            out.extend_from_slice(text);
        }
        Ok(())
    }

    fn size(self, text: &[u8]) -> usize {
        if self.letters { code_points(text) as usize } else { text.len() }
    }

    /// The number of bytes in the first `units`.
    fn bytes_of(self, text: &[u8], units: usize) -> usize {
        if !self.letters {
            return units.min(text.len());
        }
        let mut starts = text.iter().enumerate().filter(|&(_, &byte)| byte as i8 >= -0x40);
        starts.nth(units).map_or(text.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: bool, letters: bool, text: &str, length: i64, filling: &str, expected: &str) {
        let mut out = Vec::new();
        Pad { left, letters }.write(text.as_bytes(), length, filling.as_bytes(), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn padding_fills_or_cuts() {
        check(true, false, "abc", 5, "xy", "xyabc");
        check(false, false, "abc", 7, "xy", "abcxyxy");
        check(false, false, "abc", 6, "xy", "abcxyx");
        check(true, false, "abc", 2, " ", "ab");
        check(true, true, "\u{e0}b", 4, "\u{e9}", "\u{e9}\u{e9}\u{e0}b");
        check(true, false, "abc", -1, " ", "");
    }

    #[test]
    fn a_huge_repetition_is_refused() {
        assert!(repeat(b"ab", i64::MAX, &mut Vec::new()).is_err());
        let mut out = Vec::new();
        repeat(b"ab", 3, &mut out).unwrap();
        repeat(b"ab", -1, &mut out).unwrap();
        assert_eq!(out, b"ababab");
    }
}
