//! Key indexes: the sorted keys of a segment, by key and by rank.
//!
//! - [`index`]: the contract.
//! - [`walk`]: what an automaton search needs of an automaton.
//! - [`limits`]: the longest key, and prefixes.
//! - [`front`]: keys of any length, front-coded.
//! - [`fixed`]: keys of one length: integers and arrays.
//! - [`sample`]: the first pass over the keys, which chooses an encoding.
//! - [`registry`]: the list of encodings.
//! - [`walk_sorted`], [`ranges`]: an automaton search by lookups, and its results.
//! - [`prefix`], [`levenshtein`]: automata for prefixes and for edit distances.
//! - [`encoded_string`]: automata over strings, for keys that begin with one.
//! - [`secondary`]: from values of other columns to ranks.

mod encoded_string;
mod fixed;
mod front;
mod index;
mod levenshtein;
mod limits;
mod prefix;
mod ranges;
mod registry;
mod sample;
mod secondary;
mod walk;
mod walk_sorted;

#[cfg(test)]
mod conformance;

pub use encoded_string::{EncodedString, EncodedStringAutomaton};
pub use index::{Flow, KeyIndex};
pub use levenshtein::{DISTANCE_MAX, LevenshteinAutomaton};
pub use limits::KEY_BYTES_MAX;
pub use prefix::PrefixAutomaton;
pub use registry::{KeyIndexBuilder, open_key_index};
pub use sample::KeySample;
pub use secondary::{SecondaryIndex, SecondaryIndexBuilder};
pub use walk::KeyAutomaton;
