//! Finds the longest token that a text begins with.
//!
//! Tokens of two bytes are in an array. Longer ones are in one hash table, which is asked for one length after
//! the other, the longest first. Which lengths there are is said by a filter over the first bytes, so most
//! questions that would be answered with no are not asked.

use std::ops::Range;

use super::{BYTES, TOKEN_BYTES_MAX, Text, Tokens};

const FILTER_BITS: u32 = 14;
/// The hash of a prefix that the filter is asked for is of so many bytes, as the shortest tokens in the table have.
const FILTER_BYTES: u32 = 3;
/// In the place of a code where there is no token: the code of a single byte is none of two.
const NO_PAIR: u16 = 0;
const FREE: u32 = u32::MAX;
/// What a slot knows of a token's hash.
const TAG_BITS: u32 = 11;

/// The codes of strings.
pub struct TokenMatcher {
    /// The codes of tokens of two bytes, by these.
    pairs: Vec<u16>,
    /// Which lengths tokens with these first three bytes have: bit n for n + 1 bytes.
    filter: Vec<u16>,
    /// From the lowest bit on: a code, four bits of its length less one, a tag. At most half of them are taken.
    slots: Vec<u32>,
    shift: u32,
    words: Vec<u128>,
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
            pairs: vec![NO_PAIR; BYTES * BYTES],
            filter: vec![0; 1 << FILTER_BITS],
            slots: vec![FREE; slots],
            shift: u64::BITS - slots.trailing_zeros(),
            words: vec![0; tokens],
        }
    }

    /// Adds a token, or gives one that is there already another code.
    pub(super) fn add(&mut self, code: usize, text: &[u8]) {
        let word = word(text, 0);
        self.words[code] = word;
        match text.len() {
            1 => return,
            2 => return self.pairs[usize::from(word as u16)] = code as u16,
            length => self.filter[filter_place(word)] |= 1 << (length - 1),
        }
        let (mut slot, known) = self.first_slot(word, text.len());
        while self.slots[slot] != FREE {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = known | code as u32;
    }

    /// Appends the codes of the string that is `range` of `bytes`, in which more may follow.
    pub fn encode(&self, bytes: &[u8], range: Range<usize>, codes: &mut Vec<u16>) {
        let (mut at, bytes) = (range.start, &bytes[..bytes.len().min(range.end + TOKEN_BYTES_MAX)]);
        while at < range.end {
            let (code, length) = self.longest(bytes, at, range.end - at);
            codes.push(code);
            at += length;
        }
    }

    /// The code and the length of the longest token that stands at `at` and has at most `rest` bytes, which are
    /// there and at least one.
    #[inline(always)]
    pub(super) fn longest(&self, bytes: &[u8], at: usize, rest: usize) -> (u16, usize) {
        let word = word(bytes, at);
        let rest = rest.min(TOKEN_BYTES_MAX);
        let mut lengths = u32::from(self.filter[filter_place(word)]) & ((1 << rest) - 1);
        while lengths > 0 {
            let length = (u32::BITS - lengths.leading_zeros()) as usize;
            if let Some(code) = self.find(front(word, length), length) {
                return (code, length);
            }
            lengths ^= 1 << (length - 1);
        }
        match self.pairs[usize::from(word as u16)] {
            code if code != NO_PAIR && rest > 1 => (code, 2),
            _ => ((word as u16) % BYTES as u16, 1),
        }
    }

    #[inline(always)]
    fn find(&self, word: u128, length: usize) -> Option<u16> {
        let (mut slot, known) = self.first_slot(word, length);
        loop {
            let found = self.slots[slot];
            if found == FREE {
                return None;
            }
            let code = found as u16;
            if found ^ known <= u32::from(u16::MAX) && self.words[usize::from(code)] == word {
                return Some(code);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Where a token may be, and what its slot then has beside the code.
    #[inline(always)]
    fn first_slot(&self, word: u128, length: usize) -> (usize, u32) {
        let folded = (word as u64 ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ ((word >> 64) as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (folded ^ folded >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let tag = (hash >> (self.shift - TAG_BITS)) as u32 & ((1 << TAG_BITS) - 1);
        ((hash >> self.shift) as usize, tag << (u16::BITS + 4) | (length as u32 - 1) << u16::BITS)
    }
}

/// Up to sixteen bytes from `at` on as a number, zeroes behind them.
#[inline(always)]
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
#[inline(always)]
fn front(word: u128, length: usize) -> u128 {
    word & (u128::MAX >> (u128::BITS - 8 * length as u32))
}

#[inline(always)]
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
        let longest = |text: &str| matcher.longest(text.as_bytes(), 0, text.len());
        assert_eq!(longest("abcdefghijklmnopq"), (259, 16));
        assert_eq!(longest("abcdefghijklmno"), (258, 9));
        assert_eq!(longest("abcdefgh"), (257, 3));
        assert_eq!(longest("ab"), (256, 2));
        assert_eq!(longest("a"), (u16::from(b'a'), 1));
        assert_eq!(longest("zz"), (u16::from(b'z'), 1));
        // What follows a string is none of it.
        assert_eq!(matcher.longest(b"abcdefghijkl", 0, 2), (256, 2));
        assert_eq!(matcher.longest(b"ab", 0, 1), (u16::from(b'a'), 1));
        let mut codes = Vec::new();
        matcher.encode(b"zzabcdef", 1..5, &mut codes);
        assert_eq!(codes, [u16::from(b'z'), 257]);
    }
}
