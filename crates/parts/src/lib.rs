//! Tables of sorted rows in columns: written once as parts, read by column and granule.
//!
//! A table is a directory of *parts*. An insert writes a part, a merge makes one part of several, and nothing else
//! ever changes a file. So readers take no lock: they hold a snapshot, which is a list of parts, and a part's files
//! stay until the last snapshot with it is gone.
//!
//! # Where to look
//!
//! - [`TableParts`]: the parts of a table: open and recover, insert, merge, truncate, alter.
//! - [`Part`], [`PartScan`]: prune and read one part; [`PartReader`] reads it column by column, decoded blocks stay
//!   in a [`BlockCache`].
//! - [`KeyRanges`], [`KeyCondition`]: a query's condition on the key.
//! - [`Zones`]: the smallest and largest values of each granule of a column.
//! - [`SkipIndex`], [`Predicate`]: other means to skip granules.
//! - `column`: the column file, drawn in `column/writer.rs`, and the bytes of each type.
//! - `part`: the other files of a part: `part.meta` in `part/meta/mod.rs`, `primary.idx` in `key/primary.rs`.
//!
//! # On disk
//!
//! ```text
//! <table>/all_1_1_0/part.meta, data.bin      a compact part, or a wide one:
//! <table>/all_2_9_1/part.meta, primary.idx, zones.idx, <column>.col ...
//! <table>/detached/all_2_2_0/...   a part whose metadata could not be read, and reason.txt
//! <table>/tmp/                     files that are being written; emptied at open
//! ```
//!
//! # Not here
//!
//! No SQL, no expressions, no threads of its own: the engine decides when to merge, and on how many threads columns
//! are read and written.

mod column;
mod conversion;
mod error;
mod fields;
mod history;
mod index;
mod key;
mod limits;
mod metrics;
mod mode;
mod name;
mod part;
#[cfg(test)]
mod sample;
mod spec;
mod table;
mod ttl;

pub use column::cache::{BlockCache, BlockCacheStats};
pub use column::plain::plain;
pub use column::strings::distinct::DistinctStrings;
pub use conversion::{Conversion, Conversions, ConvertValues, FindConversion};
pub use error::Error;
pub use history::{ColumnHistory, NameChange};
pub use index::kind::IndexKind;
pub use index::predicate::{Operand, Predicate, Substring, ValueTest};
pub use index::skip_index::{INDEX_GRANULARITY_MAX, Indexed, SkipIndex};
pub use index::summary::FilterSize;
pub use index::zones::Zones;
pub use key::element::{KeyElement, KeyValue};
pub use key::expression::{KeyExpression, Monotonic};
pub use key::partition::PartitionValue;
pub use key::prune::MarkRanges;
pub use key::ranges::{KeyCondition, KeyRanges};
pub use limits::{
    BlockBytes, BrokenLimits, GRANULE_BYTES_DEFAULT, GRANULE_ROWS_DEFAULT, MergeLimits,
    WIDE_BYTES_MIN_DEFAULT,
};
pub use metrics::{ReadMetrics, ReadSnapshot};
pub use mode::MergeMode;
pub use name::{NotAPartName, PartName, WHOLE_TABLE};
pub use part::inspection::{InspectedColumn, InspectedIndex, InspectedPart, PartDescription};
pub use part::part_type::PartType;
pub use part::pruning::{ColumnConstraint, PruneStep};
pub use part::reader::PartReader;
pub use part::scan::PartScan;
pub use part::view::Part;
pub use part::volume::value_bytes;
pub use spec::{Fill, PartSpec};
pub use table::{
    ColumnBounds, ColumnStats, Deduplication, DetachedPart, DetachedStats, DiskSpace, FinalInput, FinalLayer,
    FinalScan, IndexStats, InsertOptions, MergeReason, MergeWatch, MutationFailure, MutationStatus,
    OptimizeOptions, PartEvent, PartEventKind, PartFigures, PartObserver, PartSelection, PartStats,
    PartsVersion, PendingInsert, RowChange, RowsAfter, Snapshot, TableParts, TtlMerge, TtlMergeLimits,
    TtlStats, WaitingMutations, WorkControl, WorkMemory, final_layers, finish_moves, with_same_keys,
};
pub use ttl::rule::{Aggregation, AggregationGroups, Expiry, TtlAction, TtlRule};
