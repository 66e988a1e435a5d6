//! Opening: every metadata file becomes an object again.
//!
//! A table that cannot be opened does not keep the others from answering: it is entered as broken,
//! with its error, and its data is left as it is.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use basalt_base::fs::{Storage, publish_empty_dir};
use basalt_base::{Column, Error, ErrorCode, Result};
use basalt_sql::ast::{self, Statement};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use super::detached::DetachedObjects;
use super::metadata::{MetadataStore, StoredObject};
use super::{
    BrokenObject, CatalogObject, CatalogStore, DEFAULT, DetachedObject, SYSTEM, ViewDefinition, store_dir,
    store_root,
};
use crate::dictionaries::DictionaryEntry;
use crate::tables::{TableOpener, definition_of};

impl CatalogStore {
    /// Opens everything below `data_dir`; makes the database `default` where there is none.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        data_dir: PathBuf,
        opener: &TableOpener,
    ) -> Result<CatalogStore> {
        let store = store_root(&data_dir);
        publish_empty_dir(storage.as_ref(), &store)?;
        basalt_parts::finish_moves(storage.as_ref(), &store)?;
        let metadata = MetadataStore::open(Arc::clone(&storage), &data_dir)?;
        let mut names = metadata.databases()?;
        if !names.iter().any(|name| name == DEFAULT) {
            metadata.create_database(DEFAULT)?;
            names.push(DEFAULT.to_owned());
        }
        let mut databases = BTreeMap::new();
        databases.insert(SYSTEM.to_owned(), BTreeMap::new());
        let mut detached = DetachedObjects::new();
        let mut used = HashSet::new();
        for database in names {
            let opened = OpenedDatabase::open(&metadata, &database, &mut used, opener)?;
            detached.insert(database.clone(), opened.detached);
            databases.insert(database, opened.objects);
        }
        let store = CatalogStore {
            databases: RwLock::new(databases),
            detached: RwLock::new(detached),
            detached_databases: Default::default(),
            metadata,
            storage,
            data_dir,
            ddl: Mutex::new(()),
            dropped: Default::default(),
        };
        store.remove_orphans(&used)?;
        Ok(store)
    }

    /// Deletes data that no metadata names: a CREATE or a DROP that a crash cut short.
    fn remove_orphans(&self, used: &HashSet<Uuid>) -> Result<()> {
        for entry in self.storage.list(&self.store_root())? {
            match Uuid::parse_str(&entry.name) {
                Ok(uuid) if !used.contains(&uuid) => {
                    self.storage.remove_dir_all(&store_dir(&self.data_dir, uuid))?;
                }
                // A name that is no uuid is not ours to delete.
                _ => {}
            }
        }
        Ok(())
    }
}

/// What the metadata files of one database say.
pub(super) struct OpenedDatabase {
    pub(super) objects: BTreeMap<String, CatalogObject>,
    /// What is detached for good.
    pub(super) detached: BTreeMap<String, Arc<DetachedObject>>,
}

impl OpenedDatabase {
    /// Opens all that is in a database; `used` are the uuids that others have, and gets those of this one.
    pub(super) fn open(
        metadata: &MetadataStore,
        database: &str,
        used: &mut HashSet<Uuid>,
        opener: &TableOpener,
    ) -> Result<OpenedDatabase> {
        let mut opened = OpenedDatabase { objects: BTreeMap::new(), detached: BTreeMap::new() };
        for stored in metadata.objects(database)? {
            let is_first = used.insert(stored.uuid);
            if stored.is_detached {
                let object = Arc::new(DetachedObject::stored(&stored));
                opened.detached.insert(stored.name, object);
                continue;
            }
            let object = match is_first {
                true => open_object(database, &stored, opener),
                false => broken(database, &stored, shared_uuid(stored.uuid)),
            };
            opened.objects.insert(stored.name, object);
        }
        Ok(opened)
    }
}

fn open_object(database: &str, stored: &StoredObject, opener: &TableOpener) -> CatalogObject {
    read_object(database, stored, opener).unwrap_or_else(|error| broken(database, stored, error))
}

fn broken(database: &str, stored: &StoredObject, error: Error) -> CatalogObject {
    let error = error.within(format!("`{database}.{}` could not be opened", stored.name));
    let (uuid, statement) = (stored.uuid, stored.statement.clone());
    CatalogObject::Broken(Arc::new(BrokenObject { uuid, statement, error }))
}

/// Two tables that write into one directory would destroy it.
fn shared_uuid(uuid: Uuid) -> Error {
    Error::new(
        ErrorCode::CorruptedData,
        format!("its metadata file has the uuid {uuid} of another object; remove one of the two files"),
    )
}

/// Opens what a metadata file says.
pub(super) fn read_object(
    database: &str,
    stored: &StoredObject,
    opener: &TableOpener,
) -> Result<CatalogObject> {
    match basalt_sql::parse_statement(stored.statement.as_bytes())? {
        Statement::CreateTable(create) => {
            let mut definition = definition_of(database, &stored.name, stored.uuid, *create)?;
            definition.history = stored.history.clone();
            Ok(CatalogObject::Table(opener.open(Arc::new(definition))?))
        }
        Statement::CreateView(create) => Ok(CatalogObject::View(Arc::new(view_of(stored.uuid, *create)?))),
        Statement::CreateDictionary(create) => {
            let entry =
                DictionaryEntry::new(database, &stored.name, stored.uuid, *create, &opener.collections)?;
            Ok(CatalogObject::Dictionary(Arc::new(entry)))
        }
        _ => Err(Error::new(ErrorCode::CorruptedData, "its metadata holds no CREATE statement")),
    }
}

/// A view from its statement, which lists its columns.
pub(crate) fn view_of(uuid: Uuid, create: ast::CreateView) -> Result<ViewDefinition> {
    let columns = create
        .columns
        .iter()
        .map(|column| match &column.ty {
            Some(ty) => Ok(Column::new(&column.name, basalt_sql::resolve_type(ty)?)),
            None => {
                Err(Error::new(ErrorCode::IncorrectQuery, format!("column `{}` has no type", column.name)))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(ViewDefinition { uuid, create, columns })
}
