//! DROP and TRUNCATE.

use std::time::Duration;

use basalt_base::{Result, bail};
use basalt_sql::ast::{self, ObjectKind, ObjectName};

use super::resolve::check_kind;
use crate::execution::Execution;
use crate::names::{ObjectKey, TEMPORARY, is_built_in};

/// How often DROP ... SYNC looks whether the last user of the table is gone.
const SWEEP_INTERVAL: Duration = Duration::from_millis(5);

/// Runs one DROP.
pub(super) fn drop_objects(query: &Execution, drop: &ast::DropObject) -> Result<()> {
    if drop.temporary {
        return drop_temporary(query, drop);
    }
    drop_named(query, drop)?;
    // SYNC: the space is free when the statement ends.
    while drop.sync && !query.instance.catalog().sweep_dropped() {
        query.check()?;
        std::thread::sleep(SWEEP_INTERVAL);
    }
    Ok(())
}

fn drop_temporary(query: &Execution, drop: &ast::DropObject) -> Result<()> {
    for name in &drop.names {
        if query.temporary.find(&name.name).is_none() && !drop.if_exists {
            bail!(UnknownTable, "temporary table `{name}` does not exist");
        }
        query.temporary.remove(&name.name);
    }
    Ok(())
}

fn drop_named(query: &Execution, drop: &ast::DropObject) -> Result<()> {
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    for name in drop.names.iter().filter(|_| drop.kind != ObjectKind::Database) {
        let key = query.key_of(name);
        catalog
            .find(&key.database, &key.name)
            .map_or(Ok(()), |object| check_kind(&object, drop.kind, &key, "DROP"))?;
    }
    if query.settings.check_table_dependencies {
        catalog.check_no_dependents(|key| match drop.kind {
            ObjectKind::Database => drop.names.iter().any(|name| name.name == key.database),
            _ => drop.names.iter().any(|name| query.key_of(name) == *key),
        })?;
    }
    for name in &drop.names {
        if drop.kind == ObjectKind::Database {
            if !catalog.has_database(&name.name) && drop.if_exists {
                continue;
            }
            catalog.require_database(&name.name)?;
            for (table, _) in catalog.objects(&name.name) {
                let key = ObjectKey { database: name.name.clone(), name: table };
                query.instance.background().cancel_table(&key);
            }
            catalog.drop_database(&name.name)?;
            continue;
        }
        let key = query.key_of(name);
        if key.database == TEMPORARY {
            query.temporary.remove(&name.name);
            continue;
        }
        match catalog.find(&key.database, &key.name) {
            None if drop.if_exists => {}
            None => drop_missing(query, &key)?,
            Some(object) => {
                // The data of a table stays until the last reference to it is gone.
                std::mem::drop(object);
                query.instance.background().cancel_table(&key);
                catalog.remove(&key.database, &key.name)?;
            }
        }
    }
    Ok(())
}

fn drop_missing(query: &Execution, key: &ObjectKey) -> Result<()> {
    if is_built_in(&key.database) {
        bail!(ReadOnly, "tables of the database `{}` cannot be dropped", key.database);
    }
    query.instance.catalog().get(&key.database, &key.name).map(|_| ())
}

/// Runs one TRUNCATE.
pub(super) fn truncate(query: &Execution, name: &ObjectName, if_exists: bool) -> Result<()> {
    let key = query.key_of(name);
    let catalog = query.instance.catalog();
    if if_exists && catalog.find(&key.database, &key.name).is_none() {
        return Ok(());
    }
    catalog.table(&key.database, &key.name, "TRUNCATE")?.truncate()
}
