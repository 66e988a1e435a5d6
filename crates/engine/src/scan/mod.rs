//! Reading a table: from a request to blocks, and from blocks to DataFusion's streams.
//!
//! A table answers a [`ScanRequest`] with a [`BlockSource`]: blocks in as many partitions as can be
//! read side by side. [`provider`] shows a table to DataFusion; [`exec`] runs a source as an operator;
//! [`condition`] finds in a WHERE clause what a key or an index can use.

mod condition;
mod exec;
mod parts;
mod provider;

pub(crate) use condition::{ColumnCondition, ValueSet, conditions, sorted_points};
pub(crate) use parts::PartsSource;
pub(crate) use provider::TableScanProvider;

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use crate::query::QueryContext;

/// What to read of a table.
#[derive(Clone)]
pub(crate) struct ScanRequest {
    /// The table's stored columns as the query's plan has them.
    pub(crate) stored: Columns,
    /// Positions among the stored columns; may be empty, where only the number of rows counts.
    pub(crate) columns: Vec<usize>,
    /// All must hold for a row that the query wants; see [`conditions`].
    pub(crate) conditions: Vec<ColumnCondition>,
    /// No more rows than this are needed.
    pub(crate) limit: Option<usize>,
    pub(crate) query: Arc<QueryContext>,
}

/// Blocks, in partitions that are read independently.
pub(crate) trait BlockSource: Send + Sync {
    /// At least one.
    fn partition_count(&self) -> usize;

    /// The blocks of one partition: arrays of the requested columns in the request's order.
    fn open(&self, partition: usize) -> Result<BlockIterator>;

    /// Rows at most, if known before reading.
    fn rows_estimate(&self) -> Option<u64> {
        None
    }

    /// One line for EXPLAIN: what the source reads and what it left out.
    fn describe(&self) -> String;
}

/// Blocks one after another.
pub(crate) type BlockIterator = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// A source of blocks that are in memory already.
pub(crate) struct MemorySource {
    /// The blocks of each partition.
    pub(crate) partitions: Vec<Vec<RecordBatch>>,
    pub(crate) description: String,
}

impl MemorySource {
    /// `blocks` dealt out over as many partitions as the query has threads.
    pub(crate) fn deal(
        blocks: Vec<RecordBatch>,
        request: &ScanRequest,
        description: &str,
    ) -> Arc<dyn BlockSource> {
        let count = request.query.threads().clamp(1, blocks.len().max(1));
        let mut partitions = vec![Vec::new(); count];
        for (index, block) in blocks.into_iter().enumerate() {
            partitions[index % count].push(block);
        }
        Arc::new(MemorySource { partitions, description: description.to_owned() })
    }
}

impl BlockSource for MemorySource {
    fn partition_count(&self) -> usize {
        self.partitions.len()
    }

    fn open(&self, partition: usize) -> Result<BlockIterator> {
        Ok(Box::new(self.partitions[partition].clone().into_iter().map(Ok)))
    }

    fn rows_estimate(&self) -> Option<u64> {
        Some(self.partitions.iter().flatten().map(|block| block.num_rows() as u64).sum())
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}
