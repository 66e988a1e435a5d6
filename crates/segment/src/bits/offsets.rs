//! Where each of many strings or lists begins and ends.
//!
//! # Layout
//!
//! Two numbers, and the two sections of [`super::blocks`], in which a block holds the beginnings of
//! [`BLOCK_RANKS`] values and the end of the last one:
//!
//! ```text
//! count       the number of values
//! end         the end of the last value
//! ```
//!
//! # Invariants
//!
//! - **Resident**: the sections are in memory or mapped, and their checksums were compared by [`Offsets::open`].
//! - **Order**: [`Offsets::range`] gives no range whose end is before its start or after the end of all values. An
//!   end may still be outside of the section that it is used for, which compares it again.
//!
//! # Cost
//!
//! Values whose lengths vary by `s` take about `log2(s) + 6` bits each: 1.5 bytes for words, 2 bytes for paragraphs.
//! A range is read from two places in memory, in about 10 ns if they are in the cache.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::region::Section;
use basalt_base::{Error, Result};

use super::blocks::{BlocksBuilder, Header, Headers};
use crate::file::{ComponentReader, PendingComponent, SpoolPlace};
use crate::{Place, ROWS_MAX, Rank};

/// Values of a block.
const BLOCK_RANKS: usize = 128;
/// Numbers of a block: the end of one value is the beginning of the next.
const BLOCK_NUMBERS: usize = BLOCK_RANKS + 1;

/// Takes the ends of values in the order of ranks. Its memory does not grow with the values.
#[derive(Debug)]
pub struct OffsetsBuilder {
    blocks: BlocksBuilder,
    /// The numbers of the block that is not full; never empty.
    block: Vec<u64>,
    count: u64,
}

impl OffsetsBuilder {
    pub fn new(place: &SpoolPlace) -> OffsetsBuilder {
        OffsetsBuilder { blocks: BlocksBuilder::new(place), block: vec![0], count: 0 }
    }

    /// The next value ends at `end`, and begins where the one before ends; the first one begins at 0. An error if that
    /// is negative.
    pub fn push(&mut self, end: u64) -> Result<()> {
        if end < self.end() {
            return Err(Error::logical(format!("offset {end} follows {}", self.end())));
        }
        if self.block.len() == BLOCK_NUMBERS {
            self.flush()?;
        }
        self.block.push(end);
        self.count += 1;
        Ok(())
    }

    /// The end of the last value.
    pub fn end(&self) -> u64 {
        self.block.last().copied().unwrap_or(0)
    }

    fn flush(&mut self) -> Result<()> {
        self.blocks.push(&self.block)?;
        self.block = vec![self.end()];
        Ok(())
    }

    /// Adds two numbers and two sections.
    pub fn finish(mut self, component: &mut PendingComponent) -> Result<()> {
        component.number(self.count);
        component.number(self.end());
        if self.block.len() > 1 {
            self.flush()?;
        }
        self.blocks.finish(component)
    }
}

/// Offsets by rank.
#[derive(Debug)]
pub struct Offsets {
    headers: Headers,
    payload: Section,
    count: u32,
    end: u64,
    place: Place,
}

impl Offsets {
    /// Reads what [`OffsetsBuilder::finish`] added.
    pub fn open(component: &mut ComponentReader<'_>) -> Result<Offsets> {
        let place = component.place().clone();
        let count = component.number_to(ROWS_MAX)?;
        let count = u32::try_from(count).map_err(Error::logical)?;
        let end = component.number()?;
        let (headers, payload) = (component.resident()?, component.resident()?);
        let numbers = count as usize + (count as usize).div_ceil(BLOCK_RANKS);
        let headers = Headers::open(headers, numbers, BLOCK_NUMBERS, payload.len(), &place)?;
        Ok(Offsets { headers, payload, count, end, place })
    }

    /// The number of values.
    pub fn len(&self) -> u32 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The end of the last value.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Where value `rank` is; an error if there is no such value.
    #[inline]
    pub fn range(&self, rank: Rank) -> Result<Range<u64>> {
        let (block, index) = (rank as usize / BLOCK_RANKS, rank as usize % BLOCK_RANKS);
        let Some(header) = self.headers.get(block).filter(|_| rank < self.count) else {
            return Err(self.no_value(rank));
        };
        let range = self.number(header, index)..self.number(header, index + 1);
        match range.start <= range.end && range.end <= self.end {
            true => Ok(range),
            false => Err(self.disorder(rank)),
        }
    }

    #[inline(always)]
    fn number(&self, header: Header, index: usize) -> u64 {
        header.number(index, self.payload.get(header.window(index)).unwrap_or_default())
    }

    /// Appends the beginnings of the values of `ranks`, and the end of the last one: one number more than ranks. They
    /// are in order.
    pub fn boundaries(&self, ranks: Range<Rank>, out: &mut Vec<u64>) -> Result<()> {
        if ranks.start > ranks.end || ranks.end > self.count {
            return Err(self.no_value(ranks.end));
        }
        if ranks.is_empty() {
            out.push(if ranks.start == self.count { self.end } else { self.range(ranks.start)?.start });
            return Ok(());
        }
        let from = out.len();
        let (mut rank, end) = (ranks.start as usize, ranks.end as usize);
        while rank < end {
            let (block, first) = (rank / BLOCK_RANKS, rank % BLOCK_RANKS);
            let last = (end - block * BLOCK_RANKS).min(BLOCK_RANKS);
            let Some(header) = self.headers.get(block) else { return Err(self.no_value(ranks.end)) };
            let start = out.len();
            out.resize(start + last + 1 - first, 0);
            let bytes = self.payload.get(header.bytes(last + 1)).unwrap_or_default();
            header.unpack(bytes, first, &mut out[start..]);
            rank = block * BLOCK_RANKS + last;
            if rank < end {
                // The next block begins with the same number.
                out.pop();
            }
        }
        match out[from..].is_sorted() && out.last().is_none_or(|&last| last <= self.end) {
            true => Ok(()),
            false => Err(self.disorder(ranks.start)),
        }
    }

    /// The bytes of the sections.
    pub fn stored_bytes(&self) -> u64 {
        (self.headers.bytes() + self.payload.len()) as u64
    }

    #[cold]
    fn no_value(&self, rank: Rank) -> Error {
        self.place.corrupt(format!("value {rank} of {} was referred to", self.count))
    }

    #[cold]
    fn disorder(&self, rank: Rank) -> Error {
        self.place.corrupt(format!("the offsets from value {rank} on are out of order"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::Access;
    use crate::file::testing::{Parts, TestDir, each_damage};

    fn build(ends: &[u64], dir: &TestDir) -> Parts {
        let mut builder = OffsetsBuilder::new(dir.place());
        ends.iter().for_each(|&end| builder.push(end).expect("in order"));
        let mut component = PendingComponent::new("offsets", "blocks");
        builder.finish(&mut component).expect("a spool");
        Parts::of(component)
    }

    fn open(parts: &Parts, access: Access, dir: &TestDir) -> Result<Offsets> {
        let file = dir.file(std::slice::from_ref(parts), access);
        let mut component = file.component("offsets")?;
        let offsets = Offsets::open(&mut component)?;
        component.finish().map(|()| offsets)
    }

    fn check(ends: &[u64]) -> f64 {
        let dir = TestDir::new();
        let parts = build(ends, &dir);
        let starts: Vec<u64> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let mut bytes = 0;
        for access in [Access::Mapped, Access::Read] {
            let offsets = open(&parts, access, &dir).expect("offsets");
            assert_eq!((offsets.len() as usize, offsets.end()), (ends.len(), starts[ends.len()]));
            for rank in 0..ends.len() {
                assert_eq!(offsets.range(rank as u32).expect("it is there"), starts[rank]..ends[rank]);
            }
            assert!(offsets.range(ends.len() as u32).is_err());
            for (from, to) in [(0, ends.len()), (1, 2), (127, 128), (128, 129), (100, 400), (7, 7)] {
                let (from, to) = (from.min(ends.len()), to.min(ends.len()));
                let mut found = vec![7];
                offsets.boundaries(from as u32..to as u32, &mut found).expect("they are there");
                assert_eq!(found[1..], starts[from..=to], "{from} to {to}");
            }
            assert!(offsets.boundaries(0..ends.len() as u32 + 1, &mut Vec::new()).is_err());
            bytes = offsets.stored_bytes();
        }
        bytes as f64 / ends.len().max(1) as f64
    }

    fn ends(lengths: impl Iterator<Item = u64>) -> Vec<u64> {
        lengths
            .scan(0, |end, length| {
                *end += length;
                Some(*end)
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn ranges_come_back(
            lengths in prop::collection::vec(prop_oneof![0..9_u64, 0..300_u64, 0..1_u64 << 54], 0..600),
        ) {
            check(&ends(lengths.into_iter()));
        }
    }

    #[test]
    fn values_take_about_two_bytes() {
        let noise = |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) % 1000;
        assert!(check(&ends((0..20_000).map(|at| noise(at) % 16))) < 1.3);
        assert!(check(&ends((0..20_000).map(|at| 500 + noise(at) / 2))) < 2.1);
        assert!(check(&ends((0..20_000).map(|_| 16))) < 0.3);
        check(&[]);
        check(&[0; 1000]);
    }

    #[test]
    fn damaged_offsets_give_an_error_or_some_range() {
        let dir = TestDir::new();
        let lengths = (0..150_u64).map(|at| at * at % 17);
        each_damage(&[build(&ends(lengths), &dir)], |parts| {
            let Ok(offsets) = open(&parts[0], Access::Mapped, &dir) else { return };
            for rank in (0..offsets.len().min(300)).chain([u32::MAX]) {
                let _ = offsets.range(rank).map(|range| assert!(range.start <= range.end));
            }
            let _ = offsets.boundaries(0..offsets.len().min(300), &mut Vec::new());
        });
    }

    #[test]
    fn ends_out_of_order_are_refused() {
        let mut builder = OffsetsBuilder::new(TestDir::new().place());
        builder.push(5).expect("in order");
        assert!(builder.push(4).is_err());
    }
}
