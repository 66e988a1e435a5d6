//! `EmbeddedRocksDB`: one row a key, replaced by INSERT, found without a scan.
//!
//! `=` and IN on the key columns become look-ups; a prefix of them, or a range on the next one,
//! becomes a scan of that range; anything else reads the table in key order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use basalt_base::fs::{Storage, publish_empty_dir};
use basalt_base::{ErrorCode, Result, bail};
use basalt_kv::{Found, KvOptions, Load, ReopeningStore, SharedCache, Store};
use basalt_parts::PartSelection;
use basalt_sql::ast::{Expr, Literal};
use parking_lot::{RwLock, RwLockWriteGuard};

use super::TableDefinition;
use super::capability::{ChangeableTable, CheckedPart, KeyedTable, OptimizeRequest, RowsChange, StoredTable};
use super::change_lock::ChangeLock;
use super::rows_by_key::{key_of, refused_default, rows_spec};
use super::table::{ColumnChange, InsertSettings, InsertSink, Table};
use crate::scan::{BlockSource, KeyValueSource, ScanRequest};
use crate::settings::EmbeddedRocksDbSettings;

const ENGINE: &str = "EmbeddedRocksDB";
/// RocksDB's files, below the table's own directory.
const DIRECTORY: &str = "rocksdb";

/// A table of one RocksDB.
pub(crate) struct EmbeddedRocksDbTable {
    definition: RwLock<Arc<TableDefinition>>,
    store: Arc<ReopeningStore>,
    key: Vec<usize>,
    changes: ChangeLock,
}

impl EmbeddedRocksDbTable {
    pub(crate) fn open(
        storage: &Arc<dyn Storage>,
        dir: PathBuf,
        definition: Arc<TableDefinition>,
        cache: &SharedCache,
    ) -> Result<EmbeddedRocksDbTable> {
        let create = &definition.create;
        if create.order_by.is_some() {
            bail!(BadArguments, "engine EmbeddedRocksDB takes PRIMARY KEY, not ORDER BY");
        }
        if create.partition_by.is_some() || create.sample_by.is_some() {
            bail!(BadArguments, "engine EmbeddedRocksDB takes neither PARTITION BY nor SAMPLE BY");
        }
        let key = key_of(&definition, ENGINE)?;
        let options = options_of(&definition, cache)?;
        let rocksdb = dir.join(DIRECTORY);
        publish_empty_dir(storage.as_ref(), &rocksdb)?;
        let store = ReopeningStore::open(&rocksdb, rows_spec(&definition, key.clone())?, options);
        let store = store.map_err(|error| match error.code() {
            ErrorCode::CorruptedData => {
                let name = definition.full_name();
                error.within(format!(
                    "nothing was changed; SYSTEM RESTORE TABLE {name} keeps what can be read"
                ))
            }
            _ => error,
        })?;
        let changes = ChangeLock::default();
        Ok(EmbeddedRocksDbTable { definition: RwLock::new(definition), store: Arc::new(store), key, changes })
    }

    /// SYSTEM RESTORE TABLE: repairs the damaged table in `dir`, which keeps the rows that can be read. Returns the
    /// directory with the original files.
    pub(crate) fn restore(dir: &Path, definition: &TableDefinition, cache: &SharedCache) -> Result<PathBuf> {
        Store::restore(&dir.join(DIRECTORY), &options_of(definition, cache)?)
    }
}

fn options_of(definition: &TableDefinition, cache: &SharedCache) -> Result<KvOptions> {
    let ttl_seconds = ttl_of(definition)?;
    let syncs_log = EmbeddedRocksDbSettings::of_clause(&definition.create.settings)?.sync;
    Ok(KvOptions { ttl_seconds, syncs_log, cache: cache.clone(), ..KvOptions::default() })
}

/// The time to live: the first argument of the engine.
fn ttl_of(definition: &TableDefinition) -> Result<Option<u32>> {
    let args = definition.create.engine.as_ref().map(|engine| engine.args.as_slice()).unwrap_or_default();
    match args {
        [] => Ok(None),
        [Expr::Literal(Literal::UInt(0))] => Ok(None),
        [Expr::Literal(Literal::UInt(seconds))] => match u32::try_from(*seconds) {
            Ok(seconds) => Ok(Some(seconds)),
            Err(_) => bail!(
                BadArguments,
                "the ttl of engine EmbeddedRocksDB is {seconds} seconds, at most 2^32 - 1"
            ),
        },
        [_] => bail!(BadArguments, "the first argument of engine EmbeddedRocksDB is its ttl in seconds"),
        [_, _] | [_, _, _] => {
            bail!(NotImplemented, "this is not implemented for a table over a directory of RocksDB")
        }
        _ => bail!(
            BadArguments,
            "engine EmbeddedRocksDB has at most three arguments: ttl, rocksdb_dir, read_only"
        ),
    }
}

impl Table for EmbeddedRocksDbTable {
    fn engine(&self) -> &'static str {
        ENGINE
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition.read())
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        *self.definition.write() = definition;
        Ok(())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        KeyValueSource::of(self.store.readable()?, &self.key, request)
    }

    fn begin_insert(&self, settings: &InsertSettings) -> Result<Option<Box<dyn InsertSink + '_>>> {
        let load = self.store.writable()?.begin_load(settings.threads)?;
        Ok(Some(Box::new(KeyValueSink { load, changes: &self.changes })))
    }

    fn truncate(&self) -> Result<()> {
        // A change that has read the rows would put them back.
        let _shared = self.changes.shared()?;
        self.store.writable()?.truncate()
    }

    fn check_definition(&self, definition: &TableDefinition) -> Result<()> {
        match refused_default(&self.definition(), definition)? {
            Some(what) => Err(self.refuses(&what)),
            None => Ok(()),
        }
    }

    fn alter(&self, changes: &[ColumnChange], definition: Arc<TableDefinition>) -> Result<()> {
        let [ColumnChange::Add { name }] = changes else {
            return Err(self.refuses("this ALTER"));
        };
        let columns = definition.stored();
        if columns.last().is_none_or(|last| last.name != *name) {
            return Err(self.refuses("ADD COLUMN before another column"));
        }
        // Held over both, so that a change begins with the columns of the definition.
        let mut current = self.definition.write();
        self.store.add_columns(rows_spec(&definition, self.key.clone())?)?;
        *current = definition;
        Ok(())
    }

    fn total_bytes(&self) -> Option<u64> {
        self.store.readable().ok()?.size_on_disk().ok()
    }

    fn data_path(&self) -> Option<PathBuf> {
        Some(self.store.path().to_owned())
    }

    fn as_keyed(&self) -> Option<&dyn KeyedTable> {
        Some(self)
    }

    fn as_changeable(&self) -> Option<&dyn ChangeableTable> {
        Some(self)
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn as_rows_store(&self) -> Option<Arc<ReopeningStore>> {
        Some(Arc::clone(&self.store))
    }
}

impl KeyedTable for EmbeddedRocksDbTable {
    fn lookup(&self, keys: &[ArrayRef], columns: &[usize], threads_max: usize) -> Result<Found> {
        self.store.readable()?.get(keys, columns, threads_max)
    }

    fn prefers_large_blocks(&self) -> bool {
        true
    }

    fn lookup_key(&self) -> &[usize] {
        &self.key
    }

    fn finds_at_once(&self) -> bool {
        true
    }
}

impl ChangeableTable for EmbeddedRocksDbTable {
    fn begin_change(&self, threads: usize) -> Result<Box<dyn RowsChange + '_>> {
        let alone = self.changes.alone()?;
        let _columns = self.definition.read();
        Ok(Box::new(KeyValueChange { load: self.store.writable()?.begin_load(threads)?, _alone: alone }))
    }
}

impl StoredTable for EmbeddedRocksDbTable {
    fn optimize(&self, request: &OptimizeRequest<'_>) -> Result<()> {
        if request.is_final {
            return Err(self.refuses("OPTIMIZE ... FINAL"));
        }
        self.store.writable()?.compact()
    }

    /// RocksDB has no parts: the store is checked as a whole.
    fn check(&self, _which: &PartSelection, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<CheckedPart>> {
        let damage = self.store.readable()?.check(go_on)?;
        Ok(vec![CheckedPart { name: "rocksdb".to_owned(), damage }])
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.store.readable().map(|store| store.counters()).unwrap_or_default()
    }
}

/// Changed rows, invisible in a load until they are committed.
struct KeyValueChange<'a> {
    load: Load,
    /// Released after the commit.
    _alone: RwLockWriteGuard<'a, ()>,
}

impl RowsChange for KeyValueChange<'_> {
    fn put(&mut self, rows: &RecordBatch) -> Result<()> {
        self.load.write(rows)
    }

    fn delete(&mut self, keys: &[ArrayRef]) -> Result<()> {
        self.load.delete(keys)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.load.commit().map(|_| ())
    }
}

/// The rows of one INSERT.
struct KeyValueSink<'a> {
    load: Load,
    changes: &'a ChangeLock,
}

impl InsertSink for KeyValueSink<'_> {
    fn write(&mut self, blocks: Vec<RecordBatch>) -> Result<()> {
        blocks.iter().try_for_each(|block| self.load.write(block))
    }

    fn prefers_large_blocks(&self) -> bool {
        false
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let _shared = self.changes.shared()?;
        self.load.commit().map(|_| ())
    }
}
