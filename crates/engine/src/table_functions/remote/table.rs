//! A table of another server.

use std::sync::Arc;

use basalt_base::{Result, bail};

use super::origin::Origin;
use super::scan::RemoteScan;
use super::servers::Servers;
use super::sink::RemoteSink;
use crate::context::format_settings;
use crate::execution::Execution;
use crate::scan::{BlockSource, ScanRequest};
use crate::tables::{InsertSettings, InsertSink, Table, TableDefinition, virtual_definition};

/// A table of another server, in one query.
pub(super) struct RemoteTable {
    servers: Arc<Servers>,
    from: Origin,
    definition: Arc<TableDefinition>,
    query: Arc<Execution>,
}

impl RemoteTable {
    pub(super) fn new(
        servers: Arc<Servers>,
        from: Origin,
        definition: Arc<TableDefinition>,
        query: &Arc<Execution>,
    ) -> RemoteTable {
        RemoteTable { servers, from, definition, query: Arc::clone(query) }
    }
}

impl Table for RemoteTable {
    fn engine(&self) -> &'static str {
        "Distributed"
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition)
    }

    fn set_definition(&self, _definition: Arc<TableDefinition>) -> Result<()> {
        Err(self.refuses("RENAME"))
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        let settings = format_settings(&self.query);
        Ok(Arc::new(RemoteScan::new(&self.servers, &self.from, request, settings)?))
    }

    /// The other server fills the columns that are not given.
    fn receiving(&self, columns: &[String]) -> Option<Arc<dyn Table>> {
        let own = &self.definition.columns;
        if columns.iter().any(|name| self.definition.column(name).is_none()) {
            return None;
        }
        let is_given = |name: &String| columns.contains(name);
        let given = own.iter().filter(|column| match columns {
            [] => column.is_ordinary(),
            _ => is_given(&column.name),
        });
        let TableDefinition { database, name, .. } = &*self.definition;
        let definition = virtual_definition(self.engine(), database, name, given.cloned().collect());
        let (servers, from) = (Arc::clone(&self.servers), self.from.clone());
        Some(Arc::new(RemoteTable::new(servers, from, Arc::new(definition), &self.query)))
    }

    fn begin_insert(&self, _settings: &InsertSettings) -> Result<Option<Box<dyn InsertSink + '_>>> {
        if self.servers.shard_count() > 1 {
            bail!(
                StorageRequiresParameter,
                "an INSERT into {} shards needs a sharding key, which is not implemented: name one address",
                self.servers.shard_count()
            );
        }
        let columns = self.definition.stored();
        Ok(Some(Box::new(RemoteSink::begin(&self.servers, &self.from, columns)?)))
    }
}
