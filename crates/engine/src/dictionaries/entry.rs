//! One dictionary: its definition and the version that answers now.
//!
//! # Concurrency
//!
//! A load builds a new version beside the old one; lookups keep the version they started with. One
//! load runs at a time: who comes second waits and takes the first one's result. A failed load keeps
//! the old version and says why in `system.dictionaries.last_exception`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use basalt_base::{Columns, Error, Result};
use basalt_dict::Dictionary;
use basalt_sql::ast::{self, ObjectName};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use super::asking::Asking;
use super::definition::Definition;
use super::load;
use super::schedule::{Lifetime, backoff_us};
use super::source::Question;
use super::state::DictionaryState;
use crate::Engine;

/// A dictionary of the catalog.
pub(crate) struct DictionaryEntry {
    uuid: Uuid,
    name: RwLock<(String, String)>,
    create: RwLock<ast::CreateDictionary>,
    definition: Arc<Definition>,
    state: RwLock<DictionaryState>,
    /// Held by the one load that runs.
    loading: Mutex<()>,
    rows_read: AtomicU64,
}

impl DictionaryEntry {
    /// Checks the statement; nothing is loaded yet.
    pub(crate) fn new(
        database: &str,
        name: &str,
        uuid: Uuid,
        mut create: ast::CreateDictionary,
    ) -> Result<DictionaryEntry> {
        let definition = Arc::new(Definition::of(&create)?);
        create.name = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
        create.or_replace = false;
        create.if_not_exists = false;
        Ok(DictionaryEntry {
            uuid,
            name: RwLock::new((database.to_owned(), name.to_owned())),
            create: RwLock::new(create),
            definition,
            state: RwLock::new(DictionaryState::default()),
            loading: Mutex::new(()),
            rows_read: AtomicU64::new(0),
        })
    }

    pub(crate) fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// Database and name.
    pub(crate) fn name(&self) -> (String, String) {
        self.name.read().clone()
    }

    pub(crate) fn create(&self) -> ast::CreateDictionary {
        self.create.read().clone()
    }

    /// Key columns, then attributes.
    pub(crate) fn columns(&self) -> Columns {
        self.definition.columns()
    }

    pub(crate) fn key_count(&self) -> usize {
        self.definition.spec.key_columns.len()
    }

    pub(crate) fn layout(&self) -> &'static str {
        self.definition.spec.layout.kind.name()
    }

    pub(crate) fn lifetime(&self) -> Lifetime {
        self.definition.lifetime
    }

    /// Database and name of the table that it loads from; `None` where a query says what.
    pub(crate) fn source_table(&self) -> Option<(String, String)> {
        self.definition.source.table(&self.name().0)
    }

    pub(crate) fn source_text(&self) -> String {
        self.definition.source.describe(&self.name().0)
    }

    pub(crate) fn state(&self) -> DictionaryState {
        let state = self.state.read().clone();
        DictionaryState { rows_read: self.rows_read.load(Ordering::Relaxed), ..state }
    }

    pub(crate) fn rename(&self, database: &str, name: &str) {
        *self.name.write() = (database.to_owned(), name.to_owned());
        self.create.write().name = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
    }

    /// The version that answers; loaded now if there is none yet.
    pub(crate) fn get(&self, engine: &Arc<Engine>, asking: &Asking) -> Result<Arc<dyn Dictionary>> {
        let (database, name) = self.name();
        asking.note(&database, &name);
        // A DIRECT dictionary and a cache ask their source at lookups, not only while they load.
        let asks_always = self.definition.spec.layout.kind.asks_source();
        let found = |state: &DictionaryState| state.current.clone().filter(|_| !asks_always);
        if let Some(current) = found(&self.state.read()) {
            return Ok(current);
        }
        let _wait = engine.dictionary_waits().enter(asking, self.uuid, &format!("{database}.{name}"))?;
        if asks_always && let Some(current) = &self.state.read().current {
            return Ok(Arc::clone(current));
        }
        let _loading = self.loading.lock();
        // Another load may have ended while this one waited.
        if let Some(current) = &self.state.read().current {
            return Ok(Arc::clone(current));
        }
        if let Some(failure) = self.state.read().recent_failure(engine.clock().now_us()) {
            return Err(failure.clone());
        }
        self.load(engine, asking)
    }

    /// Loads a new version; the old one answers until it is there, and stays if the load fails.
    pub(crate) fn reload(&self, engine: &Arc<Engine>) -> Result<()> {
        let _loading = self.loading.lock();
        self.load(engine, &Asking::default()).map(|_| ())
    }

    /// Forgets what was loaded; the next query that needs it loads it again.
    pub(crate) fn unload(&self) {
        let _loading = self.loading.lock();
        *self.state.write() = DictionaryState::default();
        self.rows_read.store(0, Ordering::Relaxed);
    }

    /// Whether it was loaded, or at least tried.
    pub(crate) fn was_tried(&self) -> bool {
        let state = self.state.read();
        state.current.is_some() || state.failure.is_some() || state.is_loading
    }

    /// Whether its LIFETIME has run out, or the time to wait after a failure.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        let state = self.state.read();
        !state.is_loading && state.next_load_us.is_some_and(|next| next <= now_us)
    }

    /// Loads it again if its source says that there is something new; the error is kept for
    /// `last_exception`, and the old version goes on answering.
    pub(super) fn refresh(&self, engine: &Arc<Engine>) {
        let Some(_loading) = self.loading.try_lock() else { return };
        if self.is_due(engine.clock().now_us()) && !self.is_unchanged(engine) {
            // Told in system.dictionaries.
            let _ = self.load(engine, &Asking::default());
        }
    }

    /// Whether the source says that nothing changed since the last load; the next question is put off.
    fn is_unchanged(&self, engine: &Arc<Engine>) -> bool {
        let state = self.state.read().clone();
        let (Some(_), None, Some(known)) = (&state.current, &state.failure, &state.origin.revision) else {
            return false;
        };
        let question = self.question(engine, &Asking::default());
        // A source that cannot answer cannot be loaded from either: the load says so.
        let is_same = self.definition.source.revision(&question).is_ok_and(|now| now.as_ref() == Some(known));
        if is_same {
            self.state.write().next_load_us = self.next_load_us(engine, 0);
        }
        is_same
    }

    fn load(&self, engine: &Arc<Engine>, asking: &Asking) -> Result<Arc<dyn Dictionary>> {
        let (current, origin) = {
            let mut state = self.state.write();
            state.is_loading = true;
            state.loading_start_us = engine.clock().now_us();
            (state.current.clone(), state.origin.clone())
        };
        self.rows_read.store(0, Ordering::Relaxed);
        let started = Instant::now();
        let previous = current.as_ref().map(|current| (current, &origin));
        let loaded = load::load(&self.definition, self.question(engine, asking), previous, &self.rows_read);
        let mut state = self.state.write();
        state.is_loading = false;
        state.loading_seconds = started.elapsed().as_secs_f64();
        match loaded {
            Ok(load) => {
                state.error_count = 0;
                state.failure = None;
                state.last_update_us = engine.clock().now_us();
                state.next_load_us = self.next_load_us(engine, 0);
                state.origin = load.origin;
                state.current = Some(Arc::clone(&load.dictionary));
                Ok(load.dictionary)
            }
            Err(error) => {
                let (database, name) = self.name();
                let error: Error =
                    error.within(format!("dictionary `{database}.{name}` could not be loaded"));
                state.error_count += 1;
                state.next_load_us = self.next_load_us(engine, state.error_count);
                state.failure = Some(error.clone());
                Err(error)
            }
        }
    }

    fn question(&self, engine: &Arc<Engine>, asking: &Asking) -> Question {
        Question {
            engine: Arc::clone(engine),
            database: self.name().0,
            columns: self.definition.source_columns(),
            settings: self.definition.settings.query.clone(),
            asking: asking.deeper(self.uuid),
            tombstone: self.definition.settings.tombstone.clone(),
            defaults: self.definition.defaults(),
        }
    }

    fn next_load_us(&self, engine: &Engine, failures: u64) -> Option<u64> {
        let random = Uuid::new_v4().as_u64_pair().0;
        if self.definition.spec.layout.kind.is_cache() {
            // Each of its rows has a lifetime of its own.
            return None;
        }
        let until = self.definition.lifetime.until_next_us(random)?;
        let until = if failures > 0 { backoff_us(failures, random) } else { until };
        Some(engine.clock().now_us().saturating_add(until))
    }
}
