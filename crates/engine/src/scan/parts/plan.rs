//! What every thread of a scan does: which columns, which conditions in which order, what comes out.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, ErrorCode, Result};
use basalt_parts::{BlockCache, KeyRanges, Part, PartSpec};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{DynamicFilterTracking, PhysicalExpr};

use super::TableCaches;
use super::coded::CodedAnswers;
use super::counted::Counted;
use super::misses::QueryMisses;
use super::part_columns::of_slots;
use super::ranges::{Meaning, ranges_of};
use super::selection::Selection;
use crate::query::QueryContext;
use crate::scan::codes::Numbering;
use crate::scan::conjunct::{Conjunct, conjuncts};
use crate::scan::{ScanRequest, VirtualColumn};

/// Output columns behind a filter count for less: most granules end before they are read.
const FILTERED_SHARE: u64 = 8;

/// The plan of one scan; shared by its threads.
pub(super) struct ScanPlan {
    pub(super) stored: SchemaRef,
    /// The columns that are touched.
    pub(super) slots: Vec<Slot>,
    /// By slot: of a virtual column that is the same in all rows of a part, a row for each part.
    pub(super) of_parts: Vec<Option<ArrayRef>>,
    /// By stored column.
    pub(super) slot_of: Vec<Option<usize>>,
    /// Slots of the columns that leave the scan.
    pub(super) output: Vec<usize>,
    /// By column that leaves: the numbers that it leaves as.
    pub(super) numbers: Vec<Option<Arc<Numbering>>>,
    pub(super) mode: Mode,
    pub(super) schema: SchemaRef,
    /// Of decoded blocks.
    pub(super) cache: Option<Arc<BlockCache>>,
    pub(super) stages: Vec<Stage>,
    /// Granules that earlier queries found to have no row for these conditions.
    pub(super) misses: Option<QueryMisses>,
    /// Filters of operators above that become narrower while the query runs.
    pub(super) dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// A block without rows.
    pub(super) empty: RecordBatch,
    pub(super) limit: Option<usize>,
    /// Rows that left the scan, counted for the limit.
    pub(super) emitted: AtomicU64,
    pub(super) query: Arc<QueryContext>,
}

/// In which form the rows leave the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As they come.
    Anyhow,
    /// A last column says which row it is: see [`super::rows`].
    WithPlaces,
    /// Each thread in the order of the sorting key.
    InOrder,
    /// Each thread in the reverse of it.
    InReverse,
}

/// One condition, with the slots of its columns.
pub(super) struct Stage {
    pub(super) conjunct: Conjunct,
    pub(super) slots: Vec<usize>,
    /// What it says of the values of dictionaries.
    pub(super) coded: Option<CodedAnswers>,
    /// A column of the parts, and the values for which the condition does not hold, if it is about a
    /// number alone.
    excluded: Option<(usize, KeyRanges)>,
    /// A column of the parts, and which of its values the condition holds for, if zones count them.
    pub(super) counted: Option<(usize, Counted)>,
    /// Whether it says something else of the same part in the next query.
    pub(super) is_of_snapshot: bool,
}

impl ScanPlan {
    pub(super) fn new(
        request: &ScanRequest,
        selection: &Selection,
        caches: &TableCaches,
        mode: Mode,
    ) -> Result<ScanPlan> {
        let (stored, spec) = (request.stored.to_arrow(), &*selection.spec);
        let (dynamic, fixed): (Vec<_>, Vec<_>) = request.filters.iter().cloned().partition(is_dynamic);
        let bytes = |column: usize| {
            let slot = slot_of(request, spec, column).ok();
            slot.and_then(Slot::stored).map_or(0.0, |column| selection.value_bytes(column))
        };
        let moves = request.query.settings.optimize_move_to_prewhere;
        let conjuncts = conjuncts(&fixed, &stored, bytes, moves)?;
        let mut slots = Slots { slots: Vec::new(), slot_of: vec![None; request.stored.len()], request, spec };
        let stages = conjuncts
            .into_iter()
            .map(|conjunct| {
                Stage::new(slots.of_all(&conjunct.columns)?, conjunct).bounded(&slots.slots, &stored)
            })
            .collect::<Result<Vec<_>>>()?;
        for filter in &dynamic {
            let columns: Vec<usize> = collect_columns(filter).iter().map(|column| column.index()).collect();
            slots.of_all(&columns)?;
        }
        let output = slots.of_all(&request.columns)?;
        let mut numbers = vec![None; output.len()];
        for (column, numbering) in &request.numbers {
            numbers[*column] = Some(Arc::clone(numbering));
        }
        let schema = output_schema(request, &stored, mode);
        let remembers = request.query.settings.use_query_condition_cache;
        let misses = remembers.then(|| caches.misses.of_query(selection.epoch, &stages)).flatten();
        Ok(ScanPlan {
            stored,
            of_parts: of_slots(&slots.slots, &selection.snapshot)?,
            slots: slots.slots,
            slot_of: slots.slot_of,
            output,
            numbers,
            mode,
            cache: (!request.query.reads_once).then(|| Arc::clone(&caches.blocks)),
            empty: RecordBatch::new_empty(Arc::clone(&schema)),
            schema,
            stages,
            misses,
            dynamic,
            limit: request.limit,
            emitted: AtomicU64::new(0),
            query: Arc::clone(&request.query),
        })
    }

    pub(super) fn filters(&self) -> bool {
        !self.stages.is_empty() || !self.dynamic.is_empty()
    }

    /// Bytes that reading a granule of `part` costs, about.
    pub(super) fn mark_bytes(&self, part: &Part) -> u64 {
        let bytes = |column: usize| part.column_bytes(column);
        let column = |slot: &usize| self.slots[*slot].stored().map_or(0, bytes);
        let output: u64 = self.output.iter().map(column).sum();
        let bytes = if self.filters() {
            self.stages.iter().flat_map(|stage| &stage.slots).map(column).sum::<u64>()
                + output / FILTERED_SHARE
        } else {
            output
        };
        bytes / part.mark_count().max(1) as u64 + 1
    }
}

impl Stage {
    fn new(slots: Vec<usize>, conjunct: Conjunct) -> Stage {
        Stage {
            conjunct,
            slots,
            coded: Some(CodedAnswers::default()),
            excluded: None,
            counted: None,
            is_of_snapshot: false,
        }
    }

    /// A condition that will soon be another one: answers are not worth keeping.
    pub(super) fn moving(slots: Vec<usize>, conjunct: Conjunct) -> Stage {
        Stage { coded: None, ..Stage::new(slots, conjunct) }
    }

    /// Finds out for which values the condition does not hold, and whether zones count those for which it does.
    fn bounded(mut self, slots: &[Slot], stored: &Schema) -> Result<Stage> {
        self.is_of_snapshot = self.slots.iter().any(|slot| slots[*slot].is_of_snapshot());
        let [column] = self.conjunct.columns[..] else { return Ok(self) };
        let Some(place) = slots[self.slots[0]].stored() else { return Ok(self) };
        self.counted = Counted::of(self.conjunct.expr())?.map(|counted| (place, counted));
        let ty = stored.field(column).data_type();
        // NaN is in no range and breaks no zone.
        if ty.is_primitive() && !ty.is_floating() {
            let found = ranges_of(self.conjunct.expr(), Meaning::Exact)?;
            self.excluded = found.map(|(_, ranges)| (place, ranges.complement()));
        }
        Ok(self)
    }

    /// Whether zones may tell of how many rows the condition holds.
    pub(super) fn may_be_counted(&self) -> bool {
        self.excluded.is_some() || self.counted.is_some()
    }

    /// Whether the zones of `marks` tell that the condition holds for every row.
    pub(super) fn holds_for_all(&self, part: &Part, marks: &Range<usize>) -> Result<bool> {
        let Some((column, excluded)) = &self.excluded else { return Ok(false) };
        let Some(zones) = part.zones(*column)? else { return Ok(false) };
        let is_sure = |mark| zones.null_counts().value(mark) == 0 && !zones.may_match(mark, excluded);
        Ok(marks.clone().all(is_sure))
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.conjunct.fmt(f)
    }
}

pub(super) fn is_dynamic(filter: &Arc<dyn PhysicalExpr>) -> bool {
    DynamicFilterTracking::classify(filter).contains_dynamic_filter()
}

fn output_schema(request: &ScanRequest, stored: &Schema, mode: Mode) -> SchemaRef {
    let mut fields: Vec<_> = request.columns.iter().map(|&column| stored.field(column).clone()).collect();
    for (column, numbering) in &request.numbers {
        fields[*column] = numbering.field();
    }
    if mode == Mode::WithPlaces {
        fields.push(Field::new("_row", DataType::UInt64, false));
    }
    Arc::new(Schema::new(fields))
}

/// Gives every touched column a slot.
struct Slots<'a> {
    slots: Vec<Slot>,
    slot_of: Vec<Option<usize>>,
    request: &'a ScanRequest,
    spec: &'a PartSpec,
}

impl Slots<'_> {
    fn of_all(&mut self, columns: &[usize]) -> Result<Vec<usize>> {
        columns.iter().map(|&column| self.of(column)).collect()
    }

    fn of(&mut self, column: usize) -> Result<usize> {
        if let Some(slot) = self.slot_of[column] {
            return Ok(slot);
        }
        self.slots.push(slot_of(self.request, self.spec, column)?);
        let slot = self.slots.len() - 1;
        self.slot_of[column] = Some(slot);
        Ok(slot)
    }
}

/// A column that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// At this position in the parts.
    Stored(usize),
    Virtual(VirtualColumn),
}

impl Slot {
    pub(super) fn stored(self) -> Option<usize> {
        match self {
            Slot::Stored(position) => Some(position),
            Slot::Virtual(_) => None,
        }
    }

    fn is_of_snapshot(self) -> bool {
        matches!(self, Slot::Virtual(column) if column.is_of_snapshot())
    }
}

/// The column at `at` of the query's plan.
pub(super) fn slot_of(request: &ScanRequest, spec: &PartSpec, at: usize) -> Result<Slot> {
    let name = &request.stored[at].name;
    match VirtualColumn::find(name).filter(|_| at >= request.virtual_from) {
        Some(column) => Ok(Slot::Virtual(column)),
        None => place(request, spec, at).map(Slot::Stored),
    }
}

/// The position in the parts of the column at `at` of the query's plan.
pub(super) fn place(request: &ScanRequest, spec: &PartSpec, at: usize) -> Result<usize> {
    let name = &request.stored[at].name;
    spec.columns.position(name).ok_or_else(|| {
        let what = format!("column `{name}` was dropped while the query began; run it again");
        Error::new(ErrorCode::UnknownIdentifier, what)
    })
}
