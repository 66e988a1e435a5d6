//! A cursor over JSON that reads values in place, without building a tree.

use basalt_base::{Error, ErrorCode, Result};
use memchr::memchr2;

use super::escape::hex;
use super::number::unreadable;

/// Nesting limit of a skipped value.
const MAX_DEPTH: usize = 1_000;

/// Reads JSON from left to right.
#[derive(Clone, Debug)]
pub struct JsonScanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// The kind of the next value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonValue {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl<'a> JsonScanner<'a> {
    pub fn new(text: &'a [u8]) -> JsonScanner<'a> {
        JsonScanner { text, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    pub fn skip_spaces(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next byte that is not a space.
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_spaces();
        self.text.get(self.at).copied()
    }

    /// Skips spaces, then `wanted` if it is next.
    pub fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, wanted: u8) -> Result<()> {
        if self.eat(wanted) {
            return Ok(());
        }
        Err(self.error(&format!("`{}`, which is expected here", char::from(wanted))))
    }

    /// The kind of the next value, without consuming it.
    pub fn peek_value(&mut self) -> Result<JsonValue> {
        Ok(match self.peek() {
            Some(b'"') => JsonValue::String,
            Some(b'[') => JsonValue::Array,
            Some(b'{') => JsonValue::Object,
            Some(b't' | b'f') => JsonValue::Bool,
            Some(b'n') if self.rest().starts_with(b"null") => JsonValue::Null,
            // `nan` and `inf` are not JSON, but ClickHouse reads them.
            Some(b'-' | b'+' | b'.' | b'0'..=b'9' | b'n' | b'N' | b'i' | b'I') => JsonValue::Number,
            _ => return Err(self.error("a JSON value")),
        })
    }

    /// The string that starts here; it is copied to `scratch` if it has escapes.
    pub fn string<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Result<&'s [u8]>
    where
        'a: 's,
    {
        self.expect(b'"')?;
        let start = self.at;
        match self.next_quote_or_escape()? {
            b'"' => {
                let plain = &self.text[start..self.at];
                self.at += 1;
                Ok(plain)
            }
            _ => {
                scratch.clear();
                scratch.extend_from_slice(&self.text[start..self.at]);
                self.escaped_string(scratch)?;
                Ok(scratch)
            }
        }
    }

    /// Continues from an escape to the end of the string.
    fn escaped_string(&mut self, out: &mut Vec<u8>) -> Result<()> {
        loop {
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Ok(());
            }
            self.escape(out)?;
            let start = self.at;
            self.next_quote_or_escape()?;
            out.extend_from_slice(&self.text[start..self.at]);
        }
    }

    /// Moves to the next quote or backslash, and returns it.
    fn next_quote_or_escape(&mut self) -> Result<u8> {
        match memchr2(b'"', b'\\', self.rest()) {
            Some(found) => {
                self.at += found;
                Ok(self.text[self.at])
            }
            None => {
                let what = "a JSON string has no closing quote";
                Err(Error::new(ErrorCode::CannotParseQuotedString, what))
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let letter = self.text.get(self.at + 1).copied();
        let byte = match letter {
            Some(letter @ (b'"' | b'\\' | b'/')) => letter,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode_escape(out),
            _ => return Err(self.error("an escape that JSON has")),
        };
        out.push(byte);
        self.at += 2;
        Ok(())
    }

    /// Decodes `\uXXXX`, or a surrogate pair of them.
    fn unicode_escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let high = self.unicode_unit(self.at).ok_or_else(|| self.error("`\\u` and four digits"))?;
        self.at += 6;
        let mut code = u32::from(high);
        if (0xd800..0xdc00).contains(&high)
            && let Some(low @ 0xdc00..0xe000) = self.unicode_unit(self.at)
        {
            self.at += 6;
            code = 0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
        }
        // An unpaired surrogate is no character.
        let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn unicode_unit(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0_u16, |code, &digit| Some(code << 4 | u16::from(hex(digit)?)))
    }

    /// The bytes of a number or a word, up to the first other byte.
    pub fn token(&mut self) -> &'a [u8] {
        self.skip_spaces();
        let rest = self.rest();
        let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
        let len = rest.iter().take_while(|byte| belongs(byte)).count();
        self.at += len;
        &rest[..len]
    }

    /// Skips a value of any kind and returns its bytes.
    pub fn skip_value(&mut self) -> Result<&'a [u8]> {
        self.skip_spaces();
        let start = self.at;
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => self.skip_string()?,
                Some(bracket @ (b'{' | b'[')) => {
                    if open.len() == MAX_DEPTH {
                        let what = format!("JSON is nested more than {MAX_DEPTH} deep");
                        return Err(Error::new(ErrorCode::TooDeepRecursion, what));
                    }
                    open.push(if bracket == b'{' { b'}' } else { b']' });
                    self.at += 1;
                }
                Some(bracket @ (b'}' | b']')) if open.last() == Some(&bracket) => {
                    open.pop();
                    self.at += 1;
                }
                Some(b',' | b':') if !open.is_empty() => self.at += 1,
                _ if self.token().is_empty() => return Err(self.error("a JSON value")),
                _ => {}
            }
            if open.is_empty() {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    fn skip_string(&mut self) -> Result<()> {
        self.at += 1;
        while self.next_quote_or_escape()? == b'\\' {
            // The escaped byte may be a quote; it must exist.
            self.at = (self.at + 2).min(self.text.len());
        }
        self.at += 1;
        Ok(())
    }

    /// The error for an unexpected next byte.
    #[cold]
    pub fn error(&self, expected: &str) -> Error {
        let error = match self.rest() {
            [] => return Error::new(ErrorCode::UnexpectedEndOfFile, format!("JSON ends before {expected}")),
            rest => unreadable(rest, expected),
        };
        Error::new(ErrorCode::CannotParseInput, error.message())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::escape::write_json_string;
    use super::*;

    #[test]
    fn escapes_and_pairs_are_read() {
        let mut scratch = Vec::new();
        let mut scanner = JsonScanner::new(br#" "a\u00e9\ud83d\ude00\/\n\ud800" "#);
        let text = scanner.string(&mut scratch).unwrap();
        assert_eq!(text, "a\u{e9}\u{1f600}/\n\u{fffd}".as_bytes());
    }

    #[test]
    fn skipping_knows_brackets_and_strings() {
        let text = br#"{"a":[1,{"b":"}]\""}],"c":null} rest"#;
        let mut scanner = JsonScanner::new(text);
        assert_eq!(scanner.skip_value().unwrap(), &text[..text.len() - 5]);
        let deep = "[".repeat(100_000);
        assert!(JsonScanner::new(deep.as_bytes()).skip_value().is_err());
        for bad in ["", "{", "[1", "\"a", "}", "[}", "\"\\"] {
            assert!(JsonScanner::new(bad.as_bytes()).skip_value().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn strings_round_trip(text: Vec<u8>, slashes: bool) {
            let (mut written, mut scratch) = (Vec::new(), Vec::new());
            write_json_string(&text, slashes, &mut written);
            let mut scanner = JsonScanner::new(&written);
            prop_assert_eq!(scanner.string(&mut scratch).unwrap(), &text[..]);
            prop_assert_eq!(JsonScanner::new(&written).skip_value().unwrap(), &written[..]);
        }
    }
}
