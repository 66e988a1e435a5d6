//! One load: from the rows of a source to a new version, of all rows or of those that changed.

use std::path::Path;
use std::sync::Arc;

use basalt_base::fs::RealStorage;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{
    CacheSurroundings, Dictionary, LoadBounds, Updated, build_cache, build_direct, build_rows, update,
};
use uuid::Uuid;

use super::built::Built;
use super::definition::Definition;
use super::memory::{Coexisting, LoadMemory};
use super::persisted::PersistedFile;
use super::progress::LoadProgress;
use super::reload_via_file;
use super::source::{KeyedSource, LoadRequest, RowRange};
use super::source_rows::{RowOrigin, SourceRows};
use super::status::Origin;

/// The result of a load, and the state that the next load starts from.
pub(super) struct Loaded {
    pub(super) built: Built,
    pub(super) origin: Origin,
    /// Why it took more memory than it should have.
    pub(super) fallback_reason: Option<Error>,
    /// The memory that the load is charged with.
    pub(super) memory: Option<LoadMemory>,
}

/// Identifies the dictionary that is loaded.
pub(super) struct Identity {
    pub(super) uuid: Uuid,
    pub(super) name: String,
}

/// What a load reads; chosen once.
enum LoadPlan<'a> {
    /// Nothing: lookups ask the source.
    AskSource,
    AllRows,
    /// The rows that changed since a time, to be laid over a version.
    Changes {
        version: &'a Arc<dyn Dictionary>,
        since: i64,
    },
}

/// Where all rows are built into a version; chosen once.
enum Destination<'a> {
    Memory,
    /// The version that is replaced is too large to be in memory twice.
    UnnamedFile {
        replaced: &'a Arc<dyn Dictionary>,
    },
    OwnFile(&'a PersistedFile),
}

impl<'a> LoadPlan<'a> {
    fn of(definition: &Definition, previous: Option<(&'a Arc<dyn Dictionary>, &Origin)>) -> LoadPlan<'a> {
        if definition.spec.layout.kind.asks_source() {
            return LoadPlan::AskSource;
        }
        match previous.and_then(|(version, origin)| Some((version, origin.watermark?))) {
            Some((version, since)) => LoadPlan::Changes { version, since },
            None => LoadPlan::AllRows,
        }
    }
}

impl<'a> Destination<'a> {
    fn of(
        definition: &Definition,
        replaced: Option<&'a Arc<dyn Dictionary>>,
        file: Option<&'a PersistedFile>,
    ) -> Destination<'a> {
        if let Some(file) = file.filter(|_| definition.spec.layout.kind.is_storable()) {
            return Destination::OwnFile(file);
        }
        match replaced.filter(|replaced| reload_via_file::applies(definition, replaced)) {
            Some(replaced) => Destination::UnnamedFile { replaced },
            None => Destination::Memory,
        }
    }
}

/// Loads a version as `definition` says. If the source reports what changed since the `previous` version was loaded,
/// only that is read. Large versions are built in `file`, if the dictionary has one. `progress` counts the rows.
pub(super) fn load(
    definition: &Arc<Definition>,
    identity: Identity,
    mut request: LoadRequest,
    previous: Option<(&Arc<dyn Dictionary>, &Origin)>,
    file: Option<&PersistedFile>,
    progress: &LoadProgress,
) -> Result<Loaded> {
    let (range, changed) = match LoadPlan::of(definition, previous) {
        LoadPlan::AskSource => return ask_source(definition, identity, &request),
        LoadPlan::AllRows => (RowRange::All, None),
        LoadPlan::Changes { version, since } => (RowRange::Since(since), Some((version, since))),
    };
    let current = previous.map(|(current, _)| current);
    if let Some(current) = current {
        request.expect_rows_like(current);
    }
    // Asked before the rows: a change in between makes the next answer another one.
    let revision = definition.source.revision(&request)?;
    let started_seconds = (request.host.clock().now_us() / 1_000_000) as i64;
    let memory = LoadMemory::new(request.host.memory(), identity.name, current);
    let mut rows = SourceRows::ask(definition, &request, range, progress, memory)?;
    let (built, fallback_reason) = match changed {
        None => {
            let destination = Destination::of(definition, current, file);
            build(definition, &request, &destination, &mut rows, RowOrigin::Source)?
        }
        Some((version, _)) => match update(&definition.spec, version, &mut rows)? {
            Updated::Few(version) => (Built::Memory(version), None),
            Updated::Many(version) => {
                let destination = Destination::of(definition, Some(&version), file);
                build(definition, &request, &destination, &mut rows, RowOrigin::Version(&version))?
            }
        },
    };
    charge_version(&built, current, rows.memory())?;
    if definition.settings.require_nonempty && built.element_count() == 0 {
        return Err(is_empty());
    }
    let newest = rows.newest();
    let watermark = definition.source.update_field().and_then(|field| {
        let newest = if definition.source.tells_update_time() { newest } else { Some(started_seconds) };
        // A row from the future must not hide those of the present.
        let lag = i64::try_from(field.lag_seconds).unwrap_or(i64::MAX);
        let newest = newest.map(|newest| newest.min(started_seconds).saturating_sub(lag));
        newest.into_iter().chain(changed.map(|(_, since)| since)).max()
    });
    let (origin, memory) = (Origin { revision, watermark }, Some(rows.into_memory()));
    Ok(Loaded { built, origin, fallback_reason, memory })
}

/// Charges the load with its version instead of its rows.
fn charge_version(
    built: &Built,
    current: Option<&Arc<dyn Dictionary>>,
    memory: &mut LoadMemory,
) -> Result<()> {
    match built {
        Built::Memory(version) => {
            let is_current = current.is_some_and(|current| Arc::ptr_eq(current, version));
            let contains_current = version.changes().is_some() || is_current;
            let coexisting = if contains_current { Coexisting::Nothing } else { Coexisting::Current };
            memory.become_version(version.memory_bytes(), coexisting)
        }
        // The current version is freed before this one is read into memory.
        Built::UnnamedFile(version) => {
            memory.become_version(version.dictionary().stats().bytes_allocated, Coexisting::Nothing)
        }
        Built::OwnFile(_) => Ok(()),
    }
}

/// A version that asks the source for the keys that it does not hold.
fn ask_source(definition: &Arc<Definition>, identity: Identity, request: &LoadRequest) -> Result<Loaded> {
    let Identity { uuid, name } = identity;
    let (database, columns, exact_keys) =
        (request.database.clone(), request.columns.clone(), request.exact_keys);
    let (settings, chain) = (request.settings.clone(), Arc::clone(&request.chain));
    let (defaults, expressions) = (Arc::clone(&request.defaults), Arc::clone(&request.expressions));
    let keyed = KeyedSource::new(&request.host, Arc::clone(&definition.source), move |host| LoadRequest {
        host,
        database: database.clone(),
        columns: columns.clone(),
        exact_keys,
        expressions: Arc::clone(&expressions),
        settings: settings.clone(),
        chain: Arc::clone(&chain),
        tombstone: None,
        defaults: Arc::clone(&defaults),
    });
    let (mut spec, source) = (definition.spec.clone(), Arc::new(keyed));
    let dictionary = if spec.layout.kind.is_direct() {
        build_direct(spec, source)?
    } else {
        if spec.layout.kind.is_ssd() {
            let path = spec.layout.ssd.path.to_string_lossy().into_owned();
            spec.layout.ssd.path = request.host.user_file(&path)?;
        }
        let directories = Arc::clone(request.host.cache_directories());
        let lock = move |dir: &Path| directories.take(dir, uuid, &name);
        let surroundings = CacheSurroundings {
            source,
            clock: Arc::clone(request.host.clock()),
            storage: Arc::new(RealStorage),
            lock: Some(Arc::new(lock)),
            lifetime_min_seconds: definition.lifetime.min_seconds,
            lifetime_max_seconds: definition.lifetime.max_seconds,
        };
        build_cache(spec, surroundings)?
    };
    let built = Built::Memory(dictionary);
    Ok(Loaded { built, origin: Origin::default(), fallback_reason: None, memory: None })
}

/// Builds a version of all rows of `origin`. If the unnamed file fails, the version is built in memory after all, and
/// the second result says why.
fn build(
    definition: &Definition,
    request: &LoadRequest,
    destination: &Destination<'_>,
    rows: &mut SourceRows<'_>,
    origin: RowOrigin<'_>,
) -> Result<(Built, Option<Error>)> {
    let (spec, host) = (&definition.spec, request.host.as_ref());
    let form = rows.form(origin);
    if !matches!(destination, Destination::Memory) {
        rows.memory().spill(LoadBounds::default(), spec.key_bytes_in_memory());
    }
    let mut fallback_reason = None;
    match *destination {
        Destination::OwnFile(file) => {
            let image = file.load(host, spec, &mut rows.blocks(origin)?, form)?;
            return Ok((image.into(), None));
        }
        Destination::UnnamedFile { replaced } => {
            let built = reload_via_file::load(host, spec, replaced, &mut rows.blocks(origin)?, form);
            match built {
                Ok(built) => return Ok((built, None)),
                Err(error) if rows.have_failed() => return Err(error),
                Err(error) => fallback_reason = Some(error),
            }
            rows.restart(definition, request, origin)?;
        }
        Destination::Memory => {}
    }
    let dictionary = build_rows(spec, form, &mut rows.blocks(origin)?)?;
    Ok((Built::Memory(dictionary), fallback_reason))
}

fn is_empty() -> Error {
    Error::new(ErrorCode::DictionaryIsEmpty, "the source has no rows, and require_nonempty is set")
}
