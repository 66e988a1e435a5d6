//! Rust source with its strings and comments blanked, and the functions in it.
//!
//! A lexer of only those tokens that can contain a brace: good enough for counting lines.

/// A function and its number of lines, from `fn` to the closing brace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// From 1.
    pub(super) line: usize,
    pub(super) lines: usize,
}

/// `source` up to its test module.
pub(super) fn without_tests(source: &str) -> &str {
    source.find("#[cfg(test)]\nmod tests").map_or(source, |end| &source[..end])
}

/// Every byte of a string, a character or a comment replaced by a space; lines stay where they are.
pub(super) fn blank(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let length = literal_length(&bytes[at..], at > 0 && is_word(bytes[at - 1]));
        if length > 0 {
            for byte in &mut out[at..at + length] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        at += length.max(1);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Bytes of the string, character or comment that `rest` begins with; 0 if it begins with none.
fn literal_length(rest: &[u8], in_word: bool) -> usize {
    let until = |mark: &[u8], from: usize| {
        let found = rest[from.min(rest.len())..].windows(mark.len()).position(|window| window == mark);
        found.map_or(rest.len(), |at| from + at + mark.len())
    };
    match rest {
        [b'/', b'/', ..] => until(b"\n", 0),
        [b'/', b'*', ..] => until(b"*/", 2),
        [b'r', b'"' | b'#', ..] | [b'b', b'r', b'"' | b'#', ..] if !in_word => {
            let hashes = rest.iter().skip_while(|byte| **byte != b'#' && **byte != b'"');
            let hashes = hashes.take_while(|byte| **byte == b'#').count();
            let open = rest.iter().position(|byte| *byte == b'"').unwrap_or(0);
            // `r#name` is a name.
            if open > hashes + 2 || open == 0 { 0 } else { until(&closing(hashes), open + 1) }
        }
        [b'"', ..] => quoted(rest, b'"'),
        [b'\'', b'\\', ..] => quoted(rest, b'\''),
        // A lifetime has no closing quote right after one character.
        [b'\'', _, b'\'', ..] => 3,
        _ => 0,
    }
}

fn closing(hashes: usize) -> Vec<u8> {
    let mut mark = vec![b'"'];
    mark.resize(1 + hashes, b'#');
    mark
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Every function with a body in `blanked`, which [`blank`] made.
pub(super) fn functions(blanked: &str) -> Vec<Function> {
    let bytes = blanked.as_bytes();
    let mut found = Vec::new();
    for (at, _) in blanked.match_indices("fn ") {
        if at > 0 && is_word(bytes[at - 1]) {
            continue;
        }
        let name: String =
            blanked[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() {
            continue;
        }
        if let Some(end) = body_end(&blanked[at..]) {
            let line = count_lines(&blanked[..at]) + 1;
            found.push(Function { name, line, lines: count_lines(&blanked[at..at + end]) + 1 });
        }
    }
    found
}

fn count_lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Where the body ends that follows a signature; `None` for a signature alone.
fn body_end(text: &str) -> Option<usize> {
    let (mut depth, mut brackets) = (0usize, 0usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' if depth == 0 => brackets += 1,
            b')' | b']' if depth == 0 => brackets = brackets.saturating_sub(1),
            b';' if depth == 0 && brackets == 0 => return None,
            b'{' => depth += 1,
            b'}' if depth <= 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_in_strings_and_comments_do_not_count() {
        let source = "fn a() {\n  let x = \"}\"; // }\n  let y = '}'; /* } */ r#\"}\"#;\n}\nfn b<'a>() {}\n";
        let found = functions(&blank(source));
        let lines: Vec<(&str, usize, usize)> =
            found.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(lines, [("a", 1, 4), ("b", 5, 1)]);
    }

    #[test]
    fn signatures_without_a_body_are_no_functions() {
        assert_eq!(functions("trait T {\n fn a(&self, x: [u8; 3]);\n}\n"), []);
    }

    #[test]
    fn raw_names_are_no_strings() {
        assert_eq!(blank("r#type x"), "r#type x");
        assert_eq!(blank("x = r\"{\";"), "x =     ;");
    }

    #[test]
    fn tests_are_cut_off() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\n}"), "a\n");
    }
}
