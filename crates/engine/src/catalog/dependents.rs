//! What depends on a table: dictionaries load from it, and would fail to when it is gone.

use basalt_base::{Error, ErrorCode, Result};

use super::{CatalogObject, CatalogStore, ObjectKey};

impl CatalogStore {
    /// HAVE_DEPENDENT_OBJECTS if a dictionary loads from one of the objects that `goes` picks, unless it
    /// goes itself. The caller holds [`CatalogStore::ddl`].
    pub(crate) fn check_no_dependents(&self, goes: impl Fn(&ObjectKey) -> bool) -> Result<()> {
        for (database, name, object) in self.all_objects() {
            let CatalogObject::Dictionary(dictionary) = object else {
                continue;
            };
            let (own, source) = (ObjectKey { database, name }, dictionary.source_table());
            let Some(source) = source.map(|(database, name)| ObjectKey { database, name }) else {
                continue;
            };
            if goes(&source) && !goes(&own) && self.find(&source.database, &source.name).is_some() {
                return Err(Error::new(
                    ErrorCode::HaveDependentObjects,
                    format!(
                        "cannot drop or rename `{}.{}`: dictionary `{}.{}` loads from it; drop that first, or set check_table_dependencies = 0",
                        source.database, source.name, own.database, own.name
                    ),
                ));
            }
        }
        Ok(())
    }
}
