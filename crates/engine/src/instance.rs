//! An open data directory: the catalog, and all that queries share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::DirectoryLock;
use basalt_base::siphash::sip_hash128;
use basalt_functions::host_name;
use datafusion::execution::runtime_env::RuntimeEnv;
use tempfile::TempDir;
use uuid::Uuid;

use crate::access::AccessPolicy;
use crate::access_control::AccessControl;
use crate::async_inserts::AsyncInserts;
use crate::background::Background;
use crate::catalog::CatalogStore;
use crate::context::Services;
use crate::counters::Counters;
use crate::dictionaries::{CacheDirectories, LoadWaitGraph};
use crate::health::Surroundings;
use crate::named_collections::NamedCollections;
use crate::postgres_oids::Oids;
use crate::processes::Processes;
use crate::query_log::QueryLog;
use crate::redis_databases::RedisDatabases;
use crate::tables::TableOpener;

/// The catalog and the shared state of an open data directory.
pub(crate) struct Instance {
    pub(crate) services: Arc<Services>,
    pub(crate) catalog: CatalogStore,
    pub(crate) opener: TableOpener,
    pub(crate) processes: Processes,
    pub(crate) query_log: QueryLog,
    pub(crate) counters: Counters,
    pub(crate) async_inserts: Arc<AsyncInserts>,
    pub(crate) started_us: u64,
    /// The numbers of objects in `pg_catalog`.
    pub(crate) postgres_oids: Oids,
    /// Where queries spill to.
    pub(crate) shared_runtime: RuntimeEnv,
    pub(crate) access: AccessPolicy,
    /// Users, and what they may do.
    pub(crate) access_control: AccessControl,
    pub(crate) background: Arc<Background>,
    pub(crate) load_wait_graph: LoadWaitGraph,
    pub(crate) cache_directories: Arc<CacheDirectories>,
    pub(crate) surroundings: Surroundings,
    /// The databases of Redis that are in use.
    pub(crate) redis_databases: RedisDatabases,
    /// Whether dictionaries are loaded before a query needs them.
    pub(crate) loads_eagerly: bool,
    // Last: the directory is unlocked and removed when everything above is gone.
    pub(crate) _lock: DirectoryLock,
    pub(crate) _temporary: Option<TempDir>,
}

impl Instance {
    /// The directory of temporary files, emptied when the data directory is opened again.
    pub(crate) fn temporary_dir(&self) -> PathBuf {
        self.data_dir().join("tmp")
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.opener.data_dir
    }

    pub(crate) fn services(&self) -> &Arc<Services> {
        &self.services
    }

    pub(crate) fn catalog(&self) -> &CatalogStore {
        &self.catalog
    }

    pub(crate) fn opener(&self) -> &TableOpener {
        &self.opener
    }

    pub(crate) fn named_collections(&self) -> &NamedCollections {
        &self.opener.collections
    }

    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    pub(crate) fn query_log(&self) -> &QueryLog {
        &self.query_log
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn async_inserts(&self) -> &Arc<AsyncInserts> {
        &self.async_inserts
    }

    pub(crate) fn redis_databases(&self) -> &RedisDatabases {
        &self.redis_databases
    }

    pub(crate) fn background(&self) -> &Background {
        &self.background
    }

    /// The same for each opening of the data directory on this host.
    pub(crate) fn uuid(&self) -> Uuid {
        let place = format!("{}:{}", host_name(), self.data_dir().display());
        Uuid::from_bytes(sip_hash128(place.as_bytes()))
    }

    pub(crate) fn uptime_seconds(&self) -> u32 {
        (self.services.clock.now_us().saturating_sub(self.started_us) / 1_000_000) as u32
    }
}
