//! The reason why a text is not SQL: the position, the token found there, and the tokens that would have fitted.

use std::fmt;

use basalt_base::suggest::nearest;
use basalt_base::{Error, ErrorCode};

/// How many expected words a message lists before it says "and n more".
const EXPECTED_MAX: usize = 16;
/// How many bytes of the source line a message shows on each side of the place.
const CONTEXT_BYTES: usize = 60;
/// How many bytes of the offending word a message repeats.
const FOUND_MAX: usize = 40;

/// A failed parse. `Display` gives the whole message, with the source line and a caret under the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    kind: ParseErrorKind,
    offset: usize,
    line: usize,
    column: usize,
    message: String,
}

/// The kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParseErrorKind {
    /// The text breaks the grammar.
    Syntax,
    /// Brackets, subqueries or chains of operators nest deeper than the parser goes.
    TooDeep,
    /// ClickHouse's grammar has it, Basalt's does not.
    NotImplemented,
    /// The grammar is right, but a value is not (for example a name that is not UTF-8).
    Value,
    /// The grammar is right, but the clauses contradict each other.
    Incorrect,
    /// A query parameter used as a name has no value.
    UnknownParameter,
}

/// A failure as the parser carries it: without the source, so that it is cheap to build.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ParseErrorKind,
    pub(crate) offset: usize,
    /// Byte after the token at `offset`.
    pub(crate) end: usize,
    pub(crate) message: String,
    pub(crate) expected: Vec<&'static str>,
}

impl ParseError {
    pub(crate) fn new(source: &[u8], failure: Failure) -> ParseError {
        let offset = failure.offset.min(source.len());
        let line_start = source[..offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = memchr::memchr_iter(b'\n', &source[..offset]).count() + 1;
        let column = String::from_utf8_lossy(&source[line_start..offset]).chars().count() + 1;
        let message = match failure.kind {
            ParseErrorKind::NotImplemented => format!("{} is not implemented", failure.message),
            ParseErrorKind::Incorrect | ParseErrorKind::UnknownParameter => failure.message,
            _ => describe(source, &failure, line, column) + &excerpt(source, line_start, offset),
        };
        ParseError { kind: failure.kind, offset, line, column, message }
    }

    pub fn kind(&self) -> ParseErrorKind {
        self.kind
    }

    /// The byte of the text at which the failure was noticed.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// From 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// In characters, from 1.
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Error {
        let code = match error.kind {
            ParseErrorKind::Syntax => ErrorCode::SyntaxError,
            ParseErrorKind::TooDeep => ErrorCode::TooDeepRecursion,
            ParseErrorKind::NotImplemented => ErrorCode::NotImplemented,
            ParseErrorKind::Value => ErrorCode::BadArguments,
            ParseErrorKind::Incorrect => ErrorCode::IncorrectQuery,
            ParseErrorKind::UnknownParameter => ErrorCode::UnknownQueryParameter,
        };
        Error::new(code, error.message)
    }
}

/// The sentence of the message: place, what was found, what was wrong or expected.
fn describe(source: &[u8], failure: &Failure, line: usize, column: usize) -> String {
    let start = failure.offset.min(source.len());
    let end = failure.end.clamp(start, source.len()).min(start + FOUND_MAX);
    let found = String::from_utf8_lossy(&source[start..end]);
    let near = if found.is_empty() { "the end of the query".to_owned() } else { format!("`{found}`") };
    let mut text = format!("syntax error at line {line}, column {column} near {near}");
    if !failure.message.is_empty() {
        text.push_str(": ");
        text.push_str(&failure.message);
    }
    text.push_str(&list_expected(&found, &failure.expected));
    text
}

/// The word nearest to what was found comes first.
fn list_expected(found: &str, expected: &[&'static str]) -> String {
    let near = nearest(found, expected.iter().copied());
    let mut words = expected.to_vec();
    words.sort_unstable_by_key(|word| (near != Some(word), *word));
    words.dedup();
    let Some((first, rest)) = words.split_first() else {
        return String::new();
    };
    if rest.is_empty() {
        return format!("; expected {first}");
    }
    let shown = &words[..words.len().min(EXPECTED_MAX)];
    let more = words.len() - shown.len();
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; expected one of: {}{tail}", shown.join(", "))
}

/// The source line, cut around the place, and a caret under it.
fn excerpt(source: &[u8], line_start: usize, offset: usize) -> String {
    let line_end = memchr::memchr(b'\n', &source[offset..]).map_or(source.len(), |length| offset + length);
    let from = line_start.max(offset.saturating_sub(CONTEXT_BYTES));
    let to = line_end.min(offset.saturating_add(CONTEXT_BYTES));
    let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(['\t', '\r', '\0'], " ");
    let (before, after) = (show(&source[from..offset]), show(&source[offset..to]));
    let indent = " ".repeat(before.chars().count());
    format!("\n  {before}{after}\n  {indent}^")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_shows_line_column_and_caret() {
        let failure = Failure {
            kind: ParseErrorKind::Syntax,
            offset: 11,
            end: 14,
            message: String::new(),
            expected: vec!["FROM", "WHERE", "FROM"],
        };
        let error = ParseError::new(b"SELECT\n  1 FRM t\nx", failure);
        assert_eq!((error.line(), error.column()), (2, 5));
        assert_eq!(
            error.to_string(),
            "syntax error at line 2, column 5 near `FRM`; expected one of: FROM, WHERE\n    1 FRM t\n      ^"
        );
    }
}
