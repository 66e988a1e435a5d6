//! Runs an automaton over the keys of an index whose lookups are cheap.
//!
//! The states after each byte of a key are kept, so that the next key continues after their common prefix. After a
//! prefix that decides all keys which begin with it, the search goes on with the next key without it.

use std::ops::Range;

use basalt_base::Result;
use basalt_base::query::checkpoint;

use super::index::{Flow, KeyIndex};
use super::limits::{after_prefix, common_prefix};
use super::ranges::Ranges;
use super::walk::KeyAutomaton;
use crate::Rank;

/// Keys between two checkpoints.
const KEYS_OF_A_CHECKPOINT: u32 = 4096;

/// [`KeyIndex::search`] by [`KeyIndex::key`] and [`KeyIndex::lower_bound`].
pub(super) fn walk_sorted(
    index: &dyn KeyIndex,
    ranks: Range<Rank>,
    automaton: &mut dyn KeyAutomaton,
    found: &mut dyn FnMut(Range<Rank>) -> Flow,
) -> Result<()> {
    let mut states = vec![automaton.start()?];
    let (mut last, mut key): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    let mut ranges = Ranges::new(ranks.clone(), found);
    let (mut rank, mut visited) = (ranks.start, 0_u32);
    while rank < ranks.end {
        if visited.is_multiple_of(KEYS_OF_A_CHECKPOINT) {
            checkpoint()?;
        }
        visited += 1;
        key.clear();
        index.key(rank, &mut key)?;
        states.truncate(common_prefix(&last, &key) + 1);
        let mut decided = walk(automaton, &mut states, &key)?;
        let mut next = rank + 1;
        if decided.is_some() {
            key.truncate(states.len() - 1);
            next = after_prefix(&key).map_or(Ok(ranks.end), |after| index.lower_bound(&after))?.max(next);
        } else if let Some(&state) = states.last() {
            decided = Some(automaton.accepts(state)?);
        }
        if decided == Some(true) && ranges.add(rank..next)?.is_break() {
            return Ok(());
        }
        rank = next;
        std::mem::swap(&mut last, &mut key);
    }
    ranges.finish()
}

/// Walks over the bytes of `key` that have no state yet, until they decide. Returns whether all keys that begin with
/// them are accepted, or none; `None` if that is open.
fn walk(automaton: &mut dyn KeyAutomaton, states: &mut Vec<u32>, key: &[u8]) -> Result<Option<bool>> {
    loop {
        let state = states.last().copied().unwrap_or(0);
        if automaton.is_dead(state) {
            return Ok(Some(false));
        }
        if automaton.accepts_all(state) {
            return Ok(Some(true));
        }
        match key.get(states.len() - 1) {
            Some(&byte) => states.push(automaton.next(state, byte)?),
            None => return Ok(None),
        }
    }
}
