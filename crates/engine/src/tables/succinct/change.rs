//! Changes of a Succinct table: the rows of an INSERT, and changes of rows in place.

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use basalt_base::Result;
use basalt_succinct::Change;

use super::super::capability::RowsChange;
use super::super::table::InsertSink;

/// The rows of one INSERT.
pub(super) struct InsertedRows(pub(super) Change);

impl InsertSink for InsertedRows {
    fn write(&mut self, blocks: Vec<RecordBatch>) -> Result<()> {
        blocks.iter().try_for_each(|block| self.0.write(block))
    }

    fn prefers_large_blocks(&self) -> bool {
        false
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }
}

/// A change that no other change interrupts.
pub(super) struct ChangedRows(pub(super) Change);

impl RowsChange for ChangedRows {
    fn put(&mut self, rows: &RecordBatch) -> Result<()> {
        self.0.write(rows)
    }

    fn delete(&mut self, keys: &[ArrayRef]) -> Result<()> {
        self.0.delete(keys)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }
}
