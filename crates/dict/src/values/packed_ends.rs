//! Where each of many strings begins and ends, in a little more than a byte each.
//!
//! # Layout
//!
//! Blocks of 32 strings, so that one or two cache lines say where a string is:
//!
//! ```text
//! start      u64 where the first string begins
//! ends       32 x n bits, where each ends, counted from there; n is the same for all blocks
//! ```

use std::ops::Range;

use basalt_base::Result;
use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};

use crate::image::{ImageReader, ImageWriter};
use crate::table::bits::{PADDING_BYTES, SHORT_BITS_MAX, get_short, low_bits, put};

/// Strings of a block.
pub(super) const BLOCK_STRINGS: usize = 32;

const START_BYTES: usize = size_of::<u64>();

/// What the places count (bytes, codes) is the business of the caller.
#[derive(Debug)]
pub(super) struct PackedEnds {
    blocks: Section,
    /// Of an end.
    bits: u32,
}

/// Strings that follow each other.
pub(super) struct Stretch {
    pub(super) start: u64,
    pub(super) lengths: Vec<u32>,
}

impl PackedEnds {
    /// Of the strings of all `stretches`; all but the last have whole blocks.
    pub(super) fn new<'a, I: Iterator<Item = &'a Stretch>>(stretches: impl Fn() -> I) -> Result<PackedEnds> {
        let blocks = || stretches().flat_map(|stretch| stretch.lengths.chunks(BLOCK_STRINGS));
        let longest =
            blocks().map(|lengths| lengths.iter().map(|&length| u64::from(length)).sum::<u64>()).max();
        let bits = u64::BITS - longest.unwrap_or(0).leading_zeros();
        let block_bytes = block_bytes(bits);
        let mut bytes = Region::zeroed(blocks().count() * block_bytes + PADDING_BYTES)?;
        let mut at = 0;
        for stretch in stretches() {
            let mut start = stretch.start;
            for lengths in stretch.lengths.chunks(BLOCK_STRINGS) {
                bytes[at..at + START_BYTES].copy_from_slice(&start.to_le_bytes());
                let mut end = 0;
                for (index, &length) in lengths.iter().enumerate() {
                    end += u64::from(length);
                    put(&mut bytes, end_place(at, index, bits), end);
                }
                start += end;
                at += block_bytes;
            }
        }
        Ok(PackedEnds { blocks: bytes.into(), bits })
    }

    /// Where a string is; anything where a file says what cannot be.
    #[inline(always)]
    pub(super) fn get(&self, row: usize) -> Range<usize> {
        let (block, index) = (row / BLOCK_STRINGS, row % BLOCK_STRINGS);
        let at = block.saturating_mul(block_bytes(self.bits));
        let bytes: &[u8] = &self.blocks;
        let start =
            bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |start| u64::from_le_bytes(*start));
        let end = |index| get_short(bytes, end_place(at, index, self.bits), low_bits(self.bits));
        let from = if index == 0 { 0 } else { end(index - 1) };
        start.saturating_add(from) as usize..start.saturating_add(end(index)) as usize
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, row: usize) {
        prefetch_read(&self.blocks, (row / BLOCK_STRINGS).saturating_mul(block_bytes(self.bits)));
    }

    pub(super) fn check(&self, row: usize) -> Result<()> {
        let at = (row / BLOCK_STRINGS).saturating_mul(block_bytes(self.bits));
        self.blocks.check(at..at.saturating_add(block_bytes(self.bits) + PADDING_BYTES))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.blocks.resident_bytes()
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(u64::from(self.bits));
        image.section(&self.blocks)
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<PackedEnds> {
        let bits = image.number_below(u64::from(SHORT_BITS_MAX) + 1)? as u32;
        Ok(PackedEnds { blocks: image.section()?, bits })
    }
}

#[inline(always)]
fn block_bytes(bits: u32) -> usize {
    START_BYTES + BLOCK_STRINGS / 8 * bits as usize
}

/// The bit at which the end of string `index` stands in the block at byte `at`.
#[inline(always)]
fn end_place(at: usize, index: usize, bits: u32) -> u64 {
    (at + START_BYTES) as u64 * 8 + index as u64 * u64::from(bits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_are_where_they_were_put(
            lengths in prop::collection::vec(prop_oneof![0..9_u32, any::<u32>()], 0..100),
            start in 0..1_u64 << 40, gap in 0..9_u64,
        ) {
            let (front, back) = lengths.split_at(lengths.len() / BLOCK_STRINGS * BLOCK_STRINGS);
            let sum = |lengths: &[u32]| lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
            let second = start + sum(front) + gap;
            let stretches = [(start, front), (second, back)]
                .map(|(start, lengths)| Stretch { start, lengths: lengths.to_vec() });
            let ends = PackedEnds::new(|| stretches.iter()).expect("memory");
            for row in 0..lengths.len() {
                let start = match row.checked_sub(front.len()) {
                    Some(row) => second + sum(&back[..row]),
                    None => start + sum(&front[..row]),
                } as usize;
                prop_assert_eq!(ends.get(row), start..start + lengths[row] as usize);
            }
        }
    }
}
