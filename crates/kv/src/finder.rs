//! Finds the rows of sorted keys, by MultiGet or by an iterator, whichever suits the table and the keys.
//!
//! MultiGet reads every sorted run whose Bloom filter may contain the key. An iterator has no filter and must seek
//! in every run, but the next key of the same block is near, and the row is decoded in place. Where one run holds
//! nearly all rows and most keys exist, the iterator takes two thirds of the time.

use basalt_base::prefetch::PrefetchAhead;
use basalt_base::{Error, Result};
use rocksdb::perf::{PerfStatsLevel, set_perf_stats};
use rocksdb::properties::{self, PropName};
use rocksdb::{DB, DBRawIteratorWithThreadMode, ErrorKind, ReadOptions};

use crate::options::BLOCK_BYTES;
use crate::store::Store;

/// An iterator does not pay off for fewer keys.
const SEEK_KEYS_MIN: usize = 2048;
/// A table counts as one run if its write buffers have no more rows than this.
const BUFFERED_ROWS_MAX: u64 = 1024;
/// Deleted rows that an iterator may step over on its way to a key.
const SKIPPED_ROWS_MAX: u64 = 64;
/// RocksDB's number of levels.
const LEVELS: usize = 7;
/// Bytes to prefetch of a block that contains several of the keys, before it is searched: its second half.
const AHEAD_BYTES: usize = BLOCK_BYTES / 2;

pub(crate) struct Finder<'a> {
    store: &'a Store,
    can_seek: bool,
    /// Whether most keys of the previous batch existed.
    found_most: bool,
    rows: Option<DBRawIteratorWithThreadMode<'a, DB>>,
    ahead: PrefetchAhead,
}

impl<'a> Finder<'a> {
    /// For about `keys` keys.
    pub(crate) fn new(store: &'a Store, keys: usize) -> Result<Finder<'a>> {
        // Nobody reads RocksDB's per-thread counters, and they count every comparison of keys.
        set_perf_stats(PerfStatsLevel::Disable);
        Ok(Finder {
            store,
            can_seek: keys >= SEEK_KEYS_MIN && store.is_one_run()?,
            found_most: false,
            rows: None,
            ahead: PrefetchAhead::new(AHEAD_BYTES),
        })
    }

    /// Calls `visit` with the position and the row of every key that exists. The keys are sorted and greater than
    /// those of previous calls.
    pub(crate) fn find(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut found = 0;
        let mut visit_live = |at: usize, row: &[u8]| {
            found += 1;
            if self.store.is_expired(row) { Ok(()) } else { visit(at, row) }
        };
        let mut done = 0;
        if self.can_seek && self.found_most {
            let rows = self.rows.get_or_insert_with(|| iterator(self.store));
            done = seek(self.store, rows, &mut self.ahead, keys, &mut visit_live)?;
            self.can_seek = done == keys.len();
        }
        if done < keys.len() {
            multi_get(self.store, &keys[done..], |at, row| visit_live(done + at, row))?;
        }
        self.found_most = found > keys.len() / 2;
        Ok(())
    }
}

fn iterator(store: &Store) -> DBRawIteratorWithThreadMode<'_, DB> {
    let mut options = ReadOptions::default();
    options.set_max_skippable_internal_keys(SKIPPED_ROWS_MAX);
    store.db().raw_iterator_opt(options)
}

/// Returns how many of the keys were searched: all, unless the iterator met too many deleted rows.
fn seek(
    store: &Store,
    rows: &mut DBRawIteratorWithThreadMode<'_, DB>,
    ahead: &mut PrefetchAhead,
    keys: &[&[u8]],
    visit: &mut impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<usize> {
    for (at, &key) in keys.iter().enumerate() {
        rows.seek(key);
        match rows.item() {
            Some((found, row)) => {
                ahead.at(row);
                if found == key {
                    visit(at, row)?;
                }
            }
            None => match rows.status() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Incomplete => return Ok(at),
                Err(error) => return Err(store.failed("looking up keys", &error)),
            },
        }
    }
    Ok(keys.len())
}

fn multi_get(store: &Store, keys: &[&[u8]], mut visit: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
    let family = store.family();
    let options = ReadOptions::default();
    let rows = store.db().batched_multi_get_cf_opt(&family, keys.iter().copied(), true, &options);
    for (at, row) in rows.into_iter().enumerate() {
        if let Some(row) = row.map_err(|error| store.failed("looking up keys", &error))? {
            visit(at, &row)?;
        }
    }
    Ok(())
}

impl Store {
    /// Whether nearly all rows are in one sorted run: a file of level 0, or another level.
    pub(crate) fn is_one_run(&self) -> Result<bool> {
        let buffers = [properties::NUM_ENTRIES_ACTIVE_MEM_TABLE, properties::NUM_ENTRIES_IMM_MEM_TABLES];
        let mut buffered = 0;
        for name in buffers {
            buffered += self.number(name)?;
        }
        let mut runs = 0;
        for level in 0..LEVELS {
            let files = self.number(&properties::num_files_at_level(level))?;
            runs += if level == 0 { files } else { files.min(1) };
        }
        Ok(buffered <= BUFFERED_ROWS_MAX && runs == 1)
    }

    fn number(&self, name: &PropName) -> Result<u64> {
        let value = self.db().property_value(name);
        let value = value.map_err(|error| self.failed("reading a property", &error))?;
        let number = value.as_deref().unwrap_or("0").trim().parse();
        number.map_err(|error| Error::logical(format!("property `{name}` of RocksDB is no number: {error}")))
    }
}
