//! `MergeTree`: sorted rows in columnar parts, read by granules that the key leaves.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Result, bail};
use basalt_parts::{PartSpec, PartStats, TableParts};
use parking_lot::{Mutex, RwLock};

use super::fill::fill_of;
use super::{ColumnChange, Table, TableDefinition, TableOpener};
use crate::scan::{BlockSource, PartsSource, ScanRequest, TableCaches};
use crate::settings::MergeTreeSettings;

/// A table of parts.
pub(crate) struct MergeTreeTable {
    definition: RwLock<Arc<TableDefinition>>,
    settings: MergeTreeSettings,
    parts: TableParts,
    caches: TableCaches,
    /// One merge at a time: by the background worker or by OPTIMIZE.
    merging: Mutex<()>,
    cancel: AtomicBool,
}

impl MergeTreeTable {
    pub(crate) fn open(
        opener: &TableOpener,
        dir: PathBuf,
        definition: Arc<TableDefinition>,
    ) -> Result<MergeTreeTable> {
        if let Some(engine) = &definition.create.engine
            && !engine.args.is_empty()
        {
            bail!(NotImplemented, "arguments of engine MergeTree are not implemented");
        }
        let settings = MergeTreeSettings::of_clause(&definition.create.settings)?;
        let spec = spec_of(&definition, &settings)?;
        let parts = TableParts::open(Arc::clone(&opener.storage), dir.join("parts"), spec)?;
        parts.set_insert_threads(opener.insert_threads);
        Ok(MergeTreeTable {
            definition: RwLock::new(definition),
            settings,
            parts,
            caches: TableCaches { blocks: Arc::clone(&opener.block_cache), misses: Arc::default() },
            merging: Mutex::new(()),
            cancel: AtomicBool::new(false),
        })
    }

    fn merge_step(&self) -> Result<bool> {
        let _merging = self.merging.lock();
        match self.parts.select_merge() {
            Some(parts) => Ok(self.parts.merge(&parts, &self.cancel)?.is_some()),
            None => Ok(false),
        }
    }
}

/// Columns, codecs, key and granule size from the statement.
fn spec_of(definition: &TableDefinition, settings: &MergeTreeSettings) -> Result<PartSpec> {
    let create = &definition.create;
    if create.order_by.is_none() && create.primary_key.is_none() {
        bail!(BadArguments, "engine MergeTree needs ORDER BY; ORDER BY tuple() keeps the order of insertion");
    }
    let columns = definition.stored();
    let codecs =
        definition.stored_definitions().map(|column| column.codec.clone().unwrap_or_default()).collect();
    let (key, primary_key_len) = definition.sort_key()?;
    if let Some(name) = key.iter().find(|name| definition.column(name).is_some_and(|c| c.ty.accepts_null())) {
        bail!(IllegalColumn, "the key column `{name}` is Nullable; a key must have a value");
    }
    let sort_key = key.iter().filter_map(|name| columns.position(name)).collect();
    let fills = definition.stored_definitions().map(fill_of).collect::<Result<_>>()?;
    Ok(PartSpec {
        columns,
        codecs,
        sort_key,
        primary_key_len,
        granule_rows: settings.index_granularity as usize,
        wide_bytes_min: settings.min_bytes_for_wide_part,
        wide_rows_min: settings.min_rows_for_wide_part,
        fills,
    })
}

impl Table for MergeTreeTable {
    fn engine(&self) -> &'static str {
        "MergeTree"
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition.read())
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        *self.definition.write() = definition;
        Ok(())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        Ok(Arc::new(PartsSource::new(&self.parts, &self.caches, request)?))
    }

    fn filters_rows(&self) -> bool {
        true
    }

    fn insert(&self, block: RecordBatch) -> Result<()> {
        let (parts, parts_max) = (self.parts.snapshot().len(), self.settings.parts_to_throw_insert);
        if parts as u64 >= parts_max {
            bail!(
                TooManyParts,
                "table `{}` has {parts} parts, at most {parts_max}; insert larger blocks, or wait for merges",
                self.definition().full_name()
            );
        }
        self.parts.insert(block)?;
        Ok(())
    }

    fn truncate(&self) -> Result<()> {
        self.parts.truncate()?;
        self.caches.misses.forget();
        Ok(())
    }

    fn optimize(&self, is_final: bool) -> Result<()> {
        if is_final {
            let _merging = self.merging.lock();
            return Ok(self.parts.optimize_final(&self.cancel)?);
        }
        self.merge_step().map(|_| ())
    }

    fn alter(&self, change: &ColumnChange, definition: Arc<TableDefinition>) -> Result<()> {
        match change {
            ColumnChange::Add { name } => {
                let stored = definition.stored();
                // ALIAS and EPHEMERAL columns are in no part.
                if let Some(position) = stored.position(name) {
                    let column = Column::new(name, stored[position].ty.clone());
                    let defined = definition.column(name);
                    let codec = defined.and_then(|column| column.codec.clone());
                    let fill = defined.map(fill_of).transpose()?.flatten();
                    let has_default = defined.is_some_and(|column| {
                        column.default.as_ref().is_some_and(|default| default.expr.is_some())
                    });
                    if has_default && fill.is_none() && self.parts.row_count() > 0 {
                        return Err(
                            self.refuses("ADD COLUMN with a DEFAULT that is not constant, beside rows,")
                        );
                    }
                    self.parts.add_column(column, codec.unwrap_or_default(), fill, position)?;
                }
            }
            ColumnChange::Drop { name } => {
                if self.parts.spec().columns.position(name).is_some() {
                    self.parts.drop_column(name)?;
                }
            }
            ColumnChange::Rename { .. } => return Err(self.refuses("RENAME COLUMN")),
            ColumnChange::Describe { .. } => {}
        }
        self.caches.misses.forget();
        self.set_definition(definition)
    }

    fn work(&self) -> Result<bool> {
        self.merge_step()
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.parts.row_count())
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.parts.stats().iter().filter(|part| part.active).map(|part| part.bytes_on_disk).sum())
    }

    fn parts(&self) -> Vec<PartStats> {
        self.parts.stats()
    }

    fn data_path(&self) -> Option<PathBuf> {
        Some(self.parts.dir().to_owned())
    }
}
