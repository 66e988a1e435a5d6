//! An open data directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use basalt_base::clock::{Clock, SystemClock};
use basalt_base::fs::{DirectoryLock, RealStorage, Storage};
use basalt_base::machine::memory_bytes;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, FileAction, Result};
use basalt_exec::tasks::carry_queries;
use basalt_kv::SharedCache;
use basalt_parts::{BlockCache, DiskSpace, WorkControl, WorkMemory};
use datafusion::execution::runtime_env::RuntimeEnv;
use tempfile::TempDir;

use crate::background::Background;
use crate::catalog::CatalogStore;
use crate::data_dir;
use crate::dictionaries::{CacheDirectories, DictionaryList, LoadWaitGraph, load_all};
use crate::named_collections::NamedCollections;
use crate::query::{AsyncInserts, Processes, QueryLog, ServerMemory, shared_runtime};
use crate::remote_hosts::RemoteHosts;
use crate::server_log::ServerLog;
use crate::session::Session;
use crate::tables::TableOpener;

/// The cache of decoded blocks has at least this size, unless one is given.
const UNCOMPRESSED_CACHE_BYTES_MIN: u64 = 64 << 20;

/// How to open a database.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// The data directory, made if it is not there; `None` is a temporary one, removed at the end.
    pub path: Option<PathBuf>,
    /// Memory that the process may take; 0 is nine tenths of the machine's, or of the control group's.
    pub max_server_memory_usage: u64,
    /// Bytes of decoded blocks of MergeTree tables that stay in memory; `None` is a tenth of the
    /// machine's memory.
    pub uncompressed_cache_size: Option<u64>,
    /// Directory that `file()`, INFILE, COPY and dictionaries may read from, made if it is not there; `None`: anywhere
    /// (the `local` tool).
    pub user_files_path: Option<PathBuf>,
    /// Hosts, `host` or `host:port`, that sources of dictionaries may ask; `None`: every one.
    pub remote_url_allow_hosts: Option<Vec<String>>,
    /// Queries that may run at once; 0 is no limit.
    pub max_concurrent_queries: u64,
    /// Load every dictionary at the start and when it is made, not when a query first needs it.
    pub load_dictionaries_eagerly: bool,
    /// Directory of the programs that dictionary sources may run; `None`: they may run none.
    pub user_scripts_path: Option<PathBuf>,
    /// Dictionary sources may run any command in a shell: whoever may make a dictionary may then do what this process may.
    pub allow_shell_commands: bool,
    /// File of certificates (PEM) of authorities that sources over TLS trust beside those of the machine.
    pub tls_ca_file: Option<PathBuf>,
    /// Gets lines about what goes wrong where no statement waits for it; `None`: nobody does.
    pub log: Option<fn(&str)>,
    /// Gives memory that is free back to the system: merges call it now and then. `None`: they do not.
    pub release_memory: Option<fn()>,
}

/// An open data directory: tables, dictionaries, background work. One process at a time has it.
pub struct Engine {
    catalog: CatalogStore,
    opener: TableOpener,
    processes: Processes,
    query_log: QueryLog,
    async_inserts: AsyncInserts,
    memory: Arc<ServerMemory>,
    clock: Arc<dyn Clock>,
    zone: Zone,
    started_us: u64,
    runtime: tokio::runtime::Handle,
    shared_runtime: RuntimeEnv,
    /// Processors of the machine: asked once, for the system reads several files to answer.
    processors: usize,
    user_files_path: Option<PathBuf>,
    remote_hosts: RemoteHosts,
    user_scripts_path: Option<PathBuf>,
    allows_shell_commands: bool,
    tls_ca_file: Option<PathBuf>,
    merges_on: AtomicBool,
    background: Background,
    load_wait_graph: LoadWaitGraph,
    cache_directories: Arc<CacheDirectories>,
    loads_eagerly: bool,
    // Last: the directory is unlocked and removed when everything above is gone.
    _lock: DirectoryLock,
    _temporary: Option<TempDir>,
}

impl Engine {
    /// Opens the data directory. Must be called within a tokio runtime of several threads, on which
    /// queries and background work will run.
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>> {
        Engine::open_on(Arc::new(RealStorage), options)
    }

    /// [`Engine::open`] over other files. The lock, what sorts spill and key/value tables stay on the
    /// machine's.
    pub(crate) fn open_on(storage: Arc<dyn Storage>, options: EngineOptions) -> Result<Arc<Engine>> {
        let (data_dir, temporary) = match options.path {
            Some(path) => (path, None),
            None => temporary_dir()?,
        };
        let log = ServerLog::new(options.log);
        let lock = data_dir::open(storage.as_ref(), &data_dir)?;
        if let Some(user_files) = &options.user_files_path {
            std::fs::create_dir_all(user_files)
                .map_err(|error| Error::io(FileAction::CreateDirectory, user_files, &error))?;
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let opener = TableOpener {
            clock: Arc::clone(&clock),
            insert_threads: processors,
            storage: Arc::clone(&storage),
            data_dir: data_dir.clone(),
            cache: SharedCache::for_machine(memory_bytes().unwrap_or(0)),
            block_cache: Arc::new(BlockCache::new(uncompressed_cache_size(options.uncompressed_cache_size))),
            space: DiskSpace::default(),
            work_memory: WorkMemory::default(),
            part_log: Arc::default(),
            release_memory: options.release_memory,
            collections: Arc::new(NamedCollections::open(Arc::clone(&storage), &data_dir, log)?),
            log,
        };
        let catalog = CatalogStore::open(storage, data_dir.clone(), &opener)?;
        let memory_max = server_memory(options.max_server_memory_usage);
        let memory = ServerMemory::new(
            memory_max,
            opener.work_memory.clone(),
            Arc::clone(&opener.block_cache),
            options.release_memory,
        );
        carry_queries();
        let engine = Arc::new(Engine {
            catalog,
            opener,
            processes: Processes::new(options.max_concurrent_queries),
            query_log: QueryLog::default(),
            async_inserts: AsyncInserts::default(),
            memory,
            started_us: clock.now_us(),
            clock,
            zone: Zone::system(),
            runtime: tokio::runtime::Handle::current(),
            shared_runtime: shared_runtime(&data_dir.join("tmp"))?,
            processors,
            user_files_path: options.user_files_path,
            remote_hosts: RemoteHosts::new(options.remote_url_allow_hosts),
            user_scripts_path: options.user_scripts_path,
            allows_shell_commands: options.allow_shell_commands,
            tls_ca_file: options.tls_ca_file,
            merges_on: AtomicBool::new(true),
            background: Background::default(),
            load_wait_graph: LoadWaitGraph::default(),
            cache_directories: Arc::default(),
            loads_eagerly: options.load_dictionaries_eagerly,
            _lock: lock,
            _temporary: temporary,
        });
        engine.background.start(&engine);
        if engine.loads_eagerly {
            let list: Arc<dyn DictionaryList> = Arc::<Engine>::clone(&engine);
            load_all(&list);
        }
        Ok(engine)
    }

    /// A new session with default settings.
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(Arc::clone(self))
    }

    /// Ends running queries and background work.
    pub async fn shutdown(self: &Arc<Self>) {
        self.processes.cancel_all();
        let engine = Arc::clone(self);
        // Rows that nobody waits for were acknowledged; the others have their answer in the end.
        let _ = tokio::task::spawn_blocking(move || engine.async_inserts.flush(&engine)).await;
        self.background.stop().await;
    }

    /// The zone of `DateTime` values that name none: the machine's.
    pub fn zone_name(&self) -> &str {
        self.zone.name()
    }

    pub(crate) fn catalog(&self) -> &CatalogStore {
        &self.catalog
    }

    pub(crate) fn named_collections(&self) -> &NamedCollections {
        &self.opener.collections
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.opener.data_dir
    }

    pub(crate) fn opener(&self) -> &TableOpener {
        &self.opener
    }

    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    pub(crate) fn query_log(&self) -> &QueryLog {
        &self.query_log
    }

    pub(crate) fn async_inserts(&self) -> &AsyncInserts {
        &self.async_inserts
    }

    /// For a merge or mutation, whose memory counts for the server.
    pub(crate) fn work_control(&self) -> Arc<WorkControl> {
        Arc::new(WorkControl::default().counted(&self.opener.work_memory))
    }

    /// Says it to whoever reads the log of the process.
    pub(crate) fn say(&self, line: &str) {
        self.opener.log.say(line);
    }

    /// What [`Engine::say`] says it to.
    pub(crate) fn log(&self) -> Option<fn(&str)> {
        self.opener.log.writer()
    }

    pub(crate) fn memory(&self) -> &Arc<ServerMemory> {
        &self.memory
    }

    pub(crate) fn shared_clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    pub(crate) fn zone(&self) -> &Zone {
        &self.zone
    }

    pub(crate) fn runtime(&self) -> &tokio::runtime::Handle {
        &self.runtime
    }

    pub(crate) fn shared_runtime(&self) -> &RuntimeEnv {
        &self.shared_runtime
    }

    pub(crate) fn processors(&self) -> usize {
        self.processors
    }

    pub(crate) fn uptime_seconds(&self) -> u32 {
        ((self.clock.now_us().saturating_sub(self.started_us)) / 1_000_000) as u32
    }

    pub(crate) fn set_merges(&self, on: bool) {
        self.merges_on.store(on, Ordering::Relaxed);
    }

    pub(crate) fn merges_on(&self) -> bool {
        self.merges_on.load(Ordering::Relaxed)
    }

    pub(crate) fn background(&self) -> &Background {
        &self.background
    }

    /// Something was written: there may be merges to do.
    pub(crate) fn wake_background(&self) {
        self.background.wake();
    }

    /// The path of a file that a statement names and that need not be there, if statements may read it.
    pub(crate) fn user_path(&self, path: &str) -> Result<PathBuf> {
        data_dir::user_path(path, self.user_files_path.as_deref())
    }

    /// As [`Engine::user_path`], for a file or directory of a dictionary.
    pub(crate) fn dictionary_path(&self, path: &str) -> Result<PathBuf> {
        self.user_path(path).map_err(|error| match error.code() {
            ErrorCode::DatabaseAccessDenied => Error::new(ErrorCode::PathAccessDenied, error.message()),
            _ => error,
        })
    }

    /// The hosts that sources of dictionaries may ask.
    pub(crate) fn remote_hosts(&self) -> &RemoteHosts {
        &self.remote_hosts
    }

    /// The directory of files that go when the engine is opened again.
    pub fn temporary_dir(&self) -> PathBuf {
        self.data_dir().join("tmp")
    }

    /// The directory of the programs that dictionary sources may run.
    pub(crate) fn user_scripts_path(&self) -> Option<&Path> {
        self.user_scripts_path.as_deref()
    }

    /// Whether dictionary sources may run commands in a shell.
    pub(crate) fn allows_shell_commands(&self) -> bool {
        self.allows_shell_commands
    }

    /// Certificates of authorities that are trusted beside those of the machine.
    pub(crate) fn tls_ca_file(&self) -> Option<&Path> {
        self.tls_ca_file.as_deref()
    }

    /// Which loads of dictionaries wait for which.
    pub(crate) fn load_wait_graph(&self) -> &LoadWaitGraph {
        &self.load_wait_graph
    }

    /// The directories of the files of dictionaries' caches.
    pub(crate) fn cache_directories(&self) -> &Arc<CacheDirectories> {
        &self.cache_directories
    }

    /// Whether dictionaries are loaded before a query needs them.
    pub(crate) fn loads_eagerly(&self) -> bool {
        self.loads_eagerly
    }
}

/// The directory of an engine that is given none, removed with the answer.
fn temporary_dir() -> Result<(PathBuf, Option<TempDir>)> {
    let made = tempfile::Builder::new().prefix("basalt-").tempdir();
    let made = made.map_err(|error| Error::io(FileAction::CreateDirectory, &std::env::temp_dir(), &error))?;
    Ok((made.path().to_owned(), Some(made)))
}

/// The given limit, or nine tenths of the memory that the process may have; 0, no limit, where that is not known.
fn server_memory(limit: u64) -> u64 {
    if limit > 0 {
        return limit;
    }
    memory_bytes().map_or(0, |bytes| bytes / 10 * 9)
}

/// The given size, or a tenth of the machine's memory, but not less than blocks of wide columns need.
fn uncompressed_cache_size(bytes: Option<u64>) -> usize {
    let default = || (memory_bytes().unwrap_or(0) / 10).max(UNCOMPRESSED_CACHE_BYTES_MIN);
    usize::try_from(bytes.unwrap_or_else(default)).unwrap_or(usize::MAX)
}
