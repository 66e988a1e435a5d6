//! The rows that a merge of all parts would leave, as a source of one partition.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{SchemaRef, UInt64Type};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result};
use basalt_parts::{FinalInput, FinalScan, Predicate, ReadMetrics, TableParts};

use super::part_columns;
use super::plan::{Slot, slot_of};
use super::rows::{first_place, part_and_row};
use super::selection::conditions_of;
use crate::query::ProfileEvents;
use crate::scan::{BlockIterator, BlockSource, ScanRequest};

/// Granules of a snapshot, merged while they are read.
pub(crate) struct FinalSource {
    inputs: Vec<FinalInput>,
    /// What is read of the parts.
    stored: Vec<usize>,
    output: Arc<FinalOutput>,
    metrics: Arc<ReadMetrics>,
    description: String,
}

/// What becomes of the rows of a merge.
struct FinalOutput {
    /// A column each.
    slots: Vec<Slot>,
    /// By slot: of a virtual column that is the same in all rows of a part, a row for each part.
    of_parts: Vec<Option<ArrayRef>>,
    schema: SchemaRef,
}

impl FinalSource {
    /// The conditions of `request` must be such that all rows of a key meet them, or none.
    pub(crate) fn new(parts: &TableParts, request: &ScanRequest) -> Result<FinalSource> {
        let snapshot = parts.snapshot();
        let spec = snapshot.first().map_or_else(|| parts.spec(), |part| Arc::new(part.spec().clone()));
        let slots =
            request.columns.iter().map(|&at| slot_of(request, &spec, at)).collect::<Result<Vec<_>>>()?;
        let is_virtual = |slot: &Slot| slot.stored().is_none();
        let has_places = slots.iter().any(is_virtual);
        let conditions = conditions_of(request, &spec)?;
        // As in ClickHouse, what takes part is chosen by what a part is, not by its place.
        let kept = part_columns::decided(request, &snapshot, |column| !column.is_of_snapshot())?
            .map(|decided| decided.kept);
        let mut inputs = Vec::new();
        let (mut marks_selected, mut marks_total) = (0, 0);
        for (index, part) in snapshot.iter().enumerate() {
            marks_total += part.mark_count();
            if kept.as_ref().is_some_and(|kept| !kept.value(index)) {
                continue;
            }
            let marks = part.prune(&conditions, &Predicate::Any)?;
            marks_selected += marks.selected();
            if marks.selected() > 0 {
                let first_place = has_places.then(|| first_place(index));
                inputs.push(FinalInput { part: Arc::clone(part), marks, first_place });
            }
        }
        let events = &request.query.events;
        ProfileEvents::add(&events.selected_marks, marks_selected as u64);
        ProfileEvents::add(&events.selected_parts, inputs.len() as u64);
        let description = format!(
            "final, parts: {}/{}, granules: {marks_selected}/{marks_total}",
            inputs.len(),
            snapshot.len()
        );
        let schema = Arc::new(request.stored.to_arrow().project(&request.columns).map_err(Error::logical)?);
        let stored = slots.iter().filter_map(|slot| slot.stored()).collect();
        let of_parts = part_columns::of_slots(&slots, &snapshot)?;
        let output = Arc::new(FinalOutput { slots, of_parts, schema });
        Ok(FinalSource { inputs, stored, output, metrics: Arc::clone(&events.reads), description })
    }
}

impl FinalOutput {
    /// `batch` has the stored columns, and behind them the places of the rows if others are asked for.
    fn block(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let places = batch.columns().last().and_then(|places| places.as_primitive_opt::<UInt64Type>());
        let mut stored = batch.columns().iter();
        let column = |(slot, of_parts): (&Slot, &Option<ArrayRef>)| -> Result<ArrayRef> {
            match slot {
                Slot::Stored(_) => {
                    stored.next().cloned().ok_or_else(|| Error::logical("a column is missing"))
                }
                Slot::Virtual(_) => {
                    let places = places.ok_or_else(|| Error::logical("rows without places"))?;
                    at_places(of_parts.as_ref(), places)
                }
            }
        };
        let columns = self.slots.iter().zip(&self.of_parts).map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(Error::logical)
    }
}

/// A virtual column of the rows at `places`: of their parts, or the number of each row in its part.
fn at_places(of_parts: Option<&ArrayRef>, places: &UInt64Array) -> Result<ArrayRef> {
    let places = places.values().iter().map(|place| part_and_row(*place));
    match of_parts {
        Some(values) => {
            let parts = UInt32Array::from_iter_values(places.map(|(part, _)| part as u32));
            take(values, &parts, None).map_err(Error::logical)
        }
        None => Ok(Arc::new(UInt64Array::from_iter_values(places.map(|(_, row)| row)))),
    }
}

impl BlockSource for FinalSource {
    fn partition_count(&self) -> usize {
        1
    }

    fn open(&self, _partition: usize) -> Result<BlockIterator> {
        let rows = FinalScan::new(self.inputs.clone(), &self.stored, &self.metrics)?;
        let output = Arc::clone(&self.output);
        Ok(Box::new(rows.map(move |batch| output.block(&batch?))))
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}
