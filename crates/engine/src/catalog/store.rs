//! The databases of a data directory, and what is in them.
//!
//! # Concurrency
//!
//! Readers take the map's lock for one look-up and hold an `Arc` afterwards: a table that is dropped meanwhile stays
//! readable for them. DDL statements take [`CatalogStore::ddl`] from their first check to their last effect, so that
//! each is complete before the next begins.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::Storage;
use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, ErrorCode, Result, bail};
use parking_lot::{Mutex, MutexGuard, RwLock};
use uuid::Uuid;

use super::detached_object::{DetachedDatabases, DetachedObject, DetachedObjects};
use super::dropped::DroppedTables;
use super::metadata::MetadataStore;
use super::object::{CatalogObject, stored_table};
use crate::names::{ObjectKey, TEMPORARY, check_name, is_built_in};
use crate::tables::{Table, TableDefinition};

/// All databases of a data directory.
pub(crate) struct CatalogStore {
    pub(super) databases: RwLock<BTreeMap<String, BTreeMap<String, CatalogObject>>>,
    /// The temporary tables of all sessions, without files.
    pub(super) temporary: RwLock<BTreeMap<String, CatalogObject>>,
    pub(super) detached: RwLock<DetachedObjects>,
    pub(super) detached_databases: RwLock<DetachedDatabases>,
    pub(super) metadata: MetadataStore,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) data_dir: PathBuf,
    pub(super) ddl: Mutex<()>,
    pub(super) dropped: DroppedTables,
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

    /// The directory above those of all tables.
    pub(crate) fn store_root(&self) -> PathBuf {
        store_root(&self.data_dir)
    }

    /// Why it is not sure that every name is known, if it is not.
    pub(crate) fn doubt(&self) -> Option<String> {
        self.metadata.doubt()
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
        if database == TEMPORARY {
            return self.temporary.read().get(name).cloned();
        }
        self.databases.read().get(database)?.get(name).cloned()
    }

    /// The object called `name`, or UNKNOWN_TABLE / UNKNOWN_DATABASE with the nearest name.
    pub(crate) fn get(&self, database: &str, name: &str) -> Result<CatalogObject> {
        if database == TEMPORARY
            && let Some(object) = self.find(database, name)
        {
            return Ok(object);
        }
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

    /// The table called `name`; a view or a dictionary is refused, because `what` needs a table.
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
        check_name("database", database)?;
        self.metadata.create_database(database)?;
        self.databases.write().insert(database.to_owned(), BTreeMap::new());
        Ok(())
    }

    /// Removes a database and all that is in it; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn drop_database(&self, database: &str) -> Result<()> {
        if is_built_in(database) {
            bail!(BadArguments, "database `{database}` cannot be dropped");
        }
        self.metadata.drop_database(database)?;
        let objects = self.databases.write().remove(database).unwrap_or_default();
        let detached = self.detached.write().remove(database).unwrap_or_default();
        objects.into_values().for_each(|object| self.remove_data(object.uuid(), object));
        detached.values().for_each(|object| self.remove_detached_data(object));
        Ok(())
    }

    /// Stores an object under a name, replacing the old object together with its data, and writes its metadata; the
    /// caller holds [`CatalogStore::ddl`].
    pub(crate) fn put(&self, database: &str, name: &str, object: CatalogObject) -> Result<()> {
        let uuid = object.uuid();
        let written = check_name(object.kind(), name)
            .and_then(|()| object.stored_as(database, name))
            .and_then(|stored| self.metadata.write(database, &stored));
        if let Err(error) = written {
            // If the metadata file may exist after all, the next start finds out and keeps or removes the data.
            if self.metadata.doubt().is_none() {
                self.remove_data(uuid, object);
            }
            return Err(error);
        }
        let mut databases = self.databases.write();
        let replaced =
            databases.get_mut(database).and_then(|objects| objects.insert(name.to_owned(), object));
        drop(databases);
        if let Some(replaced) = replaced.filter(|replaced| replaced.uuid() != uuid) {
            self.remove_data(replaced.uuid(), replaced);
        }
        Ok(())
    }

    /// Adds a temporary table.
    pub(crate) fn put_temporary(&self, name: &str, table: Arc<dyn Table>) {
        self.temporary.write().insert(name.to_owned(), CatalogObject::Table(table));
    }

    /// Removes a temporary table. Statements that use it keep it until they end.
    pub(crate) fn remove_temporary(&self, name: &str) {
        let removed = self.temporary.write().remove(name);
        drop(removed);
    }

    /// Writes the metadata of a table whose definition is about to change; when it returns, that has
    /// happened. The caller holds [`CatalogStore::ddl`].
    pub(crate) fn write_definition(&self, definition: &TableDefinition) -> Result<()> {
        match definition.database.as_str() {
            TEMPORARY => Ok(()),
            database => self.metadata.write(database, &stored_table(definition)),
        }
    }

    /// Removes an object and its data; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn remove(&self, database: &str, name: &str) -> Result<()> {
        self.metadata.remove(database, name)?;
        let removed = self.databases.write().get_mut(database).and_then(|objects| objects.remove(name));
        if let Some(object) = removed {
            self.remove_data(object.uuid(), object);
        }
        Ok(())
    }

    /// Gives objects new names, all or none. The caller holds [`CatalogStore::ddl`] and has checked the
    /// names.
    pub(crate) fn rename(&self, moves: &[(ObjectKey, ObjectKey)]) -> Result<()> {
        if moves.iter().any(|(from, _)| from.database == TEMPORARY) {
            bail!(NotImplemented, "RENAME of a temporary table is not implemented");
        }
        let objects: Vec<CatalogObject> =
            moves.iter().map(|(from, _)| self.get(&from.database, &from.name)).collect::<Result<_>>()?;
        let mut targets = Vec::with_capacity(moves.len());
        for ((_, to), object) in moves.iter().zip(&objects) {
            check_name(object.kind(), &to.name)?;
            targets.push((to.database.clone(), object.stored_as(&to.database, &to.name)?));
        }
        let is_target = |key: &ObjectKey| moves.iter().any(|(_, to)| to == key);
        let sources: Vec<ObjectKey> =
            moves.iter().map(|(from, _)| from.clone()).filter(|from| !is_target(from)).collect();
        self.metadata.rename(&targets, &sources)?;
        let renamed = moves.iter().zip(objects);
        let renamed: Vec<CatalogObject> =
            renamed.map(|((_, to), object)| object.renamed(&to.database, &to.name)).collect::<Result<_>>()?;
        let mut databases = self.databases.write();
        for (from, _) in moves {
            databases.get_mut(&from.database).and_then(|objects| objects.remove(&from.name));
        }
        for ((_, to), object) in moves.iter().zip(renamed) {
            if let Some(objects) = databases.get_mut(&to.database) {
                objects.insert(to.name.clone(), object);
            }
        }
        Ok(())
    }

    /// Deletes the data of an object without a name, as soon as it has no users and the disk allows it.
    fn remove_data(&self, uuid: Uuid, object: CatalogObject) {
        // A copied metadata file names the data of another table.
        if self.uuids().contains(&uuid) {
            return;
        }
        let table = match &object {
            CatalogObject::Table(table) => Some(Arc::downgrade(table)),
            _ => None,
        };
        self.dropped.add(table, self.store_dir(uuid));
        drop(object);
        self.sweep_dropped();
    }

    /// The uuids of all objects, attached and detached.
    pub(super) fn uuids(&self) -> HashSet<Uuid> {
        let mut uuids: HashSet<Uuid> =
            self.all_objects().iter().map(|(_, _, object)| object.uuid()).collect();
        uuids.extend(self.all_detached().iter().map(|(_, object)| object.uuid));
        let databases = self.detached_databases.read();
        uuids.extend(databases.values().flatten().map(|object| object.uuid));
        uuids
    }

    fn remove_detached_data(&self, object: &DetachedObject) {
        self.dropped.add(object.table(), self.store_dir(object.uuid));
        self.sweep_dropped();
    }

    /// Deletes the data of dropped tables whose last user is gone; `true` if none are left.
    pub(crate) fn sweep_dropped(&self) -> bool {
        self.dropped.sweep(&*self.storage);
        self.dropped.is_empty()
    }
}

pub(super) fn store_dir(data_dir: &Path, uuid: Uuid) -> PathBuf {
    store_root(data_dir).join(uuid.to_string())
}

pub(super) fn store_root(data_dir: &Path) -> PathBuf {
    data_dir.join("store")
}

fn unknown_database<'a>(database: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let near = did_you_mean(database, known);
    Error::new(ErrorCode::UnknownDatabase, format!("database `{database}` does not exist{near}"))
}
