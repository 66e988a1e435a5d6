//! Reads the strings of many rows so that their memory accesses overlap.
//!
//! Each step is done for a batch of rows before the next step: prefetch where the strings are, read that and prefetch
//! the strings, then copy or decode them, without padding, so that no branch depends on the length of a string. The
//! views of a batch are made while its bytes are in the L1 cache.

use std::ops::Range;

use basalt_base::prefetch::prefetch_read;
use basalt_base::processor::{self, Form, Loop};
use basalt_base::string_views::StringViews;
use basalt_codec::{TOKEN_BYTES_MAX, Tokens};

use super::split_row;
use crate::table::bits::{get_short, low_bits};

/// Rows that take a step together.
const BATCH: usize = 128;
/// Bytes that are copied at once, if they exist.
const COPIED_BYTES: usize = 16;
/// Codes that are read at once: as many of the widest ones as fit into a word that begins at their first byte.
const CODES_AT_ONCE: usize = 4;
const WORD_BYTES: usize = size_of::<u64>();
/// Longer strings are decoded one at a time.
const CODES_MAX: usize = 1 << 16;

/// Rows, and the string of those that were not found.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) rows: &'a [u64],
    pub(super) found: &'a [bool],
    pub(super) default: &'a [u8],
}

/// Where strings are.
pub(super) trait Places: Copy {
    /// Prefetches what [`Places::get`] reads.
    fn prefetch(self, row: usize);

    /// Where the string of a row is; any range if the file is damaged.
    fn get(self, row: usize) -> Range<usize>;
}

/// Strings that are not compressed, in one arena or in several.
pub(super) trait Texts: Copy {
    /// Prefetches what [`Texts::get`] reads.
    fn prefetch(self, row: u64);

    /// Where the string of a row is in its arena; any range if the file is damaged.
    fn get(self, row: u64) -> Range<usize>;

    /// The arena of a row.
    fn stretch(&self, row: u64) -> &[u8];
}

/// One arena.
#[derive(Clone, Copy)]
pub(super) struct Stretch<'a, P> {
    pub(super) bytes: &'a [u8],
    pub(super) places: P,
}

/// The arenas of [segments](split_row).
#[derive(Clone, Copy)]
pub(super) struct Stretches<'a, P>(pub(super) &'a [Stretch<'a, P>]);

impl<P: Places> Texts for Stretch<'_, P> {
    #[inline(always)]
    fn prefetch(self, row: u64) {
        self.places.prefetch(row as usize);
    }

    #[inline(always)]
    fn get(self, row: u64) -> Range<usize> {
        self.places.get(row as usize)
    }

    #[inline(always)]
    fn stretch(&self, _row: u64) -> &[u8] {
        self.bytes
    }
}

impl<P: Places> Texts for Stretches<'_, P> {
    #[inline(always)]
    fn prefetch(self, row: u64) {
        let (segment, row) = split_row(self.0.len(), row);
        self.0[segment].places.prefetch(row);
    }

    #[inline(always)]
    fn get(self, row: u64) -> Range<usize> {
        let (segment, row) = split_row(self.0.len(), row);
        self.0[segment].places.get(row)
    }

    #[inline(always)]
    fn stretch(&self, row: u64) -> &[u8] {
        self.0[split_row(self.0.len(), row).0].bytes
    }
}

/// Appends strings that are not compressed.
pub(super) fn append_plain(texts: impl Texts, asked: Asked<'_>, out: &mut StringViews) {
    processor::run(Plain { texts, asked, out });
}

/// Appends strings whose codes are in `bytes`.
pub(super) fn append_decoded(
    bytes: &[u8],
    tokens: &Tokens,
    places: impl Places,
    asked: Asked<'_>,
    out: &mut StringViews,
) {
    processor::run(Decoded { bytes, tokens, places, asked, out, scratch: Scratch::default() });
}

struct Plain<'a, T> {
    texts: T,
    asked: Asked<'a>,
    out: &'a mut StringViews,
}

impl<T: Texts> Loop for Plain<'_, T> {
    const IS_WIDEST: bool = false;

    type Output = ();

    #[inline(always)]
    fn run<F: Form>(self) {
        let Plain { texts, asked, out } = self;
        let mut ranges = [const { 0..0 }; BATCH];
        let (mut batch, mut lengths) = (Vec::new(), Vec::with_capacity(BATCH));
        for (rows, found) in asked.rows.chunks(BATCH).zip(asked.found.chunks(BATCH)) {
            rows.iter().for_each(|&row| texts.prefetch(row));
            for (range, (&row, &found)) in ranges.iter_mut().zip(rows.iter().zip(found)) {
                *range = if found { texts.get(row) } else { 0..0 };
                prefetch_string(texts.stretch(row), range);
            }
            let mut used = 0;
            lengths.clear();
            for (range, (&row, &found)) in ranges.iter().zip(rows.iter().zip(found)) {
                let length = if found {
                    copy(texts.stretch(row), range.clone(), &mut batch, used)
                } else {
                    copy(asked.default, 0..asked.default.len(), &mut batch, used)
                };
                used += length;
                lengths.push(length as u32);
            }
            out.append_copy(&batch[..used], &lengths);
        }
    }
}

/// Prefetches the first and the last cache line of `range`: a quarter of all short strings are in two.
#[inline(always)]
pub(super) fn prefetch_string(bytes: &[u8], range: &Range<usize>) {
    prefetch_read(bytes, range.start);
    prefetch_read(bytes, range.end.max(range.start.saturating_add(COPIED_BYTES)).wrapping_sub(1));
}

/// Copies `range` of `bytes` to byte `at` of `out`, which grows as needed, and returns the number of bytes.
#[inline(always)]
fn copy(bytes: &[u8], range: Range<usize>, out: &mut Vec<u8>, at: usize) -> usize {
    let Some(string) = bytes.get(range.clone()).filter(|string| u32::try_from(string.len()).is_ok()) else {
        return 0;
    };
    let room = at + string.len().max(COPIED_BYTES);
    if out.len() < room {
        out.resize(2 * room, 0);
    }
    match bytes[range.start..].first_chunk::<COPIED_BYTES>() {
        Some(front) if string.len() <= COPIED_BYTES => out[at..at + COPIED_BYTES].copy_from_slice(front),
        _ => out[at..at + string.len()].copy_from_slice(string),
    }
    string.len()
}

struct Decoded<'a, P> {
    bytes: &'a [u8],
    tokens: &'a Tokens,
    places: P,
    asked: Asked<'a>,
    out: &'a mut StringViews,
    scratch: Scratch,
}

/// The buffers in which a batch is decoded.
#[derive(Default)]
struct Scratch {
    codes: Vec<u16>,
    /// The end of each code's text.
    ends: Vec<u32>,
    texts: Vec<u8>,
    lengths: Vec<u32>,
}

impl<P: Places> Loop for Decoded<'_, P> {
    const IS_WIDEST: bool = false;

    type Output = ();

    #[inline(always)]
    fn run<F: Form>(mut self) {
        // A multiplication by a constant is cheap.
        match self.tokens.bits() {
            9 => self.append::<9>(),
            12 => self.append::<12>(),
            14 => self.append::<14>(),
            bits => unreachable!("codes of {bits} bits are neither written nor read"),
        }
    }
}

impl<P: Places> Decoded<'_, P> {
    #[inline(always)]
    fn append<const BITS: u32>(&mut self) {
        let mut ranges = [const { 0..0 }; BATCH];
        let there = (self.bytes.len() as u64 * u64::from(u8::BITS) / u64::from(BITS)) as usize;
        let Asked { rows, found, default } = self.asked;
        for (rows, found) in rows.chunks(BATCH).zip(found.chunks(BATCH)) {
            if default.is_empty() && !found.contains(&true) {
                self.out.append_copy(&[], &[0; BATCH][..rows.len()]);
                continue;
            }
            rows.iter().for_each(|&row| self.places.prefetch(row as usize));
            let mut codes = 0;
            for (range, (&row, &found)) in ranges.iter_mut().zip(rows.iter().zip(found)) {
                let Range { start, end } = self.places.get(row as usize);
                let count = end.min(there).saturating_sub(start);
                // A longer string was not compressed.
                let count = if found & (count <= u32::MAX as usize / TOKEN_BYTES_MAX) { count } else { 0 };
                *range = start..start + count;
                codes += count;
                let first = byte_of::<BITS>(start);
                prefetch_read(self.bytes, first);
                prefetch_read(self.bytes, byte_of::<BITS>(start + count).max(first + WORD_BYTES - 1));
            }
            let together = if codes <= CODES_MAX { BATCH } else { 1 };
            for (ranges, found) in ranges[..rows.len()].chunks(together).zip(found.chunks(together)) {
                self.decode::<BITS>(ranges, found);
            }
        }
    }

    #[inline(always)]
    fn decode<const BITS: u32>(&mut self, ranges: &[Range<usize>], found: &[bool]) {
        let Decoded { bytes, tokens, asked, scratch, .. } = self;
        let mut string_ends = [0; BATCH];
        let mut at = 0;
        for (string_end, (range, &found)) in string_ends.iter_mut().zip(ranges.iter().zip(found)) {
            let room = at + range.len().max(asked.default.len()) + CODES_AT_ONCE;
            if scratch.codes.len() < room {
                scratch.codes.resize(2 * room, 0);
            }
            read_codes::<BITS>(bytes, range.clone(), &mut scratch.codes[at..]);
            at += range.len();
            if !found && !asked.default.is_empty() {
                // The first codes are those of single bytes.
                scratch.codes[at..]
                    .iter_mut()
                    .zip(asked.default)
                    .for_each(|(code, &byte)| *code = byte.into());
                at += asked.default.len();
            }
            *string_end = at;
        }
        if scratch.ends.len() <= at {
            scratch.ends.resize(2 * at + 1, 0);
        }
        if scratch.texts.len() < at * TOKEN_BYTES_MAX {
            scratch.texts.resize(2 * at * TOKEN_BYTES_MAX, 0);
        }
        // The first string begins at 0.
        tokens.decode(&scratch.codes[..at], &mut scratch.texts, &mut scratch.ends[1..]);
        let mut start = 0;
        scratch.lengths.clear();
        scratch.lengths.extend(string_ends[..ranges.len()].iter().map(|&end| {
            let end = scratch.ends[end];
            let length = end - start;
            start = end;
            length
        }));
        self.out.append_copy(&scratch.texts, &scratch.lengths);
    }
}

/// The codes of `range`, and possibly others after them.
#[inline(always)]
fn read_codes<const BITS: u32>(bytes: &[u8], range: Range<usize>, out: &mut [u16]) {
    const { assert!(BITS.is_multiple_of(8) && BITS * 4 <= 64 || BITS * 4 + 7 <= 64) };
    let mut first = range.start as u64;
    for out in out.chunks_exact_mut(CODES_AT_ONCE) {
        let word = get_short(bytes, first * u64::from(BITS), u64::MAX);
        for (at, code) in (0..).zip(out) {
            *code = (word >> (at * BITS) & low_bits(BITS)) as u16;
        }
        first += CODES_AT_ONCE as u64;
        if first >= range.end as u64 {
            break;
        }
    }
}

#[inline(always)]
fn byte_of<const BITS: u32>(code: usize) -> usize {
    (code as u64 * u64::from(BITS) / u64::from(u8::BITS)) as usize
}
