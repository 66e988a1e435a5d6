//! Merge modes: how merges combine rows with equal keys.
//!
//! - [`MergeMode`]: the mode of a table.
//! - [`Reducer`]: the contract; [`replacing`], [`summing`], [`collapsing`], [`versioned`] and [`distinct`] implement
//!   it, [`registry`] chooses one.
//! - [`reduced`]: runs of equal keys in a sorted stream, and the rows that a reducer keeps.
//!
//! A mode applies in three places, with the same result: in a merge, in the block of an insert, and in a query with
//! FINAL.

mod collapsing;
mod distinct;
mod merge_mode;
pub(crate) mod reduced;
mod reducer;
mod registry;
mod replacing;
mod summing;
mod versioned;

pub use merge_mode::MergeMode;
pub(crate) use reducer::{Purpose, Reducer};
pub(crate) use registry::{distinct, reducer};
