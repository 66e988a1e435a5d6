//! `EmbeddedRocksDB(0, 'directory' [, 1])`: any RocksDB as a table of one String key and one String value.
//!
//! The directory belongs to somebody else: a program with RocksDB, or with the C library of Basalt. DROP TABLE leaves it.
//! As `read_only` the table follows what another process writes; otherwise the table is the one process of the store.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::record_batch::RecordBatch;
use basalt_base::fs::{Storage, publish_empty_dir};
use basalt_base::{Error, Result, SqlType, bail};
use basalt_kv::Found;
use basalt_kv::raw::{RawBatch, RawOptions, RawStore, WriteOptions};
use basalt_sql::ast::{Expr, Literal};
use parking_lot::{RwLock, RwLockWriteGuard};

use super::TableDefinition;
use super::capability::{ChangeableTable, KeyedTable, RowsChange};
use super::change_lock::ChangeLock;
use super::rows_by_key::key_of;
use super::table::{InsertSettings, InsertSink, Table};
use crate::scan::{BlockSource, RawSource, ScanRequest, look_up};

const ENGINE: &str = "EmbeddedRocksDB";
/// RocksDB's messages of a table that follows another process, below the table's own directory.
const LOGS: &str = "rocksdb_logs";
/// The rows of one statement are one batch of RocksDB, in memory.
const CHANGE_BYTES_MAX: usize = 1 << 30;

/// What the arguments of the engine say of a directory.
pub(super) struct RawDirectory {
    pub(super) path: String,
    pub(super) is_read_only: bool,
}

impl RawDirectory {
    /// The directory that the arguments name; `None` if they name none.
    pub(super) fn of_arguments(args: &[Expr]) -> Result<Option<RawDirectory>> {
        let (ttl, path, read_only) = match args {
            [ttl, path] => (ttl, path, None),
            [ttl, path, read_only] => (ttl, path, Some(read_only)),
            _ => return Ok(None),
        };
        let Expr::Literal(Literal::String(path)) = path else {
            bail!(BadArguments, "the second argument of engine EmbeddedRocksDB is its directory, a string");
        };
        if !matches!(ttl, Expr::Literal(Literal::UInt(0))) {
            bail!(
                NotImplemented,
                "a ttl of engine EmbeddedRocksDB with a directory of its own: it must be 0"
            );
        }
        let is_read_only = match read_only {
            None | Some(Expr::Literal(Literal::UInt(0) | Literal::Bool(false))) => false,
            Some(Expr::Literal(Literal::UInt(1) | Literal::Bool(true))) => true,
            Some(_) => {
                bail!(BadArguments, "the third argument of engine EmbeddedRocksDB, read_only, is 0 or 1")
            }
        };
        Ok(Some(RawDirectory { path: String::from_utf8_lossy(path).into_owned(), is_read_only }))
    }
}

/// A RocksDB of bytes.
pub(crate) struct RawRocksDbTable {
    definition: RwLock<Arc<TableDefinition>>,
    store: Arc<RawStore>,
    is_read_only: bool,
    /// The position of the key column; the other one is the value.
    key: [usize; 1],
    changes: ChangeLock,
}

impl RawRocksDbTable {
    /// Opens the store in `path`; `dir` is the table's own directory.
    pub(crate) fn open(
        storage: &dyn Storage,
        dir: &std::path::Path,
        path: PathBuf,
        is_read_only: bool,
        definition: Arc<TableDefinition>,
    ) -> Result<RawRocksDbTable> {
        let key = key_of(&definition, ENGINE)?;
        let columns = definition.stored();
        let is_raw = columns.len() == 2 && columns.iter().all(|column| column.ty == SqlType::String);
        let (true, [key]) = (is_raw, key.as_slice()) else {
            bail!(
                BadArguments,
                "a table over a directory of RocksDB has a String column as its key and another one as its value"
            );
        };
        publish_empty_dir(storage, dir)?;
        let store = match is_read_only {
            true => RawStore::follow(&path, &dir.join(LOGS), &RawOptions::default())?,
            false => {
                let options = RawOptions { create_if_missing: true, ..RawOptions::default() };
                RawStore::open(&path, &options)?
            }
        };
        let (key, changes) = ([*key], ChangeLock::default());
        Ok(RawRocksDbTable { definition: RwLock::new(definition), store, is_read_only, key, changes })
    }

    fn writable(&self) -> Result<&Arc<RawStore>> {
        if self.is_read_only {
            bail!(TableIsReadOnly, "table `{}` is read_only", self.definition.read().full_name());
        }
        Ok(&self.store)
    }

    fn value(&self) -> usize {
        1 - self.key[0]
    }

    /// A change, with the columns of rows in the order of the definition.
    fn change(&self) -> Result<RawChange<'_>> {
        let (key, value) = (self.key[0], self.value());
        Ok(RawChange { store: self.writable()?, batch: RawBatch::default(), key, value, bytes: 0 })
    }
}

impl Table for RawRocksDbTable {
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
        self.store.catch_up()?;
        RawSource::of(Arc::clone(&self.store), self.key, request)
    }

    fn begin_insert(&self, _settings: &InsertSettings) -> Result<Option<Box<dyn InsertSink + '_>>> {
        Ok(Some(Box::new(RawSink { change: self.change()?, changes: &self.changes })))
    }

    fn total_bytes(&self) -> Option<u64> {
        self.store.property("rocksdb.total-sst-files-size").ok()??.parse().ok()
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
}

impl KeyedTable for RawRocksDbTable {
    fn lookup_key(&self) -> &[usize] {
        &self.key
    }

    fn lookup(&self, keys: &[ArrayRef], columns: &[usize], _threads_max: usize) -> Result<Found> {
        self.store.catch_up()?;
        let schema = self.definition.read().stored().to_arrow().project(columns).map_err(Error::logical)?;
        look_up(&self.store, &keys[0], columns, self.key[0], Arc::new(schema))
    }

    fn prefers_large_blocks(&self) -> bool {
        false
    }

    fn finds_at_once(&self) -> bool {
        true
    }
}

impl ChangeableTable for RawRocksDbTable {
    fn begin_change(&self, _threads: usize) -> Result<Box<dyn RowsChange + '_>> {
        let alone = self.changes.alone()?;
        Ok(Box::new(RawRowsChange { change: self.change()?, _alone: alone }))
    }
}

/// Changes that are not visible yet.
struct RawChange<'a> {
    store: &'a Arc<RawStore>,
    batch: RawBatch,
    key: usize,
    value: usize,
    bytes: usize,
}

impl RawChange<'_> {
    fn put(&mut self, rows: &RecordBatch) -> Result<()> {
        let (keys, values) =
            (rows.column(self.key).as_binary_view(), rows.column(self.value).as_binary_view());
        for (key, value) in keys.iter().zip(values.iter()) {
            let (key, value) = (key.unwrap_or_default(), value.unwrap_or_default());
            self.count(key.len() + value.len())?;
            self.batch.put(key, value);
        }
        Ok(())
    }

    fn delete(&mut self, keys: &ArrayRef) -> Result<()> {
        for key in keys.as_binary_view().iter().flatten() {
            self.count(key.len())?;
            self.batch.delete(key);
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > CHANGE_BYTES_MAX {
            bail!(
                LimitExceeded,
                "a statement may change {CHANGE_BYTES_MAX} bytes of a directory of RocksDB; split it"
            );
        }
        Ok(())
    }

    fn commit(self) -> Result<()> {
        self.store.write(&self.batch, WriteOptions { sync: true })
    }
}

/// The rows of one INSERT.
struct RawSink<'a> {
    change: RawChange<'a>,
    changes: &'a ChangeLock,
}

impl InsertSink for RawSink<'_> {
    fn write(&mut self, blocks: Vec<RecordBatch>) -> Result<()> {
        blocks.iter().try_for_each(|block| self.change.put(block))
    }

    fn prefers_large_blocks(&self) -> bool {
        false
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let _shared = self.changes.shared()?;
        self.change.commit()
    }
}

/// Rows that UPDATE or DELETE changes.
struct RawRowsChange<'a> {
    change: RawChange<'a>,
    /// Released after the commit.
    _alone: RwLockWriteGuard<'a, ()>,
}

impl RowsChange for RawRowsChange<'_> {
    fn put(&mut self, rows: &RecordBatch) -> Result<()> {
        self.change.put(rows)
    }

    fn delete(&mut self, keys: &[ArrayRef]) -> Result<()> {
        self.change.delete(&keys[0])
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.change.commit()
    }
}
