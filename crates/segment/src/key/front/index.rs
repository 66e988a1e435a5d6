//! What a key index promises, by the blocks of a tree.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::Result;
use basalt_base::query::checkpoint;

use super::search::Search;
use super::tree::FrontIndex;
use crate::Rank;
use crate::key::index::{Flow, KeyIndex};
use crate::key::limits::after_prefix;
use crate::key::walk::KeyAutomaton;

/// Blocks between two checkpoints.
const BLOCKS_OF_A_CHECKPOINT: u32 = 64;

impl KeyIndex for FrontIndex {
    fn len(&self) -> u32 {
        self.count
    }

    fn find(&self, key: &[u8]) -> Result<Option<Rank>> {
        let (rank, is_equal) = self.locate(key)?;
        Ok(is_equal.then_some(rank))
    }

    fn lower_bound(&self, key: &[u8]) -> Result<u32> {
        self.locate(key).map(|(rank, _)| rank)
    }

    fn prefix(&self, prefix: &[u8]) -> Result<Range<Rank>> {
        let start = self.lower_bound(prefix)?;
        let end = after_prefix(prefix).map_or(Ok(self.count), |after| self.lower_bound(&after))?;
        Ok(start..end.max(start))
    }

    fn key(&self, rank: Rank, out: &mut Vec<u8>) -> Result<()> {
        self.check_range(&(rank..rank.saturating_add(1)))?;
        self.block(self.block_of(rank))?.key((rank % self.block_keys) as usize, out);
        Ok(())
    }

    fn scan(&self, ranks: Range<Rank>, visit: &mut dyn FnMut(Rank, &[u8]) -> Flow) -> Result<()> {
        self.check_range(&ranks)?;
        if ranks.is_empty() {
            return Ok(());
        }
        let mut key = Vec::new();
        for index in self.block_of(ranks.start)..self.block_of(ranks.end - 1) + 1 {
            if index % BLOCKS_OF_A_CHECKPOINT == 0 {
                checkpoint()?;
            }
            let (block, mut first) = (self.block(index)?, 0);
            for (rank, at) in (self.first_rank(index)..ranks.end).zip(0..block.keys()) {
                let entry = block.entry(at, first);
                first = entry.end;
                key.truncate(entry.prefix);
                if !block.is_inside(entry) {
                    return Err(self.place.corrupt("a key is outside of its section"));
                }
                block.append(entry, usize::MAX, &mut key);
                if rank >= ranks.start && visit(rank, &key)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn search(
        &self,
        ranks: Range<Rank>,
        automaton: &mut dyn KeyAutomaton,
        found: &mut dyn FnMut(Range<Rank>) -> Flow,
    ) -> Result<()> {
        self.check_range(&ranks)?;
        Search::new(self, ranks, automaton, found)?.run()
    }

    fn stored_bytes(&self) -> u64 {
        self.section_bytes()
    }
}
