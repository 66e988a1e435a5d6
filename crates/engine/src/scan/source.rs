//! The contract of a scan: what a reader asks for, and the blocks that a table answers with.

use std::sync::Arc;

use arrow::array::UInt64Array;
use arrow::compute::SortOptions;
use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Error, Result};
use basalt_parts::Predicate;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;

use super::coded_string::{CodedSource, CodedString};
use super::condition::ColumnCondition;
use super::numbering::Numbering;
use super::text::TextCondition;
use crate::context::QueryContext;

/// The columns and rows of a table to read.
#[derive(Clone)]
pub(crate) struct ScanRequest {
    /// The table's stored columns as the query's plan has them, then its virtual ones.
    pub(crate) stored: Columns,
    /// How many of these are stored.
    pub(crate) virtual_from: usize,
    /// Positions among the stored columns; may be empty, where only the number of rows counts.
    pub(crate) columns: Vec<usize>,
    /// All must hold for a row that the query wants; see [`conditions`](super::condition::conditions).
    pub(crate) conditions: Vec<ColumnCondition>,
    /// The same for skip indexes, which understand more.
    pub(crate) predicate: Predicate,
    /// Tests of strings that follow from the filters; see [`text_conditions`](super::text_conditions).
    pub(crate) texts: Vec<TextCondition>,
    /// The same as expressions over the stored columns. A table that
    /// [filters](crate::tables::Table::filters_rows) must: its rows are not checked again.
    pub(crate) filters: Vec<Arc<dyn PhysicalExpr>>,
    /// No more rows than this are needed.
    pub(crate) limit: Option<usize>,
    /// Strings that leave as their numbers: where among `columns`.
    pub(crate) numbers: Vec<(usize, Arc<Numbering>)>,
    pub(crate) query: Arc<QueryContext>,
}

/// Blocks, in partitions that are read independently.
pub(crate) trait BlockSource: Send + Sync {
    /// At least one.
    fn partition_count(&self) -> usize;

    /// The blocks of one partition: arrays of the requested columns in the request's order. An empty
    /// block gives other work its turn.
    fn open(&self, partition: usize) -> Result<BlockIterator>;

    /// Rows at most, if known before reading.
    fn rows_estimate(&self) -> Option<u64> {
        None
    }

    /// The number of rows, if it is known before reading.
    fn rows_exactly(&self) -> Option<u64> {
        None
    }

    /// The least and the greatest value of column `column` of the blocks, if they are known exactly.
    fn bounds(&self, column: usize) -> Option<ColumnBounds> {
        let _ = column;
        None
    }

    /// The same source with more filters, over the columns of the blocks; its rows are not checked
    /// again. `None` if it cannot filter.
    fn with_filters(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Result<Option<Arc<dyn BlockSource>>> {
        let _ = filters;
        Ok(None)
    }

    /// The same rows, those of each partition in this order of columns of the blocks; `None` if that
    /// takes sorting.
    fn in_order(&self, order: &[(usize, SortOptions)]) -> Result<Option<Arc<dyn BlockSource>>> {
        let _ = order;
        Ok(None)
    }

    /// The same source for a reader that needs no more rows of a partition; `None` if that changes
    /// nothing.
    fn with_limit(&self, limit: usize) -> Result<Option<Arc<dyn BlockSource>>> {
        let _ = limit;
        Ok(None)
    }

    /// Columns of the blocks, other than `kept`, that [`BlockSource::fetch`] can read later instead.
    fn deferrable(&self, kept: &[usize]) -> Vec<usize> {
        let _ = kept;
        Vec::new()
    }

    /// The same rows with fewer columns, and one more: the place of each row, as UInt64.
    fn narrowed(&self, columns: &[usize]) -> Result<Arc<dyn BlockSource>> {
        let _ = columns;
        Err(Error::logical("this source has no places of rows"))
    }

    /// Columns of the rows at these places, in this order.
    fn fetch(&self, places: &UInt64Array, columns: &[usize]) -> Result<RecordBatch> {
        let _ = (places, columns);
        Err(Error::logical("this source has no places of rows"))
    }

    /// The same rows with numbers of `strings`; `None` if strings have none.
    fn coded(&self, strings: &[CodedString]) -> Result<Option<CodedSource>> {
        let _ = strings;
        Ok(None)
    }

    /// Whether the source counts what it reads itself; else its blocks are counted.
    fn counts_reads(&self) -> bool {
        false
    }

    /// Lines for EXPLAIN indexes = 1: what each index left.
    fn index_report(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// One line for EXPLAIN: what the source reads and what it left out.
    fn describe(&self) -> String;
}

/// Bounds of the values of a column, from metadata.
pub(crate) struct ColumnBounds {
    /// The least of the values that are not NULL; there is one.
    pub(crate) least: ScalarValue,
    pub(crate) greatest: ScalarValue,
    pub(crate) null_count: u64,
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

    fn rows_exactly(&self) -> Option<u64> {
        self.rows_estimate()
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}
