//! An instance as loads of dictionaries see it.

use std::path::PathBuf;
use std::sync::Arc;

use basalt_base::clock::Clock;
use basalt_base::fs::Storage;
use basalt_base::{Columns, Result};
use basalt_formats::FormatSettings;
use uuid::Uuid;

use crate::catalog::CatalogObject;
use crate::context::{QueryContext, ServerMemory, format_settings};
use crate::dictionaries::{
    Blocks, CacheDirectories, DictionaryEntry, DictionaryList, LoadChain, LoadHost, LoadWaitGraph,
    MemoryBudget, SourcePolicy, SourceQuery,
};
use crate::execution::Execution;
use crate::instance::Instance;
use crate::named_collections::NamedCollections;
use crate::planning::run_typed;
use crate::tables::Table;

impl LoadHost for Instance {
    fn table(&self, database: &str, name: &str) -> Result<Option<Arc<dyn Table>>> {
        Ok(match self.catalog().get(database, name)? {
            CatalogObject::Table(table) => Some(table),
            _ => None,
        })
    }

    fn has_dictionary(&self, uuid: Uuid) -> bool {
        self.catalog().dictionaries().iter().any(|entry| entry.uuid() == uuid)
    }

    fn source_chain(&self, uuid: Uuid) -> Option<Arc<LoadChain>> {
        self.catalog().dictionaries().iter().find(|entry| entry.uuid() == uuid)?.source_chain()
    }

    fn collections(&self) -> &NamedCollections {
        self.named_collections()
    }

    fn context(self: Arc<Self>, query: SourceQuery) -> Arc<QueryContext> {
        Arc::new(source_context(&self, query))
    }

    fn run_sql(
        self: Arc<Self>,
        query: SourceQuery,
        columns: &Columns,
        exact_columns: usize,
    ) -> Result<Blocks> {
        let query = Execution::new(&self, Arc::new(source_context(&self, query)));
        let blocks = run_typed(&query, &query.text, columns, exact_columns)?;
        Ok(Box::new(blocks.map(|block| block.map(|block| block.columns().to_vec()))))
    }

    fn format_settings(self: Arc<Self>, query: SourceQuery) -> FormatSettings {
        format_settings(&source_context(&self, query))
    }

    fn policy(&self) -> SourcePolicy<'_> {
        SourcePolicy {
            remote_hosts: &self.access.remote_hosts,
            user_scripts_path: self.access.user_scripts_path.as_deref(),
            allows_shell_commands: self.access.allows_shell_commands,
            tls_ca_file: self.access.tls_ca_file.as_deref(),
            log: self.opener.log.writer(),
            zone: &self.services.zone,
        }
    }

    fn user_file(&self, path: &str) -> Result<PathBuf> {
        self.access.dictionary_path(path)
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.services.clock
    }

    fn storage(&self) -> &Arc<dyn Storage> {
        &self.opener().storage
    }

    fn temporary_dir(&self) -> PathBuf {
        Instance::temporary_dir(self)
    }

    fn store_dir(&self, uuid: Uuid) -> PathBuf {
        self.catalog().store_dir(uuid)
    }

    fn memory(&self) -> Arc<dyn MemoryBudget> {
        Arc::<ServerMemory>::clone(&self.services.memory)
    }

    fn release_memory(&self) -> Option<fn()> {
        self.opener().release_memory
    }

    fn runtime(&self) -> &tokio::runtime::Handle {
        &self.services.runtime
    }

    fn wait_graph(&self) -> &LoadWaitGraph {
        &self.load_wait_graph
    }

    fn cache_directories(&self) -> &Arc<CacheDirectories> {
        &self.cache_directories
    }
}

impl DictionaryList for Instance {
    fn dictionaries(&self) -> Vec<Arc<DictionaryEntry>> {
        self.catalog().dictionaries()
    }
}

fn source_context(instance: &Instance, query: SourceQuery) -> QueryContext {
    let SourceQuery { database, text, settings, chain, reads_once } = query;
    let context = QueryContext::internal(instance.services(), &database, &text, settings);
    let context = context.in_load_chain(chain);
    if reads_once { context.reading_once() } else { context }
}
