//! `MergeTree`: sorted rows in columnar parts, of which scans read the granules that the key selects.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, bail};
use basalt_parts::{
    Conversions, Deduplication, DetachedPart, Fill, InsertOptions, OptimizeOptions, Part, PartSelection,
    PartSpec, PendingInsert, TableParts, TtlMergeLimits,
};
use parking_lot::RwLock;

use super::capability::{CheckedPart, OptimizeRequest, PartsTable, StoredTable};
use super::codecs::{chain_of_column, default_chain};
use super::conversion::TableConversions;
use super::fill::fill_of;
use super::merge_mode::{engine_name, merge_mode};
use super::merge_tree_version::MergeTreeVersion;
use super::part_log::LoggedTable;
use super::table::{ColumnChange, InsertSettings, InsertSink, Table};
use super::{ColumnDefinition, TableDefinition, TableOpener, key, ttl};
use crate::scan::{
    BlockSource, PartsSource, ScanRequest, TableCaches, TableExpression, with_columns_of_parts,
};
use crate::settings::MergeTreeSettings;

/// A table of parts.
pub(crate) struct MergeTreeTable {
    definition: Arc<RwLock<Arc<TableDefinition>>>,
    settings: RwLock<MergeTreeSettings>,
    parts: TableParts,
    caches: TableCaches,
    /// The stored columns and the virtual ones.
    scanned: RwLock<Columns>,
    /// The expressions of the keys and the indexes.
    expressions: RwLock<Arc<[TableExpression]>>,
    /// Held by an ALTER while the columns and the parts are of two versions.
    altering: RwLock<()>,
}

impl MergeTreeTable {
    pub(crate) fn open(
        opener: &TableOpener,
        dir: PathBuf,
        definition: Arc<TableDefinition>,
    ) -> Result<MergeTreeTable> {
        let settings = MergeTreeSettings::of_clause(&definition.create.settings)?;
        let spec = spec_of(&definition, &settings)?;
        let parts = TableParts::open_with_clock(
            Arc::clone(&opener.storage),
            Arc::clone(&opener.clock),
            dir.join("parts"),
            spec,
        )?;
        for part in parts.detached() {
            opener.log.say(&set_aside(&definition, part));
        }
        parts.set_insert_threads(opener.insert_threads);
        parts.share_space(&opener.space);
        if let Some(release) = opener.release_memory {
            parts.release_memory_by(release);
        }
        let expressions = RwLock::new(key::expressions(&definition)?);
        let scanned = RwLock::new(scanned(&definition, &parts));
        let definition = Arc::new(RwLock::new(definition));
        let log = Arc::clone(&opener.part_log);
        parts.observe(Arc::new(LoggedTable { log, definition: Arc::clone(&definition) }));
        Ok(MergeTreeTable {
            scanned,
            expressions,
            altering: RwLock::default(),
            definition,
            settings: RwLock::new(settings),
            parts,
            caches: TableCaches { blocks: Arc::clone(&opener.block_cache), conditions: Arc::default() },
        })
    }

    /// The version that a query reads, whatever comes later.
    fn version(self: &Arc<Self>) -> MergeTreeVersion {
        let _unaltered = self.altering.read();
        MergeTreeVersion {
            definition: self.definition(),
            scanned: self.scanned(),
            expressions: self.expressions(),
            // Read before the parts, so that entries for older parts do not count for newer ones.
            epoch: self.caches.conditions.epoch(),
            parts: self.parts.version(),
            caches: self.caches.clone(),
            table: Arc::<MergeTreeTable>::clone(self),
        }
    }

    /// TTL rules refer to columns, which the definition may have changed.
    fn set_ttl(&self, definition: &TableDefinition) -> Result<()> {
        let old = self.parts.spec();
        let ttl = ttl::rules(definition)?;
        if !ttl.is_empty() || !old.ttl.is_empty() {
            self.parts.change_spec(PartSpec { ttl, ..(*old).clone() })?;
        }
        Ok(())
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
        let key = definition.key_columns()?;
        if let Some(missing) = key.iter().find(|name| !names.is_empty() && !names.contains(name)) {
            bail!(
                ThereIsNoColumn,
                "DEDUPLICATE BY must include all columns of the table's ORDER BY, but `{missing}` is missing"
            );
        }
        Ok(columns)
    }

    /// Slows an INSERT down when merges do not keep up, and in the end refuses it.
    fn wait_for_merges(&self) -> Result<()> {
        let settings = self.settings.read().clone();
        let parts = self.parts.snapshot();
        let same_partition = |a: &Arc<Part>, b: &Arc<Part>| a.name().partition == b.name().partition;
        let most = parts.chunk_by(same_partition).map(<[_]>::len).max().unwrap_or(0) as u64;
        if parts.len() as u64 >= settings.max_parts_in_total {
            bail!(
                TooManyParts,
                "too many parts ({}) in all partitions of table `{}`: max_parts_in_total is {}; use fewer \
                 partitions, and insert larger blocks",
                parts.len(),
                self.definition().full_name(),
                settings.max_parts_in_total
            );
        }
        if settings.parts_to_throw_insert > 0 && most >= settings.parts_to_throw_insert {
            bail!(
                TooManyParts,
                "too many parts ({most}) in a partition of table `{}`: merges are slower than inserts; send \
                 fewer and larger INSERTs, or set async_insert = 1, or wait (parts_to_throw_insert is {})",
                self.definition().full_name(),
                settings.parts_to_throw_insert
            );
        }
        if settings.parts_to_delay_insert > 0 && most >= settings.parts_to_delay_insert {
            std::thread::sleep(settings.delay(most));
        }
        Ok(())
    }
}

/// The line about a part, or a record that belongs to the parts, that is damaged.
fn set_aside(definition: &TableDefinition, part: &DetachedPart) -> String {
    format!(
        "`{}` of table `{}` is damaged and was set aside in `detached` of {}: {}. The table has no row of it; bring it \
         back from a backup and ALTER TABLE .. ATTACH PART it, or ALTER TABLE .. DROP DETACHED PART it; see \
         system.detached_parts",
        part.name,
        definition.full_name(),
        part.dir.display(),
        part.reason
    )
}

/// The pending parts of an INSERT.
struct PartsSink<'a> {
    insert: PendingInsert<'a>,
}

impl InsertSink for PartsSink<'_> {
    fn write(&mut self, blocks: Vec<RecordBatch>) -> Result<()> {
        Ok(self.insert.write_blocks(blocks)?)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.insert.commit()?;
        Ok(())
    }
}

/// Columns, codecs, keys and granule size from the statement.
fn spec_of(definition: &TableDefinition, settings: &MergeTreeSettings) -> Result<PartSpec> {
    let create = &definition.create;
    if create.order_by.is_none() && create.primary_key.is_none() {
        bail!(
            NumberOfArgumentsDoesntMatch,
            "engine {} with arguments needs ORDER BY; ORDER BY tuple() keeps the order of insertion",
            engine_name(create)
        );
    }
    key::check_columns_known(definition)?;
    let default = default_chain(settings)?;
    let codecs = definition.stored_definitions().map(|column| chain_of_column(column, &default)).collect();
    let (sort_key, primary_key_len) = key::sort_key(definition, settings)?;
    key::check_sampling_key(definition, &sort_key, primary_key_len)?;
    let columns = definition.stored();
    let mode = merge_mode(definition, &columns, &definition.key_columns()?)?;
    Ok(PartSpec {
        columns,
        codecs,
        sort_key,
        primary_key_len,
        partition_key: key::partition_key(definition, settings)?,
        granule_rows: settings.index_granularity as usize,
        granule_bytes: settings.index_granularity_bytes,
        wide_bytes_min: settings.min_bytes_for_wide_part,
        wide_rows_min: settings.min_rows_for_wide_part,
        indexes: definition.skip_indexes()?,
        fills: definition
            .stored_definitions()
            .map(|column| fill_of(definition, column))
            .collect::<Result<_>>()?,
        blocks: definition
            .stored_definitions()
            .filter_map(|column| Some((column.name.clone(), column.blocks?)))
            .collect(),
        mode,
        merges: settings.merge_limits(),
        broken: settings.broken_limits(),
        ttl: ttl::rules(definition)?,
        history: definition.history.clone(),
        conversions: Conversions(Some(Arc::new(TableConversions::of(definition)))),
    })
}

/// The stored columns and the virtual ones.
fn scanned(definition: &TableDefinition, parts: &TableParts) -> Columns {
    let is_taken = |name: &str| definition.column(name).is_some();
    with_columns_of_parts(&definition.stored(), &parts.spec().partition_types(), is_taken)
}

impl Table for MergeTreeTable {
    fn engine(&self) -> &'static str {
        engine_name(&self.definition().create)
    }

    fn definition(&self) -> Arc<TableDefinition> {
        Arc::clone(&self.definition.read())
    }

    fn set_definition(&self, definition: Arc<TableDefinition>) -> Result<()> {
        *self.expressions.write() = key::expressions(&definition)?;
        *self.scanned.write() = scanned(&definition, &self.parts);
        *self.definition.write() = definition;
        Ok(())
    }

    fn scanned(&self) -> Columns {
        self.scanned.read().clone()
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn BlockSource>> {
        let epoch = self.caches.conditions.epoch();
        Ok(Arc::new(PartsSource::new(&self.parts.version(), epoch, &self.caches, request)?))
    }

    fn expressions(&self) -> Arc<[TableExpression]> {
        Arc::clone(&self.expressions.read())
    }

    fn filters_rows(&self) -> bool {
        true
    }

    fn begin_insert(&self, settings: &InsertSettings) -> Result<Option<Box<dyn InsertSink + '_>>> {
        self.wait_for_merges()?;
        let most = settings.max_partitions_per_insert_block;
        let is_limited = settings.throw_on_max_partitions_per_insert_block;
        let window = self.settings.read().non_replicated_deduplication_window;
        let options = InsertOptions {
            partitions_max: if is_limited { most as usize } else { 0 },
            sync: settings.fsync_after_insert,
            optimize: settings.optimize_on_insert,
            deduplication: (settings.deduplicates && window > 0).then(|| Deduplication {
                window: window as usize,
                token: settings.insert_deduplication_token.clone(),
            }),
        };
        Ok(Some(Box::new(PartsSink { insert: self.parts.begin_insert(options)? })))
    }

    fn truncate(&self) -> Result<()> {
        self.parts.truncate()?;
        self.caches.conditions.forget();
        Ok(())
    }

    fn as_of_now(self: Arc<Self>) -> Option<Arc<dyn Table>> {
        Some(Arc::new(self.version()))
    }

    fn check_definition(&self, definition: &TableDefinition) -> Result<()> {
        let settings = MergeTreeSettings::of_clause(&definition.create.settings)?;
        let spec = spec_of(definition, &settings)?;
        let needs_more = |(column, fill): &(&ColumnDefinition, &Option<Fill>)| {
            fill.is_none() && column.default.as_ref().is_some_and(|default| default.expr.is_some())
        };
        let mut fills = definition.stored_definitions().zip(&spec.fills);
        if let Some((column, _)) = fills.find(needs_more).filter(|_| self.parts.row_count() > 0)
            && self.definition().column(&column.name).and_then(|old| old.default.as_ref())
                != column.default.as_ref()
        {
            let what = format!(
                "a DEFAULT of column `{}` that needs more than the table's columns, while there are rows,",
                column.name
            );
            return Err(self.refuses(&what));
        }
        Ok(self.parts.check_spec(spec)?)
    }

    fn alter(&self, _changes: &[ColumnChange], definition: Arc<TableDefinition>) -> Result<()> {
        let settings = MergeTreeSettings::of_clause(&definition.create.settings)?;
        let spec = spec_of(&definition, &settings)?;
        let _altering = self.altering.write();
        self.parts.change_spec(spec)?;
        *self.settings.write() = settings;
        self.caches.conditions.forget();
        self.set_ttl(&definition)?;
        self.set_definition(definition)
    }

    fn has_metadata(&self) -> bool {
        true
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.parts.row_count())
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.parts.stats().iter().filter(|part| part.active).map(|part| part.bytes_on_disk).sum())
    }

    fn data_path(&self) -> Option<PathBuf> {
        Some(self.parts.dir().to_owned())
    }

    fn as_final(self: Arc<Self>) -> Option<Arc<dyn Table>> {
        Arc::new(self.version()).as_final()
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn as_parts(&self) -> Option<&dyn PartsTable> {
        Some(self)
    }
}

impl StoredTable for MergeTreeTable {
    fn optimize(&self, request: &OptimizeRequest<'_>) -> Result<()> {
        let deduplicate = request.deduplicate.as_ref().map(|names| self.deduplicate_columns(names));
        let options = OptimizeOptions {
            partition: request.partition.clone(),
            deduplicate: deduplicate.transpose()?,
            watch: Some(request.watch),
        };
        if request.is_final {
            return Ok(self.parts.optimize_final(&options, request.control)?);
        }
        self.parts.optimize(&options, request.control)?;
        Ok(())
    }

    fn check(&self, which: &PartSelection, go_on: &dyn Fn() -> Result<()>) -> Result<Vec<CheckedPart>> {
        let checked = self.parts.check_parts(which, go_on)?;
        Ok(checked.into_iter().map(|(name, damage)| CheckedPart { name: name.to_string(), damage }).collect())
    }
}

impl PartsTable for MergeTreeTable {
    fn parts(&self) -> &TableParts {
        &self.parts
    }

    fn ttl_limits(&self, bytes_max: u64) -> TtlMergeLimits {
        let settings = self.settings.read();
        TtlMergeLimits {
            bytes_max,
            delete_timeout_s: settings.merge_with_ttl_timeout,
            recompress_timeout_s: settings.merge_with_recompression_ttl_timeout,
            only_drop_parts: settings.ttl_only_drop_parts,
        }
    }
}
