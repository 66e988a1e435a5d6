//! Databases and what is in them: tables, views and dictionaries, in memory and as metadata files.
//!
//! # Concurrency
//!
//! Readers take the map's lock for one look-up and hold an `Arc` afterwards: a table that is dropped
//! meanwhile stays readable for them. DDL statements take [`CatalogStore::ddl`] from their first
//! check to their last effect, so that one is whole before the next begins.

mod dropped;
pub(crate) mod metadata;
mod open;

pub(crate) use open::view_of;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::Storage;
use basalt_base::suggest::did_you_mean;
use basalt_base::{Column, Error, ErrorCode, Result, bail};
use basalt_sql::ast::{self, ObjectName};
use parking_lot::{Mutex, MutexGuard, RwLock};
use uuid::Uuid;

use crate::dictionaries::DictionaryEntry;
use crate::tables::Table;
use dropped::DroppedTables;
use metadata::{MetadataStore, StoredObject};

/// The database with the tables that describe the engine itself.
pub(crate) const SYSTEM: &str = "system";
/// The database of a session that named none.
pub(crate) const DEFAULT: &str = "default";

/// What a name in a database stands for.
#[derive(Clone)]
pub(crate) enum CatalogObject {
    Table(Arc<dyn Table>),
    View(Arc<ViewDefinition>),
    Dictionary(Arc<DictionaryEntry>),
    /// Its metadata is there but it could not be opened; every use answers with the reason.
    Broken(Arc<BrokenObject>),
}

/// A stored query.
pub(crate) struct ViewDefinition {
    pub(crate) uuid: Uuid,
    pub(crate) create: ast::CreateView,
    /// The columns of its result when it was made.
    pub(crate) columns: Vec<Column>,
}

/// Something that could not be opened.
pub(crate) struct BrokenObject {
    pub(crate) uuid: Uuid,
    pub(crate) statement: String,
    pub(crate) error: Error,
}

/// All databases of a data directory.
pub(crate) struct CatalogStore {
    databases: RwLock<BTreeMap<String, BTreeMap<String, CatalogObject>>>,
    metadata: MetadataStore,
    storage: Arc<dyn Storage>,
    data_dir: PathBuf,
    ddl: Mutex<()>,
    dropped: DroppedTables,
}

impl CatalogStore {
    /// Held by a DDL statement from its first check to its last effect.
    pub(crate) fn ddl(&self) -> MutexGuard<'_, ()> {
        self.ddl.lock()
    }

    /// The directory of a table's data.
    pub(crate) fn store_dir(&self, uuid: Uuid) -> PathBuf {
        store_dir(&self.data_dir, uuid)
    }

    pub(crate) fn databases(&self) -> Vec<String> {
        self.databases.read().keys().cloned().collect()
    }

    pub(crate) fn has_database(&self, database: &str) -> bool {
        self.databases.read().contains_key(database)
    }

    /// Everything in `database`, by name.
    pub(crate) fn objects(&self, database: &str) -> Vec<(String, CatalogObject)> {
        let databases = self.databases.read();
        let objects = databases.get(database).into_iter().flatten();
        objects.map(|(name, object)| (name.clone(), object.clone())).collect()
    }

    /// Everything in every database, as (database, name, object).
    pub(crate) fn all_objects(&self) -> Vec<(String, String, CatalogObject)> {
        let databases = self.databases.read();
        let mut all = Vec::new();
        for (database, objects) in databases.iter() {
            all.extend(objects.iter().map(|(name, object)| (database.clone(), name.clone(), object.clone())));
        }
        all
    }

    pub(crate) fn find(&self, database: &str, name: &str) -> Option<CatalogObject> {
        self.databases.read().get(database)?.get(name).cloned()
    }

    /// The object called `name`, or UNKNOWN_TABLE / UNKNOWN_DATABASE with the nearest name.
    pub(crate) fn get(&self, database: &str, name: &str) -> Result<CatalogObject> {
        let databases = self.databases.read();
        let Some(objects) = databases.get(database) else {
            return Err(unknown_database(database, databases.keys().map(String::as_str)));
        };
        match objects.get(name) {
            Some(CatalogObject::Broken(broken)) => Err(broken.error.clone()),
            Some(object) => Ok(object.clone()),
            None => {
                let near = did_you_mean(name, objects.keys().map(String::as_str));
                Err(Error::new(
                    ErrorCode::UnknownTable,
                    format!("table `{database}.{name}` does not exist{near}"),
                ))
            }
        }
    }

    /// The table called `name`; a view or a dictionary is refused, for `what` wants a table.
    pub(crate) fn table(&self, database: &str, name: &str, what: &str) -> Result<Arc<dyn Table>> {
        match self.get(database, name)? {
            CatalogObject::Table(table) => Ok(table),
            other => {
                Err(Error::not_implemented(format!("{what} for the {} `{database}.{name}`", other.kind())))
            }
        }
    }

    pub(crate) fn require_database(&self, database: &str) -> Result<()> {
        let databases = self.databases.read();
        if databases.contains_key(database) {
            return Ok(());
        }
        Err(unknown_database(database, databases.keys().map(String::as_str)))
    }

    /// Makes an empty database; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn create_database(&self, database: &str) -> Result<()> {
        self.metadata.create_database(database)?;
        self.databases.write().insert(database.to_owned(), BTreeMap::new());
        Ok(())
    }

    /// Removes a database and all that is in it; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn drop_database(&self, database: &str) -> Result<()> {
        if database == SYSTEM {
            bail!(BadArguments, "database `{SYSTEM}` cannot be dropped");
        }
        self.metadata.drop_database(database)?;
        let objects = self.databases.write().remove(database).unwrap_or_default();
        for object in objects.into_values() {
            self.remove_data(object.uuid(), object)?;
        }
        Ok(())
    }

    /// Enters an object under a name, replacing what was there, and writes its metadata; the caller
    /// holds [`CatalogStore::ddl`].
    pub(crate) fn put(&self, database: &str, name: &str, object: CatalogObject) -> Result<()> {
        let stored =
            StoredObject { name: name.to_owned(), uuid: object.uuid(), statement: object.create_statement() };
        self.metadata.write(database, &stored)?;
        if let Some(objects) = self.databases.write().get_mut(database) {
            objects.insert(name.to_owned(), object);
        }
        Ok(())
    }

    /// Removes an object and its data; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn remove(&self, database: &str, name: &str) -> Result<()> {
        self.metadata.remove(database, name)?;
        let removed = self.databases.write().get_mut(database).and_then(|objects| objects.remove(name));
        match removed {
            Some(object) => self.remove_data(object.uuid(), object),
            None => Ok(()),
        }
    }

    /// Gives objects new names, all or none in memory, one metadata file after another on disk: new
    /// names are written before old ones are removed, so that a crash leaves a table under two names,
    /// never under none. The caller holds [`CatalogStore::ddl`] and has checked the names.
    pub(crate) fn rename(&self, moves: &[(ObjectKey, ObjectKey)]) -> Result<()> {
        let mut taken = Vec::new();
        {
            let mut databases = self.databases.write();
            for (from, to) in moves {
                let object = databases.get_mut(&from.database).and_then(|objects| objects.remove(&from.name));
                let object = object.ok_or_else(|| Error::logical("a renamed table is gone"))?;
                taken.push((from, to, object));
            }
            for (_, to, object) in &taken {
                if let Some(objects) = databases.get_mut(&to.database) {
                    objects.insert(to.name.clone(), object.renamed(&to.database, &to.name)?);
                }
            }
        }
        for (_, to, _) in &taken {
            if let Some(object) = self.find(&to.database, &to.name) {
                let stored = StoredObject {
                    name: to.name.clone(),
                    uuid: object.uuid(),
                    statement: object.create_statement(),
                };
                self.metadata.write(&to.database, &stored)?;
            }
        }
        let is_target = |key: &ObjectKey| moves.iter().any(|(_, to)| to == key);
        for (from, _, _) in taken.iter().filter(|(from, _, _)| !is_target(from)) {
            self.metadata.remove(&from.database, &from.name)?;
        }
        Ok(())
    }

    /// Deletes the data of an object that no name leads to any more, as soon as nobody uses them.
    fn remove_data(&self, uuid: Uuid, object: CatalogObject) -> Result<()> {
        let dir = self.store_dir(uuid);
        match object {
            CatalogObject::Table(table) => {
                self.dropped.add(table, dir);
                self.sweep_dropped();
                Ok(())
            }
            _ if self.storage.exists(&dir)? => self.storage.remove_dir_all(&dir),
            _ => Ok(()),
        }
    }

    /// Deletes the data of dropped tables whose last user is gone; `true` if none are left.
    pub(crate) fn sweep_dropped(&self) -> bool {
        self.dropped.sweep(&*self.storage);
        self.dropped.is_empty()
    }
}

/// A name with its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectKey {
    pub(crate) database: String,
    pub(crate) name: String,
}

fn store_dir(data_dir: &Path, uuid: Uuid) -> PathBuf {
    data_dir.join("store").join(uuid.to_string())
}

fn unknown_database<'a>(database: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let near = did_you_mean(database, known);
    Error::new(ErrorCode::UnknownDatabase, format!("database `{database}` does not exist{near}"))
}

impl CatalogObject {
    pub(crate) fn uuid(&self) -> Uuid {
        match self {
            CatalogObject::Table(table) => table.definition().uuid,
            CatalogObject::View(view) => view.uuid,
            CatalogObject::Dictionary(dictionary) => dictionary.uuid(),
            CatalogObject::Broken(broken) => broken.uuid,
        }
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            CatalogObject::Table(_) => "table",
            CatalogObject::View(_) => "view",
            CatalogObject::Dictionary(_) => "dictionary",
            CatalogObject::Broken(_) => "broken table",
        }
    }

    /// The engine that `system.tables` shows.
    pub(crate) fn engine(&self) -> &'static str {
        match self {
            CatalogObject::Table(table) => table.engine(),
            CatalogObject::View(_) => "View",
            CatalogObject::Dictionary(_) => "Dictionary",
            CatalogObject::Broken(_) => "",
        }
    }

    /// The statement that makes it, as `SHOW CREATE` prints it.
    pub(crate) fn create_statement(&self) -> String {
        match self {
            CatalogObject::Table(table) => {
                ast::Statement::CreateTable(Box::new(table.definition().create.clone())).to_string()
            }
            CatalogObject::View(view) => {
                ast::Statement::CreateView(Box::new(view.create.clone())).to_string()
            }
            CatalogObject::Dictionary(dictionary) => {
                ast::Statement::CreateDictionary(Box::new(dictionary.create())).to_string()
            }
            CatalogObject::Broken(broken) => broken.statement.clone(),
        }
    }

    /// The same object under another name.
    fn renamed(&self, database: &str, name: &str) -> Result<CatalogObject> {
        let full = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
        Ok(match self {
            CatalogObject::Table(table) => {
                let mut definition = table.definition().as_ref().clone();
                database.clone_into(&mut definition.database);
                name.clone_into(&mut definition.name);
                definition.create.name = full;
                table.set_definition(Arc::new(definition))?;
                CatalogObject::Table(Arc::clone(table))
            }
            CatalogObject::View(view) => {
                let mut create = view.create.clone();
                create.name = full;
                CatalogObject::View(Arc::new(ViewDefinition {
                    uuid: view.uuid,
                    create,
                    columns: view.columns.clone(),
                }))
            }
            CatalogObject::Dictionary(dictionary) => {
                dictionary.rename(database, name);
                CatalogObject::Dictionary(Arc::clone(dictionary))
            }
            CatalogObject::Broken(broken) => return Err(broken.error.clone()),
        })
    }
}
