//! Searches a key index for the keys that match a pattern, or whose first column does.

use std::ops::{ControlFlow, Range};

use basalt_base::Result;

use super::automaton::Automaton;
use super::pattern::Pattern;
use crate::Rank;
use crate::key::{EncodedString, EncodedStringAutomaton, KeyIndex};

/// Takes ascending ranges of ranks.
type Found<'f> = dyn FnMut(Range<Rank>) -> Result<ControlFlow<()>> + 'f;

/// Calls `found` with ascending ranges of the ranks in `ranks` whose keys match. A pattern whose automaton would be
/// too large is tested key by key.
pub fn search_keys(
    index: &dyn KeyIndex,
    pattern: &Pattern,
    ranks: Range<Rank>,
    found: &mut Found<'_>,
) -> Result<()> {
    match Automaton::new(pattern) {
        Ok(automaton) => search_with(automaton, index, None, pattern, ranks, found),
        Err(_) => scan(index, None, pattern, ranks, found),
    }
}

/// The same for keys that begin with a string in the form `form`: those whose string matches. NULL does not.
pub fn search_encoded_keys(
    index: &dyn KeyIndex,
    form: EncodedString,
    pattern: &Pattern,
    ranks: Range<Rank>,
    found: &mut Found<'_>,
) -> Result<()> {
    match Automaton::new(pattern) {
        Ok(automaton) => search_with(automaton, index, Some(form), pattern, ranks, found),
        Err(_) => scan(index, Some(form), pattern, ranks, found),
    }
}

/// A search with an automaton of `pattern`. Without a form, keys are the strings.
pub(super) fn search_with(
    mut automaton: Automaton,
    index: &dyn KeyIndex,
    form: Option<EncodedString>,
    pattern: &Pattern,
    ranks: Range<Rank>,
    found: &mut Found<'_>,
) -> Result<()> {
    let mut done = ranks.start;
    let mut note = |range: Range<Rank>| {
        done = range.end;
        found(range)
    };
    let result = match form {
        None => index.search(ranks.clone(), &mut automaton, &mut note),
        Some(form) => {
            let mut lifted = EncodedStringAutomaton::new(&mut automaton, form);
            index.search(ranks.clone(), &mut lifted, &mut note)
        }
    };
    match result {
        // Ranges ascend, so everything before the last one was decided.
        Err(_) if automaton.is_exhausted() => scan(index, form, pattern, done..ranks.end, found),
        result => result,
    }
}

fn scan(
    index: &dyn KeyIndex,
    form: Option<EncodedString>,
    pattern: &Pattern,
    ranks: Range<Rank>,
    found: &mut Found<'_>,
) -> Result<()> {
    let mut string = Vec::new();
    index.scan(ranks, &mut |rank, key| {
        let matches = match form {
            None => pattern.matches(key),
            Some(form) => form.decode(key, &mut string) && pattern.matches(&string),
        };
        if matches { found(rank..rank + 1) } else { Ok(ControlFlow::Continue(())) }
    })
}
