//! Dictionaries of the catalog.

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};

use super::object::CatalogObject;
use super::store::CatalogStore;
use crate::dictionaries::DictionaryEntry;

impl CatalogStore {
    /// The dictionary of this name; an error names the nearest one.
    pub(crate) fn dictionary(&self, database: &str, name: &str) -> Result<Arc<DictionaryEntry>> {
        match self.find(database, name) {
            Some(CatalogObject::Dictionary(entry)) => Ok(entry),
            Some(CatalogObject::Broken(broken)) => Err(broken.error.clone()),
            _ => {
                let objects = self.objects(database);
                let known = objects.iter().filter_map(|(name, object)| match object {
                    CatalogObject::Dictionary(_) => Some(name.as_str()),
                    _ => None,
                });
                bail!(
                    BadArguments,
                    "dictionary `{database}.{name}` does not exist{}",
                    did_you_mean(name, known)
                )
            }
        }
    }

    /// All dictionaries.
    pub(crate) fn dictionaries(&self) -> Vec<Arc<DictionaryEntry>> {
        let objects = self.all_objects().into_iter();
        let entries = objects.filter_map(|(_, _, object)| match object {
            CatalogObject::Dictionary(entry) => Some(entry),
            _ => None,
        });
        entries.collect()
    }
}
