//! Key indexes: the sorted keys of a segment, by key and by rank.
//!
//! - [`index`]: the contract.
//! - [`walk`]: what an automaton search needs of an automaton.

mod index;
mod walk;

pub use index::KeyIndex;
pub use walk::KeyAutomaton;
