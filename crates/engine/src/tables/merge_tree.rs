//! `MergeTree`: sorted rows in columnar parts, read by granules that the key leaves.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Column, Result, bail};
use basalt_parts::{InsertOptions, MergeMode, OptimizeOptions, PartSpec, PartStats, TableParts, WorkControl};
use parking_lot::RwLock;

use super::codecs::{chain_of_column, default_chain};
use super::fill::fill_of;
use super::final_table::FinalTable;
use super::merge_mode::{engine_name, merge_mode};
use super::{ColumnChange, OptimizeRequest, Table, TableDefinition, TableOpener};
use crate::scan::{BlockSource, PartsSource, ScanRequest, TableCaches};
use crate::settings::MergeTreeSettings;

/// A table of parts.
pub(crate) struct MergeTreeTable {
    definition: RwLock<Arc<TableDefinition>>,
    settings: RwLock<MergeTreeSettings>,
    parts: TableParts,
    caches: TableCaches,
}

impl MergeTreeTable {
    pub(crate) fn open(
        opener: &TableOpener,
        dir: PathBuf,
        definition: Arc<TableDefinition>,
    ) -> Result<MergeTreeTable> {
        let settings = MergeTreeSettings::of_clause(&definition.create.settings)?;
        let spec = spec_of(&definition, &settings)?;
        let parts = TableParts::open(Arc::clone(&opener.storage), dir.join("parts"), spec)?;
        parts.set_insert_threads(opener.insert_threads);
        Ok(MergeTreeTable {
            definition: RwLock::new(definition),
            settings: RwLock::new(settings),
            parts,
            caches: TableCaches { blocks: Arc::clone(&opener.block_cache), misses: Arc::default() },
        })
    }

    pub(super) fn parts(&self) -> &TableParts {
        &self.parts
    }

    /// The columns of DEDUPLICATE BY, which must contain the key.
    fn deduplicate_columns(&self, names: &[String]) -> Result<Vec<usize>> {
        let definition = self.definition();
        let spec = self.parts.spec();
        let columns: Vec<usize> = if names.is_empty() {
            (0..spec.columns.len()).collect()
        } else {
            let column = |name: &String| match spec.columns.position(name) {
                Some(column) => Ok(column),
                None => bail!(
                    NoSuchColumnInTable,
                    "there is no column with name `{name}` in table {}",
                    definition.full_name()
                ),
            };
            names.iter().map(column).collect::<Result<_>>()?
        };
        let (key, _) = definition.sort_key()?;
        if let Some(missing) = key.iter().find(|name| !names.is_empty() && !names.contains(name)) {
            bail!(
                ThereIsNoColumn,
                "DEDUPLICATE BY must include all columns of the table's ORDER BY, but `{missing}` is missing"
            );
        }
        Ok(columns)
    }
}

/// Columns, codecs, key and granule size from the statement.
fn spec_of(definition: &TableDefinition, settings: &MergeTreeSettings) -> Result<PartSpec> {
    let create = &definition.create;
    if create.order_by.is_none() && create.primary_key.is_none() {
        bail!(BadArguments, "engine MergeTree needs ORDER BY; ORDER BY tuple() keeps the order of insertion");
    }
    let columns = definition.stored();
    let default = default_chain(settings)?;
    let codecs = definition.stored_definitions().map(|column| chain_of_column(column, &default)).collect();
    let (key, primary_key_len) = definition.sort_key()?;
    if let Some(name) = key.iter().find(|name| definition.column(name).is_some_and(|c| c.ty.accepts_null())) {
        bail!(IllegalColumn, "the key column `{name}` is Nullable; a key must have a value");
    }
    let sort_key = key.iter().filter_map(|name| columns.position(name)).collect();
    let fills = definition.stored_definitions().map(fill_of).collect::<Result<_>>()?;
    let mode = merge_mode(definition, &columns, &key)?;
    Ok(PartSpec {
        columns,
        codecs,
        sort_key,
        primary_key_len,
        granule_rows: settings.index_granularity as usize,
        wide_bytes_min: settings.min_bytes_for_wide_part,
        wide_rows_min: settings.min_rows_for_wide_part,
        fills,
        mode,
    })
}

impl Table for MergeTreeTable {
    fn engine(&self) -> &'static str {
        engine_name(&self.definition().create)
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

    fn insert(&self, block: RecordBatch, options: &InsertOptions) -> Result<()> {
        let (parts, parts_max) = (self.parts.snapshot().len(), self.settings.read().parts_to_throw_insert);
        if parts as u64 >= parts_max {
            bail!(
                TooManyParts,
                "table `{}` has {parts} parts, at most {parts_max}; insert larger blocks, or wait for merges",
                self.definition().full_name()
            );
        }
        self.parts.insert_with(block, options)?;
        Ok(())
    }

    fn truncate(&self) -> Result<()> {
        self.parts.truncate()?;
        self.caches.misses.forget();
        Ok(())
    }

    fn has_final(&self) -> bool {
        self.parts.spec().mode != MergeMode::Ordinary
    }

    fn as_final(self: Arc<Self>) -> Result<Arc<dyn Table>> {
        if !self.has_final() {
            bail!(IllegalFinal, "storage {} doesn't support FINAL", self.engine());
        }
        Ok(Arc::new(FinalTable::new(self)))
    }

    fn optimize(&self, request: &OptimizeRequest) -> Result<()> {
        let deduplicate = request.deduplicate.as_ref().map(|names| self.deduplicate_columns(names));
        let options =
            OptimizeOptions { partition: request.partition.clone(), deduplicate: deduplicate.transpose()? };
        let control = WorkControl::default();
        if request.is_final {
            return Ok(self.parts.optimize_final(&options, &control)?);
        }
        self.parts.optimize(&options, &control)?;
        Ok(())
    }

    fn alter(&self, change: &ColumnChange, definition: Arc<TableDefinition>) -> Result<()> {
        match change {
            ColumnChange::Add { name } => {
                let stored = definition.stored();
                // ALIAS and EPHEMERAL columns are in no part.
                if let Some(position) = stored.position(name) {
                    let column = Column::new(name, stored[position].ty.clone());
                    let defined = definition.column(name);
                    let default = default_chain(&self.settings)?;
                    let codec = defined.map_or(default.clone(), |column| chain_of_column(column, &default));
                    let fill = defined.map(fill_of).transpose()?.flatten();
                    let has_default = defined.is_some_and(|column| {
                        column.default.as_ref().is_some_and(|default| default.expr.is_some())
                    });
                    if has_default && fill.is_none() && self.parts.row_count() > 0 {
                        return Err(
                            self.refuses("ADD COLUMN with a DEFAULT that is not constant, beside rows,")
                        );
                    }
                    self.parts.add_column(column, codec, fill, position)?;
                }
            }
            ColumnChange::Drop { name } => {
                if self.parts.spec().columns.position(name).is_some() {
                    self.parts.drop_column(name)?;
                }
            }
            ColumnChange::Rename { .. } => return Err(self.refuses("RENAME COLUMN")),
            ColumnChange::Describe { .. } => {
                let settings = MergeTreeSettings::of_clause(&definition.create.settings)?;
                self.parts.change_spec(spec_of(&definition, &settings)?)?;
                *self.settings.write() = settings;
            }
        }
        self.caches.misses.forget();
        self.set_definition(definition)
    }

    fn parts_of(&self) -> Option<&TableParts> {
        Some(&self.parts)
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
