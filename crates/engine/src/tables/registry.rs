//! The table engines, and how a table is opened by the name of its engine.

use std::path::PathBuf;
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};

use super::definition::TableDefinition;
use super::dictionary::DictionaryTable;
use super::embedded_rocksdb::EmbeddedRocksDbTable;
use super::memory::MemoryTable;
use super::merge_mode;
use super::merge_tree::MergeTreeTable;
use super::opener::TableOpener;
use super::raw_rocksdb::{RawDirectory, RawRocksDbTable};
use super::succinct::SuccinctTable;
use super::table::Table;
use crate::data_dir;

/// The table engines, as SQL names them.
pub(crate) const ENGINES: &[&str] = &[
    "CollapsingMergeTree",
    "Dictionary",
    "EmbeddedRocksDB",
    "Memory",
    "MergeTree",
    "ReplacingMergeTree",
    "Succinct",
    "SummingMergeTree",
    "VersionedCollapsingMergeTree",
];

/// Engines that ClickHouse has and Basalt does not yet.
const NOT_BUILT: &[&str] = &[
    "AggregatingMergeTree",
    "Buffer",
    "Distributed",
    "File",
    "Join",
    "Kafka",
    "Log",
    "Merge",
    "MySQL",
    "Null",
    "PostgreSQL",
    "Redis",
    "ReplicatedMergeTree",
    "Set",
    "StripeLog",
    "TinyLog",
    "URL",
];

impl TableOpener {
    /// Repairs a damaged table, which keeps what can be read; returns the directory with the original files.
    pub(crate) fn restore(&self, definition: &TableDefinition) -> Result<PathBuf> {
        let dir = self.data_dir.join("store").join(definition.uuid.to_string());
        match &definition.create.engine {
            Some(engine) if engine.name == "EmbeddedRocksDB" => {
                EmbeddedRocksDbTable::restore(&dir, definition, &self.cache)
            }
            _ => bail!(
                NotImplemented,
                "restoring a table that is not of engine EmbeddedRocksDB is not implemented"
            ),
        }
    }

    /// Opens the table that `definition` describes, with what its directory holds; makes the
    /// directory where there is none.
    pub(crate) fn open(&self, definition: Arc<TableDefinition>) -> Result<Arc<dyn Table>> {
        let dir = self.data_dir.join("store").join(definition.uuid.to_string());
        let Some(engine) = &definition.create.engine else {
            bail!(EngineRequired, "table `{}` has no ENGINE", definition.full_name());
        };
        match engine.name.as_str() {
            "Dictionary" => Ok(Arc::new(DictionaryTable::open(definition, &self.dictionaries)?)),
            "Memory" => Ok(Arc::new(MemoryTable::open(definition)?)),
            name if merge_mode::ENGINES.contains(&name) => {
                Ok(Arc::new(MergeTreeTable::open(self, dir, definition)?))
            }
            "EmbeddedRocksDB" => match RawDirectory::of_arguments(&engine.args)? {
                Some(directory) => {
                    let path = data_dir::user_path(&directory.path, self.user_files.as_deref())?;
                    let read_only = directory.is_read_only;
                    let storage = self.storage.as_ref();
                    Ok(Arc::new(RawRocksDbTable::open(storage, &dir, path, read_only, definition)?))
                }
                None => {
                    Ok(Arc::new(EmbeddedRocksDbTable::open(&self.storage, dir, definition, &self.cache)?))
                }
            },
            "Succinct" => Ok(Arc::new(SuccinctTable::open(self, dir, definition)?)),
            known if NOT_BUILT.contains(&known) => {
                bail!(NotImplemented, "table engine {known} is not implemented")
            }
            other => {
                let near = did_you_mean(other, ENGINES.iter().copied());
                bail!(UnknownStorage, "table engine `{other}` is not known{near}")
            }
        }
    }
}
