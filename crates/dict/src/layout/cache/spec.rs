//! The parameters of the cache layouts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::DirectoryLock;
use basalt_base::{Result, bail};

const SIZE_IN_CELLS_MAX: u64 = 1 << 31;
const UPDATE_THREADS_MAX: u64 = 128;
const FILE_SIZE_MAX: u64 = 1 << 40;
const PARTITIONS_MAX: u64 = 1 << 16;
const BUFFER_MAX: u64 = 1 << 30;
/// A position in the cells is a `u32`.
const STORED_KEYS_MAX: u64 = u32::MAX as u64;

/// Locks a directory for one dictionary.
pub type LockDirectory = Arc<dyn Fn(&Path) -> Result<Arc<DirectoryLock>> + Send + Sync>;

/// The parameters of all cache layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheSpec {
    /// Keys that are stored in memory; SSD_CACHE has a limit of its own.
    pub size_in_cells: u64,
    /// Expired rows are returned while they are requested again in the background.
    pub allow_read_expired_keys: bool,
    /// After this time, a row is not returned in any case; `None` is the maximum of LIFETIME.
    pub strict_max_lifetime_seconds: Option<u64>,
    /// Lookups that may wait for a request to the source.
    pub max_update_queue_size: u64,
    /// How long a lookup waits to join those that wait.
    pub update_queue_push_timeout_ms: u64,
    /// How long a lookup waits for its request.
    pub query_wait_timeout_ms: u64,
    /// Requests that may run at once.
    pub max_threads_for_updates: u64,
}

/// The parameters of SSD_CACHE alone.
#[derive(Clone, Debug, PartialEq)]
pub struct SsdSpec {
    /// The directory of the files: empty, missing, or of an earlier cache of this dictionary.
    pub path: PathBuf,
    pub block_size: u64,
    pub file_size: u64,
    pub read_buffer_size: u64,
    pub write_buffer_size: u64,
    /// Files that are stored; the oldest one is removed when there would be more.
    pub max_partitions_count: u64,
    /// Keys that are stored, with or without a row.
    pub max_stored_keys: u64,
}

impl Default for CacheSpec {
    fn default() -> CacheSpec {
        CacheSpec {
            size_in_cells: 1,
            allow_read_expired_keys: false,
            strict_max_lifetime_seconds: None,
            max_update_queue_size: 100_000,
            update_queue_push_timeout_ms: 10,
            query_wait_timeout_ms: 60_000,
            max_threads_for_updates: 4,
        }
    }
}

impl Default for SsdSpec {
    fn default() -> SsdSpec {
        SsdSpec {
            path: PathBuf::new(),
            block_size: 4096,
            file_size: 4 << 30,
            read_buffer_size: 16 * 4096,
            write_buffer_size: 256 * 4096,
            max_partitions_count: 16,
            max_stored_keys: STORED_KEYS_MAX,
        }
    }
}

impl CacheSpec {
    /// Sets one of these parameters; `false` if there is none of that name.
    pub(crate) fn set(&mut self, parameter: &str, number: u64) -> bool {
        match parameter {
            "SIZE_IN_CELLS" => self.size_in_cells = number,
            "ALLOW_READ_EXPIRED_KEYS" => self.allow_read_expired_keys = number != 0,
            "STRICT_MAX_LIFETIME_SECONDS" => self.strict_max_lifetime_seconds = Some(number),
            "MAX_UPDATE_QUEUE_SIZE" => self.max_update_queue_size = number,
            "UPDATE_QUEUE_PUSH_TIMEOUT_MILLISECONDS" => self.update_queue_push_timeout_ms = number,
            "QUERY_WAIT_TIMEOUT_MILLISECONDS" => self.query_wait_timeout_ms = number,
            "MAX_THREADS_FOR_UPDATES" => self.max_threads_for_updates = number,
            _ => return false,
        }
        true
    }

    pub(crate) fn validate(&self, layout: &str) -> Result<()> {
        if self.size_in_cells == 0 || self.size_in_cells > SIZE_IN_CELLS_MAX {
            bail!(TooSmallBufferSize, "{layout}: SIZE_IN_CELLS must be within [1, {SIZE_IN_CELLS_MAX}]");
        }
        if self.max_update_queue_size == 0 {
            bail!(TooSmallBufferSize, "{layout}: MAX_UPDATE_QUEUE_SIZE must be greater than 0");
        }
        if !(1..=UPDATE_THREADS_MAX).contains(&self.max_threads_for_updates) {
            bail!(BadArguments, "{layout}: MAX_THREADS_FOR_UPDATES must be within [1, {UPDATE_THREADS_MAX}]");
        }
        if self.update_queue_push_timeout_ms < 10 {
            bail!(BadArguments, "{layout}: UPDATE_QUEUE_PUSH_TIMEOUT_MILLISECONDS must be at least 10");
        }
        Ok(())
    }
}

impl SsdSpec {
    /// Sets one of these parameters; `false` if there is none of that name.
    pub(crate) fn set(&mut self, parameter: &str, number: u64) -> bool {
        match parameter {
            "BLOCK_SIZE" => self.block_size = number,
            "FILE_SIZE" => self.file_size = number,
            "READ_BUFFER_SIZE" => self.read_buffer_size = number,
            "WRITE_BUFFER_SIZE" => self.write_buffer_size = number,
            "MAX_PARTITIONS_COUNT" => self.max_partitions_count = number,
            "MAX_STORED_KEYS" => self.max_stored_keys = number,
            _ => return false,
        }
        true
    }

    pub(crate) fn validate(&self, layout: &str) -> Result<()> {
        let SsdSpec { block_size, file_size, read_buffer_size, write_buffer_size, .. } = *self;
        let sizes = [
            ("FILE_SIZE", file_size, FILE_SIZE_MAX),
            ("READ_BUFFER_SIZE", read_buffer_size, BUFFER_MAX),
            ("WRITE_BUFFER_SIZE", write_buffer_size, BUFFER_MAX),
        ];
        if !(1..=BUFFER_MAX).contains(&block_size) {
            bail!(BadArguments, "{layout}: BLOCK_SIZE must be within [1, {BUFFER_MAX}]");
        }
        for (name, size, most) in sizes {
            if size == 0 || size > most || !size.is_multiple_of(block_size) {
                bail!(
                    BadArguments,
                    "{layout}: {name} must be a multiple of BLOCK_SIZE {block_size}, up to {most}, got {size}"
                );
            }
        }
        if !(1..=PARTITIONS_MAX).contains(&self.max_partitions_count) {
            bail!(BadArguments, "{layout}: MAX_PARTITIONS_COUNT must be within [1, {PARTITIONS_MAX}]");
        }
        if !(1..=STORED_KEYS_MAX).contains(&self.max_stored_keys) {
            bail!(BadArguments, "{layout}: MAX_STORED_KEYS must be within [1, {STORED_KEYS_MAX}]");
        }
        Ok(())
    }
}
