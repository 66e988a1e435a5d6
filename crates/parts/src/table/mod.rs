//! The parts of a table: the set that is active, and everything that changes it.
//!
//! - [`active`]: the set itself, its locks, publishing into it.
//! - [`recover`]: opening: what a crash left behind, and what cannot be read.
//! - [`insert`] with [`sort`] and [`order`]; [`merge`] with [`select`]; [`alter`]; [`stats`].

mod active;
mod alter;
mod insert;
mod merge;
mod order;
mod recover;
mod select;
mod sort;
mod stats;

#[cfg(test)]
mod tests;

pub use active::{Snapshot, TableParts};
pub use recover::DetachedPart;
pub use stats::{ColumnStats, PartStats, PartType};
