//! Escapes strings in each style, and back.

use basalt_base::{Error, ErrorCode, Result};
use memchr::{memchr, memchr2};

/// The escape letter of each byte; 0 for bytes that are not escaped.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[b'\\' as usize] = b'\\';
    table[b'\'' as usize] = b'\'';
    table[b'\n' as usize] = b'n';
    table[b'\t' as usize] = b't';
    table[b'\r' as usize] = b'r';
    table[0] = b'0';
    table[8] = b'b';
    table[12] = b'f';
    table
};

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Writes `text` with backslash escapes, as in TabSeparated fields and inside string literals.
pub fn write_escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut plain_from = 0;
    for (at, &byte) in text.iter().enumerate() {
        let letter = ESCAPES[usize::from(byte)];
        if letter != 0 {
            out.extend_from_slice(&text[plain_from..at]);
            out.extend_from_slice(&[b'\\', letter]);
            plain_from = at + 1;
        }
    }
    out.extend_from_slice(&text[plain_from..]);
}

/// Writes `text` as an SQL string literal.
pub fn write_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    write_escaped(text, out);
    out.push(b'\'');
}

/// Writes `text` as an SQL string literal in which quotes are doubled.
pub(super) fn write_doubling_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    let mut parts = text.split(|&byte| byte == b'\'');
    write_escaped(parts.next().unwrap_or_default(), out);
    for part in parts {
        out.extend_from_slice(b"''");
        write_escaped(part, out);
    }
    out.push(b'\'');
}

/// Writes `text` as the text of an XML element.
pub fn write_xml(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr2(b'<', b'&', rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(if rest[at] == b'<' { b"&lt;" } else { b"&amp;" });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Appends `bytes` with the replacement character for what is not UTF-8.
pub(crate) fn write_valid_utf8(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

/// Writes `text` as a quoted field of CSV: quotes are doubled, nothing else changes.
pub fn write_csv_quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        out.push(b'"');
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes `text` as a JSON string. Invalid UTF-8 is copied unchanged.
pub fn write_json_string(text: &[u8], escape_slashes: bool, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain_from = 0;
    for (at, &byte) in text.iter().enumerate() {
        // U+2028 and U+2029 end a line in JavaScript, though not in JSON.
        let line_separator = byte == 0xe2 && matches!(text.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9]));
        let plain = byte >= 0x20 && !matches!(byte, b'"' | b'\\' | b'/') && !line_separator;
        if plain || (byte == b'/' && !escape_slashes) {
            continue;
        }
        out.extend_from_slice(&text[plain_from..at]);
        plain_from = at + 1;
        if line_separator {
            out.extend_from_slice(if text[at + 2] == 0xa8 { b"\\u2028" } else { b"\\u2029" });
            plain_from = at + 3;
        } else {
            write_json_escape(byte, out);
        }
    }
    out.extend_from_slice(&text[plain_from..]);
    out.push(b'"');
}

fn write_json_escape(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\t' => out.extend_from_slice(b"\\t"),
        b'\r' => out.extend_from_slice(b"\\r"),
        8 => out.extend_from_slice(b"\\b"),
        12 => out.extend_from_slice(b"\\f"),
        0..0x20 => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        other => out.extend_from_slice(&[b'\\', other]),
    }
}

/// Appends `text` with its backslash escapes decoded. Unknown escapes stay unchanged.
pub fn unescape(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + unescape_one(&rest[at..], out)?..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Decodes the escape at the start of `text`; returns its length.
fn unescape_one(text: &[u8], out: &mut Vec<u8>) -> Result<usize> {
    let Some(&letter) = text.get(1) else {
        let what = "a backslash at the end of the text escapes nothing";
        return Err(Error::new(ErrorCode::CannotParseEscapeSequence, what));
    };
    let byte = match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'0' => 0,
        b'b' => 8,
        b'f' => 12,
        b'a' => 7,
        b'v' => 11,
        b'e' => 27,
        b'\\' | b'\'' | b'"' | b'`' | b'/' | b'=' | b'\n' | b'\t' => letter,
        // NULL inside a string is an empty string.
        b'N' => return Ok(2),
        b'x' => {
            let digits = text.get(2..4).and_then(|digits| Some((hex(digits[0])?, hex(digits[1])?)));
            let Some((high, low)) = digits else {
                let what = "`\\x` is not followed by two hexadecimal digits";
                return Err(Error::new(ErrorCode::CannotParseEscapeSequence, what));
            };
            out.push(high << 4 | low);
            return Ok(4);
        }
        other => {
            out.extend_from_slice(&[b'\\', other]);
            return Ok(2);
        }
    };
    out.push(byte);
    Ok(2)
}

/// Appends the string literal that starts at `text[0]`, a single quote, without quotes and escapes; returns its
/// length.
pub fn unquote(text: &[u8], out: &mut Vec<u8>) -> Result<usize> {
    debug_assert_eq!(text.first(), Some(&b'\''));
    let mut at = 1;
    while let Some(found) = memchr2(b'\'', b'\\', &text[at..]) {
        out.extend_from_slice(&text[at..at + found]);
        at += found;
        if text[at] == b'\\' {
            at += unescape_one(&text[at..], out)?;
        } else if text.get(at + 1) == Some(&b'\'') {
            out.push(b'\'');
            at += 2;
        } else {
            return Ok(at + 1);
        }
    }
    Err(Error::new(ErrorCode::CannotParseQuotedString, "a string has no closing quote"))
}

/// The value of a hexadecimal digit.
pub(crate) fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unknown_escapes_stay() {
        let mut out = Vec::new();
        unescape(br"a\tb\\\x41\q\N", &mut out).unwrap();
        assert_eq!(out, b"a\tb\\A\\q");
        assert!(unescape(br"a\", &mut out).is_err());
        assert!(unescape(br"\x4", &mut out).is_err());
    }

    #[test]
    fn json_escapes_what_json_must() {
        let mut out = Vec::new();
        write_json_string("a\"\\/\u{1}\u{2028}\u{e9}\n".as_bytes(), true, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"\\\\\\/\\u0001\\u2028\u{e9}\\n\"");
    }

    proptest! {
        #[test]
        fn quoting_round_trips(text: Vec<u8>) {
            let (mut quoted, mut back) = (Vec::new(), Vec::new());
            write_quoted(&text, &mut quoted);
            prop_assert_eq!(unquote(&quoted, &mut back).unwrap(), quoted.len());
            prop_assert_eq!(&back, &text);
            back.clear();
            unescape(&quoted[1..quoted.len() - 1], &mut back).unwrap();
            prop_assert_eq!(back, text);
        }
    }
}
