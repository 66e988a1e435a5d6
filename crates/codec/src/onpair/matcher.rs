//! Finds the longest token that a text begins with.
//!
//! Tokens of two bytes are in an array. A table of heads ([`super::heads`]) holds the first three or four bytes of the
//! longer ones: the tokens of three and four bytes, and the lengths of the tokens that begin with a head. Tokens of
//! five bytes and more are in a second table, which is searched by length, the longest first. Tokens come from a
//! sample, so many heads have long tokens that few texts match. A filter over the first five bytes rejects these texts
//! early, which decides most positions with one well-predicted branch. Another filter, over whole tokens, saves reads
//! of the second table.

use std::ops::Range;

use super::Tokens;
use super::filter::Filter;
use super::heads::{HEAD_BYTES, Heads, Reach};
use super::sizes::{BYTES, TOKEN_BYTES_MAX};

/// The absence of a token of two bytes. It is the code of a single byte, so no such token has it.
const NO_PAIR: u16 = 0;
const SLOTS_MIN: usize = 64;
/// The sizes of the filters in bits, as powers of two. Each code tests the first, and the second after a hit.
const FRONTS_BITS: u32 = 18;
const LIKELY_BITS: u32 = 20;
/// The bytes of a prefix in the filter.
const FRONT_BYTES: usize = HEAD_BYTES + 1;

/// Encodes strings as codes.
pub struct TokenMatcher {
    /// The codes of tokens of two bytes, indexed by the bytes.
    pairs: Vec<u16>,
    heads: Heads,
    long: LongTokens,
    /// The first five bytes of longer tokens.
    fronts: Filter,
    /// All bytes of longer tokens.
    likely: Filter,
}

/// Tokens of five bytes and more.
struct LongTokens {
    /// At most half of the slots are in use.
    slots: Vec<LongToken>,
    taken: usize,
    shift: u32,
}

#[derive(Clone, Copy, Default)]
struct LongToken {
    word: u128,
    /// 0 in an empty slot.
    length: u32,
    code: u16,
}

impl TokenMatcher {
    pub fn new(tokens: &Tokens) -> TokenMatcher {
        let mut matcher = TokenMatcher::empty();
        (0..tokens.count).for_each(|code| matcher.add(code as u16, tokens.text(code)));
        matcher
    }

    /// A matcher that knows the single bytes only.
    pub(super) fn empty() -> TokenMatcher {
        TokenMatcher {
            pairs: vec![NO_PAIR; BYTES * BYTES],
            heads: Heads::new(),
            long: LongTokens::of_slots(SLOTS_MIN),
            fronts: Filter::of_bits(FRONTS_BITS),
            likely: Filter::of_bits(LIKELY_BITS),
        }
    }

    /// Adds a token. A token with several codes keeps one of them.
    pub(super) fn add(&mut self, code: u16, text: &[u8]) {
        let word = word(text, 0);
        match text.len() {
            1 => {}
            2 => self.pairs[usize::from(word as u16)] = code,
            length => {
                self.heads.add(word as u32, length, code);
                if length > HEAD_BYTES {
                    self.fronts.add(word, FRONT_BYTES);
                    self.likely.add(word, length);
                    self.long.add(LongToken { word, length: length as u32, code });
                }
            }
        }
    }

    /// The memory of its tables.
    pub fn heap_bytes(&self) -> usize {
        let LongTokens { slots, .. } = &self.long;
        self.pairs.len() * size_of::<u16>()
            + self.heads.heap_bytes()
            + slots.len() * size_of::<LongToken>()
            + self.fronts.heap_bytes()
            + self.likely.heap_bytes()
    }

    /// Calls back with each code of the string at `range` of `bytes`.
    #[inline(always)]
    pub fn encode(&self, bytes: &[u8], range: Range<usize>, mut take: impl FnMut(u16)) {
        let (mut at, bytes) = (range.start, &bytes[..bytes.len().min(range.end + TOKEN_BYTES_MAX)]);
        while at < range.end {
            let (code, length) = self.longest(bytes, at, range.end - at);
            take(code);
            at += length;
        }
    }

    /// The code and the length of the longest token at `at` of at most `rest` bytes. `rest` is at least 1 and within
    /// the string.
    #[inline(always)]
    pub(super) fn longest(&self, bytes: &[u8], at: usize, rest: usize) -> (u16, usize) {
        let word = word(bytes, at);
        let reach = Reach::of(rest);
        let head = self.heads.get(word as u32, reach);
        // Bit 0 is the head itself, which the filter does not concern.
        let lengths =
            head.lengths(reach) & (1 | u32::from(self.fronts.may_have(word, FRONT_BYTES)).wrapping_neg());
        if lengths == 1 {
            return (head.code(), reach.bytes());
        }
        let mut longer = lengths & !1;
        while longer > 0 {
            let bit = u32::BITS - 1 - longer.leading_zeros();
            let length = HEAD_BYTES + bit as usize;
            if self.likely.may_have(word, length)
                && let Some(code) = self.long.find(front(word, length), length)
            {
                return (code, length);
            }
            longer ^= 1 << bit;
        }
        if lengths & 1 == 1 { (head.code(), reach.bytes()) } else { self.short(word, rest) }
    }

    /// The longest token of at most three bytes and at most `rest` bytes.
    #[inline(always)]
    fn short(&self, word: u128, rest: usize) -> (u16, usize) {
        if rest >= HEAD_BYTES {
            let reach = Reach::of(HEAD_BYTES - 1);
            let head = self.heads.get(word as u32, reach);
            if head.lengths(reach) > 0 {
                return (head.code(), reach.bytes());
            }
        }
        match self.pairs[usize::from(word as u16)] {
            code if code != NO_PAIR && rest > 1 => (code, 2),
            _ => ((word as u16) % BYTES as u16, 1),
        }
    }
}

impl LongTokens {
    fn of_slots(slots: usize) -> LongTokens {
        let shift = u64::BITS - slots.trailing_zeros();
        LongTokens { slots: vec![LongToken::default(); slots], taken: 0, shift }
    }

    fn add(&mut self, token: LongToken) {
        if self.taken * 2 >= self.slots.len() {
            self.grow();
        }
        let (mut slot, mask) = (self.first_slot(token.word, token.length as usize), self.slots.len() - 1);
        while self.slots[slot].length != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = token;
        self.taken += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let grown = LongTokens::of_slots(self.slots.len() * 2);
        let old = std::mem::replace(self, grown);
        old.slots.into_iter().filter(|slot| slot.length != 0).for_each(|token| self.add(token));
    }

    #[inline(always)]
    fn find(&self, word: u128, length: usize) -> Option<u16> {
        let mut slot = self.first_slot(word, length);
        loop {
            let found = &self.slots[slot];
            if found.word == word && found.length == length as u32 {
                return Some(found.code);
            }
            if found.length == 0 {
                return None;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    #[inline(always)]
    fn first_slot(&self, word: u128, length: usize) -> usize {
        let folded = (word as u64 ^ length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ ((word >> 64) as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (folded ^ folded >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (hash >> self.shift) as usize & (self.slots.len() - 1)
    }
}

/// Up to sixteen bytes from `at` on as a number, padded with zeroes.
#[inline(always)]
fn word(string: &[u8], at: usize) -> u128 {
    let rest = &string[at..];
    if let Some(text) = rest.first_chunk::<TOKEN_BYTES_MAX>() {
        return u128::from_le_bytes(*text);
    }
    short_word(rest)
}

/// A word of fewer than sixteen bytes, in two overlapping reads. A copy of unknown length would be a function call.
#[cold]
fn short_word(rest: &[u8]) -> u128 {
    if let (Some(&front), Some(&back)) = (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
        return overlapping(u64::from_le_bytes(front).into(), u64::from_le_bytes(back).into(), 8, rest.len());
    }
    if let (Some(&front), Some(&back)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        return overlapping(u32::from_le_bytes(front).into(), u32::from_le_bytes(back).into(), 4, rest.len());
    }
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte))
}

/// A number of `length` bytes. `front` is at least their first half, and `back` as many of the last ones.
#[inline(always)]
fn overlapping(front: u128, back: u128, half: usize, length: usize) -> u128 {
    front | back << (8 * (length - half))
}

/// The first `length` bytes, 1 to 16.
#[inline(always)]
fn front(word: u128, length: usize) -> u128 {
    word & (u128::MAX >> (u128::BITS - 8 * length as u32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_other_token_is_longer(
            texts in prop::collection::hash_set(prop::collection::vec(0..3_u8, 2..=16), 0..200),
            text in prop::collection::vec(0..3_u8, 1..60),
            rest in 1..60_usize,
        ) {
            let mut matcher = TokenMatcher::empty();
            let texts: Vec<Vec<u8>> = texts.into_iter().collect();
            texts.iter().zip(256..).for_each(|(text, code)| matcher.add(code, text));
            let rest = rest.min(text.len());
            let fitting = texts.iter().zip(256..).filter(|(token, _)| text[..rest].starts_with(token));
            let (longest, code) = fitting.max_by_key(|(token, _)| token.len()).unzip();
            let expected = (code.unwrap_or(text[0].into()), longest.map_or(1, Vec::len));
            prop_assert_eq!(matcher.longest(&text, 0, rest), expected);
        }
    }

    #[test]
    fn a_word_has_the_bytes_that_are_there_and_zeroes_behind_them() {
        let string: Vec<u8> = (1..=40).collect();
        for (start, length) in (0..20).flat_map(|start| (1..=20).map(move |length| (start, length))) {
            let mut expected = [0; TOKEN_BYTES_MAX];
            let there = &string[start..start + length];
            expected.iter_mut().zip(there).for_each(|(to, &byte)| *to = byte);
            assert_eq!(word(&string[..start + length], start).to_le_bytes(), expected, "{length} bytes");
        }
    }

    #[test]
    fn the_longest_token_is_found_and_never_one_beyond_the_end() {
        let mut matcher = TokenMatcher::empty();
        for (at, text) in ["ab", "abc", "abcdefghi", "abcdefghijklmnop", "zz\0"].iter().enumerate() {
            matcher.add(256 + at as u16, text.as_bytes());
        }
        let longest = |text: &str| matcher.longest(text.as_bytes(), 0, text.len());
        assert_eq!(longest("abcdefghijklmnopq"), (259, 16));
        assert_eq!(longest("abcdefghijklmno"), (258, 9));
        assert_eq!(longest("abcdefgh"), (257, 3));
        assert_eq!(longest("ab"), (256, 2));
        assert_eq!(longest("a"), (u16::from(b'a'), 1));
        assert_eq!(longest("zz"), (u16::from(b'z'), 1));
        // The bytes after a string are not part of it.
        assert_eq!(matcher.longest(b"abcdefghijkl", 0, 2), (256, 2));
        assert_eq!(matcher.longest(b"ab", 0, 1), (u16::from(b'a'), 1));
        let mut codes = Vec::new();
        matcher.encode(b"zzabcdef", 1..5, |code| codes.push(code));
        assert_eq!(codes, [u16::from(b'z'), 257]);
    }
}
