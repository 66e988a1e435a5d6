//! SYSTEM: commands to the engine itself.

use std::sync::Arc;

use basalt_base::{Error, Result};
use basalt_sql::ast::{ObjectName, SystemCommand};
use uuid::Uuid;

use super::current::CurrentQuery;
use super::{QueryContext, ddl};
use crate::Engine;
use crate::catalog::ObjectKey;
use crate::dictionaries::DictionaryEntry;

/// Runs a SYSTEM command on a thread that may block.
pub(super) async fn run(query: &Arc<QueryContext>, command: SystemCommand) -> Result<()> {
    let query = Arc::clone(query);
    match tokio::task::spawn_blocking(move || run_blocking(&query, command)).await {
        Ok(result) => result,
        Err(panic) => Err(Error::logical(format!("a SYSTEM command ended early: {panic}"))),
    }
}

fn run_blocking(query: &Arc<QueryContext>, command: SystemCommand) -> Result<()> {
    let _current = CurrentQuery::enter(query);
    let engine = &query.engine;
    match command {
        SystemCommand::ReloadDictionary(name) => {
            dictionary_of(query, &name)?.reload(&query.load_host(), query.status())
        }
        SystemCommand::ReloadDictionaries => reload_all(query),
        SystemCommand::UnloadDictionary(name) => dictionary_of(query, &name)?.unload(query.status()),
        SystemCommand::UnloadDictionaries => {
            engine.catalog().dictionaries().iter().try_for_each(|entry| entry.unload(query.status()))
        }
        // The logs are in memory and complete at any time.
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
        SystemCommand::StopTtlMerges(name) => {
            let table = name.map(|name| table_of(query, &name)).transpose()?;
            engine.background().expiry().turn_off(table.map(|(_, uuid)| uuid));
            Ok(())
        }
        SystemCommand::StartTtlMerges(name) => {
            let table = name.map(|name| table_of(query, &name)).transpose()?;
            engine.background().expiry().turn_on(table.map(|(_, uuid)| uuid));
            engine.wake_background();
            Ok(())
        }
        SystemCommand::RestoreTable(name) => {
            let key = ddl::key_of(query, &name);
            let catalog = engine.catalog();
            let _ddl = catalog.ddl();
            catalog.restore(&key, engine.opener())
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

fn dictionary_of(query: &QueryContext, name: &ObjectName) -> Result<Arc<DictionaryEntry>> {
    let key = ddl::key_of(query, name);
    query.engine.catalog().dictionary(&key.database, &key.name)
}

/// Those that nobody needed so far stay as they are. One that fails does not keep the others waiting; the
/// first error is told in the end.
fn reload_all(query: &QueryContext) -> Result<()> {
    let mut tried = query.engine.catalog().dictionaries();
    tried.retain(|entry| entry.was_tried());
    let mut results = Vec::new();
    for entry in tried {
        query.check()?;
        results.push(entry.reload(&query.load_host(), query.status()));
    }
    results.into_iter().collect()
}

fn table_of(query: &QueryContext, name: &ObjectName) -> Result<(ObjectKey, Uuid)> {
    let key = ddl::key_of(query, name);
    let table = query.engine.catalog().table(&key.database, &key.name, "SYSTEM STOP or START MERGES")?;
    Ok((key, table.definition().uuid))
}
