//! Adds columns of one value to the rows of a source.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_base::{Error, Result};

use crate::scan::{BlockIterator, BlockSource, repeated};

/// A column of the blocks.
#[derive(Clone, Debug)]
pub(super) enum Column {
    /// At this place in the blocks of the source.
    OfSource(usize),
    /// One row.
    Constant(ArrayRef),
}

/// A source whose blocks have these columns.
pub(super) struct WithConstants {
    pub(super) source: Arc<dyn BlockSource>,
    pub(super) columns: Vec<Column>,
    pub(super) schema: SchemaRef,
}

impl BlockSource for WithConstants {
    fn partition_count(&self) -> usize {
        self.source.partition_count()
    }

    fn open(&self, partition: usize) -> Result<BlockIterator> {
        let (columns, schema) = (self.columns.clone(), Arc::clone(&self.schema));
        let blocks = self.source.open(partition)?;
        Ok(Box::new(blocks.map(move |block| widened(&block?, &columns, &schema))))
    }

    fn rows_estimate(&self) -> Option<u64> {
        self.source.rows_estimate()
    }

    fn rows_exactly(&self) -> Option<u64> {
        self.source.rows_exactly()
    }

    fn counts_reads(&self) -> bool {
        self.source.counts_reads()
    }

    fn index_report(&self) -> Result<Vec<String>> {
        self.source.index_report()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }
}

fn widened(block: &RecordBatch, columns: &[Column], schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |column: &Column| match column {
        Column::OfSource(at) => Ok(Arc::clone(block.column(*at))),
        Column::Constant(value) => repeated(value, block.num_rows()),
    };
    let arrays = columns.iter().map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(block.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(Error::of_arrow)
}
