//! SYSTEM: commands to the engine itself.

use std::sync::Arc;

use basalt_base::{Error, Result};
use basalt_sql::ast::{ObjectName, SystemCommand};
use uuid::Uuid;

use super::{QueryContext, ddl};
use crate::catalog::{CatalogObject, ObjectKey};

/// Runs a SYSTEM command on a thread that may block.
pub(super) async fn run(query: &Arc<QueryContext>, command: SystemCommand) -> Result<()> {
    let query = Arc::clone(query);
    match tokio::task::spawn_blocking(move || run_blocking(&query, command)).await {
        Ok(result) => result,
        Err(panic) => Err(Error::logical(format!("a SYSTEM command ended early: {panic}"))),
    }
}

fn run_blocking(query: &QueryContext, command: SystemCommand) -> Result<()> {
    let engine = &query.engine;
    match command {
        SystemCommand::ReloadDictionary(name) => {
            let key = ddl::key_of(query, &name);
            match engine.catalog().get(&key.database, &key.name)? {
                CatalogObject::Dictionary(entry) => entry.reload(engine),
                other => Err(Error::not_implemented(format!("SYSTEM RELOAD of a {}", other.kind()))),
            }
        }
        SystemCommand::ReloadDictionaries => {
            for (_, _, object) in engine.catalog().all_objects() {
                if let CatalogObject::Dictionary(entry) = object {
                    entry.reload(engine)?;
                }
            }
            Ok(())
        }
        // The query log is in memory and complete at any time.
        SystemCommand::FlushLogs => Ok(()),
        SystemCommand::StopMerges(None) => {
            engine.set_merges(false);
            engine.background().cancel_all();
            Ok(())
        }
        SystemCommand::StartMerges(None) => {
            engine.set_merges(true);
            Ok(())
        }
        SystemCommand::StopMerges(Some(name)) => {
            let (key, uuid) = table_of(query, &name)?;
            engine.background().stop_table(uuid, &key);
            Ok(())
        }
        SystemCommand::StartMerges(Some(name)) => {
            engine.background().start_table(table_of(query, &name)?.1);
            Ok(())
        }
        SystemCommand::DropCaches { which } if which == "UNCOMPRESSED" => {
            engine.opener().block_cache.clear();
            Ok(())
        }
        SystemCommand::DropCaches { which } => Err(Error::not_implemented(format!("SYSTEM DROP {which}"))),
        SystemCommand::Shutdown => Err(Error::not_implemented("SYSTEM SHUTDOWN")),
        SystemCommand::Other { words } => Err(Error::not_implemented(format!("SYSTEM {words}"))),
    }
}

fn table_of(query: &QueryContext, name: &ObjectName) -> Result<(ObjectKey, Uuid)> {
    let key = ddl::key_of(query, name);
    let table = query.engine.catalog().table(&key.database, &key.name, "SYSTEM STOP or START MERGES")?;
    Ok((key, table.definition().uuid))
}
