//! Joins small blocks, so that a large INSERT makes few parts.

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result};
use basalt_parts::value_bytes;

use crate::context::QueryContext;

/// The blocks that wait to be joined.
pub(super) struct Gatherer {
    blocks: Vec<RecordBatch>,
    rows: usize,
    bytes: u64,
    rows_full: usize,
    bytes_full: u64,
}

impl Gatherer {
    pub(super) fn new(query: &QueryContext) -> Gatherer {
        let settings = &query.settings;
        Gatherer {
            blocks: Vec::new(),
            rows: 0,
            bytes: 0,
            rows_full: settings.min_insert_block_size_rows.max(1) as usize,
            bytes_full: settings.min_insert_block_size_bytes.max(1),
        }
    }

    pub(super) fn push(&mut self, block: RecordBatch) {
        self.rows += block.num_rows();
        self.bytes += block_bytes(&block);
        if block.num_rows() > 0 {
            self.blocks.push(block);
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= self.rows_full || self.bytes >= self.bytes_full
    }

    /// Everything gathered.
    pub(super) fn take(&mut self) -> Vec<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        std::mem::take(&mut self.blocks)
    }
}

/// Bytes of the block's values, without the rest of its buffers.
pub(super) fn block_bytes(block: &RecordBatch) -> u64 {
    block.columns().iter().map(|values| value_bytes(values)).sum()
}

/// The blocks as one; `None` if there is nothing.
pub(super) fn joined(blocks: Vec<RecordBatch>) -> Result<Option<RecordBatch>> {
    match blocks.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [first, ..] => concat_batches(&first.schema(), &blocks).map(Some).map_err(Error::logical),
    }
}
