//! Key indexes: the sorted keys of a segment, by key and by rank.
//!
//! - [`index`]: the contract.
//! - [`walk`]: what an automaton search needs of an automaton.
//! - [`limits`]: the longest key, and prefixes.
//! - [`front`]: keys of any length, front-coded.
//! - [`fixed`]: keys of one length: integers and arrays.
//! - [`sample`]: the first pass over the keys, which chooses an encoding.
//! - [`registry`]: the list of encodings.

mod fixed;
mod front;
mod index;
mod limits;
mod ranges;
mod registry;
mod sample;
mod walk;
mod walk_sorted;

#[cfg(test)]
mod conformance;

pub use index::{Flow, KeyIndex};
pub use limits::KEY_BYTES_MAX;
pub use registry::{KeyIndexBuilder, open_key_index};
pub use sample::KeySample;
pub use walk::KeyAutomaton;
