//! The parts of a table: the set that is active, and everything that changes it.
//!
//! - [`active`]: the set itself, its locks, publishing into it.
//! - [`recover`]: opening: what a crash left behind, and what cannot be read.
//! - [`insert`] with [`sort`] and [`order`]; [`merge`] with [`select`] and [`merged_rows`]; [`alter`];
//!   [`stats`].
//! - [`mutation`]: which changes of rows wait for which parts; [`mutate`]: one change of one part.
//! - [`claim`]: no two merges or mutations work on one part; [`control`]: what they tell of themselves.
//! - [`final_scan`]: what a merge of all would leave, for one query.

mod active;
mod alter;
mod claim;
mod control;
mod final_scan;
mod insert;
mod merge;
mod merged_rows;
mod mutate;
mod mutation;
mod order;
mod recover;
mod select;
pub(crate) mod sort;
mod stats;

#[cfg(test)]
mod tests;

pub use active::{Snapshot, TableParts};
pub use control::WorkControl;
pub use final_scan::FinalScan;
pub use insert::InsertOptions;
pub use merge::OptimizeOptions;
pub use mutate::{RowChange, RowsAfter};
pub use mutation::{MutationFailure, MutationStatus, WaitingMutations};
pub use recover::DetachedPart;
pub use stats::{ColumnStats, PartStats, PartType};
