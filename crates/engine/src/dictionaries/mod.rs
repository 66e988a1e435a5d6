//! Dictionaries of the catalog: defined by DDL, loaded at first use, reloaded when they are old.
//!
//! - [`entry`]: one dictionary: its definition and the version that answers now.
//! - [`lazy`]: a dictionary in a plan, loaded when its rows are wanted.
//! - [`definition`], [`structure`], [`settings`]: from the CREATE DICTIONARY statement to keys, attributes and layout.
//! - [`source`]: where the rows come from, one file a source.
//! - [`load`]: one load, of all [`rows`] or of those that changed.
//! - [`detour`]: a reload that takes no second version's memory.
//! - [`memory`]: what versions and loads take of the server's memory.
//! - [`persisted`]: the file of a loaded dictionary, which answers after a restart.
//! - [`schedule`], [`refresh`]: when it is loaded again, and who does it.
//! - [`cache_directories`]: which dictionary has which directory for its SSD_CACHE.
//! - [`state`], [`progress`]: what `system.dictionaries` shows of it.
//! - [`asking`]: which query asks for which dictionary.
//! - [`turns`]: one load at a time, and how a query waits for it.

mod asking;
mod cache_directories;
mod definition;
mod detour;
mod entry;
mod lazy;
mod load;
mod memory;
mod persisted;
mod progress;
mod refresh;
mod rows;
mod schedule;
mod settings;
mod source;
mod state;
mod structure;
mod turns;

pub(crate) use asking::{Asking, Waits};
pub(crate) use cache_directories::CacheDirectories;
pub(crate) use entry::DictionaryEntry;
pub(crate) use memory::DictionaryMemory;
pub(crate) use refresh::{load_all, refresh_forever};
pub(crate) use state::{DictionaryState, LoadStatus};

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_dict::{Dictionaries, Dictionary};

use self::lazy::LazyDictionary;
use crate::Engine;
use crate::catalog::CatalogObject;
use crate::query::QueryEnd;

/// The engine's dictionaries as `dictGet` asks for them.
pub(crate) struct EngineDictionaries {
    engine: Arc<Engine>,
    asking: Arc<Asking>,
    /// Of the query that asks.
    end: QueryEnd,
}

impl EngineDictionaries {
    /// The dictionaries for a query.
    pub(crate) fn new(engine: Arc<Engine>, asking: Arc<Asking>, end: QueryEnd) -> EngineDictionaries {
        EngineDictionaries { engine, asking, end }
    }
}

impl Dictionaries for EngineDictionaries {
    fn dictionary(&self, name: &str, current_database: &str) -> Result<Arc<dyn Dictionary>> {
        let (database, plain) = split_name(name, current_database);
        let entry = find(&self.engine, &database, &plain)?;
        if entry.waits_for_load() {
            let (engine, asking) = (Arc::clone(&self.engine), Arc::clone(&self.asking));
            return Ok(Arc::new(LazyDictionary::new(entry, engine, asking, self.end.clone())?));
        }
        entry.get(&self.engine, &self.asking, &self.end)
    }
}

/// The dictionary of this name.
pub(crate) fn find(engine: &Engine, database: &str, name: &str) -> Result<Arc<DictionaryEntry>> {
    match engine.catalog().find(database, name) {
        Some(CatalogObject::Dictionary(entry)) => Ok(entry),
        Some(CatalogObject::Broken(broken)) => Err(broken.error.clone()),
        _ => {
            let objects = engine.catalog().objects(database);
            let known = objects.iter().filter_map(|(name, object)| match object {
                CatalogObject::Dictionary(_) => Some(name.as_str()),
                _ => None,
            });
            bail!(BadArguments, "dictionary `{database}.{name}` does not exist{}", did_you_mean(name, known))
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
