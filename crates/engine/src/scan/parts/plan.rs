//! The plan of a scan, for every thread: which columns, which conditions in which order, which output.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use basalt_base::Result;
use basalt_parts::{BlockCache, Part};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;

use super::caches::TableCaches;
use super::condition_cache::CachedConditions;
use super::filter_step::{FilterStep, is_dynamic};
use super::mode::Mode;
use super::part_columns::of_slots;
use super::selection::Selection;
use super::slots::{Slot, Slots, slot_of};
use crate::context::QueryContext;
use crate::scan::conjunct::conjuncts;
use crate::scan::numbering::Numbering;
use crate::scan::source::ScanRequest;

/// Output columns of a filtered scan count for less: most granules end before they are read.
const FILTERED_SHARE: u64 = 8;

/// The plan of one scan; shared by its threads.
pub(super) struct ScanPlan {
    pub(super) stored: SchemaRef,
    /// The columns that are touched.
    pub(super) slots: Vec<Slot>,
    /// By slot: for a virtual column that is the same in all rows of a part, a row for each part.
    pub(super) of_parts: Vec<Option<ArrayRef>>,
    /// By stored column.
    pub(super) slot_of: Vec<Option<usize>>,
    /// Slots of the columns that leave the scan.
    pub(super) output: Vec<usize>,
    /// By column that leaves: the numbers that it leaves as.
    pub(super) numbers: Vec<Option<Arc<Numbering>>>,
    pub(super) mode: Mode,
    pub(super) schema: SchemaRef,
    /// The cache of decoded blocks.
    pub(super) cache: Option<Arc<BlockCache>>,
    pub(super) steps: Vec<FilterStep>,
    /// Granules that earlier queries found to have no row for these conditions.
    pub(super) cached: Option<CachedConditions>,
    /// Filters of operators above that become narrower while the query runs.
    pub(super) dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// A block without rows.
    pub(super) empty: RecordBatch,
    pub(super) limit: Option<usize>,
    /// Rows that left the scan, counted for the limit.
    pub(super) emitted: AtomicU64,
    pub(super) query: Arc<QueryContext>,
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
        let mut slots = Slots::new(request, spec);
        let steps = conjuncts
            .into_iter()
            .map(|conjunct| {
                FilterStep::new(slots.of_all(&conjunct.columns)?, conjunct).bounded(&slots.slots, &stored)
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
        let cached = remembers.then(|| caches.conditions.of_query(selection.epoch, &steps)).flatten();
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
            steps,
            cached,
            dynamic,
            limit: request.limit,
            emitted: AtomicU64::new(0),
            query: Arc::clone(&request.query),
        })
    }

    pub(super) fn filters(&self) -> bool {
        !self.steps.is_empty() || !self.dynamic.is_empty()
    }

    /// Bytes that reading a granule of `part` costs, about.
    pub(super) fn mark_bytes(&self, part: &Part) -> u64 {
        let bytes = |column: usize| part.column_bytes(column);
        let column = |slot: &usize| self.slots[*slot].stored().map_or(0, bytes);
        let output: u64 = self.output.iter().map(column).sum();
        let bytes = if self.filters() {
            self.steps.iter().flat_map(|step| &step.slots).map(column).sum::<u64>() + output / FILTERED_SHARE
        } else {
            output
        };
        bytes / part.mark_count().max(1) as u64 + 1
    }
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
