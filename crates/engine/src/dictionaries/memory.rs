//! Memory of dictionaries, which counts towards the server's limit: what versions hold, and what loads take.
//!
//! A version counts until its last user drops it, so an old version counts until the last query that began with it
//! ends. Versions are measured when a load ends, periodically, and before a query is refused. Pages of files belong
//! to the system and do not count.
//!
//! A load is charged with the bytes of its rows, block by block: it holds the rows, or tables of about their size. A
//! load that spills is charged with at most what it has in memory at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{Dictionary, LoadBounds};
use parking_lot::Mutex;

/// Each row has a hash in addition to its columns.
const HASH_BYTES: usize = size_of::<u64>();

/// The memory of the server that loads draw on.
pub(crate) trait MemoryBudget: Send + Sync {
    /// Makes room for `additional` bytes; `false` if there is none.
    fn make_room(&self, additional: u64) -> bool;

    /// The limit in bytes.
    fn limit(&self) -> u64;

    /// The bytes that queries, merges and dictionaries hold together.
    fn total(&self) -> u64;

    fn dictionaries(&self) -> &DictionaryMemory;
}

/// The memory of all dictionaries.
#[derive(Default)]
pub(crate) struct DictionaryMemory {
    versions: Mutex<Vec<Weak<dyn Dictionary>>>,
    loaded: AtomicU64,
    loading: AtomicU64,
}

/// The memory of one load, until it is dropped.
pub(super) struct LoadMemory {
    server: Arc<dyn MemoryBudget>,
    dictionary: String,
    /// Bytes of the rows so far.
    rows: u64,
    held: u64,
    /// The bytes that it held when it began to spill.
    held_before_spill: u64,
    /// The most bytes that it holds while it spills, without keys.
    held_max: u64,
    /// Bytes of keys that cannot spill, in all and for each row.
    keys: u64,
    key_bytes: u64,
    /// The bytes of the current version.
    current: u64,
}

/// The versions that are in memory at the same time as a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coexisting {
    Current,
    Nothing,
}

impl DictionaryMemory {
    /// The bytes that versions and loads hold together.
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

    /// Measures all versions, and forgets those that were freed.
    pub(crate) fn count_again(&self) {
        let mut versions = self.versions.lock();
        versions.retain(|version| version.strong_count() > 0);
        // A version with changes contains an earlier one, which may be in this list itself.
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
    /// A load without rows yet; `current` is the version that answers meanwhile.
    pub(super) fn new(
        server: Arc<dyn MemoryBudget>,
        dictionary: String,
        current: Option<&Arc<dyn Dictionary>>,
    ) -> LoadMemory {
        let current = current.map_or(0, |current| current.memory_bytes());
        LoadMemory {
            server,
            dictionary,
            rows: 0,
            held: 0,
            held_before_spill: 0,
            held_max: u64::MAX,
            keys: 0,
            key_bytes: 0,
            current,
        }
    }

    /// From now on the load spills its rows within `bounds`, and keeps `key_bytes` of each row.
    pub(super) fn spill(&mut self, bounds: LoadBounds, key_bytes: usize) {
        (self.held_before_spill, self.rows) = (self.held, self.held);
        self.held_max = self.held.saturating_add(bounds.memory_most() as u64);
        self.key_bytes = key_bytes as u64;
    }

    /// The load keeps rows in memory again, and will get those again that it spilled.
    pub(super) fn stop_spilling(&mut self) {
        self.give_back(self.held_before_spill);
        (self.rows, self.keys, self.held_max) = (self.held_before_spill, 0, u64::MAX);
    }

    /// Charges rows with these columns, and returns their bytes.
    pub(super) fn charge(&mut self, columns: &[ArrayRef], rows: usize) -> Result<usize> {
        let bytes: usize = columns.iter().map(column_bytes).sum();
        self.rows += (bytes + rows * HASH_BYTES) as u64;
        self.keys += self.key_bytes * rows as u64;
        self.hold(self.rows.min(self.held_max.saturating_add(self.keys)))?;
        Ok(bytes)
    }

    /// The rows have become a version that holds `bytes` in memory. It contains the current version, or takes its
    /// place before it is read into memory, if there is [`Coexisting::Nothing`].
    pub(super) fn become_version(&mut self, bytes: u64, coexisting: Coexisting) -> Result<()> {
        let counted = match coexisting {
            Coexisting::Current => 0,
            Coexisting::Nothing => self.current,
        };
        self.hold(bytes.saturating_sub(counted))
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

    /// Keeps `kept` bytes at most.
    fn give_back(&mut self, kept: u64) {
        self.server.dictionaries().loading.fetch_sub(self.held.saturating_sub(kept), Ordering::Relaxed);
        self.held = self.held.min(kept);
    }

    fn too_much(&self, more: u64) -> Error {
        let LoadMemory { dictionary: name, held, current, server, .. } = self;
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

/// The bytes of a column whose values are stored back to back.
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
    use super::*;
    use arrow::array::{BinaryViewArray, UInt16Array};

    struct Server {
        limit: u64,
        dictionaries: DictionaryMemory,
    }

    impl MemoryBudget for Server {
        fn make_room(&self, additional: u64) -> bool {
            self.total() + additional <= self.limit
        }

        fn limit(&self) -> u64 {
            self.limit
        }

        fn total(&self) -> u64 {
            self.dictionaries.bytes()
        }

        fn dictionaries(&self) -> &DictionaryMemory {
            &self.dictionaries
        }
    }

    fn server(limit: u64) -> Arc<dyn MemoryBudget> {
        Arc::new(Server { limit, dictionaries: DictionaryMemory::default() })
    }

    #[test]
    fn a_load_is_refused_over_the_limit_and_gives_back_what_it_held() {
        let server = server(10_000);
        let block: [ArrayRef; 2] = [
            Arc::new(UInt16Array::from(vec![1; 100])),
            Arc::new(BinaryViewArray::from_iter_values(vec![b"0123456789012345"; 100])),
        ];
        let mut load = LoadMemory::new(Arc::clone(&server), "db.d".into(), None);
        // 8 for the hash, 2, 16 and where the string ends.
        for blocks in 1..=3 {
            load.charge(&block, 100).expect("below the limit");
            assert_eq!(server.dictionaries().bytes(), blocks * 3000);
        }
        let error = load.charge(&block, 100).expect_err("over the limit");
        assert_eq!(error.code(), ErrorCode::MemoryLimitExceeded);
        let text = error.to_string();
        for part in ["`db.d` holds 9000 bytes", "needs 3000 more", "max_server_memory_usage of 10000 bytes"] {
            assert!(text.contains(part), "{text}");
        }
        drop(load);
        assert_eq!(server.dictionaries().bytes(), 0);
    }

    #[test]
    fn a_load_that_spills_is_charged_with_what_is_in_memory_at_once() {
        let bounds = LoadBounds { memory_bytes: 4000, shard_bytes: 0 };
        let server = server(8000);
        let mut load = LoadMemory::new(Arc::clone(&server), "db.d".into(), None);
        load.spill(bounds, 0);
        let block: [ArrayRef; 1] = [Arc::new(UInt16Array::from(vec![1; 100]))];
        for _ in 0..100 {
            load.charge(&block, 100).expect("below the limit");
        }
        assert_eq!(server.dictionaries().bytes(), 4000);
        let mut with_keys = LoadMemory::new(Arc::clone(&server), "db.keys".into(), None);
        with_keys.spill(LoadBounds { memory_bytes: 100, shard_bytes: 0 }, 1);
        for _ in 0..3 {
            with_keys.charge(&block, 100).expect("below the limit");
        }
        assert_eq!(server.dictionaries().bytes(), 4400);
        drop(with_keys);
        load.spill(bounds, 0);
        for _ in 0..100 {
            load.charge(&block, 100).expect("below the limit");
        }
        assert_eq!(server.dictionaries().bytes(), 8000);
        load.stop_spilling();
        assert_eq!(server.dictionaries().bytes(), 4000);
        assert!((0..10).any(|_| load.charge(&block, 100).is_err()));
    }
}
