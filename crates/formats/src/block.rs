//! What readers return and writers take: blocks of rows as Arrow record batches.

use arrow::array::{Array, RecordBatch};
use arrow::buffer::BooleanBuffer;
use basalt_base::{Result, SqlType};

/// Rows that were read, and which of their values were not in the input.
#[derive(Clone, Debug)]
pub struct Block {
    pub batch: RecordBatch,
    /// One entry a column. Where a value was defaulted the batch holds the type's default, and the
    /// table's `DEFAULT` expression should take its place.
    pub defaulted: Vec<Defaulted>,
}

/// The rows of a column that the input had no value for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defaulted {
    Never,
    Always,
    Rows(BooleanBuffer),
}

/// Reads blocks from bytes of one format.
pub trait BlockReader: Send {
    /// The next rows, or `None` at the end. After an error the reader is of no more use.
    fn next_block(&mut self) -> Result<Option<Block>>;
}

/// Writes blocks as bytes of one format. Calls come in this order: `start`, `write` any number of
/// times, `totals` and `extremes` if there are any, `finish`.
pub trait BlockWriter: Send {
    fn start(&mut self, _out: &mut Vec<u8>) {}

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()>;

    /// The one row of `WITH TOTALS`; a format without a place for it leaves it out.
    fn totals(&mut self, _batch: &RecordBatch, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Two rows: the least and the greatest value of every column.
    fn extremes(&mut self, _batch: &RecordBatch, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self, _statistics: &Statistics, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// The media type that HTTP answers with.
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }
}

/// What a query cost, as JSON formats print it at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    pub elapsed_seconds: f64,
    pub rows_read: u64,
    pub bytes_read: u64,
    /// Rows that there would have been without LIMIT, if there was one.
    pub rows_before_limit: Option<u64>,
}

/// The values of `expressions` that `VALUES` holds in place of literals.
pub trait ExpressionEvaluator: Send + Sync {
    /// The value of `expression` as an array of one row that carries `ty`.
    fn evaluate(&self, expression: &str, ty: &SqlType) -> Result<std::sync::Arc<dyn Array>>;
}
