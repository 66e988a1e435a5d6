//! Objects that DETACH took out of the catalog: their metadata and data stay, their names are taken, nobody asks them.
//!
//! DETACH alone lasts until ATTACH or the end of the process; PERMANENTLY stands in the metadata file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{ObjectKind, Statement};
use uuid::Uuid;

use super::metadata_file::StoredObject;
use super::open::read_object;
use super::{CatalogObject, CatalogStore, ObjectKey};
use crate::dictionaries::DictionaryEntry;
use crate::tables::{Table, TableOpener};

/// By database, then by name.
pub(super) type DetachedObjects = BTreeMap<String, BTreeMap<String, Arc<DetachedObject>>>;

/// What is known of an object that is detached.
pub(crate) struct DetachedObject {
    pub(crate) uuid: Uuid,
    /// The statement of its metadata file.
    statement: String,
    pub(crate) is_permanent: bool,
    user: User,
}

/// What a query that began before DETACH may hold.
enum User {
    Table(Weak<dyn Table>),
    Dictionary(Weak<DictionaryEntry>),
    Nobody,
}

impl DetachedObject {
    /// What its metadata file says of itself: one that is detached since before the process began.
    pub(super) fn stored(stored: &StoredObject) -> DetachedObject {
        DetachedObject {
            uuid: stored.uuid,
            statement: stored.statement.clone(),
            is_permanent: true,
            user: User::Nobody,
        }
    }

    pub(super) fn of(object: &CatalogObject, stored: &StoredObject) -> DetachedObject {
        let user = match object {
            CatalogObject::Table(table) => User::Table(Arc::downgrade(table)),
            CatalogObject::Dictionary(dictionary) => User::Dictionary(Arc::downgrade(dictionary)),
            CatalogObject::View(_) | CatalogObject::Broken(_) => User::Nobody,
        };
        DetachedObject { user, is_permanent: stored.is_detached, ..DetachedObject::stored(stored) }
    }

    /// Whether a query, a merge or a load still works on it.
    pub(crate) fn is_used(&self) -> bool {
        match &self.user {
            User::Table(table) => table.strong_count() > 0,
            User::Dictionary(dictionary) => dictionary.strong_count() > 0,
            User::Nobody => false,
        }
    }

    /// Dictionary or table: a view is attached as a table.
    pub(crate) fn kind(&self) -> Result<ObjectKind> {
        Ok(match self.parsed()? {
            Statement::CreateDictionary(_) => ObjectKind::Dictionary,
            _ => ObjectKind::Table,
        })
    }

    /// Its statement as SHOW CREATE prints it.
    pub(crate) fn shown_statement(&self) -> Result<String> {
        Ok(match self.parsed()? {
            Statement::CreateDictionary(create) => format!("{:#}", create.without_secrets()),
            other => other.to_string(),
        })
    }

    fn parsed(&self) -> Result<Statement> {
        Ok(basalt_sql::parse_statement(self.statement.as_bytes())?)
    }

    pub(super) fn table(&self) -> Option<Weak<dyn Table>> {
        match &self.user {
            User::Table(table) => Some(Weak::clone(table)),
            _ => None,
        }
    }
}

impl CatalogStore {
    /// The object that was detached under this name.
    pub(crate) fn detached(&self, key: &ObjectKey) -> Option<Arc<DetachedObject>> {
        self.detached.read().get(&key.database)?.get(&key.name).cloned()
    }

    /// Everything that is detached, with its name.
    pub(crate) fn all_detached(&self) -> Vec<(ObjectKey, Arc<DetachedObject>)> {
        let detached = self.detached.read();
        let mut all = Vec::new();
        for (database, objects) in detached.iter() {
            all.extend(objects.iter().map(|(name, object)| {
                (ObjectKey { database: database.clone(), name: name.clone() }, Arc::clone(object))
            }));
        }
        all
    }

    /// TABLE_ALREADY_EXISTS if something is detached under this name; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn check_not_detached(&self, key: &ObjectKey) -> Result<()> {
        let Some(detached) = self.detached(key) else { return Ok(()) };
        let how = if detached.is_permanent { "detached permanently" } else { "detached" };
        bail!(TableAlreadyExists, "`{}.{}` already exists ({how}); ATTACH it first", key.database, key.name)
    }

    /// The metadata file of an object.
    pub(crate) fn metadata_path(&self, key: &ObjectKey) -> PathBuf {
        self.metadata.path_of(&key.database, &key.name)
    }

    /// Takes an object out of the catalog, for good or until the next start; the caller holds
    /// [`CatalogStore::ddl`].
    pub(crate) fn detach(&self, key: &ObjectKey, permanently: bool) -> Result<()> {
        let mut stored = self.metadata.object(&key.database, &key.name)?;
        if permanently {
            stored.is_detached = true;
            self.metadata.write(&key.database, &stored)?;
        }
        let mut databases = self.databases.write();
        let objects = databases.get_mut(&key.database);
        let Some(object) = objects.and_then(|objects| objects.remove(&key.name)) else { return Ok(()) };
        let detached = Arc::new(DetachedObject::of(&object, &stored));
        let mut all = self.detached.write();
        all.entry(key.database.clone()).or_default().insert(key.name.clone(), detached);
        drop((databases, all));
        // What closes files does so without a lock of ours.
        drop(object);
        Ok(())
    }

    /// Opens a detached object again; the caller holds [`CatalogStore::ddl`] and knows that nobody uses it.
    pub(crate) fn attach(&self, key: &ObjectKey, opener: &TableOpener) -> Result<()> {
        let mut stored = self.metadata.object(&key.database, &key.name)?;
        let object = read_object(&key.database, &stored, opener)?;
        if stored.is_detached {
            stored.is_detached = false;
            self.metadata.write(&key.database, &stored)?;
        }
        let mut databases = self.databases.write();
        let Some(objects) = databases.get_mut(&key.database) else {
            return Err(Error::new(
                ErrorCode::UnknownDatabase,
                format!("database `{}` does not exist", key.database),
            ));
        };
        objects.insert(key.name.clone(), object);
        if let Some(detached) = self.detached.write().get_mut(&key.database) {
            detached.remove(&key.name);
        }
        Ok(())
    }
}
