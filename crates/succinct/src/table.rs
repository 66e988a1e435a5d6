//! An open table: its places, and changes of its rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, RecordBatch};
use basalt_base::fs::{Storage, publish_empty_dir};
use basalt_base::{Result, bail};
use basalt_kv::{Database, KvOptions, Load, OverRocksdb};
use basalt_segment::BuildOptions;
use basalt_segment::file::{Access, SpoolPlace};
use basalt_segment::key::KEY_BYTES_MAX;
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use self_cell::self_cell;

use crate::generation::Generation;
use crate::recorded::{self, RecordedSettings, RecordedTable};
use crate::records::{self, SegmentRecord, generation_of, retired};
use crate::snapshot::Snapshot;
use crate::spec::TableSpec;
use crate::stored::{StoredSegment, number_of};
use crate::version::Version;
use crate::waiting;
use crate::work::Failures;

/// The directories below the table's own.
pub(crate) const DATABASE_DIRECTORY: &str = "rocksdb";
pub(crate) const SEGMENTS_DIRECTORY: &str = "segments";
const SPOOLS_DIRECTORY: &str = "spools";

/// How a table keeps its rows.
#[derive(Clone)]
pub struct TableOptions {
    pub storage: Arc<dyn Storage>,
    pub kv: KvOptions,
    /// How values are read out of segments.
    pub access: Access,
    /// What the build of a segment may use.
    pub build: BuildOptions,
    /// A generation with more bytes of encoded rows than this is frozen.
    pub segment_bytes: u64,
    /// With more segments than this, some are merged.
    pub segments_max: usize,
    /// A segment with a larger share of shadowed rows than this is written anew.
    pub dead_share_max: f64,
}

/// A table of rows by key. Thread-safe; all methods may run concurrently.
pub struct Table {
    dir: PathBuf,
    pub(crate) options: TableOptions,
    pub(crate) database: Arc<Database>,
    spec: RwLock<Arc<TableSpec>>,
    version: RwLock<Arc<Version>>,
    /// A change takes it shared to be committed. A freeze, and a change that reads what it changes, take it alone.
    pub(crate) changes: RwLock<()>,
    /// One build or merge runs at a time.
    pub(crate) work: Mutex<()>,
    pub(crate) failures: Mutex<Failures>,
    next_number: AtomicU64,
    pub(crate) spools: SpoolPlace,
}

/// A change in progress. Dropping it without [`Change::commit`] cancels it.
pub struct Change {
    table: Arc<Table>,
    load: Load,
    alone: Option<Alone>,
    is_empty: bool,
}

type ChangesGuard<'a> = RwLockWriteGuard<'a, ()>;

self_cell!(
    /// Keeps other changes of the table waiting.
    struct Alone {
        owner: Arc<Table>,

        #[not_covariant]
        dependent: ChangesGuard,
    }
);

impl Table {
    /// Opens the table in `dir`, and creates it if there is none. A table whose files lack acknowledged changes is
    /// refused.
    pub fn open(dir: &Path, spec: TableSpec, options: TableOptions) -> Result<Table> {
        spec.check()?;
        let storage = &options.storage;
        let segments_dir = dir.join(SEGMENTS_DIRECTORY);
        let spools_dir = dir.join(SPOOLS_DIRECTORY);
        publish_empty_dir(storage.as_ref(), &segments_dir)?;
        // First, because a table that another process has open is refused here.
        let database = Arc::new(Database::open(&Table::rocksdb_dir(dir), options.kv.clone())?);
        if storage.exists(&spools_dir)? {
            storage.remove_dir_all(&spools_dir)?;
        }
        storage.create_dir_all(&spools_dir)?;
        let recorded = database.records(b"")?;
        record_columns(&database, &recorded, &spec, &options)?;
        let segments = records::segments(dir, &recorded)?;
        let unrecorded = remove_unrecorded(storage.as_ref(), &segments_dir, &segments)?;
        let open = |record: &SegmentRecord| {
            StoredSegment::open(storage, &segments_dir, *record, &spec, options.access).map(Arc::new)
        };
        let opened = segments.iter().map(open).collect::<Result<Vec<_>>>()?;
        let generations = generations(&database, &records::retired_generations(&recorded), &segments)?;
        let numbers = segments.iter().map(|segment| segment.number);
        let next_number = numbers.chain(unrecorded).max().map_or(1, |last| last + 1);
        Ok(Table {
            dir: dir.to_owned(),
            spools: SpoolPlace::new(Arc::clone(storage), spools_dir),
            options,
            database,
            spec: RwLock::new(Arc::new(spec)),
            version: RwLock::new(Arc::new(Version::new(generations, opened))),
            changes: RwLock::default(),
            work: Mutex::default(),
            failures: Mutex::default(),
            next_number: AtomicU64::new(next_number),
        })
    }

    /// RocksDB's directory of the table in `dir`.
    pub fn rocksdb_dir(dir: &Path) -> PathBuf {
        dir.join(DATABASE_DIRECTORY)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn spec(&self) -> Arc<TableSpec> {
        Arc::clone(&self.spec.read())
    }

    /// Adds columns at the end: `spec` has the present columns, followed by new ones. Rows written before read the new
    /// columns' defaults.
    pub fn add_columns(&self, spec: TableSpec) -> Result<()> {
        spec.check()?;
        let mut current = self.spec.write();
        if !spec.adds_columns_to(&current) {
            bail!(
                NotImplemented,
                "changing {} other than by columns added at the end is not implemented",
                self.dir.display()
            );
        }
        record_columns(&self.database, &[], &spec, &self.options)?;
        *current = Arc::new(spec);
        Ok(())
    }

    /// The table as it is now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(Snapshot::new(self.version(), || self.database.snapshot(), || self.spec()))
    }

    /// Begins a change that may use up to `threads` threads besides the caller's.
    pub fn begin_change(self: &Arc<Self>, threads: usize) -> Result<Change> {
        let load = Load::begin(&self.database, Arc::clone(&self.spec().rows), threads)?;
        let load = load.with_keys_up_to(KEY_BYTES_MAX);
        Ok(Change { table: Arc::clone(self), load, alone: None, is_empty: true })
    }

    /// Like [`Table::begin_change`]. Other changes wait from here on until it is committed or dropped, so that the rows
    /// that are read meanwhile are those that are changed.
    pub fn begin_change_alone(self: &Arc<Self>, threads: usize) -> Result<Change> {
        let alone = Alone::try_new(Arc::clone(self), |table| waiting::alone(&table.changes))?;
        Ok(Change { alone: Some(alone), ..self.begin_change(threads)? })
    }

    /// Removes all rows.
    pub fn truncate(&self) -> Result<()> {
        let _no_work = waiting::exclusive(&self.work)?;
        let _alone = waiting::alone(&self.changes)?;
        let old = self.version();
        let next = Arc::new(Generation::new(&self.database, old.writing().number + 1, 0));
        self.database.create_family(next.family())?;
        let written = old.generations.iter().map(|generation| (retired(generation.number), Vec::new()));
        let removed = old.segments.iter().map(|stored| SegmentRecord::name(stored.number()));
        self.database.write_records(&written.collect::<Vec<_>>(), &removed.collect::<Vec<_>>())?;
        self.install(|_| Version::new(vec![next], Vec::new()));
        old.generations.iter().for_each(|generation| generation.retire());
        old.segments.iter().for_each(|stored| stored.retire());
        Ok(())
    }

    pub(crate) fn version(&self) -> Arc<Version> {
        Arc::clone(&self.version.read())
    }

    /// Replaces the version by what `change` makes of it.
    pub(crate) fn install(&self, change: impl FnOnce(&Version) -> Version) {
        let mut version = self.version.write();
        let new = Arc::new(change(&version));
        // Dropped without the lock: the last user of a place removes its files.
        let old = std::mem::replace(&mut *version, new);
        drop(version);
        drop(old);
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn segments_dir(&self) -> PathBuf {
        self.dir.join(SEGMENTS_DIRECTORY)
    }
}

impl OverRocksdb for Table {
    fn has_stopped(&self) -> bool {
        self.database.ran_out_of_space() || self.database.is_read_only()
    }

    fn is_read(&self) -> bool {
        // The table and its generations have the database, and snapshots do.
        Arc::strong_count(&self.database) > self.version().generations.len() + 1
    }
}

impl Change {
    /// Adds every row of `batch`, which has all columns in order: they replace the rows with their keys.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.is_empty &= batch.num_rows() == 0;
        self.load.write(batch)
    }

    /// Deletes the rows with `keys`: one array for each key column. Missing keys are ignored.
    pub fn delete(&mut self, keys: &[ArrayRef]) -> Result<()> {
        self.is_empty &= keys.first().is_none_or(|column| column.is_empty());
        self.load.delete(keys)
    }

    /// Makes the change. Of several changes of one key the last wins. Atomic, and durable on return.
    pub fn commit(self) -> Result<()> {
        if self.is_empty {
            return Ok(());
        }
        let table = &self.table;
        let committing = match self.alone {
            Some(_) => None,
            None => Some(waiting::shared(&table.changes)?),
        };
        let writing = Arc::clone(table.version().writing());
        // Readers must not take the generation for an empty one from now on.
        writing.count_bytes(self.load.bytes());
        self.load.commit_to(writing.family())?;
        drop((committing, self.alone));
        if table.is_due(&writing) {
            // If it fails, the generation grows, and the next change tries again.
            let _ = table.freeze();
        }
        Ok(())
    }
}

/// Records the columns and the settings, if they are not those that are recorded.
fn record_columns(
    database: &Database,
    recorded: &[(Vec<u8>, Vec<u8>)],
    spec: &TableSpec,
    options: &TableOptions,
) -> Result<()> {
    let settings = RecordedSettings {
        segment_bytes: options.segment_bytes,
        segments_max: options.segments_max as u64,
        dead_share_max: options.dead_share_max,
    };
    let record = (recorded::NAME.to_vec(), RecordedTable::of(spec, settings).encode());
    if database.is_read_only() || recorded.contains(&record) {
        return Ok(());
    }
    database.write_records(&[record], &[])
}

/// The generations that are not retired, the newest first; at least one. Those that are retired are dropped.
fn generations(
    database: &Arc<Database>,
    retired_ones: &[u64],
    segments: &[SegmentRecord],
) -> Result<Vec<Arc<Generation>>> {
    let mut numbers: Vec<u64> = database.families().iter().filter_map(|name| generation_of(name)).collect();
    let newest = numbers.iter().chain(retired_ones).copied();
    let newest = newest.chain(segments.iter().map(|segment| segment.newest)).max().unwrap_or_default();
    if !database.is_read_only() {
        for number in numbers.iter().filter(|number| retired_ones.contains(number)) {
            database.drop_family(&records::family(*number))?;
        }
        database
            .write_records(&[], &retired_ones.iter().map(|&number| retired(number)).collect::<Vec<_>>())?;
    }
    numbers.retain(|number| !retired_ones.contains(number));
    numbers.sort_unstable_by_key(|&number| std::cmp::Reverse(number));
    let open = |number: &u64| {
        let family = records::family(*number);
        let bytes = match database.family_rows(&family)? {
            0 => 0,
            _ => database.family_bytes(&family)?.max(1),
        };
        Ok(Arc::new(Generation::new(database, *number, bytes)))
    };
    let mut generations = numbers.iter().map(open).collect::<Result<Vec<_>>>()?;
    if generations.is_empty() {
        let first = Generation::new(database, newest + 1, 0);
        database.create_family(first.family())?;
        generations.push(Arc::new(first));
    }
    Ok(generations)
}

/// Removes the files that no record names: a build did not end, or a merge has replaced them. Returns their numbers.
fn remove_unrecorded(storage: &dyn Storage, dir: &Path, recorded: &[SegmentRecord]) -> Result<Vec<u64>> {
    let mut removed = Vec::new();
    for entry in storage.list(dir)? {
        let number = number_of(&entry.name);
        if entry.is_dir || recorded.iter().any(|segment| Some(segment.number) == number) {
            continue;
        }
        storage.remove_file(&dir.join(&entry.name))?;
        removed.extend(number);
    }
    Ok(removed)
}
