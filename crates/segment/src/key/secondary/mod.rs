//! Secondary indexes: from values of a column, or parts of them, to the ranks of rows.
//!
//! The distinct values are the keys of a key index, and so have numbers. An entry, which is a value and a rank, is the
//! integer `number of the value * rows + rank`; the entries ascend, and [`crate::bits`] stores them with Elias-Fano. A
//! value of one row takes about `2 + log2(rows)` bits, and a value of many rows less for each.
//!
//! # Layout
//!
//! ```text
//! NAME            number: rows; then the number and the sections of `bits::ascending`
//! NAME/values     a key index
//! ```
//!
//! - [`sort`]: sorts entries with bounded memory.
//! - [`run`]: sorted entries in a spool.
//! - [`builder`], [`index`]: writes and reads.
//! - [`layout`]: the names of components.

mod builder;
mod index;
mod layout;
mod run;
mod sort;
#[cfg(test)]
mod tests;

pub use builder::SecondaryIndexBuilder;
pub use index::SecondaryIndex;
