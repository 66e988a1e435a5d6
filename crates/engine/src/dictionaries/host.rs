//! The database as seen by loads of dictionaries, which must not depend on the rest of the engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::clock::Clock;
use basalt_base::fs::Storage;
use basalt_base::zone::Zone;
use basalt_base::{Columns, Result};
use basalt_formats::FormatSettings;
use uuid::Uuid;

use super::cache_directories::CacheDirectories;
use super::load_chain::{LoadChain, LoadWaitGraph};
use super::memory::MemoryBudget;
use crate::context::QueryContext;
use crate::named_collections::NamedCollections;
use crate::remote_hosts::RemoteHosts;
use crate::settings::Settings;
use crate::tables::Table;

/// Blocks of rows: one array for each column.
pub(crate) type Blocks = Box<dyn Iterator<Item = Result<Vec<ArrayRef>>> + Send>;

/// A query that a load runs in this database.
pub(crate) struct SourceQuery {
    pub(crate) database: String,
    pub(crate) text: String,
    pub(crate) settings: Settings,
    /// The loads that the query is part of.
    pub(crate) chain: Arc<LoadChain>,
    /// The query reads a whole table for a copy of it, and must not drive the blocks of other queries from the cache.
    pub(crate) reads_once: bool,
}

/// The permissions that the server's configuration gives to sources.
pub(crate) struct SourcePolicy<'a> {
    /// The hosts that sources may connect to.
    pub(crate) remote_hosts: &'a RemoteHosts,
    /// The directory of the programs that sources may run; `None` if they may run none.
    pub(crate) user_scripts_path: Option<&'a Path>,
    pub(crate) allows_shell_commands: bool,
    /// Certificates of authorities that are trusted in addition to those of the machine.
    pub(crate) tls_ca_file: Option<&'a Path>,
    /// Where programs' messages go.
    pub(crate) log: Option<fn(&str)>,
    /// The zone of the machine.
    pub(crate) zone: &'a Zone,
}

/// The database, as loads see it.
pub(crate) trait LoadHost: Send + Sync {
    /// The table of this name; `None` if the name belongs to another kind of object.
    fn table(&self, database: &str, name: &str) -> Result<Option<Arc<dyn Table>>>;

    /// Whether the catalog still has the dictionary.
    fn has_dictionary(&self, uuid: Uuid) -> bool;

    /// The chain of the load that made the current version of a dictionary.
    fn source_chain(&self, uuid: Uuid) -> Option<Arc<LoadChain>>;

    fn collections(&self) -> &NamedCollections;

    /// The context of a query that a load runs without SQL.
    fn context(self: Arc<Self>, query: SourceQuery) -> Arc<QueryContext>;

    /// Runs a query and converts its columns to `columns`, by position. The first `exact_columns` of them refuse a
    /// number that their type does not have.
    fn run_sql(
        self: Arc<Self>,
        query: SourceQuery,
        columns: &Columns,
        exact_columns: usize,
    ) -> Result<Blocks>;

    /// The settings of the formats of a source.
    fn format_settings(self: Arc<Self>, query: SourceQuery) -> FormatSettings;

    fn policy(&self) -> SourcePolicy<'_>;

    /// The path of a file or directory that a definition names, if statements may use it.
    fn user_file(&self, path: &str) -> Result<PathBuf>;

    fn clock(&self) -> &Arc<dyn Clock>;

    fn storage(&self) -> &Arc<dyn Storage>;

    /// A directory whose files are removed when the database is opened again.
    fn temporary_dir(&self) -> PathBuf;

    /// The directory of the object with this id.
    fn store_dir(&self, uuid: Uuid) -> PathBuf;

    fn memory(&self) -> Arc<dyn MemoryBudget>;

    /// Returns free pages of the allocator to the system.
    fn release_memory(&self) -> Option<fn()>;

    /// Where threads of loads run their queries.
    fn runtime(&self) -> &tokio::runtime::Handle;

    fn wait_graph(&self) -> &LoadWaitGraph;

    fn cache_directories(&self) -> &Arc<CacheDirectories>;
}
