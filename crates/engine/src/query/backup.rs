//! BACKUP TABLE and RESTORE TABLE: copies of a table in the directory `backups` of the data directory.
//!
//! # Layout
//!
//! ```text
//! backups/<name>/table.sql    the statement that makes the table
//! backups/<name>/data/        the files of the table; those that never change are hard links
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::{PendingDirectory, publish_file};
use basalt_base::{Result, bail};
use basalt_sql::ast::{CreateTable, EngineCall, Expr, Literal, ObjectKind, ObjectName, Statement};
use basalt_succinct::Table as SuccinctStorage;
use uuid::Uuid;

use super::resolve::is_free;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::tables::definition_of;

const BACKUPS: &str = "backups";
const STATEMENT: &str = "table.sql";
const DATA: &str = "data";
/// The engine of tables that are copied.
const ENGINE: &str = "Succinct";
/// A statement is not longer than this.
const STATEMENT_BYTES_MAX: u64 = 16 << 20;

/// `BACKUP TABLE t TO File('name')`.
pub(super) fn backup(query: &Arc<Execution>, name: &ObjectName, to: &EngineCall) -> Result<()> {
    let key = query.key_of(name);
    let catalog = query.instance.catalog();
    let table = catalog.table(&key.database, &key.name, "BACKUP")?;
    let Some(places) = table.as_places() else { return Err(table.refuses("BACKUP")) };
    let dir = directory(query, to)?;
    let storage = &query.instance.opener().storage;
    if storage.exists(&dir)? {
        bail!(BackupAlreadyExists, "backup {to} already exists");
    }
    let pending = PendingDirectory::create(
        Arc::clone(storage),
        query.instance.temporary_dir().join(format!("backup-{}", Uuid::new_v4())),
    )?;
    let statement = table.definition().create.to_string();
    publish_file(storage.as_ref(), &pending.path().join(STATEMENT), statement.as_bytes())?;
    let data = pending.path().join(DATA);
    storage.create_dir_all(&data)?;
    places.copy_to(&data)?;
    storage.sync_dir(pending.path())?;
    pending.publish(&dir)
}

/// `RESTORE TABLE t [AS other] FROM File('name')`.
pub(super) fn restore(
    query: &Arc<Execution>,
    name: &ObjectName,
    new_name: Option<&ObjectName>,
    from: &EngineCall,
) -> Result<()> {
    let (old, key) = (query.key_of(name), query.key_of(new_name.unwrap_or(name)));
    let dir = directory(query, from)?;
    let create = statement(query, from, &dir)?;
    if create.name.name != old.name {
        bail!(BackupNotFound, "backup {from} has table `{}`, not `{}`", create.name.name, old.name);
    }
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    is_free(query, &key, ObjectKind::Table, false, false)?;
    let definition = Arc::new(definition_of(&key.database, &key.name, Uuid::new_v4(), create)?);
    let store = catalog.store_dir(definition.uuid);
    let opener = query.instance.opener();
    let restored = SuccinctStorage::restore_files(&dir.join(DATA), &store);
    match restored.and_then(|()| opener.open(definition)) {
        Ok(table) => catalog.put(&key.database, &key.name, CatalogObject::Table(table)),
        Err(error) => {
            // What is left is removed when the server starts.
            let _ = opener.storage.remove_dir_all(&store);
            Err(error.within(format!("backup {from}")))
        }
    }
}

/// The statement that makes the table of the backup in `dir`.
fn statement(query: &Execution, from: &EngineCall, dir: &Path) -> Result<CreateTable> {
    let storage = &query.instance.opener().storage;
    if !storage.exists(dir)? {
        bail!(BackupNotFound, "backup {from} is not there");
    }
    let statement = storage.read(&dir.join(STATEMENT), STATEMENT_BYTES_MAX)?;
    match basalt_sql::parse_statement(&statement) {
        Ok(Statement::CreateTable(create)) if is_succinct(&create) => Ok(*create),
        _ => bail!(CorruptedData, "backup {from} has no statement that creates a table of engine {ENGINE}"),
    }
}

fn is_succinct(create: &CreateTable) -> bool {
    create.engine.as_ref().is_some_and(|engine| engine.name == ENGINE)
}

/// The directory of a backup.
fn directory(query: &Execution, place: &EngineCall) -> Result<PathBuf> {
    let name = match place.args.as_slice() {
        [Expr::Literal(Literal::String(name))] if place.name == "File" => String::from_utf8_lossy(name),
        _ => bail!(NotImplemented, "a backup in {place} is not implemented, only in File('name')"),
    };
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        bail!(BadArguments, "`{name}` cannot be the name of a backup: it is a directory below `{BACKUPS}`");
    }
    let backups = query.instance.data_dir().join(BACKUPS);
    query.instance.opener().storage.create_dir_all(&backups)?;
    Ok(backups.join(&*name))
}
