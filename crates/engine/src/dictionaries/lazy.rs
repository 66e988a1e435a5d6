//! A dictionary in a plan: its definition gives the schema, and its rows are loaded at the first lookup.
//!
//! So planning never loads a dictionary or needs its source: EXPLAIN, CREATE VIEW, a DEFAULT.

use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, BooleanArray};
use basalt_base::Result;
use basalt_base::query::QueryStatus;
use basalt_dict::{Dictionary, DictionarySchema, DictionaryStats, VisitRows};

use super::entry::DictionaryEntry;
use super::host::LoadHost;
use super::load_chain::LoadChain;

/// The dictionary for the plan of a query: its current version, or one that is loaded at its first lookup.
pub(crate) fn dictionary_for_plan(
    entry: Arc<DictionaryEntry>,
    host: Arc<dyn LoadHost>,
    chain: Arc<LoadChain>,
    query: Arc<QueryStatus>,
) -> Result<Arc<dyn Dictionary>> {
    match entry.waits_for_load() {
        true => Ok(Arc::new(LazyDictionary::new(entry, host, chain, query)?)),
        false => entry.get(&host, &chain, &query),
    }
}

/// A dictionary that is loaded at its first lookup.
struct LazyDictionary {
    schema: DictionarySchema,
    lookup: Arc<Lookup>,
    /// For lookups in the loaded version.
    threads_max: Option<usize>,
    loaded: OnceLock<Arc<dyn Dictionary>>,
}

/// The dictionary, and the query that looks up in it.
struct Lookup {
    entry: Arc<DictionaryEntry>,
    host: Arc<dyn LoadHost>,
    chain: Arc<LoadChain>,
    query: Arc<QueryStatus>,
}

impl LazyDictionary {
    fn new(
        entry: Arc<DictionaryEntry>,
        host: Arc<dyn LoadHost>,
        chain: Arc<LoadChain>,
        query: Arc<QueryStatus>,
    ) -> Result<LazyDictionary> {
        let (database, name) = entry.name();
        chain.record_use(&database, &name, entry.uuid());
        let schema = entry.schema()?;
        let lookup = Arc::new(Lookup { entry, host, chain, query });
        Ok(LazyDictionary { schema, lookup, threads_max: None, loaded: OnceLock::new() })
    }

    /// The version that answers this query.
    fn loaded(&self) -> Result<&Arc<dyn Dictionary>> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let Lookup { entry, host, chain, query } = self.lookup.as_ref();
        // The caller may be an operator on a runtime thread, which other tasks need.
        let loaded = tokio::task::block_in_place(|| entry.get(host, chain, query))?;
        let on_threads = self.threads_max.and_then(|threads_max| loaded.on_threads(threads_max));
        Ok(self.loaded.get_or_init(|| on_threads.unwrap_or(loaded)))
    }
}

impl Dictionary for LazyDictionary {
    fn schema(&self) -> &DictionarySchema {
        &self.schema
    }

    fn layout(&self) -> &'static str {
        self.loaded.get().map_or_else(|| self.schema.kind.name(), |loaded| loaded.layout())
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        self.loaded()?.get(attributes, keys)
    }

    fn get_all(
        &self,
        attributes: &[usize],
        keys: &[ArrayRef],
        limit: Option<usize>,
    ) -> Result<Vec<ArrayRef>> {
        self.loaded()?.get_all(attributes, keys, limit)
    }

    fn on_threads(&self, threads_max: usize) -> Option<Arc<dyn Dictionary>> {
        Some(Arc::new(LazyDictionary {
            schema: self.schema.clone(),
            lookup: Arc::clone(&self.lookup),
            threads_max: Some(threads_max),
            loaded: OnceLock::new(),
        }))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        self.loaded()?.has(keys)
    }

    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        self.loaded()?.visit_columns(columns, visit)
    }

    fn visit(&self, visit: &mut dyn FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
        self.loaded()?.visit(visit)
    }

    /// A dictionary that cannot be loaded counts as very large, so that no plan reads all of it.
    fn stats(&self) -> DictionaryStats {
        let unknown = DictionaryStats { element_count: u64::MAX, ..DictionaryStats::default() };
        self.loaded().map_or(unknown, |loaded| loaded.stats())
    }
}
