//! Finds the longest token that a text begins with.
//!
//! One hash table of all tokens of two bytes and more, asked for one length after the other, the longest
//! first. Which lengths there are is said by a filter over the first bytes, so most questions that
//! would be answered with no are not asked.

use super::{BYTES, TOKEN_BYTES_MAX, Text, Tokens};

const FILTER_BITS: u32 = 14;
const FREE: u32 = u32::MAX;
/// The hash of a prefix that the filter is asked for is of so many bytes.
const FILTER_BYTES: u32 = 3;

/// The codes of strings.
pub struct TokenMatcher {
    words: Vec<u128>,
    /// Codes, at most half as many as there are places.
    slots: Vec<u32>,
    shift: u32,
    /// Which lengths tokens of three and more bytes with these first three have: bit n for n + 1 bytes.
    filter: Vec<u16>,
}

impl TokenMatcher {
    pub fn new(tokens: &Tokens) -> TokenMatcher {
        let mut matcher = TokenMatcher::for_tokens(tokens.texts.len());
        (0..tokens.count).for_each(|code| matcher.add(code, tokens.text(code)));
        matcher
    }

    /// Without tokens, for at most `tokens`, which is a power of two.
    pub(super) fn for_tokens(tokens: usize) -> TokenMatcher {
        let slots = 2 * tokens;
        TokenMatcher {
            words: vec![0; tokens],
            slots: vec![FREE; slots],
            shift: u64::BITS - slots.trailing_zeros(),
            filter: vec![0; 1 << FILTER_BITS],
        }
    }

    /// Adds a token, or gives one that is there already another code.
    pub(super) fn add(&mut self, code: usize, text: &[u8]) {
        let word = word(text, 0);
        self.words[code] = word;
        if text.len() == 1 {
            return;
        }
        if text.len() >= FILTER_BYTES as usize {
            self.filter[filter_place(word)] |= 1 << (text.len() - 1);
        }
        let mut slot = self.first_slot(word, text.len());
        while self.slots[slot] != FREE {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = (text.len() as u32 - 1) << 16 | code as u32;
    }

    /// Appends the codes of `string`.
    pub fn encode(&self, string: &[u8], codes: &mut Vec<u16>) {
        let mut at = 0;
        while at < string.len() {
            let (code, length) = self.longest(string, at);
            codes.push(code);
            at += length;
        }
    }

    /// The code and the length of the longest token that stands at `at`, where there is a byte.
    #[inline]
    pub(super) fn longest(&self, string: &[u8], at: usize) -> (u16, usize) {
        let word = word(string, at);
        let rest = (string.len() - at).min(TOKEN_BYTES_MAX);
        let mut lengths = u32::from(self.filter[filter_place(word)]) & ((1 << rest) - 1);
        // Of two bytes there are so many that the filter would not help.
        lengths |= u32::from(rest > 1) << 1;
        while lengths > 0 {
            let length = (u32::BITS - lengths.leading_zeros()) as usize;
            if let Some(code) = self.find(front(word, length), length) {
                return (code, length);
            }
            lengths ^= 1 << (length - 1);
        }
        ((word as u16) % BYTES as u16, 1)
    }

    #[inline]
    fn find(&self, word: u128, length: usize) -> Option<u16> {
        let mut slot = self.first_slot(word, length);
        loop {
            let found = self.slots[slot];
            if found == FREE {
                return None;
            }
            let code = found as u16;
            if (found >> 16) as usize == length - 1 && self.words[usize::from(code)] == word {
                return Some(code);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    #[inline]
    fn first_slot(&self, word: u128, length: usize) -> usize {
        let folded = (word as u64 ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ ((word >> 64) as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        ((folded ^ folded >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> self.shift) as usize
    }
}

/// Up to sixteen bytes from `at` on as a number, zeroes behind them.
#[inline]
fn word(string: &[u8], at: usize) -> u128 {
    let rest = &string[at..];
    if let Some(text) = rest.first_chunk::<TOKEN_BYTES_MAX>() {
        return u128::from_le_bytes(*text);
    }
    let mut text: Text = [0; _];
    text[..rest.len()].copy_from_slice(rest);
    u128::from_le_bytes(text)
}

/// The first `length` bytes, 1 to 16.
#[inline]
fn front(word: u128, length: usize) -> u128 {
    word & (u128::MAX >> (u128::BITS - 8 * length as u32))
}

#[inline]
fn filter_place(word: u128) -> usize {
    let prefix = word as u32 & (u32::MAX >> (u32::BITS - 8 * FILTER_BYTES));
    (prefix.wrapping_mul(0x9e37_79b1) >> (u32::BITS - FILTER_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_token_is_found_and_never_one_beyond_the_end() {
        let mut matcher = TokenMatcher::for_tokens(512);
        for (at, text) in ["ab", "abc", "abcdefghi", "abcdefghijklmnop", "zz\0"].iter().enumerate() {
            matcher.add(256 + at, text.as_bytes());
        }
        let longest = |text: &str| matcher.longest(text.as_bytes(), 0);
        assert_eq!(longest("abcdefghijklmnopq"), (259, 16));
        assert_eq!(longest("abcdefghijklmno"), (258, 9));
        assert_eq!(longest("abcdefgh"), (257, 3));
        assert_eq!(longest("ab"), (256, 2));
        assert_eq!(longest("a"), (u16::from(b'a'), 1));
        assert_eq!(longest("zz"), (u16::from(b'z'), 1));
    }
}
