//! I have rows in key order: write them once, compressed; then read one record, a range or a regular expression
//! straight out of the compressed bytes.
//!
//! A *segment* is one file that is never changed. The row with the k-th smallest key has *rank* k; every column stores
//! its values in that order, so the key index needs no map to rows. Deleted keys are rows too, marked as tombstones:
//! they shadow rows of older segments.
//!
//! # Where to look
//!
//! - [`build`] writes a segment in two passes over a [`RowSource`]; [`Segment`] opens it.
//! - [`bits`]: integers in as few bits as they need: packed numbers and offsets.
//! - [`file`]: the container: header, sections with checksums, directory. It knows nothing of rows.
//! - [`key`]: key indexes: key to rank, rank to key, ranges, automaton search. One file for each encoding.
//! - [`filter`]: refuses most keys that are not there.
//! - [`value`]: column stores: rank to value. One file for each encoding.
//! - [`search`]: automata over bytes and over tokens, and the literals that prune them.
//! - [`trigram`]: posting lists of trigrams, which tell the blocks of rows that may match.
//!
//! # Not here
//!
//! Keys are bytes whose order is the order of the rows; their encoding is the caller's. Rows that are not in a segment
//! yet, versions of the set of segments and what a crash may lose are the business of the table.

pub mod bits;
pub mod file;
pub mod filter;
pub mod key;
pub mod search;
pub mod trigram;
pub mod value;

mod build;
mod column;
mod error;
mod rows;
mod segment;
mod spec;

#[cfg(test)]
mod tests;

pub use build::{BuildOptions, Built, build};
pub use column::{ColumnDescription, SegmentColumn};
pub use error::{Corrupt, Place};
pub use rows::{RowBlock, RowSource};
pub use segment::Segment;
pub use spec::{ColumnSpec, SegmentSpec};

/// The position of a row in key order.
pub type Rank = u32;

/// The largest number of rows of a segment.
pub const ROWS_MAX: u64 = u32::MAX as u64 - 1;
