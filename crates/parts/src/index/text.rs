//! Splits strings into n-grams and tokens for filters.
//!
//! An n-gram is n consecutive bytes. A token is a maximal run of ASCII letters, digits and bytes above ASCII.

use std::ops::Range;

/// The n-grams of `text`; none if it is shorter.
pub(crate) fn ngrams(text: &[u8], n: usize) -> impl Iterator<Item = &[u8]> {
    text.windows(n.max(1))
}

/// The positions of the tokens in `text`.
pub(crate) fn tokens(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].iter().position(|&byte| is_of_token(byte))?;
        let length = text[start..].iter().position(|&byte| !is_of_token(byte));
        at = length.map_or(text.len(), |length| start + length);
        Some(start..at)
    })
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_runs_of_letters_and_digits() {
        let found =
            |text: &'static str| -> Vec<&str> { tokens(text.as_bytes()).map(|at| &text[at]).collect() };
        assert_eq!(found("GET /index.html?x=1"), ["GET", "index", "html", "x", "1"]);
        assert_eq!(found("one"), ["one"]);
        assert_eq!(found("--"), Vec::<&str>::new());
        assert_eq!(ngrams(b"abcd", 3).collect::<Vec<_>>(), [b"abc", b"bcd"]);
        assert_eq!(ngrams(b"ab", 3).count(), 0);
    }
}
