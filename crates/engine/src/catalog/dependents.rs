//! Dependents of a table or a dictionary: objects that load from it and would fail without it.

use basalt_base::{Error, ErrorCode, Result};

use super::CatalogObject;
use super::store::CatalogStore;
use crate::names::ObjectKey;
use crate::tables::DerivedTable;

impl CatalogStore {
    /// HAVE_DEPENDENT_OBJECTS if something loads from one of the objects that `goes` picks, unless it
    /// goes itself. The caller holds [`CatalogStore::ddl`].
    pub(crate) fn check_no_dependents(&self, goes: impl Fn(&ObjectKey) -> bool) -> Result<()> {
        for (database, name, object) in self.all_objects() {
            let (kind, source) = match object {
                CatalogObject::Dictionary(dictionary) => ("dictionary", dictionary.source_table()),
                CatalogObject::Table(table) => ("table", table.as_derived().map(DerivedTable::source)),
                _ => continue,
            };
            let own = ObjectKey { database, name };
            let Some(source) = source.map(|(database, name)| ObjectKey { database, name }) else {
                continue;
            };
            if goes(&source) && !goes(&own) && self.find(&source.database, &source.name).is_some() {
                return Err(Error::new(
                    ErrorCode::HaveDependentObjects,
                    format!(
                        "cannot drop or rename `{}.{}`: {kind} `{}.{}` loads from it; drop that first, or set check_table_dependencies = 0",
                        source.database, source.name, own.database, own.name
                    ),
                ));
            }
        }
        Ok(())
    }
}
