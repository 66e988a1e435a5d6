//! Rows of keys that are asked for in their order, in the one of two ways that suits table and keys.
//!
//! MultiGet asks every sorted run of the table, but those whose Bloom filter says no. An iterator has no
//! filter and must go to its place in every run, but from a key to the next one in the same block the way is
//! short, and the row is decoded where it lies: where one run holds nearly all rows and most keys are
//! there, it takes two thirds of the time.

use basalt_base::prefetch::PrefetchAhead;
use basalt_base::{Error, Result};
use rocksdb::perf::{PerfStatsLevel, set_perf_stats};
use rocksdb::properties::{self, PropName};
use rocksdb::{DB, DBRawIteratorWithThreadMode, ErrorKind, ReadOptions};

use crate::options::BLOCK_BYTES;
use crate::store::Store;

/// Fewer keys are not worth an iterator.
const SEEK_KEYS_MIN: usize = 2048;
/// Rows in write buffers beside which a table still counts as one run: they are few to search.
const BUFFERED_ROWS_MAX: u64 = 1024;
/// Deleted rows that an iterator may step over on its way to a key.
const SKIPPED_ROWS_MAX: u64 = 64;
/// RocksDB's number of levels.
const LEVELS: usize = 7;
/// Of a block that has several of the keys, how much is fetched before it is searched: its other half.
const AHEAD_BYTES: usize = BLOCK_BYTES / 2;

pub(crate) struct Finder<'a> {
    store: &'a Store,
    can_seek: bool,
    /// Whether most keys of the batch before were there.
    found_most: bool,
    rows: Option<DBRawIteratorWithThreadMode<'a, DB>>,
    ahead: PrefetchAhead,
}

impl<'a> Finder<'a> {
    /// For about `keys` keys.
    pub(crate) fn new(store: &'a Store, keys: usize) -> Result<Finder<'a>> {
        // What RocksDB counts for a thread alone, every comparison of keys among it, is read by nobody.
        set_perf_stats(PerfStatsLevel::Disable);
        Ok(Finder {
            store,
            can_seek: keys >= SEEK_KEYS_MIN && store.is_one_run()?,
            found_most: false,
            rows: None,
            ahead: PrefetchAhead::new(AHEAD_BYTES),
        })
    }

    /// Calls `visit` with the position and the row of every key that is there. The keys are sorted and
    /// greater than those of the call before.
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

/// How many of the keys were looked for: all, unless there are too many deleted rows.
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
    /// Whether nearly all rows are in one sorted run, a file of the first level or all those of another one.
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
