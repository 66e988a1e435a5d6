//! A posting list as bytes: ascending distinct blocks.
//!
//! # Layout
//!
//! The list is cut into chunks of 65,536 blocks, so that neither writing nor reading holds more than a chunk. A chunk
//! without entries is left out.
//!
//! ```text
//! chunk      u16    its number
//! count      u16    its entries less one
//! bits       the low bits of all entries, then the high parts in unary; padded with zeroes to whole bytes
//! ```
//!
//! The bits are those of Elias and Fano for the numbers `entry - index`: "Efficient Storage and Retrieval by Content
//! and Address of Static Files" by Elias (1974). Entries are distinct, so that these numbers ascend, and a list of
//! all blocks takes one bit for each. The low bits of a number are as many as the universe has more bits than the
//! count. A high part is as many zeroes as it is greater than the one before, and a one.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::chunk::{CHUNK_BLOCKS, Chunk};

const HEADER_BYTES: usize = 4;

/// Appends the entries of chunk `number`: at least one, ascending and less than `universe`, which is at most a chunk.
pub(super) fn encode_chunk(number: u16, entries: &[u16], universe: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
    let Ok(last) = u16::try_from(entries.len().saturating_sub(1)) else { return };
    out.extend_from_slice(&last.to_le_bytes());
    let shape = Shape::new(u32::from(last) + 1, universe);
    let end = out.len() + shape.bytes();
    let mut bits = BitWriter { out, word: 0, used: 0 };
    let numbers = || entries.iter().zip(0..).map(|(&entry, index)| u32::from(entry) - index);
    numbers().for_each(|number| bits.push(number & shape.low_mask(), shape.low));
    let mut before = 0;
    for high in numbers().map(|number| number >> shape.low) {
        (before..high).for_each(|_| bits.push(0, 1));
        bits.push(1, 1);
        before = high;
    }
    bits.finish();
    // The zeroes after the last high part.
    out.resize(end, 0);
}

/// The chunk at the beginning of `list`, and the rest of the list; `None` if the bytes end inside or mean nothing.
/// `universe` tells the blocks of a chunk.
pub(super) fn split_chunk(list: &[u8], universe: impl Fn(u16) -> u32) -> Option<(ListChunk<'_>, &[u8])> {
    let (&[c0, c1, n0, n1], rest) = list.split_first_chunk::<HEADER_BYTES>()?;
    let (number, last) = (u16::from_le_bytes([c0, c1]), u16::from_le_bytes([n0, n1]));
    let (count, universe) = (u32::from(last) + 1, universe(number));
    if count > universe {
        return None;
    }
    let shape = Shape::new(count, universe);
    let (bits, rest) = rest.split_at_checked(shape.bytes())?;
    Some((ListChunk { number, shape, bits }, rest))
}

/// The entries of a chunk.
pub(super) struct ListChunk<'a> {
    pub(super) number: u16,
    shape: Shape,
    bits: &'a [u8],
}

impl ListChunk<'_> {
    /// Adds the entries to `out`; `None` if the bits mean nothing.
    pub(super) fn add_to(&self, out: &mut Chunk) -> Option<()> {
        let Shape { count, low, .. } = self.shape;
        let start = count * low;
        let (mut index, mut at) = (0, start);
        let end = u32::try_from(self.bits.len()).ok()? * u8::BITS;
        while index < count && at < end {
            let word = self.peek(at);
            let taken = (end - at).min(PEEK_BITS);
            let mut ones = super::chunk::Ones(word & ((1 << taken) - 1));
            while index < count {
                let Some(one) = ones.next() else { break };
                let high = at + one - start - index;
                let number = high << low | self.low_bits(index);
                let entry = number + index;
                if entry >= CHUNK_BLOCKS {
                    return None;
                }
                out.insert(entry);
                index += 1;
            }
            at += taken;
        }
        (index == count).then_some(())
    }

    fn low_bits(&self, index: u32) -> u32 {
        let word = self.peek(index * self.shape.low);
        // The mask has at most 16 bits.
        u32::try_from(word & u64::from(self.shape.low_mask())).unwrap_or(0)
    }

    /// At least [`PEEK_BITS`] bits from `at` on; zeroes after the end.
    fn peek(&self, at: u32) -> u64 {
        let rest = self.bits.get((at / u8::BITS) as usize..).unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().rev().fold(0, |word, &byte| word << u8::BITS | u64::from(byte)),
        };
        word >> (at % u8::BITS)
    }
}

/// The valid bits of a peeked word.
const PEEK_BITS: u32 = u64::BITS - u8::BITS;

/// How the bits of a chunk are divided.
struct Shape {
    count: u32,
    /// The low bits of a number.
    low: u32,
    /// The bits of all high parts.
    high: u32,
}

impl Shape {
    /// `count` is from 1 to `universe`.
    fn new(count: u32, universe: u32) -> Shape {
        let free = universe.saturating_sub(count);
        let low = (free / count).checked_ilog2().unwrap_or(0);
        Shape { count, low, high: count + (free >> low) }
    }

    fn low_mask(&self) -> u32 {
        (1 << self.low) - 1
    }

    fn bytes(&self) -> usize {
        (self.count * self.low + self.high).div_ceil(u8::BITS) as usize
    }
}

/// Appends bits, the lowest first.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    used: u32,
}

impl BitWriter<'_> {
    /// Appends the lowest `count` bits of `number`, at most 16; its other bits are 0.
    fn push(&mut self, number: u32, count: u32) {
        self.word |= u64::from(number) << self.used;
        self.used += count;
        while self.used >= u8::BITS {
            self.out.push(self.word.to_le_bytes()[0]);
            self.word >>= u8::BITS;
            self.used -= u8::BITS;
        }
    }

    fn finish(self) {
        if self.used > 0 {
            self.out.push(self.word.to_le_bytes()[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn encoded(number: u16, entries: &BTreeSet<u16>, universe: u32) -> Vec<u8> {
        let mut out = Vec::new();
        encode_chunk(number, &entries.iter().copied().collect::<Vec<_>>(), universe, &mut out);
        out
    }

    fn check(entries: &BTreeSet<u16>, universe: u32) {
        let list = encoded(9, entries, universe);
        let (chunk, rest) = split_chunk(&list, |_| universe).expect("a chunk");
        assert!(chunk.number == 9 && rest.is_empty());
        let mut found = Chunk::empty();
        chunk.add_to(&mut found).expect("entries");
        assert!(found.blocks().eq(entries.iter().map(|&entry| u32::from(entry))));
        (0..list.len()).for_each(|bytes| assert!(split_chunk(&list[..bytes], |_| universe).is_none()));
    }

    proptest! {
        #[test]
        fn entries_come_back(
            entries in prop::collection::btree_set(0..5000_u16, 1..300), more in 0..60_000_u32,
        ) {
            let least = u32::from(*entries.last().expect("one")) + 1;
            check(&entries, least);
            check(&entries, least + more.min(CHUNK_BLOCKS - least));
        }

        #[test]
        fn dense_lists_take_a_bit_for_each_block(missing in prop::collection::btree_set(0..5000_u16, 0..20)) {
            let entries: BTreeSet<u16> = (0..5000).filter(|entry| !missing.contains(entry)).collect();
            check(&entries, 5000);
            prop_assert!(encoded(0, &entries, 5000).len() <= 4 + 5000 / 8 + 1);
        }
    }

    #[test]
    fn full_chunks_and_single_entries_come_back() {
        check(&(0..=u16::MAX).collect(), CHUNK_BLOCKS);
        [0, 1, 77, u16::MAX].into_iter().for_each(|entry| check(&[entry].into(), CHUNK_BLOCKS));
        check(&[0].into(), 1);
    }

    #[test]
    fn flipped_bits_give_some_entries_or_none() {
        let entries: BTreeSet<u16> = (0..60).map(|entry| entry * 13 % 1000).collect();
        let list = encoded(0, &entries, 1000);
        for bit in 0..list.len() * 8 {
            let mut damaged = list.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Some((chunk, _)) = split_chunk(&damaged, |number| if number == 0 { 1000 } else { 0 }) {
                let _ = chunk.add_to(&mut Chunk::empty());
            }
        }
    }
}
