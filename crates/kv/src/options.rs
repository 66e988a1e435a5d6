//! How a store is opened: caches, limits, and RocksDB's own options.

use std::sync::Arc;

use basalt_base::clock::{Clock, SystemClock};
use rocksdb::statistics::StatsLevel;
use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, LogLevel, Options, WriteBufferManager,
};

/// Uncompressed bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 8 << 10;
const BLOOM_BITS_PER_KEY: f64 = 10.0;
const WRITE_BUFFER_BYTES: usize = 64 << 20;
const WRITE_BUFFERS_MAX: i32 = 3;
/// Well below the usual limit of 1024 files a process, because there may be many tables.
const OPEN_FILES_MAX: i32 = 256;
const BACKGROUND_JOBS: i32 = 2;
/// Restart interval: the most keys that a search in a block reads one by one.
const RESTART_KEYS: i32 = 4;
const FORMAT_VERSION: i32 = 6;
const SYNC_BYTES: u64 = 1 << 20;
const OLD_LOGS_MAX: usize = 2;
const BLOCK_CACHE_BYTES_DEFAULT: usize = 256 << 20;
const WRITE_BUFFER_BUDGET_BYTES_DEFAULT: usize = 256 << 20;

/// A block cache and a write buffer budget, shared by every store that is opened with it.
#[derive(Clone)]
pub struct SharedCache {
    blocks: Cache,
    write_buffers: WriteBufferManager,
}

/// How to open a store.
#[derive(Clone)]
pub struct KvOptions {
    /// Refuse changes, so that the store can be opened while another process has it open.
    pub read_only: bool,
    /// Rows expire this long after their last insert.
    pub ttl_seconds: Option<u32>,
    /// Sync the log before a change of few rows returns. Without it, the last such changes are lost when the machine
    /// stops, but not when the process does; what is left is a state that the store had.
    pub syncs_log: bool,
    pub cache: SharedCache,
    pub clock: Arc<dyn Clock>,
}

impl SharedCache {
    pub fn new(block_cache_bytes: usize, write_buffer_bytes: usize) -> SharedCache {
        SharedCache {
            blocks: Cache::new_lru_cache(block_cache_bytes),
            // At the budget writers are not stalled: RocksDB flushes the largest buffer instead.
            write_buffers: WriteBufferManager::new_write_buffer_manager(write_buffer_bytes, false),
        }
    }

    /// For a machine with this much memory: a twentieth of it for blocks, if that is more than the default.
    pub fn for_machine(memory_bytes: u64) -> SharedCache {
        let blocks = usize::try_from(memory_bytes / 20).unwrap_or(usize::MAX);
        SharedCache::new(blocks.max(BLOCK_CACHE_BYTES_DEFAULT), WRITE_BUFFER_BUDGET_BYTES_DEFAULT)
    }
}

impl Default for SharedCache {
    fn default() -> SharedCache {
        SharedCache::new(BLOCK_CACHE_BYTES_DEFAULT, WRITE_BUFFER_BUDGET_BYTES_DEFAULT)
    }
}

impl Default for KvOptions {
    /// A writable store without expiry and with a cache of its own.
    fn default() -> KvOptions {
        KvOptions {
            read_only: false,
            ttl_seconds: None,
            syncs_log: true,
            cache: SharedCache::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl KvOptions {
    pub(crate) fn to_rocksdb(&self) -> Options {
        let mut options = Options::default();
        options.create_if_missing(!self.read_only);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_block_based_table_factory(&self.table_format());
        options.set_write_buffer_manager(&self.cache.write_buffers);
        options.set_write_buffer_size(WRITE_BUFFER_BYTES);
        options.set_max_write_buffer_number(WRITE_BUFFERS_MAX);
        options.set_max_background_jobs(BACKGROUND_JOBS);
        options.set_max_open_files(OPEN_FILES_MAX);
        options.set_level_compaction_dynamic_level_bytes(true);
        options.set_bytes_per_sync(SYNC_BYTES);
        options.set_keep_log_file_num(OLD_LOGS_MAX);
        options.set_log_level(LogLevel::Warn);
        // A crash may cut off the last record. Recovery checks before whether it was a crash.
        options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
        options.enable_statistics();
        // Counters only: reading the clock costs a lookup more than most of its steps.
        options.set_statistics_level(StatsLevel::ExceptHistogramOrTimers);
        if let Some(ttl_seconds) = self.ttl_seconds {
            crate::row_encoding::expire_in_compactions(&mut options, ttl_seconds, Arc::clone(&self.clock));
        }
        options
    }

    fn table_format(&self) -> BlockBasedOptions {
        let mut format = BlockBasedOptions::default();
        format.set_block_cache(&self.cache.blocks);
        format.set_block_size(BLOCK_BYTES);
        format.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
        format.set_format_version(FORMAT_VERSION);
        format.set_cache_index_and_filter_blocks(true);
        format.set_cache_index_and_filter_blocks_with_high_priority(true);
        format.set_pin_l0_filter_and_index_blocks_in_cache(true);
        // Point lookups are the main workload. A hash index inside each block would cost a tenth of its bytes and
        // find a key no sooner than short restart intervals.
        format.set_block_restart_interval(RESTART_KEYS);
        format
    }

    pub(crate) fn now_seconds(&self) -> u32 {
        u32::try_from(self.clock.now_us() / 1_000_000).unwrap_or(u32::MAX)
    }
}
