//! An open raw store.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::{Error, Result};
use rocksdb::{DB, Range};

use super::batch::RawBatch;
use super::error::failed;
use super::foreign;
use super::iterator::RawIterator;
use super::options::RawOptions;
use super::reading::{RawSnapshot, ReadOptions};

/// A directory of keys and values. Thread-safe; all methods may run concurrently.
pub struct RawStore {
    path: PathBuf,
    options: RawOptions,
    db: DB,
    /// Whether another process writes the store, which this one follows.
    follows: bool,
    reads: rocksdb::ReadOptions,
    synced: rocksdb::WriteOptions,
    unsynced: rocksdb::WriteOptions,
}

/// How to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Sync the log before the change returns. Without it, the last changes are lost when the machine stops, but not
    /// when the process does.
    pub sync: bool,
}

impl RawStore {
    /// Opens the store in `path`. A store has one process: a second one gets an error.
    pub fn open(path: &Path, options: &RawOptions) -> Result<Arc<RawStore>> {
        foreign::check(path)?;
        let rocksdb = options.to_rocksdb()?;
        let db = DB::open(&rocksdb, path).map_err(|error| failed(path, "opening", &error))?;
        Ok(RawStore::of(path, options, db, false))
    }

    /// Opens the store in `path` for reading, while another process may have it open and write it. `logs` is a directory
    /// for messages of RocksDB. What the other process writes is seen after [`RawStore::catch_up`].
    pub fn follow(path: &Path, logs: &Path, options: &RawOptions) -> Result<Arc<RawStore>> {
        foreign::check(path)?;
        let mut rocksdb = RawOptions { create_if_missing: false, ..options.clone() }.to_rocksdb()?;
        // A file that the other process removes must stay readable.
        rocksdb.set_max_open_files(-1);
        let db = DB::open_as_secondary(&rocksdb, path, logs)
            .map_err(|error| failed(path, "opening it beside another process", &error))?;
        Ok(RawStore::of(path, options, db, true))
    }

    fn of(path: &Path, options: &RawOptions, db: DB, follows: bool) -> Arc<RawStore> {
        let mut synced = rocksdb::WriteOptions::default();
        synced.set_sync(true);
        Arc::new(RawStore {
            path: path.to_path_buf(),
            options: options.clone(),
            db,
            follows,
            reads: rocksdb::ReadOptions::default(),
            synced,
            unsynced: rocksdb::WriteOptions::default(),
        })
    }

    /// Reads what the process that writes the store has written. Nothing to do for the one that writes it.
    pub fn catch_up(&self) -> Result<()> {
        if !self.follows {
            return Ok(());
        }
        self.db
            .try_catch_up_with_primary()
            .map_err(|error| self.failed("reading what another process wrote", &error))
    }

    /// Removes all files of the store in `path`, which nobody may have open. A missing store is no error. Files of
    /// other programs stay, and so does the directory then.
    pub fn destroy(path: &Path, options: &RawOptions) -> Result<()> {
        foreign::check(path)?;
        DB::destroy(&options.to_rocksdb()?, path).map_err(|error| failed(path, "removing it", &error))
    }

    /// Makes the store in `path` readable again after damage, with what its files still have. Nobody may have it open.
    /// Files that cannot be read are moved to its directory `lost`.
    pub fn repair(path: &Path, options: &RawOptions) -> Result<()> {
        foreign::check(path)?;
        DB::repair(&options.to_rocksdb()?, path).map_err(|error| failed(path, "repairing it", &error))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `take` with the value of `key`, if it has one.
    pub fn get<T>(
        &self,
        key: &[u8],
        options: &ReadOptions,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        let value = if options.are_default() {
            self.db.get_pinned_opt(key, &self.reads)
        } else {
            self.db.get_pinned_opt(key, &options.to_rocksdb(self)?)
        };
        Ok(value.map_err(|error| self.failed("looking up a key", &error))?.map(|value| take(&value)))
    }

    /// Sets the value of `key`, whether or not it has one.
    pub fn put(&self, key: &[u8], value: &[u8], options: WriteOptions) -> Result<()> {
        let written = self.db.put_opt(key, value, self.write_options(options));
        written.map_err(|error| self.failed("setting a key", &error))
    }

    /// Removes `key`, if it is there.
    pub fn delete(&self, key: &[u8], options: WriteOptions) -> Result<()> {
        let written = self.db.delete_opt(key, self.write_options(options));
        written.map_err(|error| self.failed("deleting a key", &error))
    }

    /// Makes all changes of `batch` or none.
    pub fn write(&self, batch: &RawBatch, options: WriteOptions) -> Result<()> {
        let written = self.db.write_opt(batch.to_rocksdb(), self.write_options(options));
        written.map_err(|error| self.failed("writing a batch", &error))
    }

    fn write_options(&self, options: WriteOptions) -> &rocksdb::WriteOptions {
        if options.sync { &self.synced } else { &self.unsynced }
    }

    /// The store as it is now.
    pub fn snapshot(self: &Arc<Self>) -> Arc<RawSnapshot> {
        Arc::new(RawSnapshot::take(self))
    }

    /// An iterator over all keys. It reads a snapshot, the one of the options or one of now.
    pub fn iterator(self: &Arc<Self>, options: &ReadOptions) -> Result<RawIterator> {
        RawIterator::new(self, options)
    }

    /// A property by its name in RocksDB, for example `rocksdb.stats`; `None` if there is none of this name.
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        if name.contains('\0') {
            return Ok(None);
        }
        self.db.property_value(name).map_err(|error| self.failed("reading a property", &error))
    }

    /// Bytes of sorted files, after compression, that keys from `start` to before `limit` take; changes that are in
    /// memory are not counted. An estimate.
    pub fn approximate_bytes(&self, start: &[u8], limit: &[u8]) -> u64 {
        if self.options.compare(start, limit) != Ordering::Less {
            return 0;
        }
        self.db.get_approximate_sizes(&[Range::new(start, limit)]).first().copied().unwrap_or_default()
    }

    /// Writes the changes that are in memory to files, and removes what newer changes replace, for the keys from
    /// `start` to `limit`; `None` is the beginning, or the end. Returns when it is done.
    pub fn compact(&self, start: Option<&[u8]>, limit: Option<&[u8]>) {
        self.db.compact_range(start, limit);
    }

    pub(super) fn db(&self) -> &DB {
        &self.db
    }

    pub(super) fn failed(&self, doing: &str, source: &rocksdb::Error) -> Error {
        failed(&self.path, doing, source)
    }
}
