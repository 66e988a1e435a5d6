//! One dictionary: its definition and the version that answers now.
//!
//! # Concurrency
//!
//! A load builds a new version beside the old one; lookups keep the version they started with. One
//! load runs at a time: who comes second waits and takes the first one's result ([`super::turns`]). A failed load
//! keeps the old version and says why in `system.dictionaries.last_exception`.
//!
//! Queries have their loads run by threads of their own, and wait for these until their own end.
//!
//! With a file of its own (`persist`) a dictionary answers from that at once when it is first needed, and is
//! loaded again in the background. Once the file is found damaged, nobody asks it any more.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use basalt_base::region::Incoming;
use basalt_base::{Column, Columns, Error, ErrorCode, Result};
use basalt_dict::{Dictionary, DictionarySchema, KeyForm, LoadedImage};
use basalt_sql::ast::{self, ObjectName};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use super::asking::Asking;
use super::definition::Definition;
use super::detour::{LARGE_BYTES, not_taken};
use super::load::{self, Load, Loaded};
use super::persisted::{PersistedFile, thrown_away};
use super::progress::{LoadProgress, LoadStep};
use super::refresh::dictionaries;
use super::schedule::{Lifetime, backoff_us};
use super::source::{Question, collection_of};
use super::state::{DictionaryState, Origin};
use super::turns::{Turn, Turns};
use crate::Engine;
use crate::named_collections::NamedCollections;
use crate::query::QueryEnd;

/// Both ends of the range of a row.
const RANGE_COLUMNS: usize = 2;

/// A dictionary of the catalog.
pub(crate) struct DictionaryEntry {
    uuid: Uuid,
    name: RwLock<(String, String)>,
    create: RwLock<ast::CreateDictionary>,
    /// Made anew for a load if its source takes parameters from a named collection.
    definition: RwLock<Arc<Definition>>,
    state: RwLock<DictionaryState>,
    /// Where it is kept between two runs, if it is.
    file: Option<PersistedFile>,
    /// Of loads, and of ends of versions.
    turns: Arc<Turns>,
    progress: LoadProgress,
    /// What the source of the version that answers, or of the load that runs, asked other dictionaries for.
    asked: Mutex<Option<Arc<Asking>>>,
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
            turns: Arc::default(),
            progress: LoadProgress::default(),
            asked: Mutex::default(),
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

    fn definition(&self) -> Arc<Definition> {
        Arc::clone(&self.definition.read())
    }

    /// The named collection that its source takes parameters from.
    pub(crate) fn collection(&self) -> Option<String> {
        self.create.read().source.as_ref().and_then(collection_of)
    }

    /// Takes the parameters of its named collection as they are now.
    fn take_parameters(&self, engine: &Engine) -> Result<()> {
        if self.collection().is_some() {
            *self.definition.write() = Arc::new(Definition::of(&self.create(), engine.named_collections())?);
        }
        Ok(())
    }

    /// Key columns, then attributes.
    pub(crate) fn columns(&self) -> Columns {
        self.definition().columns()
    }

    /// The columns as they are shown, each with its position among [`DictionaryEntry::columns`]: a range stands before a
    /// key of several columns.
    pub(crate) fn shown_columns(&self) -> (Columns, Vec<usize>) {
        let (columns, spec) = (self.columns(), &self.definition().spec);
        let mut positions: Vec<usize> = (0..columns.len()).collect();
        if spec.range.is_some() && spec.layout.kind.is_complex() {
            let keys = spec.key_columns.len();
            positions[..keys + RANGE_COLUMNS].rotate_left(keys);
        }
        (columns.project(&positions), positions)
    }

    /// The key columns as they are looked up.
    pub(crate) fn keys(&self) -> Columns {
        let spec = &self.definition().spec;
        let keys = spec.key_columns.iter().zip(spec.key_types());
        keys.map(|(column, ty)| Column::new(&column.name, ty)).collect()
    }

    /// What a lookup gives; unlike [`DictionaryEntry::columns`] without the ends of a range.
    pub(crate) fn attributes(&self) -> Columns {
        let definition = self.definition();
        let attributes = definition.spec.attributes.iter();
        attributes.map(|attribute| Column::new(&attribute.name, attribute.ty.clone())).collect()
    }

    pub(crate) fn key_count(&self) -> usize {
        self.definition().spec.key_columns.len()
    }

    /// Whether a row is found by the columns of its key, each as it is.
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

    /// Database and name of the table that it loads from; `None` where a query says what.
    pub(crate) fn source_table(&self) -> Option<(String, String)> {
        self.definition().source.table(&self.name().0)
    }

    pub(crate) fn source_text(&self) -> String {
        self.definition().source.describe(&self.name().0)
    }

    pub(crate) fn state(&self) -> DictionaryState {
        let state = self.state.read().clone();
        DictionaryState { rows_read: self.progress.rows(), step: self.progress.step(), ..state }
    }

    pub(crate) fn rename(&self, database: &str, name: &str) {
        *self.name.write() = (database.to_owned(), name.to_owned());
        self.create.write().name = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
    }

    /// The comment from now on; answers with what it was.
    pub(crate) fn set_comment(&self, comment: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.create.write().comment, comment)
    }

    /// The version that answers; loaded now if there is none yet. The wait for a load ends with the query, whose
    /// `end` this is; the load goes on.
    pub(crate) fn get(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        asking: &Asking,
        end: &QueryEnd,
    ) -> Result<Arc<dyn Dictionary>> {
        let (database, name) = self.name();
        asking.note(&database, &name, self.uuid);
        let reads = |uuid| {
            let entries = dictionaries(engine);
            entries.iter().find(|entry| entry.uuid == uuid).and_then(|entry| entry.asked.lock().clone())
        };
        asking.refuse_circle(self.uuid, &format!("{database}.{name}"), reads)?;
        // A DIRECT dictionary and a cache ask their source at lookups, not only while they load.
        let asks_always = self.definition().spec.layout.kind.asks_source();
        let found = |state: &DictionaryState| state.usable().filter(|_| !asks_always).cloned();
        if let Some(current) = found(&self.state.read()) {
            return Ok(current);
        }
        let _wait = engine.dictionary_waits().enter(asking, self.uuid, &format!("{database}.{name}"))?;
        if asks_always && let Some(current) = &self.state.read().current {
            return Ok(Arc::clone(current));
        }
        let turn = loop {
            match self.turns.take() {
                Ok(turn) => break turn,
                Err(stage) => {
                    if let Some(outcome) = stage.wait(end)? {
                        return outcome;
                    }
                }
            }
        };
        // Another load may have ended just now.
        if let Some(current) = self.state.read().usable() {
            return Ok(Arc::clone(current));
        }
        self.forget_damaged(engine);
        if let Some(failure) = self.state.read().recent_failure(engine.clock().now_us()) {
            return Err(failure.clone());
        }
        match self.open_file(engine) {
            Some(current) => Ok(current),
            None => self.load_aside(turn, engine, asking, end),
        }
    }

    /// Whether its rows would have to be loaded first.
    pub(super) fn waits_for_load(&self) -> bool {
        !self.definition().spec.layout.kind.asks_source() && self.state.read().usable().is_none()
    }

    /// What its definition says of it.
    pub(super) fn schema(&self) -> Result<DictionarySchema> {
        DictionarySchema::of(self.definition().spec.clone())
    }

    /// Has it loaded, if it was not yet, and waits for nothing; how that went is told in system.dictionaries.
    pub(crate) fn load_in_background(self: &Arc<Self>, engine: &Arc<Engine>) {
        let (entry, engine) = (Arc::clone(self), Arc::clone(engine));
        let runtime = engine.runtime().clone();
        runtime.spawn_blocking(move || drop(entry.get(&engine, &Asking::default(), &QueryEnd::default())));
    }

    /// Loads on a thread of its own, and waits for that.
    fn load_aside(
        self: &Arc<Self>,
        turn: Turn,
        engine: &Arc<Engine>,
        asking: &Asking,
        end: &QueryEnd,
    ) -> Result<Arc<dyn Dictionary>> {
        let (stage, asking) = (turn.stage(), asking.deeper(self.uuid));
        let (entry, engine) = (Arc::clone(self), Arc::clone(engine));
        let load = move || {
            let runtime = engine.runtime().clone();
            let _context = runtime.enter();
            let outcome = entry.load(&engine, asking);
            // Who waits may be the last to use the engine, and must be the one that closes it.
            drop(engine);
            turn.end(outcome);
        };
        let thread = std::thread::Builder::new().name("dict-load".into()).spawn(load);
        thread.map_err(|error| {
            Error::new(ErrorCode::CannotScheduleTask, format!("a thread that loads a dictionary: {error}"))
        })?;
        let ended_early = || Err(Error::logical("the load of a dictionary ended early"));
        stage.wait(end)?.unwrap_or_else(ended_early)
    }

    /// The version of an earlier run, if it was kept. It is loaded again as soon as the background gets
    /// to it.
    fn open_file(&self, engine: &Engine) -> Option<Arc<dyn Dictionary>> {
        let started = Instant::now();
        let mut state = self.state.write();
        // A load that failed did not find the file of use either.
        let file = self.file.as_ref().filter(|_| state.failure.is_none() && state.file_failure.is_none())?;
        match file.open(engine, &self.definition()) {
            Ok(opened) => {
                let (load, loaded_us) = opened?;
                state.loading_start_us = engine.clock().now_us();
                state.loading_seconds = started.elapsed().as_secs_f64();
                state.last_update_us = loaded_us;
                state.next_load_us = Some(state.loading_start_us);
                state.is_of_earlier_run = true;
                state.origin = load.origin;
                state.current = Some(Arc::clone(&load.dictionary));
                Some(load.dictionary)
            }
            Err(error) => {
                state.file_failure = Some(error);
                None
            }
        }
    }

    /// Lets go of a version whose file is damaged, and of the file.
    fn forget_damaged(&self, engine: &Engine) {
        let mut state = self.state.write();
        let Some(damaged) = state.current.take_if(|current| current.is_damaged()) else { return };
        // The error names the place again.
        let error = damaged.check().err();
        state.file_failure = error.as_ref().map(thrown_away);
        state.origin = Origin::default();
        if let Some(file) = &self.file {
            file.remove(engine);
        }
    }

    /// Keeps what was loaded in the dictionary's file, if it has one, and takes it from there. What is in memory
    /// and cannot be written answers from memory; the second result says why.
    fn keep(
        &self,
        engine: &Engine,
        loaded: Loaded,
        previous: Option<&Arc<dyn Dictionary>>,
    ) -> Result<(Load, Option<Error>)> {
        match (&self.file, loaded) {
            (Some(file), loaded) => file.save(engine, &self.definition(), loaded, previous),
            (None, Loaded { image: LoadedImage::InMemory(dictionary), origin, incoming, detour_failure }) => {
                Ok((Load { dictionary, origin, incoming }, detour_failure.as_ref().map(not_taken)))
            }
            (None, _) => Err(Error::logical("a dictionary without a file was loaded into one")),
        }
    }

    /// Loads a new version; the old one answers until it is there, and stays if the load fails.
    pub(crate) fn reload(self: &Arc<Self>, engine: &Arc<Engine>, end: &QueryEnd) -> Result<()> {
        let turn = self.turns.wait(end)?;
        self.load_aside(turn, engine, &Asking::default(), end).map(|_| ())
    }

    /// Forgets what was loaded; the next query that needs it loads it again.
    pub(crate) fn unload(&self, end: &QueryEnd) -> Result<()> {
        let _turn = self.turns.wait(end)?;
        *self.state.write() = DictionaryState::default();
        self.progress.forget();
        *self.asked.lock() = None;
        Ok(())
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
        let Ok(turn) = self.turns.take() else { return };
        let current = self.state.read().current.clone();
        if current.is_some_and(|current| current.check().is_err()) {
            self.forget_damaged(engine);
        }
        if self.is_due(engine.clock().now_us()) && !self.is_unchanged(engine) {
            turn.end(self.load(engine, Asking::default().deeper(self.uuid)));
        }
    }

    /// Whether the source says that nothing changed since the last load; the next question is put off.
    fn is_unchanged(&self, engine: &Arc<Engine>) -> bool {
        let state = self.state.read().clone();
        let (Some(_), None, Some(known)) = (&state.current, &state.failure, &state.origin.revision) else {
            return false;
        };
        let question = self.question(engine, Asking::default().deeper(self.uuid));
        // A source that cannot answer cannot be loaded from either: the load says so.
        let is_same =
            self.definition().source.revision(&question).is_ok_and(|now| now.as_ref() == Some(known));
        if is_same {
            let mut state = self.state.write();
            state.next_load_us = self.next_load_us(engine);
            state.is_of_earlier_run = false;
        }
        is_same
    }

    /// Loads a version, whose source asks as `asking` says.
    fn load(&self, engine: &Arc<Engine>, asking: Arc<Asking>) -> Result<Arc<dyn Dictionary>> {
        let (current, origin) = {
            let mut state = self.state.write();
            state.is_loading = true;
            state.loading_start_us = engine.clock().now_us();
            (state.usable().cloned(), state.origin.clone())
        };
        let started = Instant::now();
        let taken = self.take_parameters(engine);
        let previous = current.as_ref().map(|current| (current, &origin));
        let (question, file) = (self.question(engine, asking), self.file.as_ref());
        let asked = self.asked.lock().replace(Arc::clone(&question.asking));
        let (database, name) = self.name();
        let name = format!("{database}.{name}");
        let definition = self.definition();
        let known_as = (self.uuid, name.clone());
        let load = || load::load(&definition, known_as, question, previous, file, &self.progress);
        let loaded = taken.and_then(|()| {
            // A panic below is our bug: the load fails, and may be tried again.
            catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|_| Err(Error::logical("a load panicked")))
        });
        let loaded = loaded.and_then(|loaded| self.keep(engine, loaded, current.as_ref()));
        self.progress.enter(LoadStep::None);
        if loaded.is_err() {
            *self.asked.lock() = asked;
        }
        let mut state = self.state.write();
        state.is_loading = false;
        state.loading_seconds = started.elapsed().as_secs_f64();
        match loaded {
            Ok((load, file_failure)) => {
                // Why the file of an earlier run was of no use stays to be seen until the next load.
                if file_failure.is_some() || current.is_some() {
                    state.file_failure = file_failure;
                }
                state.error_count = 0;
                state.failure = None;
                state.last_update_us = engine.clock().now_us();
                state.next_load_us = self.next_load_us(engine);
                state.is_of_earlier_run = false;
                state.origin = load.origin;
                state.current = Some(Arc::clone(&load.dictionary));
                drop(state);
                let is_large = load.dictionary.stats().bytes_allocated > LARGE_BYTES;
                // The old version goes before the new one comes into memory.
                drop(current);
                engine.memory().dictionaries().add(&load.dictionary);
                if let Some(release) = engine.opener().release_memory.filter(|_| is_large) {
                    release();
                }
                self.bring_in(load.incoming);
                Ok(load.dictionary)
            }
            Err(error) => {
                let error: Error = error.within(format!("dictionary `{name}` could not be loaded"));
                state.error_count += 1;
                state.next_load_us = self.next_attempt_us(engine, &state);
                state.failure = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Brings the version that answers into memory.
    fn bring_in(&self, incoming: Option<Incoming>) {
        self.progress.enter(LoadStep::IntoMemory);
        let failure = incoming.and_then(|incoming| incoming.run().err());
        self.progress.enter(LoadStep::None);
        if let Some(error) = failure {
            let error =
                error.within("the dictionary was reloaded, and answers from a file instead of memory");
            self.state.write().file_failure = Some(error);
        }
    }

    fn question(&self, engine: &Arc<Engine>, asking: Arc<Asking>) -> Question {
        Question {
            engine: Arc::clone(engine),
            database: self.name().0,
            columns: self.definition().source_columns(),
            exact_keys: self.definition().exact_keys(),
            expressions: Arc::clone(&self.definition().expressions),
            settings: self.definition().settings.query.clone(),
            asking,
            tombstone: self.definition().settings.tombstone.clone(),
            defaults: self.definition().defaults(),
        }
    }

    /// When the version that was just loaded is old.
    fn next_load_us(&self, engine: &Engine) -> Option<u64> {
        if self.definition().spec.layout.kind.is_cache() {
            // Each of its rows has a lifetime of its own.
            return None;
        }
        let until = self.definition().lifetime.until_next_us(Uuid::new_v4().as_u64_pair().0)?;
        Some(engine.clock().now_us().saturating_add(until))
    }

    /// When a load that failed is tried again: never where a version of this run is not to be reloaded either.
    fn next_attempt_us(&self, engine: &Engine, state: &DictionaryState) -> Option<u64> {
        let random = Uuid::new_v4().as_u64_pair().0;
        let is_wanted = state.current.is_none() || state.is_of_earlier_run;
        if !is_wanted {
            self.definition().lifetime.until_next_us(random)?;
        }
        Some(engine.clock().now_us().saturating_add(backoff_us(state.error_count, random)))
    }
}
