//! Dictionaries of the catalog: defined by DDL, loaded at first use, reloaded when they are old.
//!
//! - [`entry`]: one dictionary: its definition and the version that answers now.
//! - [`definition`]: from the CREATE DICTIONARY statement to keys, attributes, layout and source.
//! - [`source`]: reads the rows of a source, all of them or those of some keys.

mod definition;
mod entry;
mod source;

pub(crate) use entry::{DictionaryEntry, DictionaryState, LoadStatus};

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_dict::{Dictionaries, Dictionary};

use crate::Engine;
use crate::catalog::CatalogObject;

/// The engine's dictionaries as `dictGet` asks for them.
pub(crate) struct EngineDictionaries {
    engine: Arc<Engine>,
}

impl EngineDictionaries {
    pub(crate) fn new(engine: Arc<Engine>) -> EngineDictionaries {
        EngineDictionaries { engine }
    }
}

impl Dictionaries for EngineDictionaries {
    fn dictionary(&self, name: &str, current_database: &str) -> Result<Arc<dyn Dictionary>> {
        let (database, plain) = split_name(name, current_database);
        match self.engine.catalog().find(&database, &plain) {
            Some(CatalogObject::Dictionary(entry)) => entry.get(&self.engine),
            Some(CatalogObject::Broken(broken)) => Err(broken.error.clone()),
            _ => {
                let objects = self.engine.catalog().objects(&database);
                let known = objects.iter().filter_map(|(name, object)| match object {
                    CatalogObject::Dictionary(_) => Some(name.as_str()),
                    _ => None,
                });
                bail!(BadArguments, "dictionary `{name}` does not exist{}", did_you_mean(&plain, known))
            }
        }
    }
}

/// `database.name` or `name`, as (database, name).
pub(crate) fn split_name(name: &str, current_database: &str) -> (String, String) {
    match name.split_once('.') {
        Some((database, name)) => (database.to_owned(), name.to_owned()),
        None => (current_database.to_owned(), name.to_owned()),
    }
}
