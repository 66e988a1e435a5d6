//! The text of arrays: `{1,NULL,"a b"}`.

use basalt_base::{Error, ErrorCode, Result};

/// Arrays in arrays.
const DEPTH_MAX: usize = 32;

/// An array as its text says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Null,
    Value(Vec<u8>),
    Array(Vec<Element>),
}

/// Appends an element, in quotes if it needs them.
pub(super) fn put_element(text: &[u8], out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'{' | b'}' | b',' | b'"' | b'\\') || byte.is_ascii_whitespace();
    if !text.is_empty() && !text.eq_ignore_ascii_case(b"NULL") && !text.iter().any(special) {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// The elements of the text of an array.
pub(super) fn read_array(text: &[u8]) -> Result<Element> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.skip_blanks();
    if scanner.peek() == Some(b'[') {
        // Bounds such as `[0:2]=` have no meaning here.
        let start = text.iter().position(|byte| *byte == b'{').ok_or_else(|| malformed(text))?;
        scanner.at = start;
    }
    let array = scanner.array(0)?;
    scanner.skip_blanks();
    if scanner.at < text.len() {
        return Err(malformed(text));
    }
    Ok(array)
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Element> {
        if self.peek() != Some(b'{') || depth > DEPTH_MAX {
            return Err(malformed(self.text));
        }
        self.at += 1;
        self.skip_blanks();
        let mut elements = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Element::Array(elements));
        }
        loop {
            self.skip_blanks();
            elements.push(match self.peek() {
                Some(b'{') => self.array(depth + 1)?,
                Some(b'"') => Element::Value(self.quoted()?),
                _ => self.bare()?,
            });
            self.skip_blanks();
            self.at += 1;
            match self.text.get(self.at - 1) {
                Some(b',') => {}
                Some(b'}') => return Ok(Element::Array(elements)),
                _ => return Err(malformed(self.text)),
            }
        }
    }

    fn quoted(&mut self) -> Result<Vec<u8>> {
        self.at += 1;
        let mut value = Vec::new();
        loop {
            let byte = self.peek().ok_or_else(|| malformed(self.text))?;
            self.at += 1;
            match byte {
                b'"' => return Ok(value),
                b'\\' => {
                    value.push(self.peek().ok_or_else(|| malformed(self.text))?);
                    self.at += 1;
                }
                other => value.push(other),
            }
        }
    }

    fn bare(&mut self) -> Result<Element> {
        let mut value = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b',' | b'}' => break,
                b'{' | b'"' => return Err(malformed(self.text)),
                b'\\' => {
                    self.at += 1;
                    value.push(self.peek().ok_or_else(|| malformed(self.text))?);
                }
                other => value.push(other),
            }
            self.at += 1;
        }
        let value = value.trim_ascii_end().to_vec();
        match value.is_empty() {
            true => Err(malformed(self.text)),
            false if value.eq_ignore_ascii_case(b"NULL") => Ok(Element::Null),
            false => Ok(Element::Value(value)),
        }
    }
}

fn malformed(text: &[u8]) -> Error {
    let shown: String = String::from_utf8_lossy(text).chars().take(100).collect();
    Error::new(ErrorCode::CannotParseText, format!("`{shown}` is not an array: expected elements in braces"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Element {
        Element::Value(text.into())
    }

    #[test]
    fn elements_come_back() {
        let mut text = b"{".to_vec();
        let elements = ["a", "", "NULL", "a b", "x\"y\\z", "{", "\u{e9}"];
        for (index, element) in elements.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            put_element(element.as_bytes(), &mut text);
        }
        text.push(b'}');
        assert_eq!(read_array(&text).expect("our own"), Element::Array(elements.map(value).to_vec()));
    }

    #[test]
    fn forms_of_postgres_are_read() {
        let rows = Element::Array(vec![
            Element::Array(vec![value("1"), Element::Null]),
            Element::Array(vec![value("3"), value("4")]),
        ]);
        assert_eq!(read_array(b" { {1, null},{3,4} } ").expect("an array"), rows);
        assert_eq!(
            read_array(b"[0:1]={1,2}").expect("an array"),
            Element::Array(vec![value("1"), value("2")])
        );
        assert_eq!(read_array(b"{}").expect("an array"), Element::Array(Vec::new()));
        for bad in ["", "1", "{", "{1", "{1,}", "{,}", "{\"a}", "{1}}", "{1\\", &"{".repeat(100)] {
            assert!(read_array(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
