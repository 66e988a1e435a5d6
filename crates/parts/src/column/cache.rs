//! The cache of decoded blocks: a hit needs no file, no checksum and no codec.
//!
//! An entry is the array of some blocks of one column file, as decoded by
//! [`ColumnReader`](super::pieces::ColumnReader); a hit shares its buffers. Files never change, so an entry is
//! always valid. The entries of a removed file are dropped.
//!
//! # Eviction
//!
//! S3-FIFO: new entries are in a small queue, and are evicted from it unless they are used again; so a scan over a
//! large table does not evict what many queries read. The keys of entries evicted from the small queue are
//! remembered for a while (the ghost queue): if such an entry returns, it goes to the main queue at once.
//!
//! # Concurrency
//!
//! Sharded by key. A shard's lock is held for a lookup or for moving keys between queues.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, UInt32Type};
use basalt_base::query::{hand_over, outside};

/// More shards than scanning threads.
const SHARDS_MAX: usize = 16;

/// A smaller shard could not hold the blocks of wide columns.
const SHARD_BYTES_MIN: usize = 64 << 20;

/// The small queue's share of the bytes, as a divisor.
const SHORT_SHARE: usize = 10;

/// Further uses do not count.
const USES_MAX: u8 = 3;

/// Overhead of an entry besides its array.
const ENTRY_BYTES: usize = 128;

/// A cache of decoded blocks of all tables, limited in bytes.
#[derive(Debug)]
pub struct BlockCache {
    shards: Vec<Mutex<Shard>>,
    hits: AtomicU64,
    misses: AtomicU64,
    /// Sum of all shards.
    bytes: AtomicU64,
}

/// Counters and size of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCacheStats {
    pub hits: u64,
    pub misses: u64,
    /// Bytes of the cached arrays.
    pub bytes: u64,
    pub entries: u64,
}

/// Some blocks of a column file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockKey {
    /// See [`ColumnFile::id`](super::file::ColumnFile::id).
    pub(crate) file: u64,
    pub(crate) first_block: u32,
    pub(crate) block_count: u32,
}

impl BlockKey {
    /// The key of the file's dictionary.
    pub(crate) fn dictionary(file: u64) -> BlockKey {
        BlockKey { file, first_block: u32::MAX, block_count: 0 }
    }
}

impl BlockCache {
    /// An empty cache for up to `bytes_max` bytes; 0 caches nothing.
    pub fn new(bytes_max: usize) -> BlockCache {
        let count = (bytes_max / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        let shard = || Mutex::new(Shard { bytes_max: bytes_max / count, ..Shard::default() });
        BlockCache {
            shards: std::iter::repeat_with(shard).take(count).collect(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub fn stats(&self) -> BlockCacheStats {
        let mut stats = BlockCacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            ..BlockCacheStats::default()
        };
        for shard in &self.shards {
            let shard = lock(shard);
            stats.bytes += shard.bytes() as u64;
            stats.entries += shard.entries.len() as u64;
        }
        stats
    }

    /// Bytes of the cached arrays: [`BlockCacheStats::bytes`] without a lock.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Evicts the least used entries until about `bytes_max` bytes are left.
    pub fn shrink_to(&self, bytes_max: u64) {
        let share = (bytes_max / self.shards.len() as u64) as usize;
        for shard in &self.shards {
            self.change(&mut lock(shard), |shard| shard.shrink_to(share));
        }
    }

    /// Drops all entries; arrays held by readers stay valid.
    pub fn clear(&self) {
        for shard in &self.shards {
            self.change(&mut lock(shard), |shard| {
                *shard = Shard { bytes_max: shard.bytes_max, ..Shard::default() };
            });
        }
    }

    /// The array at `key`; counts a hit or a miss.
    pub(crate) fn get(&self, key: BlockKey) -> Option<ArrayRef> {
        let found = self.peek(key);
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Like [`BlockCache::get`], but does not count a miss.
    pub(crate) fn peek(&self, key: BlockKey) -> Option<ArrayRef> {
        let mut shard = self.shard(key);
        let entry = shard.entries.get_mut(&key)?;
        entry.uses = (entry.uses + 1).min(USES_MAX);
        Some(entry.array.clone())
    }

    pub(crate) fn insert(&self, key: BlockKey, array: &ArrayRef) {
        let bytes = array_bytes(array) + ENTRY_BYTES;
        let mut is_kept = false;
        self.change(&mut self.shard(key), |shard| is_kept = shard.insert(key, array, bytes));
        if is_kept {
            // The memory now belongs to the cache, not to the query that decoded it.
            hand_over(bytes as u64);
        }
    }

    /// Drops the blocks of a column file that was removed.
    pub(crate) fn forget_file(&self, file: u64) {
        for shard in &self.shards {
            self.change(&mut lock(shard), |shard| shard.forget_file(file));
        }
    }

    /// Changes a shard and updates the total size.
    fn change(&self, shard: &mut Shard, change: impl FnOnce(&mut Shard)) {
        // Memory of the cache is charged to no query.
        let _outside = outside();
        let before = shard.bytes();
        change(shard);
        // A decrease wraps; the total is never below the sum of all shards.
        self.bytes.fetch_add((shard.bytes() as u64).wrapping_sub(before as u64), Ordering::Relaxed);
    }

    fn shard(&self, key: BlockKey) -> MutexGuard<'_, Shard> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        lock(&self.shards[hasher.finish() as usize % self.shards.len()])
    }
}

#[derive(Debug, Default)]
struct Shard {
    bytes_max: usize,
    entries: HashMap<BlockKey, Entry>,
    short: Queue,
    long: Queue,
    /// Keys evicted from the small queue without a use, oldest first.
    left: VecDeque<BlockKey>,
    left_set: HashSet<BlockKey>,
}

#[derive(Debug)]
struct Entry {
    array: ArrayRef,
    bytes: usize,
    uses: u8,
    is_long: bool,
}

/// Keys in order of arrival; some entries may be gone already.
#[derive(Debug, Default)]
struct Queue {
    keys: VecDeque<BlockKey>,
    /// Bytes of the entries that are still there.
    bytes: usize,
}

impl Shard {
    /// Whether the entry was added: it fits, and was not there.
    fn insert(&mut self, key: BlockKey, array: &ArrayRef, bytes: usize) -> bool {
        // An entry of more than half a shard would evict everything else.
        if bytes > self.bytes_max / 2 || self.entries.contains_key(&key) {
            return false;
        }
        let is_long = self.left_set.remove(&key);
        self.entries.insert(key, Entry { array: ArrayRef::clone(array), bytes, uses: 0, is_long });
        let queue = if is_long { &mut self.long } else { &mut self.short };
        queue.keys.push_back(key);
        queue.bytes += bytes;
        self.shrink_to(self.bytes_max);
        true
    }

    fn bytes(&self) -> usize {
        self.short.bytes + self.long.bytes
    }

    fn shrink_to(&mut self, bytes_max: usize) {
        while self.bytes() > bytes_max {
            if self.short.bytes > self.bytes_max / SHORT_SHARE || self.long.bytes == 0 {
                self.shrink_short();
            } else {
                self.shrink_long();
            }
        }
    }

    fn shrink_short(&mut self) {
        let key = self.short.keys.pop_front().expect("bytes in a queue have a key");
        let Some(entry) = self.entries.get_mut(&key).filter(|entry| !entry.is_long) else { return };
        self.short.bytes -= entry.bytes;
        if entry.uses > 0 {
            (entry.uses, entry.is_long) = (0, true);
            self.long.bytes += entry.bytes;
            self.long.keys.push_back(key);
        } else {
            self.entries.remove(&key);
            self.remember(key);
        }
    }

    fn shrink_long(&mut self) {
        let key = self.long.keys.pop_front().expect("bytes in a queue have a key");
        let Some(entry) = self.entries.get_mut(&key).filter(|entry| entry.is_long) else { return };
        if entry.uses > 0 {
            entry.uses -= 1;
            self.long.keys.push_back(key);
        } else {
            self.long.bytes -= entry.bytes;
            self.entries.remove(&key);
        }
    }

    fn remember(&mut self, key: BlockKey) {
        self.left.push_back(key);
        self.left_set.insert(key);
        while self.left.len() > self.entries.len().max(16) {
            if let Some(oldest) = self.left.pop_front() {
                self.left_set.remove(&oldest);
            }
        }
    }

    fn forget_file(&mut self, file: u64) {
        let (short, long) = (&mut self.short, &mut self.long);
        let before = self.entries.len();
        self.entries.retain(|key, entry| {
            if key.file == file {
                let queue = if entry.is_long { &mut *long } else { &mut *short };
                queue.bytes -= entry.bytes;
            }
            key.file != file
        });
        if self.entries.len() < before {
            short.keys.retain(|key| key.file != file);
            long.keys.retain(|key| key.file != file);
        }
    }
}

/// The bytes that are freed with `array`, without a dictionary's values, which have their own entry.
fn array_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Dictionary(..) => array.as_dictionary::<UInt32Type>().keys().get_array_memory_size(),
        _ => array.get_array_memory_size(),
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // Only a broken invariant of the shard itself can panic here; then a miss is correct.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::UInt8Array;

    use super::*;

    const ARRAY_BYTES: usize = 1 << 16;

    fn array() -> ArrayRef {
        Arc::new(UInt8Array::from(vec![7; ARRAY_BYTES]))
    }

    fn key(file: u64, first_block: u32) -> BlockKey {
        BlockKey { file, first_block, block_count: 1 }
    }

    /// Room for about a hundred arrays, in one shard.
    fn small_cache() -> BlockCache {
        BlockCache::new(100 * (ARRAY_BYTES + 1024))
    }

    #[test]
    fn hit_hands_out_the_same_buffers() {
        let cache = small_cache();
        let array = array();
        assert!(cache.get(key(1, 0)).is_none());
        cache.insert(key(1, 0), &array);
        assert!(Arc::ptr_eq(&cache.get(key(1, 0)).unwrap(), &array));
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.misses, stats.entries), (1, 1, 1));
    }

    #[test]
    fn bytes_stay_below_the_limit_and_used_entries_survive_a_scan() {
        let cache = small_cache();
        for block in 0..20 {
            cache.insert(key(1, block), &array());
            cache.get(key(1, block)).unwrap();
        }
        for block in 0..1000 {
            cache.insert(key(2, block), &array());
            assert!(cache.stats().bytes <= 100 * (ARRAY_BYTES as u64 + 1024));
        }
        assert!((0..20).all(|block| cache.get(key(1, block)).is_some()));
    }

    #[test]
    fn forgotten_file_leaves_nothing() {
        let cache = small_cache();
        for block in 0..300 {
            cache.insert(key(u64::from(block % 3), block), &array());
            cache.get(key(u64::from(block % 3), block));
        }
        (0..3).for_each(|file| cache.forget_file(file));
        assert_eq!((cache.stats().bytes, cache.bytes(), cache.stats().entries), (0, 0, 0));
        cache.insert(key(9, 0), &array());
        assert!(cache.get(key(9, 0)).is_some());
    }

    #[test]
    fn shrunken_cache_keeps_what_is_used_and_grows_again() {
        let cache = small_cache();
        for block in 0..60 {
            cache.insert(key(1, block), &array());
            if block < 20 {
                cache.get(key(1, block)).unwrap();
            }
        }
        assert_eq!(cache.bytes(), cache.stats().bytes);
        cache.shrink_to(30 * (ARRAY_BYTES as u64 + 1024));
        assert!(cache.bytes() <= 30 * (ARRAY_BYTES as u64 + 1024));
        assert_eq!(cache.bytes(), cache.stats().bytes);
        assert!((0..20).all(|block| cache.get(key(1, block)).is_some()));
        cache.shrink_to(0);
        assert_eq!((cache.bytes(), cache.stats().entries), (0, 0));
        cache.insert(key(1, 0), &array());
        assert!(cache.get(key(1, 0)).is_some());
    }

    #[test]
    fn cache_of_no_bytes_holds_nothing() {
        let cache = BlockCache::new(0);
        cache.insert(key(1, 0), &array());
        assert_eq!(cache.stats().entries, 0);
    }
}
