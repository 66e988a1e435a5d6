//! LIKE and ILIKE patterns: `%` matches any bytes, `_` one character, and a backslash escapes them.

use basalt_base::{Result, bail};

/// A part of a LIKE pattern.
#[derive(Debug, PartialEq)]
pub(super) enum LikePart {
    Literal(Vec<u8>),
    AnyBytes,
    OneCharacter,
}

/// The parts of `pattern`. Two of [`LikePart::AnyBytes`], or of [`LikePart::Literal`], are never adjacent.
pub(super) fn like_parts(pattern: &[u8]) -> Result<Vec<LikePart>> {
    let mut parts = Vec::new();
    let mut bytes = pattern.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' if parts.last() == Some(&LikePart::AnyBytes) => {}
            b'%' => parts.push(LikePart::AnyBytes),
            b'_' => parts.push(LikePart::OneCharacter),
            b'\\' => match bytes.peek() {
                Some(&escaped @ (b'%' | b'_' | b'\\')) => {
                    bytes.next();
                    push_byte(escaped, &mut parts);
                }
                // Before any other character, a backslash is literal.
                Some(_) => push_byte(byte, &mut parts),
                None => bail!(
                    CannotParseEscapeSequence,
                    "LIKE pattern `{}` ends with a backslash that escapes nothing",
                    String::from_utf8_lossy(pattern)
                ),
            },
            other => push_byte(other, &mut parts),
        }
    }
    Ok(parts)
}

fn push_byte(byte: u8, parts: &mut Vec<LikePart>) {
    match parts.last_mut() {
        Some(LikePart::Literal(text)) => text.push(byte),
        _ => parts.push(LikePart::Literal(vec![byte])),
    }
}

/// The regular expression of `parts`, which matches whole texts.
pub(super) fn like_expression(parts: &[LikePart], ignore_case: bool) -> String {
    let mut expression = String::from(if ignore_case { "(?is)^" } else { "(?s)^" });
    for part in parts {
        match part {
            LikePart::Literal(text) => push_literal(text, &mut expression),
            LikePart::AnyBytes => expression.push_str("(?s-u:.)*"),
            // A character, or a byte of invalid UTF-8.
            LikePart::OneCharacter => expression.push_str("(?:.|(?-u:[\\x80-\\xff]))"),
        }
    }
    expression.push('$');
    expression
}

fn push_literal(text: &[u8], expression: &mut String) {
    for chunk in text.utf8_chunks() {
        expression.push_str(&regex_syntax::escape(chunk.valid()));
        chunk.invalid().iter().for_each(|byte| expression.push_str(&format!("(?-u:\\x{byte:02x})")));
    }
}
