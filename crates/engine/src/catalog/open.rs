//! Opening: every metadata file becomes an object again.
//!
//! An object that cannot be opened, or whose file cannot be read, does not keep the others from answering: the catalog
//! lists it as broken, with its error, and its data stays. Data that no name leads to is removed, unless some names may
//! be unknown.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::{Storage, publish_empty_dir};
use basalt_base::{Error, ErrorCode, Result};
use basalt_sql::ast::{self, Statement};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use super::detached_object::{DetachedObject, DetachedObjects};
use super::metadata::{ListedObject, MetadataStore};
use super::metadata_file::StoredObject;
use super::object::{BrokenObject, CatalogObject};
use super::read_object::read_object;
use super::store::{CatalogStore, store_dir, store_root};
use crate::names::{DEFAULT, INFORMATION_SCHEMA, SYSTEM};
use crate::server_log::ServerLog;
use crate::tables::TableOpener;

impl CatalogStore {
    /// Opens everything below `data_dir`; makes the database `default` where there is none.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        data_dir: PathBuf,
        opener: &TableOpener,
    ) -> Result<CatalogStore> {
        let store = store_root(&data_dir);
        publish_empty_dir(storage.as_ref(), &store)?;
        if let Some(damage) = basalt_parts::finish_moves(storage.as_ref(), &store)? {
            opener.log.say(&format!(
                "{damage}; a MOVE PARTITION TO TABLE that was under way when the process ended did not happen, and the \
                 record is kept as moves.rec.damaged"
            ));
        }
        let metadata = MetadataStore::open(Arc::clone(&storage), &data_dir, opener.log)?;
        let mut names = metadata.databases()?;
        if !names.iter().any(|name| name == DEFAULT) {
            metadata.create_database(DEFAULT)?;
            names.push(DEFAULT.to_owned());
        }
        let mut databases = BTreeMap::new();
        for name in INFORMATION_SCHEMA.iter().chain([&SYSTEM]) {
            databases.entry((*name).to_owned()).or_default();
        }
        let mut detached = DetachedObjects::new();
        let mut listed = Vec::with_capacity(names.len());
        for database in names {
            listed.push((metadata.objects(&database)?, database));
        }
        let mut data = StoredData::list(storage.as_ref(), &store, &listed)?;
        for (objects, database) in listed {
            let opened = OpenedDatabase::open(objects, &database, &mut data, opener);
            detached.insert(database.clone(), opened.detached);
            databases.insert(database, opened.objects);
        }
        let doubt = metadata.doubt();
        let catalog = CatalogStore {
            databases: RwLock::new(databases),
            temporary: RwLock::default(),
            detached: RwLock::new(detached),
            detached_databases: Default::default(),
            metadata,
            storage,
            data_dir,
            ddl: Mutex::new(()),
            dropped: Default::default(),
        };
        match doubt.or(data.doubt) {
            None => catalog.remove_orphans(&data.orphans, opener.log),
            Some(_) if data.orphans.is_empty() => {}
            Some(doubt) => opener.log.say(&format!(
                "{} directories in {} belong to no object and are kept, because {doubt}",
                data.orphans.len(),
                store.display()
            )),
        }
        Ok(catalog)
    }

    /// Deletes data that no metadata names: a CREATE or a DROP that a crash cut short.
    fn remove_orphans(&self, orphans: &HashSet<Uuid>, log: ServerLog) {
        for &uuid in orphans {
            if let Err(error) = self.storage.remove_dir_all(&store_dir(&self.data_dir, uuid)) {
                log.say(&format!("data that belong to no object cannot be removed: {}", error.message()));
            }
        }
    }
}

/// The data directories, compared with the metadata files before objects are opened.
#[derive(Default)]
pub(super) struct StoredData {
    /// The uuids of objects that are open already.
    used: HashSet<Uuid>,
    /// Directories that no metadata file names.
    orphans: HashSet<Uuid>,
    /// Tables without a directory, while there are orphans: an orphan may belong to one of them.
    lost: HashSet<Uuid>,
    /// Why an orphan may still have an owner.
    doubt: Option<String>,
}

impl StoredData {
    /// For objects that are opened while others, with the uuids `used`, are open.
    pub(super) fn alongside(used: HashSet<Uuid>) -> StoredData {
        StoredData { used, ..StoredData::default() }
    }

    fn list(
        storage: &dyn Storage,
        root: &Path,
        listed: &[(Vec<ListedObject>, String)],
    ) -> Result<StoredData> {
        let entries = storage.list(root)?;
        // A name that is no uuid is not ours to delete.
        let mut orphans: HashSet<Uuid> =
            entries.iter().filter_map(|entry| Uuid::parse_str(&entry.name).ok()).collect();
        let (mut lost, mut doubt) = (HashSet::new(), None);
        for (_, stored) in listed.iter().flat_map(|(objects, _)| objects) {
            match stored {
                Ok(stored) => {
                    if !orphans.remove(&stored.uuid) {
                        lost.insert(stored.uuid);
                    }
                }
                Err(error) => doubt = Some(error.message().to_owned()),
            }
        }
        if orphans.is_empty() {
            lost.clear();
        }
        Ok(StoredData { used: HashSet::new(), orphans, lost, doubt })
    }

    /// Whether the object is a table that should have data, and its directory is missing.
    fn are_lost(&self, stored: &StoredObject) -> bool {
        self.lost.contains(&stored.uuid)
            && matches!(
                basalt_sql::parse_statement(stored.statement.as_bytes()),
                Ok(Statement::CreateTable(create)) if create.engine.as_ref().is_some_and(keeps_data)
            )
    }
}

/// Whether a table of this engine has had a directory since it was made.
fn keeps_data(engine: &ast::EngineCall) -> bool {
    !matches!(engine.name.as_str(), "Memory" | "Dictionary")
}

/// One database as its metadata files describe it.
pub(super) struct OpenedDatabase {
    pub(super) objects: BTreeMap<String, CatalogObject>,
    /// Objects that are detached permanently.
    pub(super) detached: BTreeMap<String, Arc<DetachedObject>>,
}

impl OpenedDatabase {
    /// Opens all that is in a database.
    pub(super) fn open(
        listed: Vec<ListedObject>,
        database: &str,
        data: &mut StoredData,
        opener: &TableOpener,
    ) -> OpenedDatabase {
        let mut opened = OpenedDatabase { objects: BTreeMap::new(), detached: BTreeMap::new() };
        for (name, stored) in listed {
            let stored = match stored {
                Ok(stored) if stored.is_detached => {
                    data.used.insert(stored.uuid);
                    opened.detached.insert(name, Arc::new(DetachedObject::stored(&stored)));
                    continue;
                }
                stored => stored,
            };
            let object = open_object(database, &name, stored, data, opener);
            if let CatalogObject::Broken(broken) = &object {
                opener.log.say(broken.error.message());
            }
            opened.objects.insert(name, object);
        }
        opened
    }
}

fn open_object(
    database: &str,
    name: &str,
    stored: Result<StoredObject>,
    data: &mut StoredData,
    opener: &TableOpener,
) -> CatalogObject {
    let (uuid, statement, error) = match stored {
        // Without a uuid it has no data: DROP removes the metadata file alone.
        Err(error) => (Uuid::nil(), String::new(), error),
        Ok(stored) => {
            let is_first = data.used.insert(stored.uuid);
            let opened = match is_first {
                false => Err(shared_uuid(stored.uuid)),
                true if data.are_lost(&stored) => {
                    data.doubt = Some(format!("the data of `{database}.{name}` are missing"));
                    Err(lost_data(stored.uuid))
                }
                true => read_object(database, &stored, opener),
            };
            match opened {
                Ok(object) => return object,
                Err(error) => (stored.uuid, stored.statement, error),
            }
        }
    };
    let error = error.within(format!("`{database}.{name}` could not be opened"));
    CatalogObject::Broken(Arc::new(BrokenObject { uuid, statement, error }))
}

/// Some directories have no owner, so the uuid is damaged, or the file comes from another data directory.
fn lost_data(uuid: Uuid) -> Error {
    Error::new(
        ErrorCode::CorruptedData,
        format!(
            "its metadata file has the uuid {uuid}, and there is no such directory in `store`; if one of those \
             there is its own, write that uuid into the file and restart; or drop it"
        ),
    )
}

/// Two tables that write into one directory would destroy it.
fn shared_uuid(uuid: Uuid) -> Error {
    Error::new(
        ErrorCode::CorruptedData,
        format!("its metadata file has the uuid {uuid} of another object; remove one of the two files"),
    )
}
