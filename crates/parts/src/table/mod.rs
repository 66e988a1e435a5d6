//! The parts of a table: the active set, and everything that changes it.
//!
//! - [`active`]: the set, its locks, and publishing into it.
//! - [`recover`]: opening after a crash, and parts that cannot be read; [`dropped`]: parts without dropped columns.
//! - [`partition`]: commands on whole parts; [`transfer`]: commands on two tables.
//! - [`publish`]: publishes pending parts; [`moves`]: several renames as one atomic change; [`deduplication`]: blocks
//!   that were inserted before.
//! - [`insert`] with [`split`], [`sort`] and [`order`]; [`merge`] with [`select`] and [`merged_rows`], and column
//!   by column: [`vertical`] with [`row_sources`] and [`gather`]; [`alter`]; [`stats`].
//! - [`ttl`]: merges of expired rows; [`ttl_times`]: when the next one may run.
//! - [`mutation`]: mutations, their [records](mutation_record), and the parts that wait for them; [`mutate`]: applies
//!   one to a part.
//! - [`claim`]: keeps merges and mutations off the same part; [`space`]: reserves disk space for them; [`control`]:
//!   their progress and cancellation.
//! - [`events`]: events of parts; [`observe`]: reports them to an observer.
//! - [`reduce`]: the table's mode, DEDUPLICATE and the TTL over merged rows.
//! - [`final_scan`]: the result of merging all parts, for one query.

mod active;
mod alter;
mod borders;
mod check;
mod claim;
mod control;
mod deduplication;
mod dropped;
mod events;
mod file_name;
mod final_layers;
mod final_scan;
mod gather;
mod insert;
mod lock;
mod merge;
mod merged_rows;
mod moves;
mod mutate;
mod mutation;
mod mutation_record;
mod observe;
mod order;
mod partition;
mod publish;
mod recover;
mod reduce;
mod row_sources;
mod select;
pub(crate) mod sort;
mod space;
mod split;
mod stats;
mod transfer;
mod ttl;
mod ttl_times;
mod vertical;

#[cfg(test)]
mod tests;

pub use active::{PartsVersion, Snapshot, TableParts};
pub use control::{WorkControl, WorkMemory};
pub use deduplication::Deduplication;
pub use events::{MergeReason, PartEvent, PartEventKind, PartFigures, PartObserver};
pub use final_layers::{FinalInput, FinalLayer, final_layers, with_same_keys};
pub use final_scan::FinalScan;
pub use insert::{InsertOptions, PendingInsert};
pub use merge::{MergeWatch, OptimizeOptions};
pub use mutate::{RowChange, RowsAfter};
pub use mutation::{MutationStatus, WaitingMutations};
pub use mutation_record::MutationFailure;
pub use partition::{DetachedStats, PartSelection};
pub use recover::DetachedPart;
pub use space::DiskSpace;
pub use stats::{ColumnBounds, ColumnStats, IndexStats, PartStats, TtlStats};
pub use transfer::finish_moves;
pub use ttl::{TtlMerge, TtlMergeLimits};
