//! Any bytes are a regular expression in the syntax of `regex`, or an error; quoted, they match themselves.

use basalt_base::re2::to_regex_syntax;
use regex::bytes::{Regex, RegexBuilder};

/// A count in braces makes a program of a few bytes large.
const PROGRAM_BYTES_MAX: usize = 1 << 20;

/// Panics if the promise is broken.
pub fn run(pattern: &[u8]) {
    if let Ok(syntax) = to_regex_syntax(pattern) {
        // `regex` refuses errors of both syntaxes, such as a group without an end.
        let _ = RegexBuilder::new(&syntax).size_limit(PROGRAM_BYTES_MAX).build();
    }
    // `\E` would end the quotation.
    if !pattern.windows(2).any(|pair| pair == b"\\E") && pattern.last() != Some(&b'\\') {
        let quoted = [b"\\Q", pattern, b"\\E"].concat();
        let syntax = to_regex_syntax(&quoted).expect("quoted text is an expression");
        let regex = Regex::new(&syntax).expect("quoted text is no operator");
        let text = [b"before ", pattern, b" behind"].concat();
        assert!(regex.is_match(&text), "{}", String::from_utf8_lossy(pattern));
    }
}
