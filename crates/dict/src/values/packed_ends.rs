//! Where each of many strings begins and ends, in little more than a byte for each.
//!
//! # Layout
//!
//! Cache lines, each of which says where some strings are:
//!
//! ```text
//! start      40 bits: where the first string begins
//! ends       k x n bits, the end of each string, relative to start; all lines have the same n, and as many as fit
//! ```

use std::ops::Range;

use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::cores::on_all_cores;
use super::string_batch::Places;
use crate::image::{ImageReader, ImageWriter};
use crate::table::bits::low_bits;

const LINE_BYTES: usize = 64;
const WORD_BYTES: usize = size_of::<u64>();
/// Lines, and strings, of a piece of work of one core.
const STRETCH_LINES: usize = 1 << 11;
const STRETCH_STRINGS: usize = 1 << 16;
const START_BITS: u32 = 40;
/// A word before the first end is still in the line.
const END_BITS_MAX: u32 = START_BITS;

type Line = [u8; LINE_BYTES];

/// The caller decides what places count: bytes or codes.
#[derive(Debug)]
pub(super) struct PackedEnds {
    lines: Section,
    shape: LineShape,
}

/// Reads ends one after the other.
#[derive(Clone, Copy)]
pub(super) struct PackedEndsView<'a> {
    lines: &'a [Line],
    shape: LineShape,
}

/// How many strings a line has.
#[derive(Clone, Copy, Debug)]
struct LineShape {
    strings: usize,
    /// The bits of an end.
    bits: u32,
    /// The reciprocal of the strings as a fraction of 2^64, rounded up.
    reciprocal: u64,
}

impl PackedEnds {
    /// The ends of strings with these lengths, without padding between them.
    pub(super) fn new(lengths: &[u32]) -> Result<PackedEnds> {
        let shape = LineShape::of_lengths(lengths).ok_or_else(too_long)?;
        let mut lines = Region::zeroed(lengths.len().div_ceil(shape.strings) * LINE_BYTES)?;
        let stretches = || lengths.chunks(STRETCH_LINES * shape.strings);
        let sums = on_all_cores(stretches(), sum).into_iter();
        let mut end = 0_u64;
        let start = |sum: u64| {
            end += sum;
            end - sum
        };
        let starts: Vec<u64> = sums.map(start).collect();
        let parts = lines.as_chunks_mut().0.chunks_mut(STRETCH_LINES).zip(stretches()).zip(starts);
        let written = on_all_cores(parts, |((lines, lengths), start)| shape.write_all(lengths, start, lines));
        written.into_iter().collect::<Option<()>>().ok_or_else(too_long)?;
        Ok(PackedEnds { lines: lines.into(), shape })
    }

    #[inline(always)]
    pub(super) fn view(&self) -> PackedEndsView<'_> {
        PackedEndsView { lines: self.lines.as_chunks().0, shape: self.shape }
    }

    pub(super) fn check(&self, row: usize) -> Result<()> {
        let at = self.shape.split(row).0.saturating_mul(LINE_BYTES);
        self.lines.check(at..at.saturating_add(LINE_BYTES))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.lines.resident_bytes()
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(u64::from(self.shape.bits));
        image.section(&self.lines)
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<PackedEnds> {
        let bits = image.number_below(u64::from(END_BITS_MAX) + 1)? as u32;
        Ok(PackedEnds { lines: image.section()?, shape: LineShape::of_bits(bits) })
    }
}

impl Places for PackedEndsView<'_> {
    #[inline(always)]
    fn prefetch(self, row: usize) {
        prefetch_read(self.lines, self.shape.split(row).0);
    }

    #[inline(always)]
    fn get(self, row: usize) -> Range<usize> {
        let (line, index) = self.shape.split(row);
        let Some(line) = self.lines.get(line) else { return 0..0 };
        let start = number(line, 0, START_BITS);
        let at = START_BITS as usize + index * self.shape.bits as usize;
        let end = number(line, at, self.shape.bits);
        // Read unconditionally: a branch would be mispredicted.
        let before = number(line, at - self.shape.bits as usize, self.shape.bits);
        let from = if index == 0 { 0 } else { before };
        (start + from) as usize..(start + end) as usize
    }
}

impl LineShape {
    fn of_bits(bits: u32) -> LineShape {
        let strings = (u8::BITS * LINE_BYTES as u32 - START_BITS) / bits.max(1);
        LineShape { strings: strings as usize, bits, reciprocal: u64::MAX / u64::from(strings) + 1 }
    }

    /// The shape with the most strings whose ends fit; `None` if there is none.
    fn of_lengths(lengths: &[u32]) -> Option<LineShape> {
        let all: u64 = on_all_cores(lengths.chunks(STRETCH_STRINGS), sum).into_iter().sum();
        let all = u128::from(all);
        (1..=END_BITS_MAX).map(LineShape::of_bits).find(|shape| {
            // The greatest sum is at least the mean, so that most shapes need not look at every string.
            let limit = 1_u64 << shape.bits;
            all * (shape.strings as u128) < u128::from(limit) * lengths.len().max(1) as u128
                && on_all_cores(lengths.chunks(STRETCH_LINES * shape.strings), |lengths| {
                    lengths.chunks(shape.strings).all(|line| sum(line) < limit)
                })
                .into_iter()
                .all(|fits| fits)
        })
    }

    /// Writes the lines of strings that begin at `start`; `None` if a line cannot store that.
    fn write_all(self, lengths: &[u32], mut start: u64, lines: &mut [Line]) -> Option<()> {
        for (line, lengths) in lines.iter_mut().zip(lengths.chunks(self.strings)) {
            start = self.write(lengths, start, line)?;
        }
        Some(())
    }

    /// Writes the ends of a line's strings and returns where the next line starts.
    fn write(self, lengths: &[u32], start: u64, line: &mut Line) -> Option<u64> {
        let (mut end, mut words) = (0, [0_u64; LINE_BYTES / WORD_BYTES]);
        words[0] = start;
        for (index, &length) in lengths.iter().enumerate() {
            end += u64::from(length);
            let at = START_BITS as usize + index * self.bits as usize;
            let (word, shift) = (at / u64::BITS as usize, at as u32 % u64::BITS);
            words[word] |= end << shift;
            if shift + self.bits > u64::BITS {
                words[word + 1] |= end >> (u64::BITS - shift);
            }
        }
        for (bytes, word) in line.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        Some(start + end).filter(|&next| next <= low_bits(START_BITS))
    }

    /// The line of a string, and its number in that line.
    #[inline(always)]
    fn split(self, row: usize) -> (usize, usize) {
        // Exact for every row, which has 32 bits.
        let line = ((row as u128 * u128::from(self.reciprocal)) >> u64::BITS) as usize;
        (line, row.wrapping_sub(line.wrapping_mul(self.strings)))
    }
}

/// The number of at most 40 bits at bit `at` of a line.
#[inline(always)]
fn number(line: &Line, at: usize, bits: u32) -> u64 {
    // Never beyond the line: another one could miss the cache.
    let from = (at / u8::BITS as usize).min(LINE_BYTES - WORD_BYTES);
    let word = line[from..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    word >> (at - from * u8::BITS as usize) & low_bits(bits)
}

fn sum(lengths: &[u32]) -> u64 {
    lengths.iter().map(|&length| u64::from(length)).sum()
}

fn too_long() -> Error {
    Error::new(
        ErrorCode::ArgumentOutOfBound,
        "the strings of a dictionary's attribute have a terabyte or more",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(lengths: &[u32]) {
        let ends = PackedEnds::new(lengths).expect("memory");
        let mut start = 0;
        for (row, &length) in lengths.iter().enumerate() {
            assert_eq!(ends.view().get(row), start..start + length as usize, "row {row}");
            start += length as usize;
        }
    }

    proptest! {
        #[test]
        fn strings_are_where_they_were_put(
            lengths in prop::collection::vec(prop_oneof![0..9_u32, 0..300_u32], 0..2000),
            long in prop::collection::vec((0..2000_usize, any::<u32>()), 0..3),
        ) {
            check(&lengths);
            let mut lengths = lengths;
            for (row, length) in long {
                lengths.iter_mut().skip(row).take(1).for_each(|old| *old = length);
            }
            check(&lengths);
        }

        #[test]
        fn a_row_is_in_its_line(row: u32, bits in 0..=END_BITS_MAX) {
            let (shape, row) = (LineShape::of_bits(bits), row as usize);
            prop_assert_eq!(shape.split(row), (row / shape.strings, row % shape.strings));
        }

        #[test]
        fn any_bytes_say_something(bytes in prop::collection::vec(any::<u8>(), 128), bits in 0..=END_BITS_MAX) {
            let view = PackedEndsView { lines: bytes.as_chunks().0, shape: LineShape::of_bits(bits) };
            for row in (0..2 * view.shape.strings + 2).chain([u32::MAX as usize, usize::MAX]) {
                let Range { start, end } = view.get(row);
                prop_assert!(start < 1 << (START_BITS + 1) && end < 1 << (START_BITS + 1));
            }
        }
    }

    #[test]
    fn empty_strings_and_none_are_there() {
        check(&[]);
        check(&[0; 1000]);
    }
}
