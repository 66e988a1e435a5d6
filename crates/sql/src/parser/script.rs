//! A text of several statements, one after another.

use std::ops::Range;

use super::cursor::Cursor;
use crate::ast::Statement;
use crate::error::{Failure, ParseError};

/// Reads the statements of a text that `;` separates. An INSERT takes its inline data.
///
/// A failure ends the script, because the start of the next statement is unknown.
#[derive(Debug)]
pub struct Script<'a> {
    source: &'a [u8],
    position: usize,
}

/// A statement and its text, without surrounding blanks and without its `;`.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedStatement<'a> {
    pub statement: Statement,
    pub text: &'a [u8],
    /// The position of `text` in the script.
    pub span: Range<usize>,
}

impl<'a> Script<'a> {
    pub fn new(source: &'a [u8]) -> Script<'a> {
        Script { source, position: 0 }
    }

    /// The next statement; `None` at the end of the script. Offsets in a failure count from the start of the script.
    pub fn next_statement(&mut self) -> Option<Result<ParsedStatement<'a>, ParseError>> {
        let mut cursor = Cursor::new(self.source, self.position);
        cursor.eat_semicolons();
        if cursor.at_end() {
            self.position = self.source.len();
            return None;
        }
        let start = cursor.offset();
        let parsed = cursor.parse_statement().and_then(|statement| {
            if cursor.at_statement_end() {
                return Ok(statement);
            }
            cursor.note("`;`");
            Err(cursor.unexpected())
        });
        Some(parsed.map_err(|failure| self.fail(*failure)).map(|statement| {
            let end = cursor.offset();
            self.position = end;
            let text = self.source[start..end].trim_ascii_end();
            ParsedStatement { statement, text, span: start..start + text.len() }
        }))
    }

    fn fail(&mut self, failure: Failure) -> ParseError {
        self.position = self.source.len();
        ParseError::new(self.source, failure)
    }
}

impl<'a> Iterator for Script<'a> {
    type Item = Result<ParsedStatement<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_statement()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expected: &[&str]) {
        let texts: Vec<String> = Script::new(script.as_bytes())
            .map(|parsed| match parsed {
                Ok(parsed) => {
                    assert_eq!(&script.as_bytes()[parsed.span.clone()], parsed.text);
                    String::from_utf8_lossy(parsed.text).into_owned()
                }
                Err(error) => panic!("{error}"),
            })
            .collect();
        assert_eq!(texts, expected, "{script}");
    }

    #[test]
    fn statements_keep_their_text() {
        check(";; SELECT 1 ; -- two\nSELECT 2;\n", &["SELECT 1", "SELECT 2"]);
        check("", &[]);
        check("INSERT INTO t VALUES (1); SELECT 1", &["INSERT INTO t VALUES (1)", "SELECT 1"]);
        check("INSERT INTO t FORMAT CSV\n1\n2", &["INSERT INTO t FORMAT CSV\n1\n2"]);
    }

    #[test]
    fn a_failure_ends_the_script() {
        let mut script = Script::new(b"SELECT 1;\nSELEC 2; SELECT 3");
        assert!(script.next().is_some_and(|parsed| parsed.is_ok()));
        let Some(Err(error)) = script.next() else { panic!("the second statement is wrong") };
        assert_eq!((error.line(), error.column()), (2, 1));
        assert!(script.next().is_none());
    }
}
