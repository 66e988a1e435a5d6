//! The capabilities that only some table engines have.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use basalt_base::Result;
use basalt_kv::Found;
use basalt_parts::{MergeWatch, PartSelection, TableParts, TtlMergeLimits, WorkControl};
use basalt_succinct::PlaceStatistics;

use super::succinct::{ListStep, StepWatch};
use super::table::Table;
use crate::context::QueryContext;

/// A table that finds rows by key.
pub(crate) trait KeyedTable {
    /// Positions of the key columns; not empty.
    fn lookup_key(&self) -> &[usize];

    /// The rows whose key columns (all of [`KeyedTable::lookup_key`]) are among `keys`, as the stored columns at
    /// `columns`, found on at most `threads_max` threads. `keys` may have duplicates.
    fn lookup(&self, keys: &[ArrayRef], columns: &[usize], threads_max: usize) -> Result<Found>;

    /// Reads what [`KeyedTable::lookup`] needs, on a thread that may block; look-ups then need not.
    fn prepare_lookup(&self) -> Result<()> {
        Ok(())
    }

    /// Whether a look-up of a million keys costs much less than several look-ups of fewer keys.
    fn prefers_large_blocks(&self) -> bool;

    /// Whether a look-up of one key takes no longer than a few reads from disk, so that it needs no thread of its own.
    fn finds_at_once(&self) -> bool {
        false
    }
}

/// A table whose rows are those of another object.
pub(crate) trait DerivedTable {
    /// Database and name of the other object.
    fn source(&self) -> (String, String);

    /// An error if the other object is missing, or lacks columns of the table. Called when the table is made.
    fn check_source(&self) -> Result<()>;

    /// A table that finds the rows by key: it has another name, and columns of the same names and types.
    fn finder(&self, query: &Arc<QueryContext>) -> Result<Arc<dyn Table>>;
}

/// A table that keeps its rows.
pub(crate) trait StoredTable {
    /// `OPTIMIZE TABLE`.
    fn optimize(&self, request: &OptimizeRequest<'_>) -> Result<()>;

    /// Reads all that `which` selects of what is on disk and compares it with its checksums. Calls `go_on` now and then,
    /// whose error ends it.
    fn check(&self, which: &PartSelection, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<CheckedPart>>;

    /// Counters of the storage since it was opened, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A table of parts.
pub(crate) trait PartsTable {
    fn parts(&self) -> &TableParts;

    /// The limits of TTL merges, which read at most `bytes_max`.
    fn ttl_limits(&self, bytes_max: u64) -> TtlMergeLimits;
}

/// A table whose rows are changed in place, by key: its [`KeyedTable::lookup_key`].
pub(crate) trait ChangeableTable: KeyedTable {
    /// Begins a change. INSERTs and other changes of the table wait from here on until it is committed or dropped, so
    /// that what is read meanwhile is what is changed. Its rows have the columns that the table has now.
    fn begin_change(&self, threads: usize) -> Result<Box<dyn RowsChange + '_>>;
}

/// A change of rows that is not visible yet. Dropping it cancels it.
pub(crate) trait RowsChange {
    /// Replaces the rows with the keys of `rows`, which has all stored columns in the order of the definition.
    fn put(&mut self, rows: &RecordBatch) -> Result<()>;

    /// Removes the rows with these keys: one array for each key column.
    fn delete(&mut self, keys: &[ArrayRef]) -> Result<()>;

    /// All of it becomes durable and visible at once.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// A table whose rows are in generations and segments.
pub(crate) trait PlacesTable {
    /// The places of the rows, the newest first.
    fn places(&self) -> Result<Vec<PlaceStatistics>>;

    /// The error of the last build or merge, if it failed.
    fn last_failure(&self) -> Option<String>;

    /// Copies the table as it is now into `dir`, an empty directory: files that never change become hard links.
    fn copy_to(&self, dir: &Path) -> Result<()>;

    /// Builds a segment or merges some; `false` if there is nothing to do.
    fn step(&self, watch: &StepWatch<'_>) -> Result<bool>;
}

/// The parts of a table that has them.
pub(crate) fn parts_of(table: &dyn Table) -> Option<&TableParts> {
    table.as_parts().map(PartsTable::parts)
}

/// The result of CHECK TABLE for one part of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedPart {
    pub(crate) name: String,
    /// The first damage, if there is any.
    pub(crate) damage: Option<String>,
}

/// `OPTIMIZE TABLE`.
pub(crate) struct OptimizeRequest<'a> {
    /// The identifier of the one partition to work on.
    pub(crate) partition: Option<String>,
    /// Merges until each partition has one part.
    pub(crate) is_final: bool,
    /// One row stays of those that agree in these columns.
    pub(crate) deduplicate: Option<Vec<String>>,
    /// Says whether expired rows stay, and ends the work.
    pub(crate) control: &'a WorkControl,
    pub(crate) watch: &'a dyn MergeWatch,
    /// Lists builds and merges of segments that begin.
    pub(crate) list_step: ListStep<'a>,
}
