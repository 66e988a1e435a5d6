//! Searches a key index for the keys that match a pattern.

use std::ops::{ControlFlow, Range};

use basalt_base::Result;

use super::automaton::Automaton;
use super::pattern::Pattern;
use crate::Rank;
use crate::key::KeyIndex;

/// Calls `found` with ascending ranges of the ranks in `ranks` whose keys match. A pattern whose automaton would be
/// too large is tested key by key.
pub fn search_keys(
    index: &dyn KeyIndex,
    pattern: &Pattern,
    ranks: Range<Rank>,
    found: &mut dyn FnMut(Range<Rank>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    match Automaton::new(pattern) {
        Ok(automaton) => search_with(automaton, index, pattern, ranks, found),
        Err(_) => scan(index, pattern, ranks, found),
    }
}

/// [`search_keys`] with an automaton of `pattern`.
pub(super) fn search_with(
    mut automaton: Automaton,
    index: &dyn KeyIndex,
    pattern: &Pattern,
    ranks: Range<Rank>,
    found: &mut dyn FnMut(Range<Rank>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut done = ranks.start;
    let mut note = |range: Range<Rank>| {
        done = range.end;
        found(range)
    };
    match index.search(ranks.clone(), &mut automaton, &mut note) {
        // Ranges ascend, so everything before the last one was decided.
        Err(_) if automaton.is_exhausted() => scan(index, pattern, done..ranks.end, found),
        result => result,
    }
}

fn scan(
    index: &dyn KeyIndex,
    pattern: &Pattern,
    ranks: Range<Rank>,
    found: &mut dyn FnMut(Range<Rank>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    index.scan(ranks, &mut |rank, key| match pattern.matches(key) {
        true => found(rank..rank + 1),
        false => Ok(ControlFlow::Continue(())),
    })
}
