//! Whether a statement is complete, for the editor: does Enter run the statement or add a line?
//!
//! This inspects only quotes, comments and brackets. If it is wrong, the engine's parser reports the error.

/// How complete a text is as a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Inside a string, a comment or brackets.
    Open,
    /// Nothing is open, but there is no terminator.
    Unterminated,
    /// Terminated by `;` or `\G`.
    Terminated,
}

pub(super) fn ending(text: &str) -> Ending {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut terminated) = (0, 0usize, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            quote @ (b'\'' | b'"' | b'`') => match quoted_length(rest, quote) {
                Some(length) => length,
                None => return Ending::Open,
            },
            b'-' if rest.starts_with(b"--") => {
                at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with(b"/*") => match rest.windows(2).skip(2).position(|pair| pair == b"*/") {
                Some(end) => {
                    at += end + 4;
                    continue;
                }
                None => return Ending::Open,
            },
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => 1,
        };
        depth = match rest[0] {
            b'(' | b'[' | b'{' => depth + 1,
            b')' | b']' | b'}' => depth.saturating_sub(1),
            _ => depth,
        };
        terminated = rest[0] == b';' || rest.starts_with(b"\\G");
        at += if rest.starts_with(b"\\G") { 2 } else { length };
    }
    match (terminated, depth) {
        (true, _) => Ending::Terminated,
        (false, 0) => Ending::Unterminated,
        (false, _) => Ending::Open,
    }
}

/// The length of a quoted text with its quotes; a backslash or doubling escapes.
fn quoted_length(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Ending) {
        assert_eq!(ending(text), expected, "{text}");
    }

    #[test]
    fn semicolon_and_backslash_g_end_a_statement() {
        check("SELECT 1;", Ending::Terminated);
        check("SELECT 1\\G  ", Ending::Terminated);
        check("SELECT 1; -- done", Ending::Terminated);
        check("SELECT 1; SELECT", Ending::Unterminated);
        check("", Ending::Unterminated);
    }

    #[test]
    fn strings_and_comments_hide_a_semicolon() {
        check("SELECT ';'", Ending::Unterminated);
        check("SELECT 'it''s;", Ending::Open);
        check("SELECT '\\';", Ending::Open);
        check("SELECT 1 -- ;", Ending::Unterminated);
        check("SELECT 1 /* ;", Ending::Open);
        check("SELECT 1 /* x */;", Ending::Terminated);
    }

    #[test]
    fn brackets_keep_a_statement_open() {
        check("SELECT (1", Ending::Open);
        check("SELECT (1)", Ending::Unterminated);
    }
}
