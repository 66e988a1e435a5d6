//! The codes of strings before they are in the order of rows: a word for each string.
//!
//! Strings are encoded in the order in which they came: adjacent strings are read without cache misses, and often
//! begin alike. In order of hash, each string would cost two misses, for its place and for its bytes. What is then
//! read in order of hash is the word, which has all codes of a short string.
//!
//! # Layout
//!
//! A word, from the lowest bit on:
//!
//! ```text
//! count      3 bits       the number of codes; 7: more than fit
//! codes      61 bits      or where the words of the codes are, among those of the piece
//! ```
//!
//! The words of many codes: the number of codes, then the codes, as many in each word as fit.

use std::ops::Range;

use basalt_base::prefetch::prefetch_read;
use basalt_base::region::Region;
use basalt_base::{Result, processor};
use basalt_codec::{TokenMatcher, Tokens};

use super::StringArena;
use super::arena::ArenaView;
use super::cores::{cores, on_all_cores};
use super::row_order::STRETCH_ROWS;
use crate::table::bits::BitWriter;

const WORD_BYTES: usize = size_of::<u64>();
const COUNT_BITS: u32 = 3;
/// The count of codes that do not fit.
const IS_LONG: u64 = (1 << COUNT_BITS) - 1;
/// Strings that each core encodes before their memory is freed.
const BATCH_STRINGS: usize = 16 * STRETCH_ROWS;
/// How many rows ahead of its use a word is prefetched. With 32, half of the rows in flight, a core waited most of
/// the time.
const WORDS_AHEAD: usize = 96;
/// How many rows ahead the words of many codes are prefetched, and how many of these words.
const LONG_AHEAD: usize = 16;
const LONG_WORDS: usize = 6;
/// A guess of the codes of short strings, to reserve memory. Not all of it is touched.
const BYTES_A_STRING: usize = 4;
/// This many bytes are zeroed before codes are written to them, so that they are in the L1 cache.
const ZEROES_AT_ONCE: usize = 4 << 10;

/// The codes of strings, by their numbers.
pub(super) struct StringCodes {
    /// Little-endian.
    words: Region,
    /// The words of many codes, of each piece of strings.
    long: Vec<Vec<u64>>,
    /// The bits of a code.
    bits: u32,
}

/// Adds codes to the words of a string.
struct CodeWords<'a> {
    /// The words of the piece; the string's begin at `start`.
    long: &'a mut Vec<u64>,
    start: usize,
    /// Codes that are not written yet, and their bits.
    word: u64,
    used: u32,
    count: u64,
}

impl StringCodes {
    /// Encodes all strings of `arena`. Pieces are encoded from the last one on, and their memory is freed: the words
    /// take as much, and get pages that the system has at once. The host of a virtual machine may need longer to find
    /// a page than it takes to fill it.
    pub(super) fn of_all(arena: StringArena, tokens: &Tokens) -> Result<StringCodes> {
        StringCodes::of_batches(arena, tokens, cores() * BATCH_STRINGS)
    }

    fn of_batches(mut arena: StringArena, tokens: &Tokens, strings: usize) -> Result<StringCodes> {
        let (matcher, bits) = (&TokenMatcher::new(tokens), tokens.bits());
        let mut words = Region::zeroed(arena.len() * WORD_BYTES)?;
        let mut long = Vec::new();
        for (batch, words) in words.as_chunks_mut().0.chunks_mut(strings).enumerate().rev() {
            let first = batch * strings;
            let encoder = Encoder { view: arena.view(), matcher, bits };
            let stretches = words.chunks_mut(STRETCH_ROWS).enumerate();
            let codes = on_all_cores(stretches, |(at, words)| {
                let first = first + at * STRETCH_ROWS;
                encoder.encode(first..first + words.len(), words)
            });
            long.extend(codes.into_iter().rev());
            arena.truncate(first);
        }
        long.reverse();
        Ok(StringCodes { words, long, bits })
    }

    /// The words of the strings of `rows`, in that order.
    pub(super) fn of_rows(arena: &StringArena, rows: &[u32], tokens: &Tokens) -> Result<StringCodes> {
        let (matcher, bits) = (&TokenMatcher::new(tokens), tokens.bits());
        let mut words = Region::zeroed(rows.len() * WORD_BYTES)?;
        let stretches = words.as_chunks_mut().0.chunks_mut(STRETCH_ROWS).zip(rows.chunks(STRETCH_ROWS));
        let long = on_all_cores(stretches, |(words, rows)| {
            Encoder { view: arena.view(), matcher, bits }.encode_rows(rows, words)
        });
        Ok(StringCodes { words, long, bits })
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// Puts the codes of the strings `numbers` into `bytes`, without padding, and their numbers into `counts`.
    /// Returns the number of all codes.
    pub(super) fn pack(&self, numbers: &[u32], bytes: &mut Vec<u8>, counts: &mut [u32]) -> u64 {
        let words = self.words.as_chunks::<WORD_BYTES>().0;
        let (mut writer, mut all) = (BitWriter::default(), 0);
        bytes.reserve(numbers.len() * BYTES_A_STRING);
        for (index, (&number, to)) in numbers.iter().zip(counts).enumerate() {
            if let Some(&ahead) = numbers.get(index + WORDS_AHEAD) {
                prefetch_read(words, ahead as usize);
            }
            if let Some(&ahead) = numbers.get(index + LONG_AHEAD) {
                self.prefetch_long(ahead as usize, words);
            }
            make_room(bytes, writer.end());
            let word = u64::from_le_bytes(words[number as usize]);
            let mut count = word & IS_LONG;
            if count < IS_LONG {
                writer.push(bytes, word >> COUNT_BITS, count as u32 * self.bits);
            } else {
                let long = &self.long[number as usize / STRETCH_ROWS][(word >> COUNT_BITS) as usize..];
                count = self.pack_long(long, &mut writer, bytes);
            }
            // A compressed string has at most 2^28 codes.
            *to = count as u32;
            all += count;
        }
        make_room(bytes, writer.end());
        writer.finish(bytes);
        all
    }

    /// Prefetches the first words of many codes, if the string has them.
    #[inline(always)]
    fn prefetch_long(&self, number: usize, words: &[[u8; WORD_BYTES]]) {
        let word = u64::from_le_bytes(words[number]);
        if word & IS_LONG == IS_LONG {
            let (long, start) = (&self.long[number / STRETCH_ROWS], (word >> COUNT_BITS) as usize);
            prefetch_read(long, start);
            prefetch_read(long, start + LONG_WORDS - 1);
        }
    }

    /// Returns the number of codes.
    fn pack_long(&self, long: &[u64], writer: &mut BitWriter, bytes: &mut Vec<u8>) -> u64 {
        let full = u64::BITS / self.bits;
        let mut left = long[0];
        for &word in &long[1..] {
            make_room(bytes, writer.end());
            let now = left.min(full.into());
            writer.push(bytes, word, now as u32 * self.bits);
            left -= now;
            if left == 0 {
                break;
            }
        }
        long[0]
    }
}

/// Zeroes `bytes` up to `end`, and some more.
#[inline(always)]
fn make_room(bytes: &mut Vec<u8>, end: usize) {
    if bytes.len() < end {
        bytes.resize(end + ZEROES_AT_ONCE, 0);
    }
}

#[derive(Clone, Copy)]
struct Encoder<'a> {
    view: ArenaView<'a>,
    matcher: &'a TokenMatcher,
    bits: u32,
}

impl Encoder<'_> {
    /// Writes the words of the strings `rows`, and returns those of many codes.
    fn encode(self, rows: Range<usize>, words: &mut [[u8; WORD_BYTES]]) -> Vec<u64> {
        let mut long = Vec::new();
        processor::run(
            #[inline(always)]
            || {
                // A loop, because `for_each` is not inlined.
                for (row, word) in rows.zip(words) {
                    *word = self.word(row, &mut long).to_le_bytes();
                }
            },
        );
        long
    }

    /// As above, for strings that are not adjacent.
    fn encode_rows(self, rows: &[u32], words: &mut [[u8; WORD_BYTES]]) -> Vec<u64> {
        let (mut long, mut words) = (Vec::new(), words.iter_mut());
        self.view.for_each_ahead(rows, |row| {
            let word = self.word(row, &mut long).to_le_bytes();
            words.by_ref().take(1).for_each(|to| *to = word);
        });
        long
    }

    #[inline(always)]
    fn word(self, row: usize, long: &mut Vec<u64>) -> u64 {
        let start = long.len();
        let mut codes = CodeWords { long, start, word: 0, used: 0, count: 0 };
        self.matcher.encode(self.view.bytes(), self.view.range(row), |code| codes.push(code, self.bits));
        codes.finish()
    }
}

impl CodeWords<'_> {
    #[inline(always)]
    fn push(&mut self, code: u16, bits: u32) {
        if self.used + bits > u64::BITS {
            self.flush();
        }
        self.word |= u64::from(code) << self.used;
        self.used += bits;
        self.count += 1;
    }

    #[inline(always)]
    fn flush(&mut self) {
        if self.long.len() == self.start {
            self.long.push(0);
        }
        self.long.push(self.word);
        (self.word, self.used) = (0, 0);
    }

    /// The word of the string.
    #[inline(always)]
    fn finish(mut self) -> u64 {
        if self.long.len() == self.start && self.count < IS_LONG && self.used + COUNT_BITS <= u64::BITS {
            return self.word << COUNT_BITS | self.count;
        }
        self.flush();
        self.long[self.start] = self.count;
        (self.start as u64) << COUNT_BITS | IS_LONG
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::bits::get_short;

    #[test]
    fn batches_of_strings_have_the_words_that_all_have() {
        let count = 2 * STRETCH_ROWS + 1000;
        let arena = || {
            let mut arena = StringArena::default();
            (0..count).for_each(|row| arena.push("ab".repeat(row % 50).as_bytes()));
            arena
        };
        let tokens = Tokens::train(&[b"abababababab".as_slice(); 3], 9);
        let all = StringCodes::of_all(arena(), &tokens).expect("memory");
        let batches = StringCodes::of_batches(arena(), &tokens, STRETCH_ROWS).expect("memory");
        assert!(all.words[..] == batches.words[..] && all.long == batches.long);
        assert!(all.long.len() == 3 && all.long.iter().all(|long| !long.is_empty()));
    }

    proptest! {
        #[test]
        fn codes_are_those_of_the_strings_in_the_order_asked_for(
            strings in prop::collection::vec(prop::collection::vec(b'a'..b'd', 0..60), 1..80),
            asked in prop::collection::vec(any::<prop::sample::Index>(), 0..80),
            bits in prop::sample::select(vec![9_u32, 12, 14]),
        ) {
            let tokens = Tokens::train(&strings.iter().map(Vec::as_slice).collect::<Vec<_>>(), bits);
            let rows: Vec<u32> = asked.iter().map(|row| row.index(strings.len()) as u32).collect();
            let own: Vec<u32> = (0..rows.len() as u32).collect();
            let mut arena = StringArena::default();
            strings.iter().for_each(|string| arena.push(string));
            let some = StringCodes::of_rows(&arena, &rows, &tokens).expect("memory");
            let all = StringCodes::of_all(arena, &tokens).expect("memory");
            for (codes, numbers) in [(all, &rows), (some, &own)] {
                let (mut bytes, mut counts) = (Vec::new(), vec![0; rows.len()]);
                let count = codes.pack(numbers, &mut bytes, &mut counts);
                let mut at = 0;
                for (&row, &count) in rows.iter().zip(&counts) {
                    let string = &strings[row as usize];
                    let mut expected = Vec::new();
                    TokenMatcher::new(&tokens).encode(string, 0..string.len(), |code| expected.push(u64::from(code)));
                    let code = |at: u64| get_short(&bytes, at * u64::from(bits), (1 << bits) - 1);
                    prop_assert_eq!((at..at + u64::from(count)).map(code).collect::<Vec<_>>(), expected);
                    at += u64::from(count);
                }
                prop_assert_eq!(at, count);
            }
        }
    }
}
