//! Objects that DETACH took out of the catalog: their metadata and data stay, and their names stay taken.
//!
//! DETACH alone lasts until ATTACH or the end of the process; PERMANENTLY stands in the metadata file.

use std::path::PathBuf;
use std::sync::Arc;

use basalt_base::{Error, ErrorCode, Result, bail};

use super::detached_object::DetachedObject;
use super::read_object::read_object;
use super::store::CatalogStore;
use crate::names::ObjectKey;
use crate::tables::TableOpener;

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
        // Dropping it may close files, which takes long: no lock is held.
        drop(object);
        Ok(())
    }

    /// Opens a detached object again; the caller holds [`CatalogStore::ddl`] and knows that it has no users.
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
