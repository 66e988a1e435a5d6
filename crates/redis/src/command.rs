//! What a command is: its name, its keys, and what runs it.

use crate::call::Call;
use crate::failure::Outcome;
use crate::host::Host;
use crate::state::{Client, Next};

/// A command.
pub(crate) struct Command {
    /// In lower case.
    pub(crate) name: &'static str,
    /// The number of words; if negative, at least as many.
    pub(crate) arity: i32,
    pub(crate) effect: Effect,
    /// The words that are keys: the first, the last (from the end if negative), and the step. 0: none.
    pub(crate) keys: (usize, i32, usize),
    pub(crate) run: Run,
}

/// What a command does to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Reads at most one row of each key.
    ReadsRow,
    Reads,
    Writes,
    /// May change any key.
    WritesAll,
    None,
}

pub(crate) type RunData = fn(&mut Call<'_, '_>) -> Outcome;
pub(crate) type RunConnection = fn(&mut Client, &dyn Host, &[&[u8]], &mut Vec<u8>) -> Outcome<Next>;

#[derive(Clone, Copy)]
pub(crate) enum Run {
    Data(RunData),
    Connection(RunConnection),
}

impl Command {
    /// The keys among the words of a command.
    pub(crate) fn keys_of<'w>(&self, words: &'w [&'w [u8]]) -> impl Iterator<Item = &'w [u8]> + use<'w> {
        let (first, last, step) = self.keys;
        let end = match last {
            last if last < 0 => (words.len() + 1).saturating_sub(last.unsigned_abs() as usize),
            last => (last as usize + 1).min(words.len()),
        };
        let keys = if first == 0 || first >= end { &[][..] } else { &words[first..end] };
        keys.iter().copied().step_by(step.max(1))
    }

    pub(crate) fn takes(&self, words: usize) -> bool {
        let least = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { words >= least } else { words == least }
    }
}
