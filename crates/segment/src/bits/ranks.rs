//! A sparse set of ranks, each of which has a position in it.
//!
//! # Layout
//!
//! A number and two sections:
//!
//! ```text
//! count
//! starts     for each block of 2^16 ranks, the position of its first member u32; then the count
//! lows       the low 16 bits of each member u16
//! ```
//!
//! # Invariants
//!
//! Both sections are resident. [`Ranks::open`] has compared the starts with each other and with the count. The members
//! of a block that are not in order give wrong answers, but no position outside of the set.
//!
//! # Cost
//!
//! 2 bytes a member. A lookup is a binary search among the members of a block.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::Result;
use basalt_base::region::Section;

use crate::file::{ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::{ROWS_MAX, Rank};

/// Ranks of a block: those with the same high bits.
const BLOCK_BITS: u32 = 16;
const START_BYTES: usize = size_of::<u32>();
const LOW_BYTES: usize = size_of::<u16>();

/// Bits that a member takes.
pub(crate) const MEMBER_BITS: u64 = 8 * LOW_BYTES as u64;

/// Takes members in ascending order.
#[derive(Debug)]
pub(crate) struct RanksBuilder {
    starts: Spool,
    lows: Spool,
    /// Blocks that have a start.
    blocks: u32,
    count: u32,
}

impl RanksBuilder {
    pub(crate) fn new(place: &SpoolPlace) -> RanksBuilder {
        RanksBuilder { starts: place.spool(), lows: place.spool(), blocks: 0, count: 0 }
    }

    pub(crate) fn push(&mut self, rank: Rank) -> Result<()> {
        self.begin_blocks((rank >> BLOCK_BITS) + 1)?;
        let [low, high, ..] = rank.to_le_bytes();
        self.lows.write(&[low, high])?;
        self.count += 1;
        Ok(())
    }

    fn begin_blocks(&mut self, blocks: u32) -> Result<()> {
        while self.blocks < blocks {
            self.starts.write(&self.count.to_le_bytes())?;
            self.blocks += 1;
        }
        Ok(())
    }

    /// `rows` is greater than all members.
    pub(crate) fn finish(mut self, rows: u32, component: &mut PendingComponent) -> Result<()> {
        self.begin_blocks(blocks_of(rows) + 1)?;
        component.number(u64::from(self.count));
        component.section(self.starts);
        component.section(self.lows);
        Ok(())
    }
}

fn blocks_of(rows: u32) -> u32 {
    rows.div_ceil(1 << BLOCK_BITS)
}

#[derive(Debug)]
pub(crate) struct Ranks {
    starts: Section,
    lows: Section,
}

impl Ranks {
    pub(crate) fn open(component: &mut ComponentReader<'_>, rows: u32) -> Result<Ranks> {
        let count = component.number_to(ROWS_MAX)?;
        let starts = component.resident_of((u64::from(blocks_of(rows)) + 1) * START_BYTES as u64)?;
        let lows = component.resident_of(count * LOW_BYTES as u64)?;
        let ranks = Ranks { starts, lows };
        let mut starts = ranks.starts.as_chunks().0.iter().map(|start| u32::from_le_bytes(*start));
        match starts.clone().is_sorted() && starts.next_back().map(u64::from) == Some(count) {
            true => Ok(ranks),
            false => Err(component.place().corrupt("the positions of its ranks are out of order")),
        }
    }

    /// The number of members.
    pub(crate) fn len(&self) -> usize {
        self.lows.len() / LOW_BYTES
    }

    pub(crate) fn bytes(&self) -> usize {
        self.starts.len() + self.lows.len()
    }

    /// The position of `rank`; `None` if it is no member.
    #[inline]
    pub(crate) fn position(&self, rank: Rank) -> Option<usize> {
        let members = self.members(rank >> BLOCK_BITS);
        let lows = self.lows.as_chunks::<LOW_BYTES>().0.get(members.clone())?;
        let [low, high, ..] = rank.to_le_bytes();
        let found =
            lows.binary_search_by_key(&u16::from_le_bytes([low, high]), |low| u16::from_le_bytes(*low));
        found.ok().map(|at| members.start + at)
    }

    /// The positions of a block's members.
    #[inline]
    fn members(&self, block: u32) -> Range<usize> {
        let starts = self.starts.as_chunks::<START_BYTES>().0.get(block as usize..);
        match starts.and_then(|starts| starts.first_chunk::<2>()) {
            Some(&[start, end]) => u32::from_le_bytes(start) as usize..u32::from_le_bytes(end) as usize,
            None => 0..0,
        }
    }

    /// Calls `visit` with the members in `range` and their positions.
    pub(crate) fn each_in(&self, range: Range<Rank>, mut visit: impl FnMut(Rank, usize)) {
        if range.is_empty() {
            return;
        }
        for block in range.start >> BLOCK_BITS..=(range.end - 1) >> BLOCK_BITS {
            let members = self.members(block);
            let lows = self.lows.as_chunks::<LOW_BYTES>().0.get(members.clone()).unwrap_or_default();
            let rank = |low: &[u8; LOW_BYTES]| block << BLOCK_BITS | u32::from(u16::from_le_bytes(*low));
            let first = lows.partition_point(|low| rank(low) < range.start);
            for (position, low) in (members.start + first..).zip(lows.get(first..).unwrap_or_default()) {
                match rank(low) {
                    rank if range.contains(&rank) => visit(rank, position),
                    _ => break,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Access;
    use crate::file::testing::{Parts, TestDir, each_damage};

    fn build(members: &[u32], rows: u32, dir: &TestDir) -> Parts {
        let mut builder = RanksBuilder::new(dir.place());
        members.iter().for_each(|&rank| builder.push(rank).expect("a spool"));
        let mut component = PendingComponent::new("ranks", "ranks");
        builder.finish(rows, &mut component).expect("a spool");
        Parts::of(component)
    }

    fn open(parts: &Parts, rows: u32, dir: &TestDir) -> Result<Ranks> {
        let file = dir.file(std::slice::from_ref(parts), Access::Mapped);
        let mut component = file.component("ranks")?;
        let ranks = Ranks::open(&mut component, rows)?;
        component.finish().map(|()| ranks)
    }

    fn check(members: &[u32], rows: u32) {
        let dir = TestDir::new();
        let ranks = open(&build(members, rows, &dir), rows, &dir).expect("ranks");
        assert_eq!(ranks.len(), members.len());
        for rank in (0..rows.min(1000)).chain(members.iter().flat_map(|&at| [at, at.saturating_sub(1)])) {
            assert_eq!(ranks.position(rank), members.binary_search(&rank).ok(), "rank {rank}");
        }
        for range in [0..rows, 3..rows / 2, rows / 3..rows / 2, 7..7] {
            let mut found = Vec::new();
            ranks.each_in(range.clone(), |rank, position| found.push((rank, position)));
            let all = members.iter().copied().zip(0..);
            assert_eq!(found, all.filter(|(rank, _)| range.contains(rank)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn members_have_their_positions() {
        check(&[], 0);
        check(&[], 100_000);
        check(&[0], 1);
        check(&(0..3000).map(|at| at * at / 3 + at).collect::<Vec<_>>(), 3_100_000);
        check(&[65_535, 65_536, 400_000], 400_001);
    }

    #[test]
    fn damaged_sets_give_an_error_or_some_answer() {
        let dir = TestDir::new();
        let members: Vec<u32> = (0..40).map(|at| at * 5000).collect();
        each_damage(&[build(&members, 200_000, &dir)], |parts| {
            let Ok(ranks) = open(&parts[0], 200_000, &dir) else { return };
            members.iter().for_each(|&rank| {
                assert!(ranks.position(rank).is_none_or(|position| position < ranks.len()));
            });
            ranks.each_in(0..200_000, |_, position| assert!(position < ranks.len()));
        });
    }
}
