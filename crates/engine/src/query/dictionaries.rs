//! The dictionaries of the database, as functions of a query ask for them.

use std::sync::Arc;

use basalt_base::Result;
use basalt_base::query::QueryStatus;
use basalt_dict::{Dictionaries, Dictionary};

use crate::Engine;
use crate::dictionaries::{LoadChain, LoadHost, dictionary_for_plan, split_name};

/// The engine's dictionaries for one query.
pub(super) struct EngineDictionaries {
    pub(super) engine: Arc<Engine>,
    pub(super) chain: Arc<LoadChain>,
    pub(super) query: Arc<QueryStatus>,
}

impl Dictionaries for EngineDictionaries {
    fn dictionary(&self, name: &str, current_database: &str) -> Result<Arc<dyn Dictionary>> {
        let (database, name) = split_name(name, current_database);
        let entry = self.engine.catalog().dictionary(&database, &name)?;
        let host: Arc<dyn LoadHost> = Arc::<Engine>::clone(&self.engine);
        dictionary_for_plan(entry, host, Arc::clone(&self.chain), Arc::clone(&self.query))
    }
}
