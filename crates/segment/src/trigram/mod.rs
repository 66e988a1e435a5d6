//! Posting lists of trigrams: for three bytes, the blocks of consecutive rows in whose strings they occur.
//!
//! They prune a search: a row that matches a pattern has the trigrams of its literals. Blocks that are left are
//! searched. "Regular Expression Matching with a Trigram Index" by Russ Cox (2012).
//!
//! - [`query`]: conditions on trigrams, as AND and OR.
//! - [`builder`]: takes strings in the order of ranks.
//! - [`postings`]: posting lists in a file, and the blocks that satisfy a condition.
//! - [`list`]: one posting list as bytes.
//! - [`layout`]: sizes that builder and reader share.
//! - [`chunk`]: a set of blocks in memory.
//! - [`run`]: sorted pairs of trigram and block, which were spilled and are merged.

mod builder;
mod chunk;
mod layout;
mod list;
mod postings;
mod query;
mod run;
mod run_reader;

#[cfg(test)]
pub(crate) mod tests;

pub use builder::TrigramBuilder;
pub use postings::Postings;
pub use query::{Trigram, TrigramQuery};
