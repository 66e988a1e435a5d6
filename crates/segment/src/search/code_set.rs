//! A set of strings as codes: equality and IN over compressed strings.
//!
//! The longest token is always taken first, so equal strings have equal codes.

use basalt_codec::{TokenMatcher, Tokens};

/// The codes of strings, sorted.
pub(super) struct CodeSet(Vec<Box<[u16]>>);

impl CodeSet {
    pub(super) fn new(tokens: &Tokens, strings: &[Box<[u8]>]) -> CodeSet {
        let matcher = TokenMatcher::new(tokens);
        let encoded = strings.iter().map(|string| {
            let mut codes = Vec::new();
            matcher.encode(string, 0..string.len(), |code| codes.push(code));
            codes.into_boxed_slice()
        });
        let mut all: Vec<_> = encoded.collect();
        all.sort_unstable();
        CodeSet(all)
    }

    #[inline]
    pub(super) fn contains(&self, codes: &[u16]) -> bool {
        match &self.0[..] {
            [one] => **one == *codes,
            all => all.binary_search_by(|one| one[..].cmp(codes)).is_ok(),
        }
    }
}
