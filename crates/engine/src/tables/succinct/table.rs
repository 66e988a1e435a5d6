//! The engine: a table of the crate `succinct` as SQL sees it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::fs::publish_empty_dir;
use basalt_base::{Result, bail};
use basalt_kv::{KvOptions, OpenFor, Reopening};
use basalt_parts::PartSelection;
use basalt_segment::BuildOptions;
use basalt_segment::file::Access;
use basalt_succinct::{PlaceStatistics, Snapshot, Table as Storage, TableOptions, TableSpec};
use parking_lot::RwLock;

use super::super::capability::{
    ChangeableTable, CheckedPart, KeyedTable, OptimizeRequest, PlacesTable, RowsChange, StoredTable,
};
use super::super::rows_by_key::refused_default;
use super::super::table::{ColumnChange, InsertSettings, InsertSink, Table};
use super::super::{Found, TableDefinition, TableOpener};
use super::alter::check_alter;
use super::change::{ChangedRows, InsertedRows};
use super::spec::spec_of;
use super::watch::StepWatch;
use crate::scan::{BlockSource, ScanRequest, succinct_source};
use crate::settings::SuccinctSettings;

pub(crate) const ENGINE: &str = "Succinct";

/// A table of generations and segments.
pub(crate) struct SuccinctTable {
    definition: RwLock<Arc<TableDefinition>>,
    /// The columns with which the storage is opened again.
    spec: Arc<RwLock<TableSpec>>,
    storage: Reopening<Storage>,
    dir: PathBuf,
    key: Vec<usize>,
}

impl SuccinctTable {
    pub(crate) fn open(
        opener: &TableOpener,
        dir: PathBuf,
        definition: Arc<TableDefinition>,
    ) -> Result<SuccinctTable> {
        let create = &definition.create;
        if create.order_by.is_some() {
            bail!(BadArguments, "engine {ENGINE} takes PRIMARY KEY, not ORDER BY");
        }
        if create.partition_by.is_some() || create.sample_by.is_some() {
            bail!(BadArguments, "engine {ENGINE} takes neither PARTITION BY nor SAMPLE BY");
        }
        if create.engine.as_ref().is_some_and(|engine| !engine.args.is_empty()) {
            bail!(BadArguments, "engine {ENGINE} takes no arguments; it has SETTINGS");
        }
        let settings = SuccinctSettings::of_clause(&create.settings)?;
        let spec = spec_of(&definition)?;
        let key = spec.rows.key.clone();
        let options = TableOptions {
            storage: Arc::clone(&opener.storage),
            kv: KvOptions { cache: opener.cache.clone(), ..KvOptions::default() },
            access: if settings.access == "read" { Access::Read } else { Access::Mapped },
            build: BuildOptions {
                memory_bytes: usize::try_from(settings.build_memory_bytes).unwrap_or(usize::MAX),
                threads: usize::try_from(settings.build_threads).unwrap_or(1),
            },
            segment_bytes: settings.segment_bytes,
            segments_max: usize::try_from(settings.max_segments).unwrap_or(usize::MAX),
            dead_share_max: settings.max_dead_share,
        };
        publish_empty_dir(opener.storage.as_ref(), &dir)?;
        let spec = Arc::new(RwLock::new(spec));
        let (path, columns) = (dir.clone(), Arc::clone(&spec));
        let storage = Reopening::open(&Storage::rocksdb_dir(&dir), move |what| {
            let kv = KvOptions { read_only: what == OpenFor::Reading, ..options.kv.clone() };
            Storage::open(&path, columns.read().clone(), TableOptions { kv, ..options.clone() })
        })?;
        Ok(SuccinctTable { definition: RwLock::new(definition), spec, storage, dir, key })
    }

    fn snapshot(&self) -> Result<Arc<Snapshot>> {
        Ok(self.storage.readable()?.snapshot())
    }
}

impl Table for SuccinctTable {
    fn engine(&self) -> &'static str {
        ENGINE
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition.read())
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        *self.definition.write() = definition;
        Ok(())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        succinct_source(self.snapshot()?, request)
    }

    fn filters_rows(&self) -> bool {
        true
    }

    fn begin_insert(&self, settings: &InsertSettings) -> Result<Option<Box<dyn InsertSink + '_>>> {
        Ok(Some(Box::new(InsertedRows(self.storage.writable()?.begin_change(settings.threads)?))))
    }

    fn truncate(&self) -> Result<()> {
        self.storage.writable()?.truncate()
    }

    fn check_definition(&self, definition: &TableDefinition) -> Result<()> {
        match refused_default(&self.definition(), definition)? {
            Some(what) => Err(self.refuses(&what)),
            None => Ok(()),
        }
    }

    fn alter(&self, changes: &[ColumnChange], definition: Arc<TableDefinition>) -> Result<()> {
        check_alter(&self.definition(), changes, &definition).map_err(|what| self.refuses(&what))?;
        let spec = spec_of(&definition)?;
        // Held over all, so that a change begins with the columns of the definition.
        let mut current = self.definition.write();
        self.storage.readable()?.add_columns(spec.clone())?;
        *self.spec.write() = spec;
        *current = definition;
        Ok(())
    }

    fn total_rows(&self) -> Option<u64> {
        let snapshot = self.snapshot().ok()?;
        if snapshot.has_fresh_rows() { None } else { snapshot.rows_in_segments().ok() }
    }

    fn total_bytes(&self) -> Option<u64> {
        self.storage.readable().ok()?.bytes_on_disk().ok()
    }

    fn data_path(&self) -> Option<PathBuf> {
        Some(self.dir.clone())
    }

    fn as_keyed(&self) -> Option<&dyn KeyedTable> {
        Some(self)
    }

    fn as_changeable(&self) -> Option<&dyn ChangeableTable> {
        Some(self)
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn as_places(&self) -> Option<&dyn PlacesTable> {
        Some(self)
    }
}

impl KeyedTable for SuccinctTable {
    fn lookup(&self, keys: &[ArrayRef], columns: &[usize], threads_max: usize) -> Result<Found> {
        self.snapshot()?.get(keys, columns, threads_max)
    }

    fn prefers_large_blocks(&self) -> bool {
        true
    }

    fn lookup_key(&self) -> &[usize] {
        &self.key
    }
}

impl StoredTable for SuccinctTable {
    fn optimize(&self, request: &OptimizeRequest<'_>) -> Result<()> {
        if request.deduplicate.is_some() {
            return Err(self.refuses("OPTIMIZE ... DEDUPLICATE"));
        }
        let watch = StepWatch::new(request.list_step, request.control);
        self.storage.writable()?.optimize(request.is_final, &watch)
    }

    fn check(&self, which: &PartSelection, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<CheckedPart>> {
        if !matches!(which, PartSelection::All) {
            return Err(self.refuses("CHECK TABLE of a partition or part"));
        }
        let checked = self.storage.readable()?.check(go_on)?;
        Ok(checked.into_iter().map(|(name, damage)| CheckedPart { name, damage }).collect())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.storage.readable().map(|storage| storage.counters()).unwrap_or_default()
    }
}

impl PlacesTable for SuccinctTable {
    fn places(&self) -> Result<Vec<PlaceStatistics>> {
        self.storage.readable()?.places()
    }

    fn last_failure(&self) -> Option<String> {
        self.storage.readable().ok()?.last_failure()
    }

    fn copy_to(&self, dir: &Path) -> Result<()> {
        self.storage.readable()?.copy_to(dir)
    }

    fn step(&self, watch: &StepWatch<'_>) -> Result<bool> {
        // A table that has stopped is opened again by the next change, not by background work.
        self.storage.readable()?.step(watch)
    }
}

impl ChangeableTable for SuccinctTable {
    fn begin_change(&self, threads: usize) -> Result<Box<dyn RowsChange + '_>> {
        Ok(Box::new(ChangedRows(self.storage.writable()?.begin_change_alone(threads)?)))
    }
}
