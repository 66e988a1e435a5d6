//! Memory of dictionaries, which counts for the server's limit: what versions hold, and what loads take.
//!
//! A version counts for as long as somebody has it, so the old one does until the last query that began with it ends.
//! What it holds is asked when a load ends, from time to time, and before a query is refused; between these, the
//! sum is a number. Pages of files are the system's, and do not count.
//!
//! A load is charged block by block with the bytes of its rows, which it holds, or tables of about their size; where rows go
//! through files, up to what is in memory at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{Dictionary, LoadBounds};
use parking_lot::Mutex;

use crate::query::ServerMemory;

/// What the table, or the file on the way, has beside the columns of a row.
const HASH_BYTES: usize = size_of::<u64>();

/// Of all dictionaries.
#[derive(Default)]
pub(crate) struct DictionaryMemory {
    versions: Mutex<Vec<Weak<dyn Dictionary>>>,
    loaded: AtomicU64,
    loading: AtomicU64,
}

/// Of one load, until it is dropped.
pub(super) struct LoadMemory {
    server: Arc<ServerMemory>,
    /// Of the dictionary.
    name: String,
    /// Bytes of its rows so far.
    rows: u64,
    held: u64,
    /// What it held when its rows began to go through files.
    before: u64,
    /// What it holds at most, if its rows go through files.
    most: u64,
    /// The same, of keys that do not: all of them, and bytes a row.
    keys: u64,
    key_bytes: u64,
    /// What the version that answers holds.
    current: u64,
}

/// What is in memory with a new version, at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Current,
    Nothing,
}

impl DictionaryMemory {
    /// What all versions and loads hold.
    pub(crate) fn bytes(&self) -> u64 {
        self.loaded.load(Ordering::Relaxed) + self.loading.load(Ordering::Relaxed)
    }

    /// Counts a version from now on.
    pub(super) fn add(&self, version: &Arc<dyn Dictionary>) {
        let mut versions = self.versions.lock();
        if !versions.iter().any(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(version))) {
            versions.push(Arc::downgrade(version));
        }
        drop(versions);
        self.count_again();
    }

    /// Asks all versions what they hold now, and forgets those that are gone.
    pub(crate) fn count_again(&self) {
        let mut versions = self.versions.lock();
        versions.retain(|version| version.strong_count() > 0);
        // A version that answers with changes has the one before as a part, which may be here by itself, too.
        let mut parts: Vec<Arc<dyn Dictionary>> = Vec::new();
        for version in versions.iter().filter_map(Weak::upgrade) {
            let own = version.changes().map_or_else(|| vec![version], |(base, changes)| vec![base, changes]);
            for part in own {
                if !parts.iter().any(|known| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(&part))) {
                    parts.push(part);
                }
            }
        }
        let bytes = parts.iter().map(|part| part.memory_bytes()).sum();
        self.loaded.store(bytes, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for DictionaryMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DictionaryMemory").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl LoadMemory {
    /// Of a load that has no rows yet; `current` is the version that answers meanwhile.
    pub(super) fn new(
        server: &Arc<ServerMemory>,
        name: String,
        current: Option<&Arc<dyn Dictionary>>,
    ) -> LoadMemory {
        let current = current.map_or(0, |current| current.memory_bytes());
        let server = Arc::clone(server);
        LoadMemory {
            server,
            name,
            rows: 0,
            held: 0,
            before: 0,
            most: u64::MAX,
            keys: 0,
            key_bytes: 0,
            current,
        }
    }

    /// From now on rows go through files, and what is in memory at once beside what there is by now is bounded by `bounds`,
    /// so many bytes, and so many of the key of each row.
    pub(super) fn bound(&mut self, bounds: LoadBounds, more: u64, key_bytes: usize) {
        (self.before, self.rows) = (self.held, self.held);
        self.most = self.held.saturating_add(bounds.memory_most() as u64).saturating_add(more);
        self.key_bytes = key_bytes as u64;
    }

    /// Rows are in memory again, and those that went through files are asked for again.
    pub(super) fn unbound(&mut self) {
        self.give_back(self.before);
        (self.rows, self.keys, self.most) = (self.before, 0, u64::MAX);
    }

    /// Takes so many rows, which have these columns beside the hash of their key, and says how many bytes they are.
    pub(super) fn take(&mut self, columns: &[ArrayRef], rows: usize) -> Result<usize> {
        let bytes: usize = columns.iter().map(column_bytes).sum();
        self.rows += (bytes + rows * HASH_BYTES) as u64;
        self.keys += self.key_bytes * rows as u64;
        self.hold(self.rows.min(self.most.saturating_add(self.keys)))?;
        Ok(bytes)
    }

    /// All rows have become `version`, which has what the version that answers has, or takes its place before it
    /// comes into memory; or which is there beside it.
    pub(super) fn become_version(&mut self, version: &Arc<dyn Dictionary>, beside: Beside) -> Result<()> {
        let counted = match beside {
            Beside::Current => 0,
            Beside::Nothing => self.current,
        };
        self.hold(version.memory_bytes().saturating_sub(counted))
    }

    fn hold(&mut self, bytes: u64) -> Result<()> {
        let Some(more) = bytes.checked_sub(self.held).filter(|&more| more > 0) else { return Ok(()) };
        if !self.server.make_room(more) {
            return Err(self.too_much(more));
        }
        self.server.dictionaries().loading.fetch_add(more, Ordering::Relaxed);
        self.held = bytes;
        Ok(())
    }

    /// All but so many bytes.
    fn give_back(&mut self, but: u64) {
        self.server.dictionaries().loading.fetch_sub(self.held.saturating_sub(but), Ordering::Relaxed);
        self.held = self.held.min(but);
    }

    fn too_much(&self, more: u64) -> Error {
        let LoadMemory { name, held, current, server, .. } = self;
        Error::new(
            ErrorCode::MemoryLimitExceeded,
            format!(
                "the load of dictionary `{name}` holds {held} bytes and needs {more} more, over the limit \
                 max_server_memory_usage of {} bytes (queries, merges and dictionaries hold {}, the version of it that \
                 answers {current}); raise the limit, or let the dictionary take less: SETTINGS(persist = 1) keeps it \
                 in a file, the layout COMPACT_HASHED in fewer bytes",
                server.limit(),
                server.total(),
            ),
        )
    }
}

impl Drop for LoadMemory {
    fn drop(&mut self) {
        self.give_back(0);
    }
}

/// What a column takes where its values stand back to back.
fn column_bytes(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::Boolean => column.len(),
        DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0) * column.len(),
        DataType::BinaryView => {
            let lengths = column.as_binary_view().lengths().map(|length| length as usize);
            lengths.sum::<usize>() + column.len() * size_of::<u32>()
        }
        other => match other.primitive_width() {
            Some(width) => width * column.len(),
            None => column.get_array_memory_size(),
        },
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, UInt16Array};
    use basalt_parts::{BlockCache, WorkMemory};

    use super::*;

    fn server(limit: u64) -> Arc<ServerMemory> {
        ServerMemory::new(limit, WorkMemory::default(), Arc::new(BlockCache::new(0)), None)
    }

    #[test]
    fn a_load_is_refused_over_the_limit_and_gives_back_what_it_held() {
        let server = server(10_000);
        let block: [ArrayRef; 2] = [
            Arc::new(UInt16Array::from(vec![1; 100])),
            Arc::new(BinaryViewArray::from_iter_values(vec![b"0123456789012345"; 100])),
        ];
        let mut load = LoadMemory::new(&server, "db.d".into(), None);
        // 8 for the hash, 2, 16 and where the string ends.
        for blocks in 1..=3 {
            load.take(&block, 100).expect("below the limit");
            assert_eq!(server.dictionaries().bytes(), blocks * 3000);
        }
        let error = load.take(&block, 100).expect_err("over the limit");
        assert_eq!(error.code(), ErrorCode::MemoryLimitExceeded);
        let text = error.to_string();
        for part in ["`db.d` holds 9000 bytes", "needs 3000 more", "max_server_memory_usage of 10000 bytes"] {
            assert!(text.contains(part), "{text}");
        }
        drop(load);
        assert_eq!(server.dictionaries().bytes(), 0);
    }

    #[test]
    fn rows_that_go_through_files_take_what_is_in_memory_at_once() {
        let bounds = LoadBounds { memory_bytes: 4000, shard_bytes: 0 };
        let server = server(8000);
        let mut load = LoadMemory::new(&server, "db.d".into(), None);
        load.bound(bounds, 0, 0);
        let block: [ArrayRef; 1] = [Arc::new(UInt16Array::from(vec![1; 100]))];
        for _ in 0..100 {
            load.take(&block, 100).expect("below the limit");
        }
        assert_eq!(server.dictionaries().bytes(), 4000);
        let mut with_keys = LoadMemory::new(&server, "db.keys".into(), None);
        with_keys.bound(LoadBounds { memory_bytes: 100, shard_bytes: 0 }, 0, 1);
        for _ in 0..3 {
            with_keys.take(&block, 100).expect("below the limit");
        }
        assert_eq!(server.dictionaries().bytes(), 4400);
        drop(with_keys);
        load.bound(bounds, 0, 0);
        for _ in 0..100 {
            load.take(&block, 100).expect("below the limit");
        }
        assert_eq!(server.dictionaries().bytes(), 8000);
        load.unbound();
        assert_eq!(server.dictionaries().bytes(), 4000);
        assert!((0..10).any(|_| load.take(&block, 100).is_err()));
    }
}
