//! The result of merging all parts, without writing it: the rows of a query with FINAL.

use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_base::{Column, SqlType};

use super::final_layers::{FinalInput, FinalLayer};
use super::merged_rows::{MergeInput, MergedRows};
use crate::error::Result;
use crate::metrics::ReadMetrics;
use crate::mode::reduced::ReducedRows;
use crate::mode::{MergeMode, Purpose, reducer};
use crate::part::scan::PLACE_COLUMN;
use crate::spec::PartSpec;

/// Iterates over the remaining rows in key order.
pub struct FinalScan {
    rows: Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
    /// Positions of the requested columns among those that are read.
    places: Vec<usize>,
}

impl FinalScan {
    /// A scan of `columns` (positions in the table) of a layer. The caller may leave out granules without the keys
    /// that the query wants; it must include all others with their keys.
    pub fn new(layer: &FinalLayer, columns: &[usize], metrics: &Arc<ReadMetrics>) -> Result<FinalScan> {
        let Some(first) = layer.inputs.first() else {
            return Ok(FinalScan { rows: Box::new(std::iter::empty()), places: Vec::new() });
        };
        let spec = Arc::clone(&first.part.spec);
        let has_places = first.first_place.is_some();
        let read = columns_to_read(&spec, columns);
        let places = columns.iter().filter_map(|column| read.iter().position(|other| other == column));
        let places = places.chain(has_places.then_some(read.len())).collect();
        let mut projected = spec.project(&read);
        if has_places {
            projected = projected.with_column(Column::new(PLACE_COLUMN, SqlType::UInt64));
        }
        let inputs = layer.inputs.iter().map(|FinalInput { part, marks, first_place }| MergeInput {
            part: Arc::clone(part),
            marks: marks.clone(),
            first_place: *first_place,
        });
        let borders = layer.borders.clone();
        let merged = MergedRows::open_between(inputs, &read, projected.clone(), borders, metrics)?;
        let reducer = if is_reduced(layer) { None } else { reducer(&projected, Purpose::Final) };
        let rows: Box<dyn Iterator<Item = _> + Send> = match reducer {
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

/// Whether the rows come from a merge that left one row of each key and no deletion markers.
fn is_reduced(layer: &FinalLayer) -> bool {
    let [input] = layer.inputs.as_slice() else { return false };
    let is_left_alone = match input.part.spec.mode {
        MergeMode::Replacing { is_deleted, .. } => is_deleted.is_none(),
        MergeMode::Summing { .. } => true,
        _ => false,
    };
    is_left_alone && input.part.name().level > 0
}

/// The requested columns, the key's and the mode's, without duplicates.
fn columns_to_read(spec: &PartSpec, asked: &[usize]) -> Vec<usize> {
    let needed = spec.mode.columns();
    let in_key = |column: usize| spec.sort_key.iter().any(|element| element.reads(column, &spec.columns));
    let is_read = |column: &usize| asked.contains(column) || needed.contains(column) || in_key(*column);
    (0..spec.columns.len()).filter(is_read).collect()
}
