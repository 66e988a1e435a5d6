//! `MergeTree`: sorted rows in columnar parts, read by granules that the key leaves.

use std::collections::VecDeque;
use std::ops::{Bound, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::record_batch::RecordBatch;
use basalt_base::fs::Storage;
use basalt_base::{Column, Error, ErrorCode, Result, bail};
use basalt_parts::{
    GRANULE_ROWS_DEFAULT, KeyCondition, KeyRanges, MarkRanges, Part, PartScan, PartSpec, PartStats,
    ReadMetrics, TableParts,
};
use basalt_sql::ast::Literal;
use parking_lot::{Mutex, RwLock};

use super::fill::fill_of;
use super::{ColumnChange, Table, TableDefinition};
use crate::query::ProfileEvents;
use crate::scan::{BlockIterator, BlockSource, ColumnCondition, ScanRequest, ValueSet};

/// Granules that a thread takes at a time: enough that opening the files does not count.
const MARKS_A_TASK: usize = 64;
/// An INSERT into a table with more parts than this is refused until merges have caught up.
const PARTS_MAX: usize = 3000;

/// A table of parts.
pub(crate) struct MergeTreeTable {
    definition: RwLock<Arc<TableDefinition>>,
    parts: TableParts,
    /// One merge at a time: by the background worker or by OPTIMIZE.
    merging: Mutex<()>,
    cancel: AtomicBool,
}

impl MergeTreeTable {
    pub(crate) fn open(
        storage: &Arc<dyn Storage>,
        dir: PathBuf,
        definition: Arc<TableDefinition>,
    ) -> Result<MergeTreeTable> {
        if let Some(engine) = &definition.create.engine
            && !engine.args.is_empty()
        {
            bail!(NotImplemented, "arguments of engine MergeTree are not implemented");
        }
        let spec = spec_of(&definition)?;
        let parts = TableParts::open(Arc::clone(storage), dir.join("parts"), spec)?;
        Ok(MergeTreeTable {
            definition: RwLock::new(definition),
            parts,
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
fn spec_of(definition: &TableDefinition) -> Result<PartSpec> {
    let create = &definition.create;
    if create.order_by.is_none() && create.primary_key.is_none() {
        bail!(BadArguments, "engine MergeTree needs ORDER BY; ORDER BY tuple() keeps the order of insertion");
    }
    let mut granule_rows = GRANULE_ROWS_DEFAULT;
    for setting in &create.settings {
        match (setting.name.as_str(), &setting.value) {
            ("index_granularity", Literal::UInt(rows @ 1..=1_048_576)) => granule_rows = *rows as usize,
            ("index_granularity", value) => {
                bail!(BadArguments, "index_granularity is 1 to 1048576 rows, got {value:?}")
            }
            (name, _) => bail!(NotImplemented, "setting `{name}` of engine MergeTree is not implemented"),
        }
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
    Ok(PartSpec { columns, codecs, sort_key, primary_key_len, granule_rows, fills })
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
        Ok(Arc::new(PartsSource::new(&self.parts, request)?))
    }

    fn insert(&self, block: RecordBatch) -> Result<()> {
        let parts = self.parts.snapshot().len();
        if parts >= PARTS_MAX {
            bail!(
                TooManyParts,
                "table `{}` has {parts} parts, at most {PARTS_MAX}; insert larger blocks, or wait for merges",
                self.definition().full_name()
            );
        }
        self.parts.insert(block)?;
        Ok(())
    }

    fn truncate(&self) -> Result<()> {
        Ok(self.parts.truncate()?)
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

/// Granules of a snapshot, taken by the query's threads task by task.
struct PartsSource {
    tasks: Arc<Mutex<VecDeque<Task>>>,
    partitions: usize,
    columns: Vec<usize>,
    rows_max: usize,
    metrics: Arc<ReadMetrics>,
    rows: u64,
    description: String,
}

struct Task {
    part: Arc<Part>,
    marks: Range<usize>,
}

impl PartsSource {
    fn new(parts: &TableParts, request: &ScanRequest) -> Result<PartsSource> {
        let snapshot = parts.snapshot();
        // Positions are those of the query's plan; an ALTER may have come between.
        let spec = snapshot.first().map_or_else(|| parts.spec(), |part| Arc::new(part.spec().clone()));
        let place = |at: usize| {
            let name = &request.stored[at].name;
            spec.columns.position(name).ok_or_else(|| altered(name))
        };
        let columns = request.columns.iter().map(|&at| place(at)).collect::<Result<Vec<_>>>()?;
        let conditions = request
            .conditions
            .iter()
            .map(|condition| key_condition(condition, place(condition.column)?))
            .collect::<Result<Vec<_>>>()?;
        let (mut tasks, mut rows) = (VecDeque::new(), 0);
        let (mut marks_selected, mut marks_total, mut parts_selected) = (0, 0, 0);
        for part in snapshot.iter() {
            let marks = part.prune(&conditions)?;
            marks_selected += marks.selected();
            marks_total += marks.total;
            parts_selected += usize::from(marks.selected() > 0);
            for range in marks.ranges {
                let span = part.mark_rows(&range);
                rows += span.end - span.start;
                for start in range.clone().step_by(MARKS_A_TASK) {
                    let marks = start..range.end.min(start + MARKS_A_TASK);
                    tasks.push_back(Task { part: Arc::clone(part), marks });
                }
            }
        }
        let events = &request.query.events;
        ProfileEvents::add(&events.selected_marks, marks_selected as u64);
        ProfileEvents::add(&events.selected_parts, parts_selected as u64);
        Ok(PartsSource {
            partitions: request.query.threads().clamp(1, tasks.len().max(1)),
            tasks: Arc::new(Mutex::new(tasks)),
            columns,
            rows_max: request.query.settings.max_block_size.clamp(1, 1 << 20) as usize,
            metrics: Arc::clone(&events.reads),
            rows,
            description: format!(
                "parts: {parts_selected}/{}, granules: {marks_selected}/{marks_total}",
                snapshot.len()
            ),
        })
    }
}

fn altered(column: &str) -> Error {
    Error::new(
        ErrorCode::UnknownIdentifier,
        format!("column `{column}` was dropped while the query began; run it again"),
    )
}

/// The condition on the column at `column` of the parts.
fn key_condition(condition: &ColumnCondition, column: usize) -> Result<KeyCondition> {
    let bound = |value: &Option<(arrow::array::ArrayRef, bool)>| match value {
        None => Bound::Unbounded,
        Some((value, true)) => Bound::Included(Arc::clone(value)),
        Some((value, false)) => Bound::Excluded(Arc::clone(value)),
    };
    let ranges = match &condition.values {
        ValueSet::Points(points) => KeyRanges::points(points)?,
        ValueSet::Range { low, high } => KeyRanges::between(bound(low).as_ref(), bound(high).as_ref())?,
    };
    Ok(KeyCondition { column, ranges })
}

impl BlockSource for PartsSource {
    fn partition_count(&self) -> usize {
        self.partitions
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let (tasks, columns) = (Arc::clone(&self.tasks), self.columns.clone());
        let (rows_max, metrics) = (self.rows_max, Arc::clone(&self.metrics));
        let next = move || {
            let Task { part, marks } = tasks.lock().pop_front()?;
            let total = part.mark_count();
            let ranges = MarkRanges { ranges: vec![marks], total };
            Some(PartScan::new(part, columns.clone(), ranges, rows_max, Arc::clone(&metrics)))
        };
        let blocks = std::iter::from_fn(next).flatten();
        Ok(Box::new(blocks.map(|block| block.map_err(Into::into))))
    }

    fn rows_estimate(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}
