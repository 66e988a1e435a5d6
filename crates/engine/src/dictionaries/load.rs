//! One load: from the rows of a source to a dictionary, all of them or those that changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_base::fs::RealStorage;
use basalt_base::region::Incoming;
use basalt_base::{Error, ErrorCode, Result};
use basalt_dict::{
    CacheSurroundings, Dictionary, DictionarySpec, LoadBounds, LoadedImage, RowForm, Updated, build_cache,
    build_direct, build_rows, update,
};
use uuid::Uuid;

use super::definition::Definition;
use super::detour;
use super::memory::{Beside, LoadMemory};
use super::persisted::PersistedFile;
use super::progress::LoadProgress;
use super::rows::Rows;
use super::source::{KeyedSource, Question, Wanted};
use super::state::Origin;
use crate::Engine;

/// What a load made, and what the next one must know of it.
pub(super) struct Load {
    pub(super) dictionary: Arc<dyn Dictionary>,
    pub(super) origin: Origin,
    /// What brings it into memory, if it answers from a file that will not be kept.
    pub(super) incoming: Option<Incoming>,
}

/// The same, before a file that it was loaded into has its name.
pub(super) struct Loaded {
    pub(super) image: LoadedImage,
    pub(super) origin: Origin,
    pub(super) incoming: Option<Incoming>,
    /// Why it took more memory than it should have.
    pub(super) detour_failure: Option<Error>,
}

/// Loads what `definition` says. With a `previous` version whose source tells what changed since, only
/// that is read. All rows are loaded into the `file`, if there is one and they are many. `progress` tells on
/// the way; errors of memory call the dictionary `name`.
pub(super) fn load(
    definition: &Arc<Definition>,
    (uuid, name): (Uuid, String),
    mut question: Question,
    previous: Option<(&Arc<dyn Dictionary>, &Origin)>,
    file: Option<&PersistedFile>,
    progress: &LoadProgress,
) -> Result<Loaded> {
    if definition.spec.layout.kind.asks_source() {
        return asking(definition, (uuid, name), &question);
    }
    if let Some((current, _)) = previous {
        question.expect_rows_like(current);
    }
    // Before the rows: what changes meanwhile makes the next answer another one.
    let revision = definition.source.revision(&question)?;
    let started_seconds = (question.engine.clock().now_us() / 1_000_000) as i64;
    let since = previous.and_then(|(current, origin)| Some((current, origin.watermark?)));
    let wanted = since.map_or(Wanted::All, |(_, watermark)| Wanted::Since(watermark));
    let memory = LoadMemory::new(question.engine.memory(), name, previous.map(|(current, _)| current));
    let mut rows = Rows::ask(definition, &question, wanted, progress, memory)?;
    let made = match since {
        Some((current, _)) => match update(&definition.spec, current, &mut rows)? {
            Updated::Few(version) => Made::in_memory(version),
            Updated::Many(version) => join(definition, &question.engine, file, &version, &mut rows)?,
        },
        None => make(definition, &question, previous.map(|(current, _)| current), file, &mut rows)?,
    };
    let Made { image, incoming, detour_failure } = made;
    if let LoadedImage::InMemory(version) = &image {
        let current = previous.map(|(current, _)| current);
        let goes_on = version.changes().is_some() || current.is_some_and(|it| Arc::ptr_eq(it, version));
        let beside = if goes_on || incoming.is_some() { Beside::Nothing } else { Beside::Current };
        rows.memory().become_version(version, beside)?;
    }
    if definition.settings.require_nonempty && image.element_count() == 0 {
        return Err(is_empty());
    }
    let watermark = definition.source.update_field().and_then(|field| {
        let newest =
            if definition.source.tells_update_time() { rows.newest() } else { Some(started_seconds) };
        // A row from the future must not hide those of the present.
        let lag = i64::try_from(field.lag_seconds).unwrap_or(i64::MAX);
        let newest = newest.map(|newest| newest.min(started_seconds).saturating_sub(lag));
        newest.into_iter().chain(since.map(|(_, watermark)| watermark)).max()
    });
    Ok(Loaded { image, origin: Origin { revision, watermark }, incoming, detour_failure })
}

/// A dictionary that asks the source for the keys that it does not have.
fn asking(definition: &Arc<Definition>, (uuid, name): (Uuid, String), question: &Question) -> Result<Loaded> {
    let (columns, settings) = (question.columns.clone(), question.settings.clone());
    let exact_keys = question.exact_keys;
    let (database, asking) = (question.database.clone(), Arc::clone(&question.asking));
    let (defaults, expressions) = (Arc::clone(&question.defaults), Arc::clone(&question.expressions));
    let keyed = KeyedSource::new(&question.engine, Arc::clone(&definition.source), move |engine| Question {
        engine: Arc::clone(engine),
        database: database.clone(),
        columns: columns.clone(),
        exact_keys,
        expressions: Arc::clone(&expressions),
        settings: settings.clone(),
        asking: Arc::clone(&asking),
        tombstone: None,
        defaults: Arc::clone(&defaults),
    });
    let (mut spec, source) = (definition.spec.clone(), Arc::new(keyed));
    let dictionary = if spec.layout.kind.is_direct() {
        build_direct(spec, source)?
    } else {
        if spec.layout.kind.is_ssd() {
            let path = spec.layout.ssd.path.to_string_lossy().into_owned();
            spec.layout.ssd.path = question.engine.dictionary_path(&path)?;
        }
        let directories = Arc::clone(question.engine.cache_directories());
        let lock = move |dir: &Path| directories.take(dir, uuid, &name);
        let surroundings = CacheSurroundings {
            source,
            clock: question.engine.shared_clock(),
            storage: Arc::new(RealStorage),
            lock: Some(Arc::new(lock)),
            lifetime_min_seconds: definition.lifetime.min_seconds,
            lifetime_max_seconds: definition.lifetime.max_seconds,
        };
        build_cache(spec, surroundings)?
    };
    let image = LoadedImage::InMemory(dictionary);
    Ok(Loaded { image, origin: Origin::default(), incoming: None, detour_failure: None })
}

/// A version of all rows.
struct Made {
    image: LoadedImage,
    incoming: Option<Incoming>,
    detour_failure: Option<Error>,
}

impl Made {
    fn in_memory(dictionary: Arc<dyn Dictionary>) -> Made {
        Made { image: LoadedImage::InMemory(dictionary), incoming: None, detour_failure: None }
    }
}

/// Every row, so that a large version does not take the memory of a second one if that can be helped.
fn make(
    definition: &Definition,
    question: &Question,
    previous: Option<&Arc<dyn Dictionary>>,
    file: Option<&PersistedFile>,
    rows: &mut Rows<'_>,
) -> Result<Made> {
    let mut detour_failure = None;
    if let Some(current) = previous.filter(|current| detour::suits(definition, current)) {
        let form = rows.form();
        go_through_files(rows.memory(), &definition.spec);
        let taken = detour::take(&question.engine, &definition.spec, current, &mut rows.blocks(), form);
        match taken {
            Ok((dictionary, incoming)) => return Ok(Made { incoming, ..Made::in_memory(dictionary) }),
            Err(error) if rows.have_failed() => return Err(error),
            Err(error) => detour_failure = Some(error),
        }
        rows.ask_again(definition, question)?;
    }
    let image = all(definition, question, file, rows)?;
    Ok(Made { image, incoming: None, detour_failure })
}

/// The rows of a version that answers with many changes, as a version of their own: by way of a file if it is large, so
/// that beside it and its changes there is never a copy.
fn join(
    definition: &Definition,
    engine: &Engine,
    file: Option<&PersistedFile>,
    version: &Arc<dyn Dictionary>,
    rows: &mut Rows<'_>,
) -> Result<Made> {
    let (spec, mut detour_failure) = (&definition.spec, None);
    if let Some(file) = file.filter(|_| spec.layout.kind.is_storable()) {
        go_through_files(rows.memory(), spec);
        let image = file.load(engine, spec, &mut rows.joined(version)?, RowForm::Plain)?;
        return Ok(Made { image, incoming: None, detour_failure });
    }
    if detour::suits(definition, version) {
        go_through_files(rows.memory(), spec);
        let taken = detour::take(engine, spec, version, &mut rows.joined(version)?, RowForm::Plain);
        match taken {
            Ok((dictionary, incoming)) => return Ok(Made { incoming, ..Made::in_memory(dictionary) }),
            Err(error) if rows.have_failed() => return Err(error),
            Err(error) => detour_failure = Some(error),
        }
        rows.memory().unbound();
    }
    let joined = build_rows(spec, RowForm::Plain, &mut rows.joined(version)?)?;
    Ok(Made { detour_failure, ..Made::in_memory(joined) })
}

fn go_through_files(memory: &mut LoadMemory, spec: &DictionarySpec) {
    memory.bound(LoadBounds::default(), 0, spec.key_bytes_in_memory());
}

/// Every row, without the keys that a later row deletes.
fn all(
    definition: &Definition,
    question: &Question,
    file: Option<&PersistedFile>,
    rows: &mut Rows<'_>,
) -> Result<LoadedImage> {
    let spec = &definition.spec;
    if let Some(file) = file.filter(|_| spec.layout.kind.is_storable()) {
        // Into the next file, while the old one answers.
        let form = rows.form();
        go_through_files(rows.memory(), spec);
        return file.load(&question.engine, spec, &mut rows.blocks(), form);
    }
    let form = rows.form();
    build_rows(spec, form, &mut rows.blocks()).map(LoadedImage::InMemory)
}

fn is_empty() -> Error {
    Error::new(ErrorCode::DictionaryIsEmpty, "the source has no rows, and require_nonempty is set")
}

/// A directory of its own for rows on their way into a dictionary.
pub(super) fn piles_dir(engine: &Engine) -> PathBuf {
    engine.data_dir().join("tmp").join(format!("dictionary-{}", Uuid::new_v4()))
}
