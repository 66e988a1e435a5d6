//! One dictionary: its definition and the version that answers now.
//!
//! # Concurrency
//!
//! A load builds a new version beside the old one; lookups keep the version they started with. One
//! load runs at a time: who comes second waits and takes the first one's result. A failed load keeps
//! the old version and says why in `system.dictionaries.last_exception`.

use std::sync::Arc;
use std::time::Instant;

use basalt_base::{Columns, Error, Result};
use basalt_dict::{Dictionary, build, build_direct};
use basalt_sql::ast::{self, ObjectName};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

use super::definition::Definition;
use super::source::{self, KeyedSource};
use crate::Engine;

/// A dictionary of the catalog.
pub(crate) struct DictionaryEntry {
    uuid: Uuid,
    name: RwLock<(String, String)>,
    create: RwLock<ast::CreateDictionary>,
    definition: Definition,
    state: RwLock<DictionaryState>,
    /// Held by the one load that runs.
    loading: Mutex<()>,
}

/// What `system.dictionaries` shows of a dictionary.
#[derive(Clone, Default)]
pub(crate) struct DictionaryState {
    pub(crate) status: LoadStatus,
    pub(crate) current: Option<Arc<dyn Dictionary>>,
    /// Microseconds since 1970; 0 is never.
    pub(crate) loading_start_us: u64,
    pub(crate) last_update_us: u64,
    pub(crate) loading_seconds: f64,
    pub(crate) error_count: u64,
    pub(crate) last_exception: String,
}

/// The column `status`; the numbers are ClickHouse's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoadStatus {
    #[default]
    NotLoaded = 0,
    Loaded = 1,
    Failed = 2,
    Loading = 3,
    FailedAndReloading = 4,
    LoadedAndReloading = 5,
}

impl LoadStatus {
    pub(crate) const ALL: [LoadStatus; 6] = [
        LoadStatus::NotLoaded,
        LoadStatus::Loaded,
        LoadStatus::Failed,
        LoadStatus::Loading,
        LoadStatus::FailedAndReloading,
        LoadStatus::LoadedAndReloading,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            LoadStatus::NotLoaded => "NOT_LOADED",
            LoadStatus::Loaded => "LOADED",
            LoadStatus::Failed => "FAILED",
            LoadStatus::Loading => "LOADING",
            LoadStatus::FailedAndReloading => "FAILED_AND_RELOADING",
            LoadStatus::LoadedAndReloading => "LOADED_AND_RELOADING",
        }
    }
}

impl DictionaryEntry {
    /// Checks the statement; nothing is loaded yet.
    pub(crate) fn new(
        database: &str,
        name: &str,
        uuid: Uuid,
        mut create: ast::CreateDictionary,
    ) -> Result<DictionaryEntry> {
        let definition = Definition::of(&create)?;
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

    /// Seconds, least and most.
    pub(crate) fn lifetime(&self) -> (u64, u64) {
        (self.definition.lifetime_min_seconds, self.definition.lifetime_max_seconds)
    }

    /// Database and name of the table that it loads from; `None` where a query says what.
    pub(crate) fn source_table(&self) -> Option<(String, String)> {
        source::table_of(&self.definition.source, &self.name().0)
    }

    pub(crate) fn source_text(&self) -> String {
        source::describe(&self.definition.source, &self.name().0)
    }

    pub(crate) fn state(&self) -> DictionaryState {
        self.state.read().clone()
    }

    pub(crate) fn rename(&self, database: &str, name: &str) {
        *self.name.write() = (database.to_owned(), name.to_owned());
        self.create.write().name = ObjectName { database: Some(database.to_owned()), name: name.to_owned() };
    }

    /// The version that answers; loaded now if there is none yet.
    pub(crate) fn get(&self, engine: &Arc<Engine>) -> Result<Arc<dyn Dictionary>> {
        if let Some(current) = &self.state.read().current {
            return Ok(Arc::clone(current));
        }
        let _loading = self.loading.lock();
        // Another load may have ended while this one waited.
        if let Some(current) = &self.state.read().current {
            return Ok(Arc::clone(current));
        }
        self.load(engine)
    }

    /// Loads a new version; the old one answers until it is there, and stays if the load fails.
    pub(crate) fn reload(&self, engine: &Arc<Engine>) -> Result<()> {
        let _loading = self.loading.lock();
        self.load(engine).map(|_| ())
    }

    /// Reloads a dictionary whose LIFETIME has run out; `false` if it has not.
    pub(crate) fn refresh(&self, engine: &Arc<Engine>) -> bool {
        let most_us = self.definition.lifetime_max_seconds.saturating_mul(1_000_000);
        let state = self.state();
        let age_us = engine.clock().now_us().saturating_sub(state.loading_start_us);
        if most_us == 0 || state.current.is_none() || age_us < most_us {
            return false;
        }
        // The error is kept for `last_exception`; the old version goes on answering.
        let _ = self.reload(engine);
        true
    }

    fn load(&self, engine: &Arc<Engine>) -> Result<Arc<dyn Dictionary>> {
        let (database, name) = self.name();
        {
            let mut state = self.state.write();
            state.status = match state.status {
                LoadStatus::Loaded => LoadStatus::LoadedAndReloading,
                LoadStatus::Failed => LoadStatus::FailedAndReloading,
                _ => LoadStatus::Loading,
            };
            state.loading_start_us = engine.clock().now_us();
        }
        let started = Instant::now();
        let built = self.build(engine, &database);
        let mut state = self.state.write();
        state.loading_seconds = started.elapsed().as_secs_f64();
        match built {
            Ok(dictionary) => {
                state.status = LoadStatus::Loaded;
                state.last_update_us = engine.clock().now_us();
                state.current = Some(Arc::clone(&dictionary));
                state.last_exception.clear();
                Ok(dictionary)
            }
            Err(error) => {
                let error: Error =
                    error.within(format!("dictionary `{database}.{name}` could not be loaded"));
                state.status = if state.current.is_some() { LoadStatus::Loaded } else { LoadStatus::Failed };
                state.error_count += 1;
                state.last_exception = error.to_string();
                Err(error)
            }
        }
    }

    fn build(&self, engine: &Arc<Engine>, database: &str) -> Result<Arc<dyn Dictionary>> {
        let Definition { spec, source, .. } = &self.definition;
        let columns = self.columns();
        if spec.layout.kind.is_direct() {
            let keyed = KeyedSource::new(engine, source.clone(), database, columns, self.key_count());
            return build_direct(spec.clone(), Arc::new(keyed));
        }
        let mut blocks = source::all_rows(engine, source, database, &columns)?;
        build(spec.clone(), &mut blocks)
    }
}
