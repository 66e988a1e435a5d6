//! What a merge of the parts would leave, without writing it: the rows of a query that says FINAL.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::merged_rows::{MergeInput, MergedRows};
use crate::error::Result;
use crate::key::prune::MarkRanges;
use crate::metrics::ReadMetrics;
use crate::mode::reduced::ReducedRows;
use crate::mode::{Purpose, reducer};
use crate::part::view::Part;
use crate::spec::PartSpec;

/// Iterates over the rows that are left, in key order.
pub struct FinalScan {
    rows: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    /// Positions of the asked columns among those that are read.
    places: Vec<usize>,
}

impl FinalScan {
    /// A scan of `columns` (positions in the table) of parts of one snapshot. Granules may be left out
    /// that hold none of the keys that the query wants; all rows of the others take part.
    pub fn new(
        inputs: Vec<(Arc<Part>, MarkRanges)>,
        columns: &[usize],
        metrics: &Arc<ReadMetrics>,
    ) -> Result<FinalScan> {
        let Some((first, _)) = inputs.first() else {
            return Ok(FinalScan { rows: Box::new(std::iter::empty()), places: Vec::new() });
        };
        let spec = Arc::clone(&first.spec);
        let read = columns_to_read(&spec, columns);
        let places = columns.iter().filter_map(|column| read.iter().position(|other| other == column));
        let places = places.collect();
        let projected = spec.project(&read);
        let inputs = inputs.into_iter().map(|(part, marks)| MergeInput { part, marks });
        let merged = MergedRows::open(inputs, &read, projected.clone(), metrics)?;
        let rows: Box<dyn Iterator<Item = _> + Send> = match reducer(&projected, Purpose::Final) {
            Some(reducer) => Box::new(ReducedRows::new(merged, projected, reducer)),
            None => Box::new(merged),
        };
        Ok(FinalScan { rows, places })
    }
}

impl Iterator for FinalScan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = self.rows.next()?;
        Some(batch.and_then(|batch| Ok(batch.project(&self.places)?)))
    }
}

/// The asked columns, those of the key and those that the mode needs, each once.
fn columns_to_read(spec: &PartSpec, asked: &[usize]) -> Vec<usize> {
    let needed = spec.mode.columns();
    let in_key = |column: usize| spec.sort_key.iter().any(|element| element.reads(column, &spec.columns));
    let is_read = |column: &usize| asked.contains(column) || needed.contains(column) || in_key(*column);
    (0..spec.columns.len()).filter(is_read).collect()
}
