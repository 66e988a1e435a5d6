//! The contract of reducers: which rows of one key stay.

use std::ops::Range;

use arrow::array::RecordBatch;

use crate::error::Result;

/// The purpose of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The result is stored and will be merged again.
    Merge,
    /// The result is what a query sees: deletion markers are removed too.
    Final,
}

/// A row of one of the batches that the reducer has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRef {
    pub(crate) source: usize,
    pub(crate) row: usize,
}

/// Receives the rows of one key after the other, in the order of insertion, and decides which stay.
pub(crate) trait Reducer: Send {
    /// Sets the batch of the rows in the next calls.
    fn attach(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Adds rows of the current key: those at `rows` in the attached batch, which has the number `source`.
    fn add(&mut self, source: usize, rows: Range<usize>, out: &mut Vec<RowRef>) -> Result<()>;

    /// Ends the current key.
    fn end_key(&mut self, out: &mut Vec<RowRef>);

    /// The rows that may still be emitted; the caller keeps their batches and renumbers them.
    fn held(&mut self) -> &mut [RowRef];

    /// Sets the values of the rows that were emitted since the last call.
    fn finish(&mut self, picked: RecordBatch) -> Result<RecordBatch> {
        Ok(picked)
    }
}
