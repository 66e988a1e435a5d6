//! SYSTEM RESTORE TABLE: a table whose files are damaged opens again with what can be read.

use basalt_base::{Result, bail};
use basalt_sql::ast::Statement;

use super::CatalogObject;
use super::read_object::read_object;
use super::store::CatalogStore;
use crate::names::ObjectKey;
use crate::tables::{TableOpener, definition_of};

impl CatalogStore {
    /// Restores and opens a table that could not be opened; the caller holds [`CatalogStore::ddl`]. All its files are
    /// kept unchanged next to it.
    pub(crate) fn restore(&self, key: &ObjectKey, opener: &TableOpener) -> Result<()> {
        let Some(CatalogObject::Broken(_)) = self.find(&key.database, &key.name) else {
            self.get(&key.database, &key.name)?;
            bail!(
                BadArguments,
                "`{}.{}` is not damaged: there is nothing to restore",
                key.database,
                key.name
            );
        };
        let stored = self.metadata.object(&key.database, &key.name)?;
        let Statement::CreateTable(create) = basalt_sql::parse_statement(stored.statement.as_bytes())? else {
            bail!(BadArguments, "`{}.{}` is no table that can be restored", key.database, key.name);
        };
        let mut definition = definition_of(&key.database, &stored.name, stored.uuid, *create)?;
        definition.history = stored.history.clone();
        let aside = opener.restore(&definition)?;
        let object = read_object(&key.database, &stored, opener).map_err(|error| {
            error.within(format!("restored, with the files as they were in {}", aside.display()))
        })?;
        if let Some(objects) = self.databases.write().get_mut(&key.database) {
            objects.insert(key.name.clone(), object);
        }
        Ok(())
    }
}
