//! The parts of a table: the set that is active, and everything that changes it.
//!
//! - [`active`]: the set itself, its locks, publishing into it.
//! - [`recover`]: opening: what a crash left behind, and what cannot be read.
//! - [`partition`]: whole parts come and go; [`transfer`]: from one table to another.
//! - [`moves`]: several renames at once; [`deduplication`]: blocks that were inserted before.
//! - [`insert`] with [`split`], [`sort`] and [`order`]; [`merge`] with [`select`] and [`merged_rows`],
//!   and column by column: [`vertical`] with [`row_sources`] and [`gather`]; [`alter`]; [`stats`].
//! - [`ttl`]: what has expired, and the merges that it asks for.
//! - [`mutation`]: which changes of rows wait for which parts; [`mutate`]: one change of one part.
//! - [`claim`]: no two merges or mutations work on one part; [`space`]: nor count on the same free bytes of the
//!   disk; [`control`]: what they tell of themselves.
//! - [`events`]: what happens to parts, told to an observer.
//! - [`final_scan`]: what a merge of all would leave, for one query.

mod active;
mod alter;
mod check;
mod claim;
mod control;
mod deduplication;
mod events;
mod final_layers;
mod final_scan;
mod gather;
mod insert;
mod merge;
mod merged_rows;
mod moves;
mod mutate;
mod mutation;
mod order;
mod partition;
mod recover;
mod row_sources;
mod select;
pub(crate) mod sort;
mod space;
mod split;
mod stats;
mod transfer;
mod ttl;
mod vertical;

#[cfg(test)]
mod tests;

pub use active::{PartsVersion, Snapshot, TableParts};
pub use control::{WorkControl, WorkMemory};
pub use deduplication::Deduplication;
pub use events::{MergeReason, PartEvent, PartEventKind, PartFigures, PartObserver};
pub use final_layers::{FinalLayer, final_layers, with_same_keys};
pub use final_scan::{FinalInput, FinalScan};
pub use insert::{InsertOptions, PendingInsert};
pub use merge::{MergeWatch, OptimizeOptions};
pub use mutate::{RowChange, RowsAfter};
pub use mutation::{MutationFailure, MutationStatus, WaitingMutations};
pub use partition::{DetachedStats, PartSelection};
pub use recover::DetachedPart;
pub use space::DiskSpace;
pub use stats::{ColumnBounds, ColumnStats, IndexStats, PartStats, PartType, TtlStats};
pub use transfer::finish_moves;
pub use ttl::{TtlMerge, TtlMergeLimits};
