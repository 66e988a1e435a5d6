//! A Succinct table of bytes by bytes as a database.

use std::path::Path;
use std::sync::{Arc, Weak};

use basalt_base::{Result, bail};
use basalt_kv::raw::{BatchEntry, RawBatch, RawOptions, WriteOptions};
use basalt_kv::{Durability, SharedCache};
use basalt_succinct::Snapshot;
use basalt_succinct::raw::{RawChange, RawRows, RawTable};

use crate::background::{Awaited, Background};

/// New rows are in RocksDB, before they are in segments: the cache of its blocks, and its write buffers.
const CACHE_BYTES: usize = 8 << 20;
const WRITE_BUFFER_BYTES: usize = 64 << 20;
const STATS: &str = "leveldb.stats";
const SEGMENTS: &str = "leveldb.num-files-at-level0";

/// An open table and its background work.
pub(crate) struct SuccinctDatabase {
    // The first field: its thread ends before the table is closed.
    background: Background,
    table: Arc<RawTable>,
}

/// A table as it was at one time.
pub(crate) struct SuccinctSnapshot {
    table: Weak<RawTable>,
    snapshot: Arc<Snapshot>,
}

impl SuccinctDatabase {
    /// Whether `path` has a Succinct table.
    pub(crate) fn is_in(path: &Path) -> bool {
        RawTable::is_in(path)
    }

    pub(crate) fn open(path: &Path, options: &RawOptions) -> Result<SuccinctDatabase> {
        if options.error_if_exists {
            bail!(BadArguments, "{} exists (error_if_exists is true)", path.display());
        }
        if options.comparator.is_some() {
            bail!(
                BadArguments,
                "the Succinct table in {} has the order of bytes, no comparator",
                path.display()
            );
        }
        let table = RawTable::open(path, SharedCache::new(CACHE_BYTES, WRITE_BUFFER_BYTES))?;
        let table = Arc::new(table);
        Ok(SuccinctDatabase { background: Background::start(&table)?, table })
    }

    /// The error of a call that would remove or change files which SQL has a table of.
    pub(crate) fn refuse(path: &Path, what: &str) -> Result<()> {
        bail!(BadArguments, "{} has a Succinct table, {what}", path.display())
    }

    pub(crate) fn get<T>(
        &self,
        key: &[u8],
        snapshot: Option<&SuccinctSnapshot>,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        match snapshot {
            Some(snapshot) => self.table.get_at(self.own(snapshot)?, key, take),
            None => self.table.get(key, take),
        }
    }

    /// The snapshot itself, if it is one of this table.
    fn own<'a>(&self, snapshot: &'a SuccinctSnapshot) -> Result<&'a Arc<Snapshot>> {
        if !std::ptr::eq(snapshot.table.as_ptr(), Arc::as_ptr(&self.table)) {
            bail!(BadArguments, "a snapshot of another database cannot be read");
        }
        Ok(&snapshot.snapshot)
    }

    pub(crate) fn change(&self, changes: &[RawChange<'_>], options: WriteOptions) -> Result<()> {
        let durability = if options.sync { Durability::Synced } else { Durability::Logged };
        if self.table.write(changes, durability)? {
            self.background.wake();
        }
        Ok(())
    }

    pub(crate) fn write(&self, batch: &RawBatch, options: WriteOptions) -> Result<()> {
        let mut copies = Vec::with_capacity(batch.len());
        batch.for_each(|entry| {
            copies.push(match entry {
                BatchEntry::Put { key, value } => (key.to_vec(), Some(value.to_vec())),
                BatchEntry::Delete { key } => (key.to_vec(), None),
            });
        });
        let changes: Vec<RawChange<'_>> =
            copies.iter().map(|(key, value)| (&key[..], value.as_deref())).collect();
        self.change(&changes, options)
    }

    pub(crate) fn snapshot(&self) -> SuccinctSnapshot {
        SuccinctSnapshot { table: Arc::downgrade(&self.table), snapshot: self.table.snapshot() }
    }

    pub(crate) fn iterator(&self, snapshot: Option<&SuccinctSnapshot>) -> Result<RawRows> {
        let snapshot = match snapshot {
            Some(snapshot) => Arc::clone(self.own(snapshot)?),
            None => self.table.snapshot(),
        };
        Ok(self.table.rows(snapshot))
    }

    pub(crate) fn property(&self, name: &str) -> Result<Option<String>> {
        match name {
            STATS => self.table.describe().map(Some),
            SEGMENTS => Ok(Some(self.table.segments().to_string())),
            _ => Ok(None),
        }
    }

    pub(crate) fn approximate_bytes(&self, start: &[u8], limit: &[u8]) -> Result<u64> {
        self.table.approximate_bytes(start, limit)
    }

    /// All rows become one segment, or those of a range at least come into segments.
    pub(crate) fn compact(&self, start: Option<&[u8]>, limit: Option<&[u8]>) -> Result<()> {
        self.table.compact(start.is_none() && limit.is_none(), &Awaited)
    }
}
