//! A cursor over SQL literals: quoted strings, bare tokens, and brackets.

use basalt_base::{Error, ErrorCode, Result};

use super::escape::unquote;
use super::number::unreadable;

/// Reads literals from left to right.
#[derive(Clone, Debug)]
pub(crate) struct QuotedScanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> QuotedScanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> QuotedScanner<'a> {
        QuotedScanner { text, at: 0 }
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at.min(self.text.len());
    }

    /// The unread text.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    pub(crate) fn skip_spaces(&mut self) {
        let spaces = self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += spaces;
    }

    /// The next byte that is not a space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.skip_spaces();
        self.text.get(self.at).copied()
    }

    /// Skips spaces, then `wanted` if it is next.
    pub(crate) fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, wanted: u8) -> Result<()> {
        if self.eat(wanted) {
            return Ok(());
        }
        let what = unreadable(self.rest(), &format!("`{}`, which is expected here", char::from(wanted)));
        Err(Error::new(ErrorCode::CannotParseInput, what.message()))
    }

    /// Fails if anything but spaces is left.
    pub(crate) fn expect_end(&mut self) -> Result<()> {
        self.skip_spaces();
        if self.rest().is_empty() {
            return Ok(());
        }
        let what = unreadable(self.rest(), "expected after the value");
        Err(Error::new(ErrorCode::CannotParseInput, what.message()))
    }

    /// Appends the string that starts here, without quotes and escapes.
    pub(crate) fn string(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.peek() != Some(b'\'') {
            let what = unreadable(self.rest(), "a string in single quotes");
            return Err(Error::new(ErrorCode::CannotParseQuotedString, what.message()));
        }
        self.at += unquote(self.rest(), out)?;
        Ok(())
    }

    /// The bytes up to the next space, comma, colon, semicolon or bracket.
    pub(crate) fn token(&mut self) -> &'a [u8] {
        self.skip_spaces();
        let rest = self.rest();
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b",:;()[]{}'\"".contains(byte);
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Skips `NULL`, in any case, if it is next.
    pub(crate) fn eat_null(&mut self) -> bool {
        if !matches!(self.peek(), Some(b'N' | b'n')) {
            return false;
        }
        let start = self.at;
        let found = self.token().eq_ignore_ascii_case(b"NULL");
        if !found {
            self.at = start;
        }
        found
    }
}
