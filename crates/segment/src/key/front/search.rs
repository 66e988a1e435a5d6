//! Runs an automaton over the keys of a range.
//!
//! The states after each byte of a key are kept, so that the next key continues after their common prefix: the search
//! walks the trie of the keys depth first. A prefix after which no key, or every key, is accepted is *decided*. Keys of
//! the same block that have it are passed over without decoding, and further blocks by a lookup of the next key
//! without it.

use std::ops::{ControlFlow, Range};

use basalt_base::Result;
use basalt_base::query::checkpoint;

use super::block::{Block, Entry};
use super::tree::FrontIndex;
use crate::Rank;
use crate::key::index::Flow;
use crate::key::limits::{after_prefix, common_prefix};
use crate::key::ranges::Ranges;
use crate::key::walk::KeyAutomaton;

/// Blocks between two checkpoints.
const BLOCKS_OF_A_CHECKPOINT: u32 = 16;

/// A search on its way.
pub(super) struct Search<'a> {
    index: &'a FrontIndex,
    ranks: Range<Rank>,
    automaton: &'a mut dyn KeyAutomaton,
    ranges: Ranges<'a>,
    /// The bytes of the last key, up to the end of a decided prefix.
    key: Vec<u8>,
    /// The state before each byte of `key`, and after the last one.
    states: Vec<u32>,
    decided: Option<Decided>,
}

/// A prefix of the last key that decides all keys that begin with it.
#[derive(Clone, Copy)]
struct Decided {
    bytes: usize,
    is_accepted: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        index: &'a FrontIndex,
        ranks: Range<Rank>,
        automaton: &'a mut dyn KeyAutomaton,
        found: &'a mut dyn FnMut(Range<Rank>) -> Flow,
    ) -> Result<Search<'a>> {
        let start = automaton.start()?;
        let ranges = Ranges::new(ranks.clone(), found);
        let (key, states) = (Vec::new(), vec![start]);
        let mut search = Search { index, ranks, automaton, ranges, key, states, decided: None };
        search.decided = search.decision(start);
        Ok(search)
    }

    pub(super) fn run(mut self) -> Result<()> {
        let mut index = self.index.block_of(self.ranks.start);
        let mut visited = 0_u32;
        while index < self.index.blocks() && self.index.first_rank(index) < self.ranks.end {
            if visited.is_multiple_of(BLOCKS_OF_A_CHECKPOINT) {
                checkpoint()?;
            }
            visited += 1;
            let block = self.index.block(index)?;
            match self.after_decided(block, index)? {
                Some((rank, next)) => {
                    let is_accepted = self.decided.is_some_and(|decided| decided.is_accepted);
                    if is_accepted && self.ranges.add(self.index.first_rank(index)..rank)?.is_break() {
                        return Ok(());
                    }
                    index = next;
                }
                None => {
                    if self.visit(block, index)?.is_break() {
                        return Ok(());
                    }
                    index += 1;
                }
            }
        }
        self.ranges.finish()
    }

    /// If the keys of the whole block are decided: the rank of the next key that is not, and the block of it.
    fn after_decided(&self, block: Block<'_>, index: u32) -> Result<Option<(Rank, u32)>> {
        let Some(decided) = self.decided else { return Ok(None) };
        let prefix = &self.key[..decided.bytes];
        let mut head = Vec::new();
        block.append(block.entry(0, 0), decided.bytes, &mut head);
        if !head.starts_with(prefix) {
            return Ok(None);
        }
        let len = self.index.count;
        let rank = match after_prefix(prefix) {
            Some(after) => self.index.locate(&after)?.0,
            None => len,
        };
        let next = if rank == len { self.index.blocks() } else { self.index.block_of(rank) };
        // The other keys of a block are passed over one by one.
        Ok((next > index).then_some((rank, next)))
    }

    fn visit(&mut self, block: Block<'_>, index: u32) -> Flow {
        let mut first = 0;
        for (rank, at) in (self.index.first_rank(index)..self.ranks.end).zip(0..block.keys()) {
            let entry = block.entry(at, first);
            first = entry.end;
            let is_accepted = match at {
                0 => self.walk_head(block, entry)?,
                _ => self.walk(block, entry)?,
            };
            if is_accepted && self.ranges.add(rank..rank + 1)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// [`Search::walk`] for the first key of a block, whose prefix is not in the block.
    fn walk_head(&mut self, block: Block<'_>, entry: Entry) -> Result<bool> {
        let mut head = Vec::new();
        if block.is_inside(entry) {
            block.append(entry, usize::MAX, &mut head);
        }
        let common = common_prefix(&self.key, &head);
        if let Some(is_accepted) = self.continue_after(common) {
            return Ok(is_accepted);
        }
        // The rest of the key is not needed if it breaks.
        let _ = self.step(&head[common..])?;
        self.accepts()
    }

    /// Whether the key of `entry` is accepted.
    fn walk(&mut self, block: Block<'_>, entry: Entry) -> Result<bool> {
        if let Some(is_accepted) = self.continue_after(entry.prefix) {
            return Ok(is_accepted);
        }
        if block.is_inside(entry) {
            for index in entry.first..entry.end {
                if self.step(block.text(index))?.is_break() {
                    break;
                }
            }
        }
        self.accepts()
    }

    /// Goes back to the first `prefix` bytes of the last key; the decision, if they decide.
    fn continue_after(&mut self, prefix: usize) -> Option<bool> {
        if let Some(decided) = self.decided.filter(|decided| decided.bytes <= prefix) {
            return Some(decided.is_accepted);
        }
        self.decided = None;
        self.key.truncate(prefix);
        self.states.truncate(prefix + 1);
        None
    }

    /// Walks over `bytes` until the key is decided.
    fn step(&mut self, bytes: &[u8]) -> Flow {
        let mut state = self.states.last().copied().unwrap_or(0);
        for &byte in bytes {
            state = self.automaton.next(state, byte)?;
            self.key.push(byte);
            self.states.push(state);
            self.decided = self.decision(state);
            if self.decided.is_some() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn decision(&self, state: u32) -> Option<Decided> {
        let is_accepted = !self.automaton.is_dead(state);
        let is_decided = !is_accepted || self.automaton.accepts_all(state);
        is_decided.then_some(Decided { bytes: self.key.len(), is_accepted })
    }

    fn accepts(&mut self) -> Result<bool> {
        match (self.decided, self.states.last()) {
            (Some(decided), _) => Ok(decided.is_accepted),
            (None, Some(&state)) => self.automaton.accepts(state),
            (None, None) => Ok(false),
        }
    }
}
