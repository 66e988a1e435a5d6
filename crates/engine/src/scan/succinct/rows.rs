//! Rows on their way through the filter: columns are read when they are needed, for the rows that are left.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;
use arrow::datatypes::SchemaRef;
use basalt_base::{Error, Result};
use basalt_segment::{Rank, Segment};
use basalt_succinct::{Picked, SegmentColumns, TableSpec};

use super::candidates::FoundRows;
use crate::scan::conjunct::Conjunct;

/// Some rows, and the columns of them that were read.
pub(super) struct Rows<'a> {
    count: usize,
    /// By position of the column.
    arrays: BTreeMap<usize, ArrayRef>,
    /// Where other columns are read; `None` if all that are needed are there.
    segment: Option<SegmentRows<'a>>,
}

/// Rows of a segment.
struct SegmentRows<'a> {
    spec: &'a Arc<TableSpec>,
    segment: &'a Segment,
    /// Ascending.
    ranks: Vec<Rank>,
}

impl<'a> Rows<'a> {
    /// Rows of a segment.
    pub(super) fn of_segment(spec: &'a Arc<TableSpec>, segment: &'a Segment, found: FoundRows) -> Rows<'a> {
        let FoundRows { ranks, known } = found;
        let count = ranks.len();
        Rows {
            count,
            arrays: known.into_iter().collect(),
            segment: Some(SegmentRows { spec, segment, ranks }),
        }
    }

    /// The rows of a batch of the columns at `columns`.
    pub(super) fn of_batch(batch: &RecordBatch, columns: &[usize]) -> Rows<'a> {
        let arrays = columns.iter().copied().zip(batch.columns().iter().cloned()).collect();
        Rows { count: batch.num_rows(), arrays, segment: None }
    }

    /// The rows that meet all conditions.
    pub(super) fn filtered(mut self, conditions: &[Conjunct]) -> Result<Rows<'a>> {
        for condition in conditions {
            if self.count == 0 {
                break;
            }
            let arrays = self.read(&condition.columns)?;
            let wanted = condition.evaluate(arrays, self.count)?;
            self.keep(&wanted)?;
        }
        Ok(self)
    }

    /// The columns at `columns`.
    fn read(&mut self, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let mut missing: Vec<usize> =
            columns.iter().copied().filter(|at| !self.arrays.contains_key(at)).collect();
        missing.dedup();
        if let Some(rows) = self.segment.as_ref().filter(|_| !missing.is_empty()) {
            // Columns of one group are decoded together.
            let reader = SegmentColumns::new(rows.spec, &missing)?;
            let read = reader.read(rows.segment, &Picked::of(&rows.ranks))?;
            self.arrays.extend(missing.into_iter().zip(read));
        }
        let column = |at: &usize| {
            let found = self.arrays.get(at).cloned();
            found.ok_or_else(|| Error::logical("a column of a scan was not read"))
        };
        columns.iter().map(column).collect()
    }

    fn keep(&mut self, wanted: &BooleanBuffer) -> Result<()> {
        let count = wanted.count_set_bits();
        if count == self.count {
            return Ok(());
        }
        let mask = BooleanArray::new(wanted.clone(), None);
        for array in self.arrays.values_mut() {
            *array = filter(array, &mask).map_err(Error::of_arrow)?;
        }
        if let Some(rows) = &mut self.segment {
            rows.ranks = wanted.set_indices().map(|at| rows.ranks[at]).collect();
        }
        self.count = count;
        Ok(())
    }

    /// The columns at `columns` of the rows that are left.
    pub(super) fn finish(mut self, columns: &[usize], schema: &SchemaRef) -> Result<RecordBatch> {
        let arrays = self.read(columns)?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(Error::of_arrow)
    }
}
