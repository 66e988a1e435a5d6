//! Reduces runs of equal keys in a stream of sorted batches.
//!
//! A run may continue in the next batch. Its rows that the reducer still holds are then copied, so that at most one
//! batch and those rows are in memory.

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, interleave_record_batch, partition, take_record_batch};

use super::reducer::{Reducer, RowRef};
use crate::error::{Error, Result};
use crate::spec::PartSpec;
use crate::table::sort::{encode_key, key_columns};

/// Iterates over the rows that `reducer` keeps of sorted batches.
pub(crate) struct ReducedRows<I> {
    batches: I,
    spec: PartSpec,
    reducer: Box<dyn Reducer>,
    /// The batches of the reducer's rows: copied rows of earlier batches, then the current batch.
    sources: Vec<RecordBatch>,
    /// The key of the last row, as a batch of one row.
    last: Option<RecordBatch>,
    is_finished: bool,
}

impl<I: Iterator<Item = Result<RecordBatch>>> ReducedRows<I> {
    /// `batches` have the columns and the order of `spec`.
    pub(crate) fn new(batches: I, spec: PartSpec, reducer: Box<dyn Reducer>) -> ReducedRows<I> {
        ReducedRows { batches, spec, reducer, sources: Vec::new(), last: None, is_finished: false }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while !self.is_finished {
            let reduced = match self.batches.next().transpose()? {
                Some(batch) if batch.num_rows() == 0 => None,
                Some(batch) => self.reduce(batch)?,
                None => self.end()?,
            };
            if reduced.is_some() {
                return Ok(reduced);
            }
        }
        Ok(None)
    }

    fn reduce(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let starts = run_starts(&batch, &self.spec)?;
        let goes_on = self.goes_on(&batch)?;
        self.last = Some(batch.slice(batch.num_rows() - 1, 1));
        let source = self.sources.len();
        self.reducer.attach(&batch)?;
        let rows = batch.num_rows();
        self.sources.push(batch);
        let mut picks = Vec::with_capacity(rows);
        for (run, &start) in starts.iter().enumerate() {
            if run > 0 || !goes_on {
                self.reducer.end_key(&mut picks);
            }
            let end = starts.get(run + 1).copied().unwrap_or(rows);
            self.reducer.add(source, start..end, &mut picks)?;
        }
        self.take(&picks)
    }

    fn end(&mut self) -> Result<Option<RecordBatch>> {
        self.is_finished = true;
        let mut picks = Vec::new();
        self.reducer.end_key(&mut picks);
        self.take(&picks)
    }

    /// Whether the first row of `batch` has the same key as the row before it.
    fn goes_on(&self, batch: &RecordBatch) -> Result<bool> {
        let Some(last) = &self.last else { return Ok(false) };
        if self.spec.sort_key.is_empty() {
            return Ok(true);
        }
        let pair = concat_batches(last.schema_ref(), [last, &batch.slice(0, 1)])?;
        let keys = encode_key(&pair, &self.spec)?;
        Ok(keys.row(0) == keys.row(1))
    }

    /// The picked rows. After that only the rows that the reducer holds are kept.
    fn take(&mut self, picks: &[RowRef]) -> Result<Option<RecordBatch>> {
        let picked = if picks.is_empty() { None } else { Some(take_rows(&self.sources, picks)?) };
        let held = self.reducer.held();
        let kept = if held.is_empty() { None } else { Some(take_rows(&self.sources, held)?) };
        for (row, held) in held.iter_mut().enumerate() {
            *held = RowRef { source: 0, row };
        }
        self.sources.clear();
        self.sources.extend(kept);
        picked.map(|batch| self.reducer.finish(batch)).transpose()
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for ReducedRows<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

/// Reduces one block.
pub(crate) fn reduce_block(
    block: RecordBatch,
    spec: &PartSpec,
    reducer: Box<dyn Reducer>,
) -> Result<RecordBatch> {
    let schema = block.schema();
    let rows = ReducedRows::new(std::iter::once(Ok(block)), spec.clone(), reducer);
    let reduced = rows.collect::<Result<Vec<_>>>()?;
    match reduced.as_slice() {
        [one] => Ok(one.clone()),
        several => Ok(concat_batches(&schema, several)?),
    }
}

/// The first rows of the runs of equal keys.
fn run_starts(batch: &RecordBatch, spec: &PartSpec) -> Result<Vec<usize>> {
    if spec.sort_key.is_empty() {
        return Ok(vec![0]);
    }
    let key: Vec<ArrayRef> = key_columns(batch, spec)?;
    if key.iter().any(|column| column.data_type().is_nested()) {
        let keys = encode_key(batch, spec)?;
        let starts = (1..batch.num_rows()).filter(|&row| keys.row(row) != keys.row(row - 1));
        return Ok(std::iter::once(0).chain(starts).collect());
    }
    Ok(partition(&key)?.ranges().into_iter().map(|range| range.start).collect())
}

fn take_rows(sources: &[RecordBatch], rows: &[RowRef]) -> Result<RecordBatch> {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let source = &sources[first.source];
    if rows.iter().all(|row| row.source == first.source) {
        let is_whole = last.row >= first.row && last.row - first.row + 1 == rows.len();
        if is_whole && rows.windows(2).all(|pair| pair[0].row + 1 == pair[1].row) {
            return Ok(source.slice(first.row, rows.len()));
        }
        let index = |row: &RowRef| u32::try_from(row.row);
        let indexes = rows.iter().map(index).collect::<Result<Vec<_>, _>>();
        let indexes =
            indexes.map_err(|_| Error::BlockMismatch { what: "it has more than 2^32 rows".into() })?;
        return Ok(take_record_batch(source, &UInt32Array::from(indexes))?);
    }
    let sources: Vec<&RecordBatch> = sources.iter().collect();
    let picks: Vec<(usize, usize)> = rows.iter().map(|row| (row.source, row.row)).collect();
    Ok(interleave_record_batch(&sources, &picks)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, Int64Array, UInt64Array};
    use arrow::datatypes::Int64Type;
    use basalt_base::{Column, Columns, SqlType};
    use proptest::prelude::*;

    use super::*;
    use crate::mode::{MergeMode, Purpose, reducer};

    fn values(mode: MergeMode, rows: &[(u64, i64)], batch_rows: usize) -> Vec<i64> {
        let columns = Columns::new(vec![Column::new("k", SqlType::UInt64), Column::new("v", SqlType::Int64)]);
        let spec = PartSpec {
            sort_key: vec![crate::key::element::KeyElement::column(0)],
            mode,
            ..PartSpec::new(columns)
        };
        let batches = rows.chunks(batch_rows).map(|rows| {
            let keys: ArrayRef = Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.0)));
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
            Ok(RecordBatch::try_new(spec.schema(), vec![keys, values])?)
        });
        let reducer = reducer(&spec, Purpose::Merge).unwrap();
        let mut found = Vec::new();
        for batch in ReducedRows::new(batches, spec.clone(), reducer) {
            found.extend_from_slice(batch.unwrap().column(1).as_primitive::<Int64Type>().values());
        }
        found
    }

    proptest! {
        #[test]
        fn batches_may_end_anywhere(mut rows in prop::collection::vec((0..5_u64, -3..4_i64), 1..60), batch in 1..9_usize) {
            rows.sort_by_key(|row| row.0);
            for mode in [
                MergeMode::Replacing { version: Some(1), is_deleted: None },
                MergeMode::Replacing { version: None, is_deleted: None },
                MergeMode::Summing { columns: vec![1] },
            ] {
                prop_assert_eq!(values(mode.clone(), &rows, batch), values(mode, &rows, rows.len()));
            }
        }
    }
}
