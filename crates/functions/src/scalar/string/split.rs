//! `splitByChar`, `splitByString`, `splitByWhitespace`, `alphaTokens`, `extract`, `extractAll`: parts of a string.
//!
//! Syntax: `splitByChar(separator, s [, most])`, `extract(s, regexp)`. The parts are an Array(String); `extract`
//! gives the first match. If a regular expression has groups, the first group is used instead of the match. NULL if
//! an argument is NULL.

use std::sync::Arc;

use arrow::array::{BinaryViewBuilder, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Int64Type;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use regex::bytes::{Captures, Regex};

use super::pattern::compile;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::{nulls_of, push_string, rows_needed, slice_strings};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static SPLIT_BY_CHAR: Definition = Definition::new("splitByChar", Arity::Between(2, 3), |call| {
    let separator = call.expect_text(0)?;
    if separator.len() != 1 {
        bail!(BadArguments, "the separator of `splitByChar` must be exactly one byte");
    }
    bind_split(call)
})
.refuses_fixed_string(&[Refused::all(1, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static SPLIT_BY_STRING: Definition =
    Definition::new("splitByString", Arity::Between(2, 3), |call| {
        call.expect_text(0)?;
        bind_split(call)
    })
    .refuses_fixed_string(&[Refused::all(1, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static SPLIT_BY_WHITESPACE: Definition =
    Definition::new("splitByWhitespace", Arity::Exactly(1), |call| {
        bind_tokens(call, |&byte| !is_space(byte))
    })
    .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static ALPHA_TOKENS: Definition = Definition::new("alphaTokens", Arity::Exactly(1), |call| {
    bind_tokens(call, |byte| byte.is_ascii_alphabetic())
})
.aliases(&["splitByAlpha"])
.refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static SPLIT_BY_NON_ALPHA: Definition =
    Definition::new("splitByNonAlpha", Arity::Exactly(1), |call| {
        bind_tokens(call, |&byte| !(is_space(byte) || byte.is_ascii_punctuation()))
    })
    .refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static EXTRACT: Definition = Definition::new("extract", Arity::Exactly(2), |call| {
    call.expect_string(0)?;
    let regexp = compile(call.expect_text(1)?.as_bytes())?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let texts = args[0].bytes()?;
        Ok(Arc::new(slice_strings(rows_needed(args, rows), |row| {
            let text = texts.get(row);
            Ok(first_match(&regexp, text).unwrap_or_default())
        })?))
    }))
})
.refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

pub(super) static EXTRACT_ALL: Definition = Definition::new("extractAll", Arity::Exactly(2), |call| {
    call.expect_string(0)?;
    let regexp = compile(call.expect_text(1)?.as_bytes())?;
    Ok(Bound::of(SqlType::array_of(SqlType::String), move |args: &[Operand], rows| {
        let texts = args[0].bytes()?;
        build_lists(args, rows, |row, push| {
            regexp.captures_iter(texts.get(row)).try_for_each(|captures| push(wanted(&captures)))
        })
    }))
})
.refuses_fixed_string(&[Refused::all(0, ErrorCode::IllegalTypeOfArgument)]);

fn is_space(byte: u8) -> bool {
    const VERTICAL_TAB: u8 = 0x0b;
    byte.is_ascii_whitespace() || byte == VERTICAL_TAB
}

/// The first group of the match, or the whole match.
fn wanted<'a>(captures: &Captures<'a>) -> &'a [u8] {
    captures.get(usize::from(captures.len() > 1)).map_or(b"", |group| group.as_bytes())
}

fn first_match<'a>(regexp: &Regex, text: &'a [u8]) -> Option<&'a [u8]> {
    if regexp.captures_len() == 1 {
        return Some(regexp.find(text)?.as_bytes());
    }
    Some(wanted(&regexp.captures(text)?))
}

fn bind_split(call: &Call<'_>) -> Result<Bound> {
    call.expect_string(1)?;
    if call.len() == 3 {
        call.expect_integer(2)?;
    }
    let separator = call.expect_text(0)?.as_bytes().to_vec();
    Ok(Bound::of(SqlType::array_of(SqlType::String), move |args: &[Operand], rows| {
        let texts = args[1].bytes()?;
        let limits = args.get(2).map(Operand::numbers::<Int64Type>).transpose()?;
        build_lists(args, rows, |row, push| {
            let limit = limits.as_ref().map_or(0, |limits| limits.get(row));
            let most = usize::try_from(limit).ok().filter(|&most| most > 0).unwrap_or(usize::MAX);
            split(texts.get(row), &separator, most, push)
        })
    }))
}

/// At most `most` parts of `text`; the rest is dropped.
fn split<'a>(
    text: &'a [u8],
    separator: &[u8],
    most: usize,
    push: &mut dyn FnMut(&'a [u8]) -> Result<()>,
) -> Result<()> {
    if separator.is_empty() {
        return text.chunks(1).take(most).try_for_each(push);
    }
    let mut start = 0;
    let mut parts = 0;
    for at in memchr::memmem::find_iter(text, separator) {
        if parts == most {
            return Ok(());
        }
        push(&text[start..at])?;
        parts += 1;
        start = at + separator.len();
    }
    if parts < most { push(&text[start..]) } else { Ok(()) }
}

/// Runs of bytes that belong to a token.
fn bind_tokens(call: &Call<'_>, belongs: fn(&u8) -> bool) -> Result<Bound> {
    call.expect_string(0)?;
    Ok(Bound::of(SqlType::array_of(SqlType::String), move |args: &[Operand], rows| {
        let texts = args[0].bytes()?;
        build_lists(args, rows, |row, push| {
            texts.get(row).split(|byte| !belongs(byte)).filter(|token| !token.is_empty()).try_for_each(push)
        })
    }))
}

/// An array of strings for each row; `parts` passes on the strings of a row one by one.
fn build_lists<'a>(
    args: &[Operand],
    rows: usize,
    mut parts: impl FnMut(usize, &mut dyn FnMut(&'a [u8]) -> Result<()>) -> Result<()>,
) -> Result<Arc<ListArray>> {
    let rows = rows_needed(args, rows);
    let nulls = nulls_of(args, rows);
    let mut strings = BinaryViewBuilder::new();
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut count = 0;
        if !nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            parts(row, &mut |part| {
                count += 1;
                push_string(&mut strings, part)
            })?;
        }
        lengths.push(count);
    }
    if lengths
        .iter()
        .try_fold(0_usize, |sum: usize, &length| sum.checked_add(length))
        .is_none_or(|sum| sum > i32::MAX as usize)
    {
        bail!(TooLargeStringSize, "a block of arrays with more than {} strings in all", i32::MAX);
    }
    let list = ListArray::try_new(
        SqlType::String.element_field(),
        OffsetBuffer::from_lengths(lengths),
        Arc::new(strings.finish()),
        None,
    );
    Ok(Arc::new(list.map_err(Error::logical)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, separator: &str, most: usize, expected: &[&str]) {
        let mut parts = Vec::new();
        split(text.as_bytes(), separator.as_bytes(), most, &mut |part| {
            parts.push(String::from_utf8_lossy(part).into_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(parts, expected);
    }

    #[test]
    fn splits_keep_empty_parts() {
        check("a,b,,c", ",", usize::MAX, &["a", "b", "", "c"]);
        check("", ",", usize::MAX, &[""]);
        check("1ab2abab3", "ab", usize::MAX, &["1", "2", "", "3"]);
        check("abc", "", usize::MAX, &["a", "b", "c"]);
        check("a,b,c", ",", 2, &["a", "b"]);
        check("", "", usize::MAX, &[]);
    }
}
