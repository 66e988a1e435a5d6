//! Strings, quoted names and heredocs: their ends and their values.

/// The longest tag of a heredoc, in bytes.
const HEREDOC_TAG_MAX: usize = 64;

/// The byte after the closing quote of the text that starts at `start`; `None` if it is not closed. A backslash or
/// doubling escapes the quote.
pub(super) fn quoted_end(source: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut position = start + 1;
    loop {
        position += memchr::memchr2(quote, b'\\', source.get(position..)?)?;
        let escaped = source[position] == b'\\' || source.get(position + 1) == Some(&quote);
        if !escaped {
            return Some(position + 1);
        }
        position += 2;
    }
}

/// The byte after the closing quote of the text that starts at `start`, where only doubling escapes the quote.
pub(super) fn plain_end(source: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut position = start + 1;
    loop {
        position += memchr::memchr(quote, source.get(position..)?)?;
        if source.get(position + 1) != Some(&quote) {
            return Some(position + 1);
        }
        position += 2;
    }
}

/// The bytes of a quoted token of the Postgres dialect: `'..'` and `".."` without escapes, or `E'..'` with them.
pub(crate) fn unquote_postgres(token: &[u8]) -> Vec<u8> {
    match token {
        [b'E' | b'e', rest @ ..] => unquote(rest),
        [quote @ (b'\'' | b'"'), body @ .., _] => undouble(body, *quote),
        _ => unquote(token),
    }
}

fn undouble(body: &[u8], quote: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(length) = memchr::memchr(quote, rest) {
        bytes.extend_from_slice(&rest[..=length]);
        rest = rest.get(length + 2..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
    bytes
}

/// The bytes of a quoted token, escapes undone. `token` has its quotes.
pub(crate) fn unquote(token: &[u8]) -> Vec<u8> {
    let Some((&quote, body)) = token.split_first() else {
        return Vec::new();
    };
    let body = &body[..body.len().saturating_sub(1)];
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(length) = memchr::memchr2(quote, b'\\', rest) {
        bytes.extend_from_slice(&rest[..length]);
        let escaped = rest[length] == b'\\';
        rest = &rest[length + 1..];
        if escaped {
            rest = unescape(rest, &mut bytes);
        } else {
            bytes.push(quote);
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    bytes.extend_from_slice(rest);
    bytes
}

/// Undoes one escape; `rest` starts after its backslash.
fn unescape<'a>(rest: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    let Some((&letter, mut rest)) = rest.split_first() else {
        bytes.push(b'\\');
        return rest;
    };
    match letter {
        b'x' if rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit) => {
            bytes.push(hex_value(rest[0]) << 4 | hex_value(rest[1]));
            rest = &rest[2..];
        }
        b'N' => {}
        b'a' => bytes.push(0x07),
        b'b' => bytes.push(0x08),
        b'e' => bytes.push(0x1b),
        b'f' => bytes.push(0x0c),
        b'n' => bytes.push(b'\n'),
        b'r' => bytes.push(b'\r'),
        b't' => bytes.push(b'\t'),
        b'v' => bytes.push(0x0b),
        b'0' => bytes.push(0),
        b'\\' | b'\'' | b'"' | b'`' | b'/' | b'=' => bytes.push(letter),
        // A tab or line break itself: some clients write it so.
        ..0x20 => bytes.push(letter),
        // An unknown escape keeps its backslash, so that patterns like '\d' survive.
        _ => bytes.extend_from_slice(&[b'\\', letter]),
    }
    rest
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.to_ascii_uppercase().wrapping_sub(b'A').wrapping_add(10),
    }
}

/// The opening `$tag$` of a heredoc at the start of `text`.
pub(super) fn heredoc_tag(text: &[u8]) -> Option<&[u8]> {
    let window = &text[..text.len().min(HEREDOC_TAG_MAX)];
    let name = window.strip_prefix(b"$")?;
    let length = name.iter().position(|&byte| byte == b'$')?;
    let valid = name[..length].iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    valid.then(|| &text[..length + 2])
}

/// The byte after the closing tag of the heredoc at `start`; `None` if it has none.
pub(super) fn heredoc_end(source: &[u8], start: usize) -> Option<usize> {
    let text = &source[start..];
    let tag = heredoc_tag(text)?;
    let length = memchr::memmem::find(&text[tag.len()..], tag)?;
    Some(start + 2 * tag.len() + length)
}

/// The text between the tags.
pub(crate) fn heredoc_body(token: &[u8]) -> &[u8] {
    let tag = heredoc_tag(token).map_or(0, <[u8]>::len);
    token.get(tag..token.len().saturating_sub(tag)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(token: &str, expected: &[u8]) {
        assert_eq!(unquote(token.as_bytes()), expected, "{token}");
    }

    #[test]
    fn escapes_are_undone() {
        check(r"'a\n\t\\\x41\0'", b"a\n\t\\A\0");
        check(r"'it''s \'it\''", b"it's 'it'");
        check(r"'\d\%\N'", br"\d\%");
        check(r"'\xff'", b"\xff");
    }

    #[test]
    fn heredoc_keeps_every_byte() {
        assert_eq!(heredoc_body(b"$t$ it's $$ $t$"), b" it's $$ ");
        assert_eq!(heredoc_body(b"$$$$"), b"");
    }
}
