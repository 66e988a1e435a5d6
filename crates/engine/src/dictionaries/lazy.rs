//! A dictionary in a plan: its definition says what it has, and its rows are loaded when a query wants them.
//!
//! So nothing that is only planned loads a dictionary or needs its source: EXPLAIN, a view that is made, a DEFAULT.

use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, BooleanArray};
use basalt_base::{Result, SqlType};
use basalt_dict::{Attribute, Dictionary, DictionarySchema, DictionaryStats, KeyForm, VisitRows};

use super::asking::Asking;
use super::entry::DictionaryEntry;
use crate::Engine;
use crate::query::QueryEnd;

/// A dictionary that is loaded at its first lookup.
pub(super) struct LazyDictionary {
    schema: DictionarySchema,
    question: Arc<Question>,
    /// For lookups of the version that is loaded.
    threads_max: Option<usize>,
    loaded: OnceLock<Arc<dyn Dictionary>>,
}

/// The dictionary that is asked for, and the query that asks.
struct Question {
    entry: Arc<DictionaryEntry>,
    engine: Arc<Engine>,
    asking: Arc<Asking>,
    end: QueryEnd,
}

impl LazyDictionary {
    pub(super) fn new(
        entry: Arc<DictionaryEntry>,
        engine: Arc<Engine>,
        asking: Arc<Asking>,
        end: QueryEnd,
    ) -> Result<LazyDictionary> {
        let (database, name) = entry.name();
        asking.note(&database, &name, entry.uuid());
        let schema = entry.schema()?;
        let question = Arc::new(Question { entry, engine, asking, end });
        Ok(LazyDictionary { schema, question, threads_max: None, loaded: OnceLock::new() })
    }

    /// The version that answers this query.
    fn loaded(&self) -> Result<&Arc<dyn Dictionary>> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let Question { entry, engine, asking, end } = self.question.as_ref();
        // The caller may be an operator on a runtime thread: it steps aside while the rows are loaded.
        let loaded = tokio::task::block_in_place(|| entry.get(engine, asking, end))?;
        let on_threads = self.threads_max.and_then(|threads_max| loaded.on_threads(threads_max));
        Ok(self.loaded.get_or_init(|| on_threads.unwrap_or(loaded)))
    }
}

impl Dictionary for LazyDictionary {
    fn key_types(&self) -> &[SqlType] {
        &self.schema.key_types
    }

    fn key_form(&self) -> KeyForm {
        self.schema.kind.key_form()
    }

    fn range_type(&self) -> Option<&SqlType> {
        self.schema.range_type.as_ref()
    }

    fn attributes(&self) -> &[Attribute] {
        &self.schema.attributes
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
            question: Arc::clone(&self.question),
            threads_max: Some(threads_max),
            loaded: OnceLock::new(),
        }))
    }

    fn lists_keys(&self) -> bool {
        self.schema.kind.takes_changes()
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

    /// A dictionary that cannot be loaded counts as one with very many rows, so that no plan walks through it.
    fn stats(&self) -> DictionaryStats {
        let unknown = DictionaryStats { element_count: u64::MAX, ..DictionaryStats::default() };
        self.loaded().map_or(unknown, |loaded| loaded.stats())
    }
}
