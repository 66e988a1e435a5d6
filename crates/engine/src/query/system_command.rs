//! SYSTEM: commands to the engine itself.

use std::sync::Arc;

use basalt_base::{Error, Result};
use basalt_sql::ast::{ObjectName, SystemCommand};
use uuid::Uuid;

use crate::dictionaries::DictionaryEntry;
use crate::execution::Execution;
use crate::names::ObjectKey;

/// Runs a SYSTEM command on a thread that may block.
pub(super) async fn run(query: &Arc<Execution>, command: SystemCommand) -> Result<()> {
    query.on_blocking_thread("a SYSTEM command", move |query| run_blocking(query, command)).await
}

fn run_blocking(query: &Arc<Execution>, command: SystemCommand) -> Result<()> {
    let instance = &query.instance;
    match command {
        SystemCommand::ReloadDictionary(name) => {
            dictionary_of(query, &name)?.reload(&query.load_host(), query.status())
        }
        SystemCommand::ReloadDictionaries => reload_all(query),
        SystemCommand::UnloadDictionary(name) => dictionary_of(query, &name)?.unload(query.status()),
        SystemCommand::UnloadDictionaries => {
            instance.catalog().dictionaries().iter().try_for_each(|entry| entry.unload(query.status()))
        }
        // The logs are in memory and complete at any time.
        SystemCommand::FlushLogs => Ok(()),
        SystemCommand::StopMerges(None) => {
            instance.background().stop_all();
            Ok(())
        }
        SystemCommand::StartMerges(None) => {
            instance.background().start_all();
            Ok(())
        }
        SystemCommand::StopMerges(Some(name)) => {
            let (key, uuid) = table_of(query, &name)?;
            instance.background().stop_table(uuid, &key);
            Ok(())
        }
        SystemCommand::StartMerges(Some(name)) => {
            instance.background().start_table(table_of(query, &name)?.1);
            Ok(())
        }
        SystemCommand::StopTtlMerges(name) => {
            let table = name.map(|name| table_of(query, &name)).transpose()?;
            instance.background().expiry().turn_off(table.map(|(_, uuid)| uuid));
            Ok(())
        }
        SystemCommand::StartTtlMerges(name) => {
            let table = name.map(|name| table_of(query, &name)).transpose()?;
            instance.background().expiry().turn_on(table.map(|(_, uuid)| uuid));
            instance.background().wake();
            Ok(())
        }
        SystemCommand::RestoreTable(name) => {
            let key = query.key_of(&name);
            let catalog = instance.catalog();
            let _ddl = catalog.ddl();
            catalog.restore(&key, instance.opener())
        }
        SystemCommand::DropCaches { which } if which == "UNCOMPRESSED" => {
            instance.opener().block_cache.clear();
            Ok(())
        }
        SystemCommand::DropCaches { which } => Err(Error::not_implemented(format!("SYSTEM DROP {which}"))),
        SystemCommand::Shutdown => Err(Error::not_implemented("SYSTEM SHUTDOWN")),
        SystemCommand::Other { words } if words.eq_ignore_ascii_case("RELOAD CONFIG") => {
            let reloaded = instance.surroundings.reload_config();
            reloaded.unwrap_or_else(|| Err(Error::not_implemented("SYSTEM RELOAD CONFIG without a server")))
        }
        SystemCommand::Other { words } => Err(Error::not_implemented(format!("SYSTEM {words}"))),
    }
}

fn dictionary_of(query: &Execution, name: &ObjectName) -> Result<Arc<DictionaryEntry>> {
    let key = query.key_of(name);
    query.instance.catalog().dictionary(&key.database, &key.name)
}

/// Reloads the dictionaries that were loaded. One that fails does not keep the others waiting; the first error is
/// returned at the end.
fn reload_all(query: &Execution) -> Result<()> {
    let mut tried = query.instance.catalog().dictionaries();
    tried.retain(|entry| entry.was_tried());
    let mut results = Vec::new();
    for entry in tried {
        query.check()?;
        results.push(entry.reload(&query.load_host(), query.status()));
    }
    results.into_iter().collect()
}

fn table_of(query: &Execution, name: &ObjectName) -> Result<(ObjectKey, Uuid)> {
    let key = query.key_of(name);
    let table = query.instance.catalog().table(&key.database, &key.name, "SYSTEM STOP or START MERGES")?;
    Ok((key, table.definition().uuid))
}
