//! `like`, `notLike`, `ilike`, `notILike`, `match`: whether a string matches a pattern.
//!
//! Syntax: `like(s, pattern)`, `match(s, regexp)`; 1 or 0 as UInt8. In a LIKE pattern `%` matches any bytes and `_`
//! one character; a backslash escapes them. A pattern without `_` becomes searches for its literal parts, any other
//! pattern a regular expression. A constant pattern is compiled once. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{Array, AsArray, UInt8Array};
use basalt_base::re2::to_regex_syntax;
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};
use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use super::contains::contains;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::pace::Pace;
use crate::scalar::{Arity, Bound, Operand};

/// The cost of compiling a pattern, in units of inspecting a byte.
const COMPILED_UNITS: usize = 1 << 14;

pub(super) static LIKE: Definition =
    Definition::new("like", Arity::Exactly(2), |call| bind(call, Matcher::like, true));

pub(super) static NOT_LIKE: Definition =
    Definition::new("notLike", Arity::Exactly(2), |call| bind(call, Matcher::like, false));

pub(super) static ILIKE: Definition =
    Definition::new("ilike", Arity::Exactly(2), |call| bind(call, Matcher::ilike, true));

pub(super) static NOT_ILIKE: Definition =
    Definition::new("notILike", Arity::Exactly(2), |call| bind(call, Matcher::ilike, false));

pub(super) static MATCH: Definition =
    Definition::new("match", Arity::Exactly(2), |call| bind(call, Matcher::regexp, true))
        .aliases(&["REGEXP_MATCHES"])
        .case_insensitive();

fn bind(call: &Call<'_>, compile: fn(&[u8]) -> Result<Matcher>, answer: bool) -> Result<Bound> {
    call.expect_string(0)?;
    call.expect_string(1)?;
    let constant = call.constant_bytes(1).map(compile).transpose()?;
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (text, patterns) = (args[0].bytes()?, args[1].bytes()?);
        if let Some(Matcher::Contains(finder)) = &constant
            && let Some(strings) = args[0].array.as_binary_view_opt().filter(|strings| strings.len() == rows)
        {
            let flags = contains(strings, finder).into_iter().map(|found| u8::from(found == answer));
            return Ok(Arc::new(UInt8Array::from_iter_values(flags)));
        }
        if let Some(matcher) = &constant {
            let mut pace = Pace::default();
            let flag = |row| {
                let text = text.get(row);
                pace.step(text.len())?;
                Ok(u8::from(matcher.matches(text) == answer))
            };
            return Ok(Arc::new(UInt8Array::from((0..rows).map(flag).collect::<Result<Vec<_>>>()?)));
        }
        let nulls = nulls_of(args, rows);
        let mut pace = Pace::default();
        let mut last: Option<(&[u8], Matcher)> = None;
        let mut flags = Vec::with_capacity(rows);
        for row in 0..rows {
            let pattern = patterns.get(row);
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                flags.push(0);
                continue;
            }
            pace.step(text.get(row).len())?;
            if last.as_ref().is_none_or(|(compiled, _)| *compiled != pattern) {
                pace.step(COMPILED_UNITS)?;
                last = Some((pattern, compile(pattern)?));
            }
            let matches = last.as_ref().is_some_and(|(_, matcher)| matcher.matches(text.get(row)));
            flags.push(u8::from(matches == answer));
        }
        Ok(Arc::new(UInt8Array::from(flags)))
    }))
}

/// A compiled pattern.
pub(super) enum Matcher {
    /// `%`.
    Anything,
    /// No wildcards.
    Exactly(Vec<u8>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(Box<Finder<'static>>),
    /// Literal parts with `%` between them; the first and the last may be empty.
    Parts {
        prefix: Vec<u8>,
        middle: Vec<Finder<'static>>,
        suffix: Vec<u8>,
    },
    Regexp(Regex),
}

/// A part of a LIKE pattern.
#[derive(Debug, PartialEq)]
enum Token {
    Literal(Vec<u8>),
    AnyBytes,
    OneCharacter,
}

impl Matcher {
    fn like(pattern: &[u8]) -> Result<Matcher> {
        let tokens = tokens_of(pattern)?;
        if tokens.contains(&Token::OneCharacter) {
            return Matcher::from_tokens(&tokens, false);
        }
        let literal = |token: Option<&Token>| match token {
            Some(Token::Literal(text)) => text.clone(),
            _ => Vec::new(),
        };
        Ok(match &tokens[..] {
            [] => Matcher::Exactly(Vec::new()),
            [Token::AnyBytes] => Matcher::Anything,
            [Token::Literal(text)] => Matcher::Exactly(text.clone()),
            [Token::Literal(text), Token::AnyBytes] => Matcher::Prefix(text.clone()),
            [Token::AnyBytes, Token::Literal(text)] => Matcher::Suffix(text.clone()),
            [Token::AnyBytes, Token::Literal(text), Token::AnyBytes] => {
                Matcher::Contains(Box::new(Finder::new(text).into_owned()))
            }
            [first, middle @ .., last] => Matcher::Parts {
                prefix: literal(Some(first)),
                middle: middle
                    .iter()
                    .filter_map(|token| if let Token::Literal(text) = token { Some(text) } else { None })
                    .map(|text| Finder::new(text).into_owned())
                    .collect(),
                suffix: literal(Some(last)),
            },
            [_] => Matcher::Anything,
        })
    }

    fn ilike(pattern: &[u8]) -> Result<Matcher> {
        Matcher::from_tokens(&tokens_of(pattern)?, true)
    }

    fn regexp(pattern: &[u8]) -> Result<Matcher> {
        compile(pattern).map(Matcher::Regexp)
    }

    /// A LIKE pattern as a regular expression.
    fn from_tokens(tokens: &[Token], ignore_case: bool) -> Result<Matcher> {
        let mut regexp = String::from(if ignore_case { "(?is)^" } else { "(?s)^" });
        for token in tokens {
            match token {
                Token::Literal(text) => push_literal(text, &mut regexp),
                Token::AnyBytes => regexp.push_str("(?s-u:.)*"),
                // A character, or a byte of invalid UTF-8.
                Token::OneCharacter => regexp.push_str("(?:.|(?-u:[\\x80-\\xff]))"),
            }
        }
        regexp.push('$');
        build(&regexp).map(Matcher::Regexp).map_err(|reason| wrong(&regexp, &reason))
    }

    pub(super) fn matches(&self, text: &[u8]) -> bool {
        match self {
            Matcher::Anything => true,
            Matcher::Exactly(literal) => text == literal,
            Matcher::Prefix(literal) => text.starts_with(literal),
            Matcher::Suffix(literal) => text.ends_with(literal),
            Matcher::Contains(finder) => finder.find(text).is_some(),
            Matcher::Parts { prefix, middle, suffix } => matches_parts(text, prefix, middle, suffix),
            Matcher::Regexp(regexp) => regexp.is_match(text),
        }
    }
}

/// Whether the parts occur in order without overlap. The first occurrence of each part is always sufficient.
fn matches_parts(text: &[u8], prefix: &[u8], middle: &[Finder<'static>], suffix: &[u8]) -> bool {
    let Some(mut rest) = text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)) else {
        return false;
    };
    for finder in middle {
        match finder.find(rest) {
            Some(at) => rest = &rest[at + finder.needle().len()..],
            None => return false,
        }
    }
    true
}

fn tokens_of(pattern: &[u8]) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut literal = Vec::new();
    let flush = |literal: &mut Vec<u8>, tokens: &mut Vec<Token>| {
        if !literal.is_empty() {
            tokens.push(Token::Literal(std::mem::take(literal)));
        }
    };
    let mut bytes = pattern.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                flush(&mut literal, &mut tokens);
                // `%%` is `%`.
                if tokens.last() != Some(&Token::AnyBytes) {
                    tokens.push(Token::AnyBytes);
                }
            }
            b'_' => {
                flush(&mut literal, &mut tokens);
                tokens.push(Token::OneCharacter);
            }
            b'\\' => match bytes.peek() {
                Some(&escaped @ (b'%' | b'_' | b'\\')) => {
                    bytes.next();
                    literal.push(escaped);
                }
                // Before any other character, a backslash is literal.
                Some(_) => literal.push(byte),
                None => bail!(
                    CannotParseEscapeSequence,
                    "LIKE pattern `{}` ends with a backslash that escapes nothing",
                    String::from_utf8_lossy(pattern)
                ),
            },
            other => literal.push(other),
        }
    }
    flush(&mut literal, &mut tokens);
    Ok(tokens)
}

fn push_literal(text: &[u8], regexp: &mut String) {
    for chunk in text.utf8_chunks() {
        regexp.push_str(&regex::escape(chunk.valid()));
        chunk.invalid().iter().for_each(|byte| regexp.push_str(&format!("(?-u:\\x{byte:02x})")));
    }
}

/// Compiles a regular expression in which `.` also matches a line break.
pub(super) fn compile(pattern: &[u8]) -> Result<Regex> {
    let built = to_regex_syntax(pattern).map_err(|error| error.message().to_owned());
    built
        .and_then(|regexp| build(&regexp))
        .map_err(|reason| wrong(&String::from_utf8_lossy(pattern), &reason))
}

/// The compiled expression, or the reason why it is invalid.
fn build(regexp: &str) -> Result<Regex, String> {
    RegexBuilder::new(regexp).dot_matches_new_line(true).build().map_err(|error| reason_of(&error))
}

/// The library prints the position on several lines; the last line has the reason.
pub(super) fn reason_of(error: &regex::Error) -> String {
    let error = error.to_string();
    error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn wrong(regexp: &str, reason: &str) -> Error {
    let what = format!("cannot compile the regular expression `{regexp}`: {reason}");
    Error::new(ErrorCode::CannotCompileRegexp, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, pattern: &str, expected: bool) {
        let matcher = Matcher::like(pattern.as_bytes()).unwrap();
        assert_eq!(matcher.matches(text.as_bytes()), expected, "`{text}` like `{pattern}`");
        // The general form must agree with the specialized ones.
        let general = Matcher::from_tokens(&tokens_of(pattern.as_bytes()).unwrap(), false).unwrap();
        assert_eq!(general.matches(text.as_bytes()), expected, "`{text}` like `{pattern}` as a regexp");
    }

    #[test]
    fn like_matches_whole_strings() {
        check("abc", "a%", true);
        check("abc", "_b_", true);
        check("abc", "b", false);
        check("abc", "%", true);
        check("", "", true);
        check("", "%", true);
        check("a\nb", "a%b", true);
        check("\u{e0}bc", "_bc", true);
        check("aXbXc", "%X%X%", true);
        check("aXb", "%X%X%", false);
        check("aba", "ab%ba", false);
        check("a.c", "a.c", true);
        check("abc", "a.c", false);
    }

    #[test]
    fn backslash_takes_meaning_away() {
        check("a%c", "a\\%c", true);
        check("aXc", "a\\%c", false);
        check("a\\c", "a\\c", true);
        check("a\\b", "a\\\\b", true);
        assert!(Matcher::like(b"a\\").is_err());
    }
}
