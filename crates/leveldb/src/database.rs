//! A database of any kind that the functions work on. No function of C here.

use std::path::Path;
use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_kv::raw::{RawBatch, RawIterator, RawOptions, RawSnapshot, RawStore, ReadOptions, WriteOptions};
use basalt_succinct::raw::RawRows;

use crate::succinct::{SuccinctDatabase, SuccinctSnapshot};

/// Properties of LevelDB with another name in RocksDB.
const STATS: (&str, &str) = ("leveldb.stats", "rocksdb.stats");
const TABLES: (&str, &str) = ("leveldb.sstables", "rocksdb.sstables");
/// The number of a level follows.
const FILES_AT_LEVEL: (&str, &str) = ("leveldb.num-files-at-level", "rocksdb.num-files-at-level");
/// The sum of several properties of RocksDB.
const MEMORY: (&str, [&str; 2]) =
    ("leveldb.approximate-memory-usage", ["rocksdb.size-all-mem-tables", "rocksdb.block-cache-usage"]);
const ROCKSDB_PREFIX: &str = "rocksdb.";
const FOREIGN: &str = "a snapshot of another database cannot be read";

/// An open database.
pub(crate) enum Database {
    Raw(Arc<RawStore>),
    Succinct(SuccinctDatabase),
}

/// A database as it was at one time.
pub(crate) enum PinnedSnapshot {
    Raw(Arc<RawSnapshot>),
    Succinct(SuccinctSnapshot),
}

/// A position among the keys.
pub(crate) enum Rows {
    Raw(RawIterator),
    Succinct(Box<RawRows>),
}

/// How to read.
pub(crate) struct Reading {
    pub(crate) verify_checksums: bool,
    pub(crate) fill_cache: bool,
    pub(crate) snapshot: Option<Arc<PinnedSnapshot>>,
}

impl Reading {
    fn to_raw(&self) -> Result<ReadOptions> {
        let snapshot = match self.snapshot.as_deref() {
            None => None,
            Some(PinnedSnapshot::Raw(snapshot)) => Some(Arc::clone(snapshot)),
            Some(PinnedSnapshot::Succinct(_)) => bail!(BadArguments, "{FOREIGN}"),
        };
        Ok(ReadOptions { verify_checksums: self.verify_checksums, fill_cache: self.fill_cache, snapshot })
    }

    fn to_succinct(&self) -> Result<Option<&SuccinctSnapshot>> {
        match self.snapshot.as_deref() {
            None => Ok(None),
            Some(PinnedSnapshot::Succinct(snapshot)) => Ok(Some(snapshot)),
            Some(PinnedSnapshot::Raw(_)) => bail!(BadArguments, "{FOREIGN}"),
        }
    }
}

impl Database {
    pub(crate) fn open(path: &Path, options: &RawOptions) -> Result<Database> {
        if SuccinctDatabase::is_in(path) {
            return SuccinctDatabase::open(path, options).map(Database::Succinct);
        }
        RawStore::open(path, options).map(Database::Raw)
    }

    pub(crate) fn destroy(path: &Path, options: &RawOptions) -> Result<()> {
        if SuccinctDatabase::is_in(path) {
            return SuccinctDatabase::refuse(path, "which DROP TABLE removes");
        }
        RawStore::destroy(path, options)
    }

    pub(crate) fn repair(path: &Path, options: &RawOptions) -> Result<()> {
        if SuccinctDatabase::is_in(path) {
            return SuccinctDatabase::refuse(path, "which BACKUP and RESTORE TABLE are for");
        }
        RawStore::repair(path, options)
    }

    /// Calls `take` with the value of `key`, if it has one.
    pub(crate) fn get<T>(
        &self,
        key: &[u8],
        reading: &Reading,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        match self {
            Database::Raw(store) => store.get(key, &reading.to_raw()?, take),
            Database::Succinct(table) => table.get(key, reading.to_succinct()?, take),
        }
    }

    pub(crate) fn put(&self, key: &[u8], value: &[u8], options: WriteOptions) -> Result<()> {
        match self {
            Database::Raw(store) => store.put(key, value, options),
            Database::Succinct(table) => table.change(&[(key, Some(value))], options),
        }
    }

    pub(crate) fn delete(&self, key: &[u8], options: WriteOptions) -> Result<()> {
        match self {
            Database::Raw(store) => store.delete(key, options),
            Database::Succinct(table) => table.change(&[(key, None)], options),
        }
    }

    pub(crate) fn write(&self, batch: &RawBatch, options: WriteOptions) -> Result<()> {
        match self {
            Database::Raw(store) => store.write(batch, options),
            Database::Succinct(table) => table.write(batch, options),
        }
    }

    pub(crate) fn snapshot(&self) -> PinnedSnapshot {
        match self {
            Database::Raw(store) => PinnedSnapshot::Raw(store.snapshot()),
            Database::Succinct(table) => PinnedSnapshot::Succinct(table.snapshot()),
        }
    }

    pub(crate) fn iterator(&self, reading: &Reading) -> Result<Rows> {
        match self {
            Database::Raw(store) => store.iterator(&reading.to_raw()?).map(Rows::Raw),
            Database::Succinct(table) => {
                table.iterator(reading.to_succinct()?).map(|rows| Rows::Succinct(Box::new(rows)))
            }
        }
    }

    /// A property by its name in LevelDB or in RocksDB; `None` if there is none of this name.
    pub(crate) fn property(&self, name: &str) -> Result<Option<String>> {
        match self {
            Database::Raw(store) => raw_property(store, name),
            Database::Succinct(table) => table.property(name),
        }
    }

    pub(crate) fn approximate_bytes(&self, start: &[u8], limit: &[u8]) -> Result<u64> {
        match self {
            Database::Raw(store) => Ok(store.approximate_bytes(start, limit)),
            Database::Succinct(table) => table.approximate_bytes(start, limit),
        }
    }

    pub(crate) fn compact(&self, start: Option<&[u8]>, limit: Option<&[u8]>) -> Result<()> {
        match self {
            Database::Raw(store) => store.compact(start, limit),
            Database::Succinct(table) => table.compact(start, limit)?,
        }
        Ok(())
    }
}

fn raw_property(store: &RawStore, name: &str) -> Result<Option<String>> {
    if name == MEMORY.0 {
        let mut bytes: u64 = 0;
        for part in MEMORY.1 {
            bytes += store.property(part)?.and_then(|part| part.parse().ok()).unwrap_or(0);
        }
        return Ok(Some(bytes.to_string()));
    }
    for (ours, theirs) in [STATS, TABLES] {
        if name == ours {
            return store.property(theirs);
        }
    }
    if let Some(level) = name.strip_prefix(FILES_AT_LEVEL.0) {
        return store.property(&format!("{}{level}", FILES_AT_LEVEL.1));
    }
    if name.starts_with(ROCKSDB_PREFIX) { store.property(name) } else { Ok(None) }
}

impl Rows {
    pub(crate) fn is_valid(&self) -> bool {
        match self {
            Rows::Raw(rows) => rows.is_valid(),
            Rows::Succinct(rows) => rows.is_valid(),
        }
    }

    pub(crate) fn seek_to_first(&mut self) {
        match self {
            Rows::Raw(rows) => rows.seek_to_first(),
            Rows::Succinct(rows) => rows.seek_to_first(),
        }
    }

    pub(crate) fn seek_to_last(&mut self) {
        match self {
            Rows::Raw(rows) => rows.seek_to_last(),
            Rows::Succinct(rows) => rows.seek_to_last(),
        }
    }

    pub(crate) fn seek(&mut self, key: &[u8]) {
        match self {
            Rows::Raw(rows) => rows.seek(key),
            Rows::Succinct(rows) => rows.seek(key),
        }
    }

    pub(crate) fn next(&mut self) {
        match self {
            Rows::Raw(rows) => rows.next(),
            Rows::Succinct(rows) => rows.next(),
        }
    }

    pub(crate) fn prev(&mut self) {
        match self {
            Rows::Raw(rows) => rows.prev(),
            Rows::Succinct(rows) => rows.prev(),
        }
    }

    pub(crate) fn key(&self) -> Option<&[u8]> {
        match self {
            Rows::Raw(rows) => rows.key(),
            Rows::Succinct(rows) => rows.key(),
        }
    }

    pub(crate) fn value(&self) -> Option<&[u8]> {
        match self {
            Rows::Raw(rows) => rows.value(),
            Rows::Succinct(rows) => rows.value(),
        }
    }

    pub(crate) fn status(&self) -> Result<()> {
        match self {
            Rows::Raw(rows) => rows.status(),
            Rows::Succinct(rows) => rows.status(),
        }
    }
}
