//! Tables: what every engine answers to, and one file an engine.

mod codecs;
mod conversion;
mod create;
mod definition;
mod dictionary;
mod dictionary_rows;
mod embedded_rocksdb;
mod fill;
mod final_table;
mod key;
mod memory;
mod merge_mode;
mod merge_tree;
mod merge_tree_version;
mod opener;
mod part_log;
mod planning;
mod skip_index;
mod suspicious;
mod ttl;
mod ttl_group;
mod virtual_table;

pub(crate) use basalt_kv::Found;
pub(crate) use conversion::is_same_stored;
pub(crate) use create::{column_of, definition_of};
pub(crate) use definition::{ColumnDefinition, KeyClause, TableDefinition, names_column};
pub(crate) use dictionary_rows::DictionaryRows;
pub(crate) use opener::{ENGINES, TableOpener};
pub(crate) use part_log::{PartLog, PartLogEntry};
#[cfg(test)]
pub(crate) use planning::plan_alone;
pub(crate) use suspicious::check_suspicious_type;
pub(crate) use virtual_table::{FindsRows, VirtualTable};

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Error, Result, bail};
use basalt_parts::{MergeWatch, PartSelection, WorkControl};

use crate::catalog::CatalogStore;
use crate::query::QueryContext;
use crate::scan::{BlockSource, ScanRequest, TableExpression};

/// A table of any engine. Methods block; callers are on threads that may.
pub(crate) trait Table: Send + Sync {
    /// The engine as SQL names it, for example `MergeTree`.
    fn engine(&self) -> &'static str;

    /// Columns and clauses as they are now.
    fn definition(&self) -> Arc<TableDefinition>;

    /// What a scan can give: the stored columns, and behind them virtual ones.
    fn scanned(&self) -> Columns {
        self.definition().scanned()
    }

    /// Blocks of the requested columns. Conditions may be used to read less: rows that do not meet
    /// them may still come.
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>>;

    /// Expressions of which the table has a key or an index.
    fn expressions(&self) -> Arc<[TableExpression]> {
        Arc::default()
    }

    /// Whether a source of this table gives only rows that meet [`ScanRequest::filters`].
    fn filters_rows(&self) -> bool {
        false
    }

    /// Whether a [`scan`](Table::scan) of all rows costs next to nothing before it is read, and its source
    /// knows of many questions the answer.
    fn has_metadata(&self) -> bool {
        false
    }

    /// Adds the rows of `block`: all stored columns in the order of the definition. When it returns
    /// the rows are durable, if the engine stores at all, and every later scan sees them.
    fn insert(&self, block: RecordBatch) -> Result<()> {
        let _ = block;
        Err(self.refuses("INSERT"))
    }

    /// Starts an INSERT of which nothing is seen before it is committed; `None` if the engine can only
    /// [insert](Table::insert) block by block.
    fn begin_insert(&self, settings: &InsertSettings) -> Result<Option<Box<dyn InsertSink + '_>>> {
        let _ = settings;
        Ok(None)
    }

    /// The rows whose key columns (all of [`Table::lookup_key`]) are among `keys`, as the stored columns at
    /// `columns`, found on at most `threads_max` threads. A key may be asked for more than once.
    fn lookup(&self, keys: &[ArrayRef], columns: &[usize], threads_max: usize) -> Result<Found> {
        let _ = (keys, columns, threads_max);
        Err(self.refuses("a lookup by key"))
    }

    /// Reads what [`Table::lookup`] needs, on a thread that may block; look-ups then need not.
    fn prepare_lookup(&self) -> Result<()> {
        Ok(())
    }

    /// Whether [`Table::lookup`] of a million keys costs much less than some of fewer keys.
    fn prefers_large_blocks(&self) -> bool {
        false
    }

    /// Positions of the columns that [`Table::lookup`] takes; empty if there is no such lookup.
    fn lookup_key(&self) -> Vec<usize> {
        Vec::new()
    }

    /// What finds the table's rows by key in its stead: a table of another name, with columns of the same names
    /// and types.
    fn finder(&self, query: &Arc<QueryContext>) -> Result<Option<Arc<dyn Table>>> {
        let _ = query;
        Ok(None)
    }

    /// Database and name of what its rows come from, if they are not its own.
    fn source(&self) -> Option<(String, String)> {
        None
    }

    /// Whether [`Table::source`] is there and has the table's columns; asked when the table is made.
    fn check_source(&self, catalog: &CatalogStore) -> Result<()> {
        let _ = catalog;
        Ok(())
    }

    /// Removes all rows.
    fn truncate(&self) -> Result<()> {
        Err(self.refuses("TRUNCATE"))
    }

    /// The table as it is now, for one query: an ALTER that comes later changes nothing of it. `None` if the table is
    /// one by itself.
    fn as_of_now(self: Arc<Self>) -> Option<Arc<dyn Table>> {
        None
    }

    /// Whether merges change which rows the table has, so that FINAL means something.
    fn has_final(&self) -> bool {
        false
    }

    /// The table as FINAL shows it.
    fn as_final(self: Arc<Self>) -> Result<Arc<dyn Table>> {
        bail!(IllegalFinal, "storage {} doesn't support FINAL", self.engine())
    }

    /// Joins what can be joined.
    fn optimize(&self, request: &OptimizeRequest<'_>) -> Result<()> {
        let _ = request;
        Err(self.refuses("OPTIMIZE"))
    }

    /// Refuses what the table cannot become; nothing has changed yet.
    fn check_definition(&self, definition: &TableDefinition) -> Result<()> {
        let _ = definition;
        Ok(())
    }

    /// Applies changes of the column list, which `definition` has; what can be checked was.
    fn alter(&self, changes: &[ColumnChange], definition: Arc<TableDefinition>) -> Result<()> {
        let _ = (changes, definition);
        Err(self.refuses("ALTER of columns"))
    }

    /// The same table under another name.
    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()>;

    /// The parts of a table that has them: merges and mutations work on these.
    fn parts_of(&self) -> Option<&basalt_parts::TableParts> {
        None
    }

    /// When merges begin because of a TTL that read at most `bytes_max`; `None` without one.
    fn ttl_limits(&self, bytes_max: u64) -> Option<basalt_parts::TtlMergeLimits> {
        let _ = bytes_max;
        None
    }

    /// Reads all that `which` means of what is on disk and compares it with its checksums; asks `go_on` now and
    /// then, whose error ends it.
    fn check(&self, which: &PartSelection, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<CheckedPart>> {
        let _ = (which, go_on);
        Err(self.refuses("CHECK TABLE"))
    }

    /// Does one step of background work; `false` if there was none to do.
    fn work(&self) -> Result<bool> {
        Ok(false)
    }

    /// Rows, if they are known without a scan.
    fn total_rows(&self) -> Option<u64> {
        None
    }

    /// Bytes on disk or in memory, if known.
    fn total_bytes(&self) -> Option<u64> {
        None
    }

    /// The parts of a MergeTree table.
    fn parts(&self) -> Vec<basalt_parts::PartStats> {
        Vec::new()
    }

    /// What the storage has counted since it was opened, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The directory with the table's data, if it has one.
    fn data_path(&self) -> Option<std::path::PathBuf> {
        None
    }

    /// NOT_IMPLEMENTED: this engine does not do `what`.
    fn refuses(&self, what: &str) -> Error {
        Error::not_implemented(format!("{what} for a table of engine {}", self.engine()))
    }
}

/// What CHECK TABLE found in one part of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedPart {
    pub(crate) name: String,
    /// The first damage, if there is any.
    pub(crate) damage: Option<String>,
}

/// `OPTIMIZE TABLE`.
#[derive(Debug)]
pub(crate) struct OptimizeRequest<'a> {
    /// The identifier of the one partition to work on.
    pub(crate) partition: Option<String>,
    /// Down to one part a partition.
    pub(crate) is_final: bool,
    /// Of rows that agree in these columns one stays.
    pub(crate) deduplicate: Option<Vec<String>>,
    /// Says whether expired rows stay, and ends the work.
    pub(crate) control: &'a WorkControl,
    pub(crate) watch: &'a dyn MergeWatch,
}

/// The blocks of one INSERT; dropping it without a commit removes them.
pub(crate) trait InsertSink {
    /// Adds the rows of `blocks` as one block: all stored columns in the order of the definition.
    fn write(&mut self, blocks: Vec<RecordBatch>) -> Result<()>;

    /// Whether larger blocks make a better table; otherwise they are written as they come.
    fn prefers_large_blocks(&self) -> bool {
        true
    }

    /// Makes the rows durable, if the engine stores at all; every later scan sees them.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// What the settings of a query say about its INSERT.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InsertSettings {
    pub(crate) max_partitions_per_insert_block: u64,
    pub(crate) throw_on_max_partitions_per_insert_block: bool,
    pub(crate) insert_deduplicate: bool,
    pub(crate) insert_deduplication_token: String,
    pub(crate) fsync_after_insert: bool,
    pub(crate) optimize_on_insert: bool,
    /// How many threads it may take.
    pub(crate) threads: usize,
}

/// A change of a table's column list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ColumnChange {
    /// The column is in the new definition already.
    Add {
        name: String,
    },
    Drop {
        name: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Retype {
        name: String,
    },
    /// Comments, defaults, codecs, clauses: nothing stored changes.
    Describe,
}
