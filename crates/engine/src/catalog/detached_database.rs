//! Databases that DETACH took out of the catalog with all that is in them, until ATTACH or the end of the process.
//!
//! Their metadata stays as it is, so that the next start finds them as any other.

use std::sync::Arc;

use basalt_base::{ErrorCode, Result, bail};

use super::CatalogObject;
use super::detached_object::DetachedObject;
use super::open::{OpenedDatabase, StoredData};
use super::store::CatalogStore;
use crate::tables::TableOpener;

impl CatalogStore {
    /// Takes a database out of the catalog; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn detach_database(&self, database: &str) -> Result<()> {
        let stored = self.metadata.objects(database)?;
        let mut databases = self.databases.write();
        let objects = databases.remove(database).unwrap_or_default();
        let detached = self.detached.write().remove(database).unwrap_or_default();
        let mut members: Vec<Arc<DetachedObject>> = detached.into_values().collect();
        let attached =
            stored.iter().filter_map(|(name, stored)| Some((objects.get(name)?, stored.as_ref().ok()?)));
        members.extend(attached.map(|(object, stored)| Arc::new(DetachedObject::of(object, stored))));
        self.detached_databases.write().insert(database.to_owned(), members);
        drop(databases);
        // Dropping them may close files, which takes long: no lock is held.
        drop(objects);
        Ok(())
    }

    /// Opens a detached database again; the caller holds [`CatalogStore::ddl`] and knows that it has no users.
    ///
    /// An object that cannot be opened is entered as broken, unless the reason is that its files are open still.
    pub(crate) fn attach_database(&self, database: &str, opener: &TableOpener) -> Result<()> {
        let members = self.detached_databases.write().remove(database);
        let opened = self.reopen(database, opener).inspect_err(|_| {
            self.detached_databases.write().insert(database.to_owned(), members.unwrap_or_default());
        })?;
        let mut databases = self.databases.write();
        databases.insert(database.to_owned(), opened.objects);
        self.detached.write().insert(database.to_owned(), opened.detached);
        Ok(())
    }

    fn reopen(&self, database: &str, opener: &TableOpener) -> Result<OpenedDatabase> {
        let listed = self.metadata.objects(database)?;
        let mut data = StoredData::alongside(self.uuids());
        let opened = OpenedDatabase::open(listed, database, &mut data, opener);
        match opened.objects.values().find_map(still_open) {
            Some(error) => Err(error),
            None => Ok(opened),
        }
    }

    pub(crate) fn has_detached_database(&self, database: &str) -> bool {
        self.detached_databases.read().contains_key(database)
    }

    /// Whether a query that began before DETACH still works on something in the database.
    pub(crate) fn is_detached_database_used(&self, database: &str) -> bool {
        let databases = self.detached_databases.read();
        databases.get(database).into_iter().flatten().any(|object| object.is_used())
    }

    /// DATABASE_ALREADY_EXISTS if a detached database has the name; the caller holds [`CatalogStore::ddl`].
    pub(crate) fn check_database_not_detached(&self, database: &str) -> Result<()> {
        if self.has_detached_database(database) {
            bail!(
                DatabaseAlreadyExists,
                "database `{database}` already exists (detached); ATTACH DATABASE it first"
            );
        }
        Ok(())
    }
}

/// The error of an object whose files are still open.
fn still_open(object: &CatalogObject) -> Option<basalt_base::Error> {
    match object {
        CatalogObject::Broken(broken) if broken.error.code() == ErrorCode::CannotOpenFile => {
            Some(broken.error.clone())
        }
        _ => None,
    }
}
