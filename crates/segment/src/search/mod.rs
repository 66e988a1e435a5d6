//! Regular expressions and substrings over keys and compressed values.
//!
//! - [`pattern`]: what is searched for, and a test of a string in memory; [`like`]: LIKE patterns; [`distance`]: edit
//!   distances.
//! - [`plan`]: searches a column in the cheapest way that it has, and reports the way.
//! - [`keys`]: searches a key index.
//! - [`automaton`]: a deterministic automaton over bytes; [`closure`]: the sets that its states are.
//! - [`tokens`]: the automaton lifted to the codes of compressed strings; [`code_set`]: a set of strings as codes;
//!   [`token_strings`]: what they need of a store.
//! - [`literals`]: the trigrams that every match has; [`literal_set`]: sets of literals.

mod automaton;
mod closure;
mod code_set;
mod distance;
mod keys;
mod like;
mod literal_set;
mod literals;
mod pattern;
mod plan;
mod report;
mod token_strings;
mod tokens;

#[cfg(test)]
mod tests;

pub use automaton::Automaton;
pub use keys::{search_encoded_keys, search_keys};
pub use pattern::Pattern;
pub use plan::{SearchMemory, Strings, search};
pub use report::{SearchReport, Way};
pub use token_strings::{TokenStrings, VisitCodes};
