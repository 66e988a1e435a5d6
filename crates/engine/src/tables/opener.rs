//! Resources that the tables of one database share.

use std::path::PathBuf;
use std::sync::Arc;

use basalt_base::clock::Clock;
use basalt_base::fs::Storage;
use basalt_kv::SharedCache;
use basalt_parts::{BlockCache, DiskSpace, WorkMemory};

use super::dictionary::DictionaryLink;
use super::part_log::PartLog;
use crate::named_collections::NamedCollections;
use crate::server_log::ServerLog;

/// One for all tables of a data directory. `registry.rs` opens tables with it.
pub(crate) struct TableOpener {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) data_dir: PathBuf,
    /// The directory that paths of users are confined to; `None` in a process of the user's own.
    pub(crate) user_files: Option<PathBuf>,
    /// Decides when rows expire.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cache: SharedCache,
    /// Threads that write the columns of an INSERT.
    pub(crate) insert_threads: usize,
    /// Decoded blocks of all MergeTree tables.
    pub(crate) block_cache: Arc<BlockCache>,
    /// The space on the disk that merges and mutations have reserved.
    pub(crate) space: DiskSpace,
    /// The memory of merges and mutations.
    pub(crate) work_memory: WorkMemory,
    /// Events of the parts of all MergeTree tables.
    pub(crate) part_log: Arc<PartLog>,
    /// Gives memory that is free back to the system.
    pub(crate) release_memory: Option<fn()>,
    /// Parameters of sources of dictionaries.
    pub(crate) collections: Arc<NamedCollections>,
    /// Where tables of the engine Dictionary find theirs.
    pub(crate) dictionaries: Arc<DictionaryLink>,
    /// Failures that no statement reports.
    pub(crate) log: ServerLog,
}
