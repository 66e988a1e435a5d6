//! How a raw store is opened.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::sync::Arc;

use basalt_base::{Error, Result};
use basalt_kvfilter::{FilterPolicy, set_filter_policy};
use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, LogLevel, Options};

// LevelDB's defaults, as far as they decide how much memory a store takes.
const WRITE_BUFFER_BYTES_DEFAULT: usize = 4 << 20;
const OPEN_FILES_DEFAULT: i32 = 1000;
const BLOCK_BYTES_DEFAULT: usize = 4 << 10;
const RESTART_KEYS_DEFAULT: i32 = 16;
const CACHE_BYTES_DEFAULT: usize = 8 << 20;
/// RocksDB makes a write buffer larger that is smaller than this.
const WRITE_BUFFER_BYTES_MIN: usize = 64 << 10;
const FILE_BYTES_MIN: u64 = 1 << 20;
/// Logs of RocksDB that are kept beside the current one.
const OLD_LOGS_MAX: usize = 2;

/// How to open a store. The order of keys must be the same every time; the rest may change.
#[derive(Clone)]
pub struct RawOptions {
    /// Make a store where there is none; otherwise that is an error.
    pub create_if_missing: bool,
    /// Refuse a store that is there.
    pub error_if_exists: bool,
    /// Stop at the first sign of damage, rather than go on with what can be read.
    pub paranoid_checks: bool,
    /// Bytes of changes in memory after which they become a sorted file; 65,536 at least.
    pub write_buffer_bytes: usize,
    /// Files that are open at once; -1 for no limit.
    pub open_files_max: i32,
    /// Bytes of a block before compression: the unit of reading.
    pub block_bytes: usize,
    /// Keys between two that are stored whole.
    pub restart_keys: i32,
    /// Bytes of a sorted file; `None` for 64 MiB.
    pub file_bytes_max: Option<u64>,
    pub compression: Compression,
    /// `None` for a cache of 8 MiB of the store's own.
    pub cache: Option<RawCache>,
    /// `None` for the order of bytes.
    pub comparator: Option<Arc<dyn Comparator>>,
    /// `None` for no filters.
    pub filter: Option<Filter>,
}

/// How blocks of sorted files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Lz4,
    Zstd,
}

/// A cache of blocks before compression, for one store or for several. Copies are the same cache.
#[derive(Clone)]
pub struct RawCache(Cache);

impl RawCache {
    /// A cache of up to `bytes` bytes that keeps the blocks read last.
    pub fn lru(bytes: usize) -> RawCache {
        RawCache(Cache::new_lru_cache(bytes))
    }
}

/// An order of keys. Called by several threads at once.
pub trait Comparator: Send + Sync {
    /// It is stored with the database, which opens with a comparator of this name only.
    fn name(&self) -> &CStr;

    /// A total order. Keys that compare as equal are one key.
    fn compare(&self, left: &[u8], right: &[u8]) -> Ordering;
}

/// What files keep to tell that they do not have a key.
#[derive(Clone)]
pub enum Filter {
    /// RocksDB's Bloom filter with so many bits for each key; ten make one of a hundred lookups read in vain.
    Bloom { bits_per_key: f64 },
    /// A filter of the caller's own.
    Policy(Arc<dyn FilterPolicy>),
}

impl Default for RawOptions {
    fn default() -> RawOptions {
        RawOptions {
            create_if_missing: false,
            error_if_exists: false,
            paranoid_checks: true,
            write_buffer_bytes: WRITE_BUFFER_BYTES_DEFAULT,
            open_files_max: OPEN_FILES_DEFAULT,
            block_bytes: BLOCK_BYTES_DEFAULT,
            restart_keys: RESTART_KEYS_DEFAULT,
            file_bytes_max: None,
            compression: Compression::Lz4,
            cache: None,
            comparator: None,
            filter: None,
        }
    }
}

impl RawOptions {
    pub(super) fn to_rocksdb(&self) -> Result<Options> {
        let mut options = Options::default();
        options.create_if_missing(self.create_if_missing);
        options.set_error_if_exists(self.error_if_exists);
        options.set_paranoid_checks(self.paranoid_checks);
        options.set_write_buffer_size(self.write_buffer_bytes.max(WRITE_BUFFER_BYTES_MIN));
        options.set_max_open_files(self.open_files_max);
        if let Some(bytes) = self.file_bytes_max {
            options.set_target_file_size_base(bytes.max(FILE_BYTES_MIN));
        }
        options.set_compression_type(match self.compression {
            Compression::None => DBCompressionType::None,
            Compression::Lz4 => DBCompressionType::Lz4,
            Compression::Zstd => DBCompressionType::Zstd,
        });
        options.set_keep_log_file_num(OLD_LOGS_MAX);
        options.set_log_level(LogLevel::Warn);
        options.set_block_based_table_factory(&self.table_format());
        if let Some(comparator) = &self.comparator {
            let order = Arc::clone(comparator);
            options.set_comparator(
                comparator.name().to_owned(),
                Box::new(move |left, right| order.compare(left, right)),
            );
        }
        if let Some(Filter::Policy(policy)) = &self.filter
            && !set_filter_policy(&mut options, Arc::clone(policy))
        {
            return Err(Error::logical("the tables of a raw store take no filter policy"));
        }
        Ok(options)
    }

    fn table_format(&self) -> BlockBasedOptions {
        let mut format = BlockBasedOptions::default();
        let own = || Cache::new_lru_cache(CACHE_BYTES_DEFAULT);
        format.set_block_cache(&self.cache.as_ref().map_or_else(own, |RawCache(cache)| cache.clone()));
        format.set_block_size(self.block_bytes.max(1));
        format.set_block_restart_interval(self.restart_keys.max(1));
        if let Some(Filter::Bloom { bits_per_key }) = self.filter {
            format.set_bloom_filter(bits_per_key, false);
        }
        format
    }

    /// `left` against `right` in the order of the store.
    pub(super) fn compare(&self, left: &[u8], right: &[u8]) -> Ordering {
        match &self.comparator {
            Some(comparator) => comparator.compare(left, right),
            None => left.cmp(right),
        }
    }
}
