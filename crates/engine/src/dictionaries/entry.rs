//! One dictionary: its definition and its current version.
//!
//! # Concurrency
//!
//! A load builds a new version next to the current one; lookups keep the version they started with. One load runs at
//! a time, and the queries that come meanwhile share its outcome ([`super::load_latch`]). A failed load keeps the
//! current version, and `system.dictionaries.last_exception` says why it failed.
//!
//! Loads run on threads of their own. A query waits for its load until the query ends.
//!
//! With `persist`, a dictionary answers from its file at once when it is first needed, and is reloaded in the
//! background. A file that is found damaged is removed.

use std::sync::Arc;
use std::time::Instant;

use basalt_base::query::{MemoryTracker, QueryStatus, TimeLimit};
use basalt_base::{Column, Columns, Error, ErrorCode, Result};
use basalt_dict::{Dictionary, DictionarySchema, KeyForm};
use basalt_sql::ast::{self, ObjectName};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use super::definition::Definition;
use super::host::LoadHost;
use super::load_chain::LoadChain;
use super::load_latch::{LoadLatch, LoadPermit, Outcome};
use super::persisted::{PersistedFile, thrown_away};
use super::progress::LoadProgress;
use super::schedule::Lifetime;
use super::source::collection_of;
use super::status::DictionaryState;
use crate::named_collections::NamedCollections;

/// Both ends of the range of a row.
const RANGE_COLUMNS: usize = 2;

/// A dictionary of the catalog.
pub(crate) struct DictionaryEntry {
    pub(super) uuid: Uuid,
    name: RwLock<(String, String)>,
    create: RwLock<ast::CreateDictionary>,
    /// Parsed again for each load whose source takes parameters from a named collection.
    definition: RwLock<Arc<Definition>>,
    pub(super) state: RwLock<DictionaryState>,
    /// Where it is kept between two runs, with `persist`.
    pub(super) file: Option<PersistedFile>,
    latch: Arc<LoadLatch>,
    pub(super) progress: LoadProgress,
    /// The dictionaries that the source of the current version, or of the load in progress, has used.
    pub(super) source_chain: Mutex<Option<Arc<LoadChain>>>,
}

impl DictionaryEntry {
    /// Checks the statement; nothing is loaded yet.
    pub(crate) fn new(
        database: &str,
        name: &str,
        uuid: Uuid,
        mut create: ast::CreateDictionary,
        collections: &NamedCollections,
    ) -> Result<DictionaryEntry> {
        let definition = Arc::new(Definition::of(&create, collections)?);
        create.name = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
        create.or_replace = false;
        create.if_not_exists = false;
        let file = definition.settings.persist.then(|| PersistedFile::new(uuid, &create));
        Ok(DictionaryEntry {
            uuid,
            name: RwLock::new((database.to_owned(), name.to_owned())),
            create: RwLock::new(create),
            definition: RwLock::new(definition),
            state: RwLock::new(DictionaryState::default()),
            file,
            latch: Arc::default(),
            progress: LoadProgress::default(),
            source_chain: Mutex::default(),
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

    pub(super) fn definition(&self) -> Arc<Definition> {
        Arc::clone(&self.definition.read())
    }

    /// The named collection that its source takes parameters from.
    pub(crate) fn collection(&self) -> Option<String> {
        self.create.read().source.as_ref().and_then(collection_of)
    }

    /// Takes the parameters of its named collection as they are now.
    pub(super) fn refresh_parameters(&self, host: &dyn LoadHost) -> Result<()> {
        if self.collection().is_some() {
            *self.definition.write() = Arc::new(Definition::of(&self.create(), host.collections())?);
        }
        Ok(())
    }

    /// Key columns, then attributes.
    pub(crate) fn columns(&self) -> Columns {
        self.definition().columns()
    }

    /// The columns in the order in which SQL shows them, and the position of each in [`DictionaryEntry::columns`]. A
    /// range comes before a key of several columns.
    pub(crate) fn shown_columns(&self) -> (Columns, Vec<usize>) {
        let (columns, spec) = (self.columns(), &self.definition().spec);
        let mut positions: Vec<usize> = (0..columns.len()).collect();
        if spec.range.is_some() && spec.layout.kind.is_complex() {
            let keys = spec.key_columns.len();
            positions[..keys + RANGE_COLUMNS].rotate_left(keys);
        }
        (columns.project(&positions), positions)
    }

    /// The key columns with the types of a lookup.
    pub(crate) fn keys(&self) -> Columns {
        let spec = &self.definition().spec;
        let keys = spec.key_columns.iter().zip(spec.key_types());
        keys.map(|(column, ty)| Column::new(&column.name, ty)).collect()
    }

    /// The columns that a lookup returns. Unlike [`DictionaryEntry::columns`], they have no ends of a range.
    pub(crate) fn attributes(&self) -> Columns {
        let definition = self.definition();
        let attributes = definition.spec.attributes.iter();
        attributes.map(|attribute| Column::new(&attribute.name, attribute.ty.clone())).collect()
    }

    pub(crate) fn key_count(&self) -> usize {
        self.definition().spec.key_columns.len()
    }

    /// Whether a row is found by its key columns alone.
    pub(crate) fn finds_by_key(&self) -> bool {
        let spec = &self.definition().spec;
        spec.layout.kind.key_form() == KeyForm::Columns && spec.range.is_none()
    }

    pub(crate) fn layout(&self) -> &'static str {
        self.definition().spec.layout.kind.name()
    }

    pub(crate) fn lifetime(&self) -> Lifetime {
        self.definition().lifetime
    }

    /// Database and name of the table that it loads from; `None` if it loads from a query.
    pub(crate) fn source_table(&self) -> Option<(String, String)> {
        self.definition().source.table(&self.name().0)
    }

    pub(crate) fn source_text(&self) -> String {
        self.definition().source.describe(&self.name().0)
    }

    pub(crate) fn state(&self) -> DictionaryState {
        let mut state = self.state.read().clone();
        (state.rows_read, state.step) = (self.progress.rows(), self.progress.step());
        state
    }

    pub(crate) fn rename(&self, database: &str, name: &str) {
        *self.name.write() = (database.to_owned(), name.to_owned());
        self.create.write().name = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
    }

    /// Sets the comment, and returns the old one.
    pub(crate) fn set_comment(&self, comment: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.create.write().comment, comment)
    }

    /// The current version, loaded now if there is none. The wait for a load ends with the `query`; the load goes on.
    pub(crate) fn get(
        self: &Arc<Self>,
        host: &Arc<dyn LoadHost>,
        chain: &LoadChain,
        query: &QueryStatus,
    ) -> Outcome {
        let (database, name) = self.name();
        chain.record_use(&database, &name, self.uuid);
        let full_name = format!("{database}.{name}");
        chain.refuse_cycle(self.uuid, &full_name, |uuid| host.source_chain(uuid))?;
        // DIRECT and the caches ask their source at lookups, not only while they load.
        let asks_source = self.definition().spec.layout.kind.asks_source();
        let found = |state: &DictionaryState| state.usable().filter(|_| !asks_source).cloned();
        if let Some(current) = found(&self.state.read()) {
            return Ok(current);
        }
        let _wait = host.wait_graph().add(chain, self.uuid, &full_name)?;
        if asks_source && let Some(current) = self.state.read().version() {
            return Ok(Arc::clone(current));
        }
        let permit = loop {
            match self.latch.try_acquire() {
                Ok(permit) => break permit,
                Err(ticket) => {
                    if let Some(outcome) = ticket.wait(query)? {
                        return outcome;
                    }
                }
            }
        };
        // Another load may have ended just now.
        if let Some(current) = self.state.read().usable() {
            return Ok(Arc::clone(current));
        }
        self.drop_damaged(host.as_ref());
        if let Some(failure) = self.state.read().recent_failure(host.clock().now_us()) {
            return Err(failure.clone());
        }
        match self.open_file(host.as_ref()) {
            Some(current) => Ok(current),
            None => self.load_on_thread(permit, host, chain, query),
        }
    }

    /// Whether a lookup would have to load it first.
    pub(super) fn waits_for_load(&self) -> bool {
        !self.definition().spec.layout.kind.asks_source() && self.state.read().usable().is_none()
    }

    pub(super) fn schema(&self) -> Result<DictionarySchema> {
        DictionarySchema::of(self.definition().spec.clone())
    }

    /// The chain of the load that made the current version, or of the one in progress.
    pub(crate) fn source_chain(&self) -> Option<Arc<LoadChain>> {
        self.source_chain.lock().clone()
    }

    /// Starts a load if there is no version, without waiting for it. `system.dictionaries` shows its outcome.
    pub(crate) fn load_in_background(self: &Arc<Self>, host: &Arc<dyn LoadHost>) {
        let (entry, host) = (Arc::clone(self), Arc::clone(host));
        let runtime = host.runtime().clone();
        runtime.spawn_blocking(move || drop(entry.get(&host, &LoadChain::default(), &no_query())));
    }

    /// Loads on a thread of its own, and waits for it.
    fn load_on_thread(
        self: &Arc<Self>,
        permit: LoadPermit,
        host: &Arc<dyn LoadHost>,
        chain: &LoadChain,
        query: &QueryStatus,
    ) -> Outcome {
        let (ticket, chain) = (permit.ticket(), chain.child(self.uuid));
        let (entry, host) = (Arc::clone(self), Arc::clone(host));
        let load = move || {
            let runtime = host.runtime().clone();
            let _context = runtime.enter();
            let outcome = entry.load(&host, chain);
            // A waiting query may be the last user of the database, and must be the one that closes it.
            drop(host);
            permit.finish(outcome);
        };
        let thread = std::thread::Builder::new().name("dict-load".into()).spawn(load);
        thread.map_err(|error| {
            Error::new(ErrorCode::CannotScheduleTask, format!("a thread that loads a dictionary: {error}"))
        })?;
        let ended_early = || Err(Error::logical("the load of a dictionary ended early"));
        ticket.wait(query)?.unwrap_or_else(ended_early)
    }

    /// The version of an earlier run, if its file was kept. It is due for a reload at once.
    fn open_file(&self, host: &dyn LoadHost) -> Option<Arc<dyn Dictionary>> {
        let started = Instant::now();
        let mut state = self.state.write();
        let file = self.file.as_ref().filter(|_| state.may_open_file())?;
        match file.open(host, &self.definition()) {
            Ok(opened) => {
                let (version, loaded_us) = opened?;
                state.open_file(&version, host.clock().now_us(), started.elapsed().as_secs_f64(), loaded_us);
                Some(version.dictionary)
            }
            Err(error) => {
                state.set_file_failure(Some(error));
                None
            }
        }
    }

    /// Drops a version whose file is damaged, and removes the file.
    fn drop_damaged(&self, host: &dyn LoadHost) {
        let mut state = self.state.write();
        let Some(damaged) = state.take_damaged() else { return };
        // The second check names the damaged place again.
        state.set_file_failure(damaged.check().err().as_ref().map(thrown_away));
        if let Some(file) = &self.file {
            file.remove(host);
        }
    }

    /// Loads a new version; the current one answers until it is there, and stays if the load fails.
    pub(crate) fn reload(self: &Arc<Self>, host: &Arc<dyn LoadHost>, query: &QueryStatus) -> Result<()> {
        let permit = self.latch.acquire(query)?;
        self.load_on_thread(permit, host, &LoadChain::default(), query).map(|_| ())
    }

    /// Forgets what was loaded; the next query that needs it loads it again.
    pub(crate) fn unload(&self, query: &QueryStatus) -> Result<()> {
        let _permit = self.latch.acquire(query)?;
        *self.state.write() = DictionaryState::default();
        self.progress.forget();
        *self.source_chain.lock() = None;
        Ok(())
    }

    /// Whether it was loaded, or a load was tried.
    pub(crate) fn was_tried(&self) -> bool {
        self.state.read().was_tried()
    }

    /// Whether its LIFETIME has run out, or the pause after a failure.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        self.state.read().is_due(now_us)
    }

    /// Reloads it if it is due and its source has changed. The current version answers meanwhile.
    pub(super) fn refresh(&self, host: &Arc<dyn LoadHost>) {
        let Ok(permit) = self.latch.try_acquire() else { return };
        let current = self.state.read().version().cloned();
        if current.is_some_and(|current| current.check().is_err()) {
            self.drop_damaged(host.as_ref());
        }
        if self.is_due(host.clock().now_us()) && !self.is_unchanged(host) {
            permit.finish(self.load(host, LoadChain::default().child(self.uuid)));
        }
    }

    /// Whether the source says that nothing changed since the last load; if so, the next check is put off.
    fn is_unchanged(&self, host: &Arc<dyn LoadHost>) -> bool {
        let known = self.state.read().known_revision().map(str::to_owned);
        if known.is_none() {
            return false;
        }
        let request = self.request(host, LoadChain::default().child(self.uuid));
        // A source that cannot answer cannot be loaded from either: the load reports it.
        let is_same = self.definition().source.revision(&request).is_ok_and(|now| now == known);
        if is_same {
            self.state.write().keep(self.next_load_us(host.as_ref()));
        }
        is_same
    }
}

/// The status for a wait on behalf of no query: such a wait never ends early.
fn no_query() -> QueryStatus {
    QueryStatus::new("", Arc::default(), TimeLimit::default(), MemoryTracker::default())
}
