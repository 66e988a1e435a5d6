//! The contract of a table: what every engine has. What only some of them can do is in `capability.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Error, Result};
use basalt_kv::ReopeningStore;

use super::capability::{ChangeableTable, DerivedTable, KeyedTable, PartsTable, PlacesTable, StoredTable};
use super::definition::TableDefinition;
use crate::scan::{BlockSource, ScanRequest, TableExpression};

/// A table of any engine. Methods block; callers are on threads that may.
pub(crate) trait Table: Send + Sync {
    /// The engine as SQL names it, for example `MergeTree`.
    fn engine(&self) -> &'static str;

    /// Columns and clauses as they are now.
    fn definition(&self) -> Arc<TableDefinition>;

    /// The columns of a scan: the stored ones, then virtual ones.
    fn scanned(&self) -> Columns {
        self.definition().scanned()
    }

    /// Blocks of the requested columns. Conditions may be used to read less: rows that do not meet
    /// them may still come.
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>>;

    /// Expressions that the table has a key or an index on.
    fn expressions(&self) -> Arc<[TableExpression]> {
        Arc::default()
    }

    /// Whether a source of this table gives only rows that meet [`ScanRequest::filters`].
    fn filters_rows(&self) -> bool {
        false
    }

    /// Whether a [`scan`](Table::scan) of all rows costs next to nothing before it is read, and its source answers many
    /// questions from metadata.
    fn has_metadata(&self) -> bool {
        false
    }

    /// Adds the rows of `block`: all stored columns in the order of the definition. When it returns
    /// the rows are durable, if the engine stores at all, and every later scan sees them.
    fn insert(&self, block: RecordBatch) -> Result<()> {
        let _ = block;
        Err(self.refuses("INSERT"))
    }

    /// Starts an INSERT that is invisible until it is committed; `None` if the engine can only
    /// [insert](Table::insert) block by block.
    fn begin_insert(&self, settings: &InsertSettings) -> Result<Option<Box<dyn InsertSink + '_>>> {
        let _ = settings;
        Ok(None)
    }

    /// The table for an INSERT that gives only these columns, or all ordinary ones if there are none: a table that is
    /// elsewhere, where the other columns are filled. `None` if they are filled here.
    fn receiving(&self, columns: &[String]) -> Option<Arc<dyn Table>> {
        let _ = columns;
        None
    }

    /// Removes all rows.
    fn truncate(&self) -> Result<()> {
        Err(self.refuses("TRUNCATE"))
    }

    /// The table as it is now, for one query: a later ALTER does not change it. `None` if the table itself never
    /// changes under a query.
    fn as_of_now(self: Arc<Self>) -> Option<Arc<dyn Table>> {
        None
    }

    /// Refuses a definition that the table cannot have; nothing has changed yet.
    fn check_definition(&self, definition: &TableDefinition) -> Result<()> {
        let _ = definition;
        Ok(())
    }

    /// Applies changes of the column list, which `definition` has; all checks have passed.
    fn alter(&self, changes: &[ColumnChange], definition: Arc<TableDefinition>) -> Result<()> {
        let _ = (changes, definition);
        Err(self.refuses("ALTER of columns"))
    }

    /// The same table under another name.
    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()>;

    /// Rows, if they are known without a scan.
    fn total_rows(&self) -> Option<u64> {
        None
    }

    /// Bytes on disk or in memory, if known.
    fn total_bytes(&self) -> Option<u64> {
        None
    }

    /// The directory with the table's data, if it has one.
    fn data_path(&self) -> Option<std::path::PathBuf> {
        None
    }

    /// The table as FINAL shows it; `None` if merges do not change which rows it has.
    fn as_final(self: Arc<Self>) -> Option<Arc<dyn Table>> {
        None
    }

    /// Metadata for fields of the schema of its scans, by column.
    fn field_metadata(&self) -> Option<&HashMap<String, HashMap<String, String>>> {
        None
    }

    /// The table as one that finds rows by key.
    fn as_keyed(&self) -> Option<&dyn KeyedTable> {
        None
    }

    /// The table as one whose rows are changed in place.
    fn as_changeable(&self) -> Option<&dyn ChangeableTable> {
        None
    }

    /// The store of a table whose rows are rows of a [`basalt_kv::Store`], and nothing else.
    fn as_rows_store(&self) -> Option<Arc<ReopeningStore>> {
        None
    }

    /// The table as one whose rows are those of another object.
    fn as_derived(&self) -> Option<&dyn DerivedTable> {
        None
    }

    /// The table as one that OPTIMIZE and CHECK TABLE work on.
    fn as_stored(&self) -> Option<&dyn StoredTable> {
        None
    }

    /// The table as one of generations and segments.
    fn as_places(&self) -> Option<&dyn PlacesTable> {
        None
    }

    /// The table as one of parts: merges, mutations and partitions.
    fn as_parts(&self) -> Option<&dyn PartsTable> {
        None
    }

    /// NOT_IMPLEMENTED: this engine does not do `what`.
    fn refuses(&self, what: &str) -> Error {
        Error::not_implemented(format!("{what} for a table of engine {}", self.engine()))
    }
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

/// The settings of a query that concern its INSERT.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InsertSettings {
    pub(crate) max_partitions_per_insert_block: u64,
    pub(crate) throw_on_max_partitions_per_insert_block: bool,
    /// Whether repeated blocks are left out, if the table remembers blocks.
    pub(crate) deduplicates: bool,
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
