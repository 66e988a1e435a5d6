//! An open database: puts the parts of an engine together.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use basalt_access::{Proof, ScramSecret, User};
use basalt_base::clock::{Clock, SystemClock};
use basalt_base::fs::{RealStorage, Storage};
use basalt_base::machine::memory_bytes;
use basalt_base::zone::Zone;
use basalt_base::{Error, FileAction, Result};
use basalt_exec::tasks::carry_queries;
use basalt_kv::SharedCache;
use basalt_parts::{BlockCache, DiskSpace, WorkMemory};
use basalt_redis::SyncPolicy;
use tempfile::TempDir;

use crate::access::AccessPolicy;
use crate::access_control::{AccessControl, DefaultUser};
use crate::async_inserts::AsyncInserts;
use crate::background::{Background, BackgroundWork, start_workers};
use crate::catalog::CatalogStore;
use crate::context::{ServerMemory, Services, release_forever};
use crate::counters::Counters;
use crate::data_dir;
use crate::dictionaries::{DictionaryList, LoadWaitGraph, load_all, refresh_forever};
use crate::health::{ReloadConfig, Surroundings};
use crate::instance::Instance;
use crate::named_collections::NamedCollections;
use crate::planning::shared_runtime;
use crate::postgres_oids::Oids;
use crate::processes::Processes;
use crate::query_log::QueryLog;
use crate::redis::{self, RedisUser};
use crate::redis_databases::RedisDatabases;
use crate::remote_hosts::RemoteHosts;
use crate::server_log::ServerLog;
use crate::session::Session;
use crate::tables::{DictionaryLink, DictionaryResolver, TableOpener};

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
    /// Hosts, `host` or `host:port`, that sources of dictionaries may connect to; `None`: all hosts.
    pub remote_url_allow_hosts: Option<Vec<String>>,
    /// Queries that may run at once; 0 is no limit.
    pub max_concurrent_queries: u64,
    /// Load every dictionary at the start and when it is made, not when a query first needs it.
    pub load_dictionaries_eagerly: bool,
    /// Directory of the programs that dictionary sources may run; `None`: they may run none.
    pub user_scripts_path: Option<PathBuf>,
    /// Dictionary sources may run any command in a shell. Users who may create a dictionary may then do all that this
    /// process may.
    pub allow_shell_commands: bool,
    /// File of certificates (PEM) of authorities that sources over TLS trust in addition to those of the machine.
    pub tls_ca_file: Option<PathBuf>,
    /// The user `default`, who may do everything.
    pub default_user: DefaultUser,
    /// Statements about users, roles, grants, row policies, quotas and profiles that each start runs; what they CREATE
    /// replaces what has the same name.
    pub access_statements: String,
    /// Gets lines about failures that no statement reports; `None`: they are lost.
    pub log: Option<fn(&str)>,
    /// Returns free memory to the system: called now and then. `None`: the allocator alone decides.
    pub release_memory: Option<fn()>,
}

/// An open data directory: tables, dictionaries, background work. One process at a time has it.
pub struct Engine {
    instance: Arc<Instance>,
}

impl Engine {
    /// Opens the data directory. Must be called within a tokio runtime of several threads, on which
    /// queries and background work will run.
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>> {
        Engine::open_on(Arc::new(RealStorage), options)
    }

    /// [`Engine::open`] on another storage. The lock, spilled sorts and key/value tables stay in the machine's file
    /// system.
    pub(crate) fn open_on(storage: Arc<dyn Storage>, options: EngineOptions) -> Result<Arc<Engine>> {
        let instance = open_instance(storage, options)?;
        let resolver: Arc<dyn DictionaryResolver> = Arc::<Instance>::clone(&instance);
        instance.opener.dictionaries.set(&resolver);
        let work: Arc<dyn BackgroundWork> = Arc::<Instance>::clone(&instance);
        start_workers(&work, instance.services.processors);
        let list: Arc<dyn DictionaryList> = Arc::<Instance>::clone(&instance);
        instance.background.add(tokio::spawn(refresh_forever(Arc::downgrade(&list))));
        if let Some(release) = instance.opener.release_memory {
            let tracker = Arc::downgrade(instance.services.memory.tracker());
            instance.background.add(tokio::spawn(release_forever(tracker, release)));
        }
        if instance.loads_eagerly {
            load_all(&list);
        }
        Ok(Arc::new(Engine { instance }))
    }

    /// A new session with default settings.
    pub fn session(&self) -> Session {
        Session::new(Arc::clone(&self.instance))
    }

    /// Fails if statements that write would fail: the engine was shut down, or its disk is full or read-only.
    pub fn health(&self) -> Result<()> {
        self.instance.surroundings.check(self.instance.data_dir())
    }

    /// What `SYSTEM RELOAD CONFIG` does. Without it, the statement is not implemented.
    pub fn on_reload_config(&self, reload: ReloadConfig) {
        self.instance.surroundings.on_reload_config(reload);
    }

    /// The name of the user who connects from `address`; AUTHENTICATION_FAILED if the proof is wrong.
    pub fn authenticate(&self, name: &str, proof: Proof<'_>, address: Option<IpAddr>) -> Result<String> {
        let now = self.instance.services.clock.now_us() / 1_000_000;
        self.instance.access_control.authenticate(name, proof, address, now as i64)
    }

    /// Whether a password of the user takes milliseconds to check.
    pub fn is_checked_slowly(&self, name: &str) -> bool {
        self.instance.access_control.entities().is_checked_slowly(name)
    }

    /// What is stored of the password of a user who logs in by SCRAM-SHA-256.
    pub fn scram_secret(&self, name: &str) -> Option<ScramSecret> {
        self.instance.access_control.entities().scram_secret(name)
    }

    /// A user of Redis' interface, who has logged in. `policy` is that of databases that are not open yet.
    pub fn redis_user(&self, user: &str, address: IpAddr, policy: SyncPolicy) -> Result<Arc<RedisUser>> {
        RedisUser::log_in(&self.instance, user, address, policy).map(Arc::new)
    }

    /// Removes expired keys of Redis' databases and syncs their logs. To be called each second, on a thread that may
    /// block, while there are connections of Redis, and once after them.
    pub fn maintain_redis(&self) -> Result<()> {
        redis::maintain(&self.instance, self.instance.services.clock.now_us() / 1000)
    }

    /// Whether some user is let in without a password from other machines.
    pub fn has_open_user(&self) -> bool {
        self.instance.access_control.entities().users.values().any(User::is_open)
    }

    /// Ends running queries and background work.
    pub async fn shutdown(&self) {
        self.instance.surroundings.close();
        self.instance.processes.cancel_all();
        let inserts = Arc::clone(&self.instance.async_inserts);
        // Rows that nobody waits for were acknowledged; the others get their answer from this write.
        let _ = tokio::task::spawn_blocking(move || inserts.flush()).await;
        self.instance.background.stop().await;
    }

    /// The zone of `DateTime` values that name none: the machine's.
    pub fn zone_name(&self) -> &str {
        self.instance.services.zone.name()
    }

    /// The directory of temporary files, emptied when the data directory is opened again.
    pub fn temporary_dir(&self) -> PathBuf {
        self.instance.temporary_dir()
    }

    #[cfg(test)]
    pub(crate) fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }
}

fn open_instance(storage: Arc<dyn Storage>, options: EngineOptions) -> Result<Arc<Instance>> {
    let (data_dir, temporary) = match &options.path {
        Some(path) => (path.clone(), None),
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
        user_files: options.user_files_path.clone(),
        cache: SharedCache::for_machine(memory_bytes().unwrap_or(0)),
        block_cache: Arc::new(BlockCache::new(uncompressed_cache_size(options.uncompressed_cache_size))),
        space: DiskSpace::default(),
        work_memory: WorkMemory::default(),
        part_log: Arc::default(),
        release_memory: options.release_memory,
        collections: Arc::new(NamedCollections::open(Arc::clone(&storage), &data_dir, log)?),
        dictionaries: Arc::new(DictionaryLink::default()),
        log,
    };
    let access_control = AccessControl::open(
        Arc::clone(&storage),
        &data_dir,
        &options.default_user,
        &options.access_statements,
    )?;
    let catalog = CatalogStore::open(storage, data_dir.clone(), &opener)?;
    let services = Arc::new(Services {
        memory: server_memory(&options, &opener),
        runtime: tokio::runtime::Handle::current(),
        processors,
        zone: Zone::system(),
        clock: Arc::clone(&clock),
    });
    carry_queries();
    let background = Arc::new(Background::new(Arc::clone(&clock), log, opener.work_memory.clone()));
    Ok(Arc::new(Instance {
        async_inserts: Arc::new(AsyncInserts::new(Arc::clone(&background), services.runtime.clone())),
        services,
        catalog,
        opener,
        processes: Processes::new(options.max_concurrent_queries),
        query_log: QueryLog::default(),
        counters: Counters::default(),
        started_us: clock.now_us(),
        postgres_oids: Oids::default(),
        shared_runtime: shared_runtime(&data_dir.join("tmp"))?,
        loads_eagerly: options.load_dictionaries_eagerly,
        access: access_policy(options),
        access_control,
        background,
        load_wait_graph: LoadWaitGraph::default(),
        cache_directories: Arc::default(),
        surroundings: Surroundings::default(),
        redis_databases: RedisDatabases::default(),
        _lock: lock,
        _temporary: temporary,
    }))
}

fn access_policy(options: EngineOptions) -> AccessPolicy {
    AccessPolicy {
        user_files_path: options.user_files_path,
        remote_hosts: RemoteHosts::new(options.remote_url_allow_hosts),
        user_scripts_path: options.user_scripts_path,
        allows_shell_commands: options.allow_shell_commands,
        tls_ca_file: options.tls_ca_file,
    }
}

/// Queries, merges and dictionaries together may take the given limit, or nine tenths of the memory that the process may
/// have; no limit where that is not known.
fn server_memory(options: &EngineOptions, opener: &TableOpener) -> Arc<ServerMemory> {
    let limit = match options.max_server_memory_usage {
        0 => memory_bytes().map_or(0, |bytes| bytes / 10 * 9),
        limit => limit,
    };
    let cache = Arc::clone(&opener.block_cache);
    ServerMemory::new(limit, opener.work_memory.clone(), cache, options.release_memory)
}

/// A directory for an engine without one, removed when the second result is dropped.
fn temporary_dir() -> Result<(PathBuf, Option<TempDir>)> {
    let made = tempfile::Builder::new().prefix("basalt-").tempdir();
    let made = made.map_err(|error| Error::io(FileAction::CreateDirectory, &std::env::temp_dir(), &error))?;
    Ok((made.path().to_owned(), Some(made)))
}

/// The given size, or a tenth of the machine's memory, but not less than blocks of wide columns need.
fn uncompressed_cache_size(bytes: Option<u64>) -> usize {
    let default = || (memory_bytes().unwrap_or(0) / 10).max(UNCOMPRESSED_CACHE_BYTES_MIN);
    usize::try_from(bytes.unwrap_or_else(default)).unwrap_or(usize::MAX)
}
