//! `replaceOne`, `replaceAll`, `replaceRegexpOne`, `replaceRegexpAll`: replace parts of a string.
//!
//! Syntax: `replaceAll(s, pattern, replacement)`. An empty plain pattern replaces nothing. In the replacement of a
//! regular expression `\0` is the whole match, and `\1` to `\9` are its groups. NULL if an argument is NULL.

use std::sync::Arc;

use basalt_base::{ErrorCode, Result, SqlType, bail};
use memchr::memmem::Finder;
use regex::bytes::Regex;

use super::pattern::compile;
use crate::scalar::definition::{Call, Definition, Refused};
use crate::scalar::operand::{append, build_strings, nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

/// A FixedString is accepted neither as the pattern nor as a constant text.
const REPLACEMENTS: &[Refused] =
    &[Refused::all(1, ErrorCode::IllegalTypeOfArgument), Refused::constant(0, ErrorCode::IllegalColumn)];

pub(super) static REPLACE_ONE: Definition =
    Definition::new("replaceOne", Arity::Exactly(3), |call| bind_plain(call, 1))
        .refuses_fixed_string(REPLACEMENTS);

pub(super) static REPLACE_ALL: Definition =
    Definition::new("replaceAll", Arity::Exactly(3), |call| bind_plain(call, usize::MAX))
        .aliases(&["replace"])
        .case_insensitive()
        .refuses_fixed_string(REPLACEMENTS);

pub(super) static REPLACE_REGEXP_ONE: Definition =
    Definition::new("replaceRegexpOne", Arity::Exactly(3), |call| bind_regexp(call, 1))
        .refuses_fixed_string(REPLACEMENTS);

pub(super) static REPLACE_REGEXP_ALL: Definition =
    Definition::new("replaceRegexpAll", Arity::Exactly(3), |call| bind_regexp(call, usize::MAX))
        .aliases(&["REGEXP_REPLACE"])
        .case_insensitive()
        .refuses_fixed_string(REPLACEMENTS);

fn expect_strings(call: &Call<'_>) -> Result<()> {
    (0..3).try_for_each(|index| call.expect_string(index))
}

fn bind_plain(call: &Call<'_>, most: usize) -> Result<Bound> {
    expect_strings(call)?;
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let (texts, needles, replacements) = (args[0].bytes()?, args[1].bytes()?, args[2].bytes()?);
        let constant = needles.constant().map(|needle| Finder::new(needle).into_owned());
        Ok(Arc::new(build_strings(rows_needed(args, rows), |row, out| {
            let (text, replacement) = (texts.get(row), replacements.get(row));
            match &constant {
                Some(finder) => replace(text, finder, replacement, most, out),
                None => replace(text, &Finder::new(needles.get(row)), replacement, most, out),
            }
        })?))
    }))
}

fn replace(
    text: &[u8],
    finder: &Finder<'_>,
    replacement: &[u8],
    most: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let needle = finder.needle().len();
    let mut copied = 0;
    if needle > 0 {
        for at in finder.find_iter(text).take(most) {
            append(out, &text[copied..at])?;
            append(out, replacement)?;
            copied = at + needle;
        }
    }
    append(out, &text[copied..])
}

fn bind_regexp(call: &Call<'_>, most: usize) -> Result<Bound> {
    expect_strings(call)?;
    let constant = call.constant_bytes(1).map(compile).transpose()?;
    if let (Some(regexp), Some(replacement)) = (&constant, call.constant_bytes(2)) {
        parse_replacement(replacement, regexp)?;
    }
    Ok(Bound::of(SqlType::String, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (texts, patterns, replacements) = (args[0].bytes()?, args[1].bytes()?, args[2].bytes()?);
        let nulls = nulls_of(args, rows);
        Ok(Arc::new(build_strings(rows, |row, out| {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                return Ok(());
            }
            match &constant {
                Some(regexp) => replace_regexp(texts.get(row), regexp, replacements.get(row), most, out),
                None => {
                    let regexp = compile(patterns.get(row))?;
                    replace_regexp(texts.get(row), &regexp, replacements.get(row), most, out)
                }
            }
        })?))
    }))
}

/// A part of a replacement.
#[derive(Debug, PartialEq)]
enum ReplacementPart<'a> {
    Literal(&'a [u8]),
    Group(usize),
}

fn parse_replacement<'a>(replacement: &'a [u8], regexp: &Regex) -> Result<Vec<ReplacementPart<'a>>> {
    let groups = regexp.captures_len() - 1;
    let mut parts = Vec::new();
    let mut rest = replacement;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        parts.push(ReplacementPart::Literal(&rest[..at]));
        match rest.get(at + 1) {
            Some(digit @ b'0'..=b'9') => {
                let group = usize::from(digit - b'0');
                if group > groups {
                    bail!(
                        BadArguments,
                        "`\\{group}` in a replacement: the regular expression has {groups} groups"
                    );
                }
                parts.push(ReplacementPart::Group(group));
            }
            // A backslash escapes a backslash; before any other character it is dropped.
            Some(_) => parts.push(ReplacementPart::Literal(&rest[at + 1..at + 2])),
            None => parts.push(ReplacementPart::Literal(b"\\")),
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    parts.push(ReplacementPart::Literal(rest));
    Ok(parts)
}

fn replace_regexp(
    text: &[u8],
    regexp: &Regex,
    replacement: &[u8],
    most: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if regexp.as_str().is_empty() {
        return append(out, text);
    }
    let parts = parse_replacement(replacement, regexp)?;
    let mut copied = 0;
    for captures in regexp.captures_iter(text).take(most) {
        let Some(whole) = captures.get(0) else { break };
        append(out, &text[copied..whole.start()])?;
        for part in &parts {
            match part {
                ReplacementPart::Literal(literal) => append(out, literal)?,
                ReplacementPart::Group(group) => {
                    append(out, captures.get(*group).map_or(b"", |group| group.as_bytes()))?;
                }
            }
        }
        copied = whole.end();
    }
    append(out, &text[copied..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, pattern: &str, replacement: &str, most: usize, expected: &str) {
        let mut out = Vec::new();
        let regexp = compile(pattern.as_bytes()).unwrap();
        replace_regexp(text.as_bytes(), &regexp, replacement.as_bytes(), most, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn groups_and_empty_matches() {
        check("hello", "l+", "[\\0]", 1, "he[ll]o");
        check("hello", "(h)(e)", "\\2\\1", usize::MAX, "ehllo");
        check("hello", "", "x", usize::MAX, "hello");
        check("hello", "^", "x", usize::MAX, "xhello");
        check("hello", "l*", "x", 1, "xhello");
        check("aXbX", "x*", "-", usize::MAX, "-a-X-b-X-");
        check("abc", "b", "\\\\", 1, "a\\c");
        check("abc", "b", "\\a", 1, "aac");
        let regexp = compile(b"b").unwrap();
        assert!(parse_replacement(b"\\3", &regexp).is_err());
    }
}
