//! Blocks of rows, as readers return them and writers take them: Arrow record batches.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::buffer::BooleanBuffer;
use basalt_base::{Columns, Result, SqlType};

/// Rows that were read, and which of their values were missing in the input.
#[derive(Clone, Debug)]
pub struct Block {
    pub batch: RecordBatch,
    /// One entry a column. Where a value was missing, the batch holds the type's default, and the table's `DEFAULT`
    /// expression should replace it.
    pub defaulted: Vec<Defaulted>,
}

/// The rows of a column whose value was missing in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defaulted {
    Never,
    Always,
    Rows(BooleanBuffer),
}

/// Reads blocks from bytes of one format.
pub trait BlockReader: Send {
    /// The next rows, or `None` at the end. After an error the reader must not be used again.
    fn next_block(&mut self) -> Result<Option<Block>>;
}

/// Blocks that say themselves which columns they have.
pub trait BlockSource: Send {
    /// The next block, or `None` at the end.
    fn next_block(&mut self) -> Result<Option<(Columns, RecordBatch)>>;
}

/// Writes blocks as bytes of one format. The order of calls is `start`, `write` any number of times, `totals` and
/// `extremes` if there are any, `finish`.
pub trait BlockWriter: Send {
    fn start(&mut self, _out: &mut Vec<u8>) {}

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()>;

    /// The one row of `WITH TOTALS`; formats that cannot show it ignore it.
    fn totals(&mut self, _batch: &RecordBatch, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Two rows: the minimum and the maximum of every column.
    fn extremes(&mut self, _batch: &RecordBatch, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// Whether the format shows the figures of a query that runs. If so, [`BlockWriter::progress`] should be called
    /// now and then after `start` and before `finish`.
    fn shows_progress(&self) -> bool {
        false
    }

    /// The figures so far.
    fn progress(&mut self, _statistics: &Statistics, _out: &mut Vec<u8>) {}

    fn finish(&mut self, _statistics: &Statistics, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    /// The media type of HTTP responses.
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }
}

/// The cost of a query, which JSON formats print at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    pub elapsed_seconds: f64,
    pub rows_read: u64,
    pub bytes_read: u64,
    /// An estimate; 0 if it is not known.
    pub total_rows_to_read: u64,
    /// Rows of the result before LIMIT, if there is a LIMIT.
    pub rows_before_limit: Option<u64>,
}

/// Evaluates expressions in `VALUES` that are no literals.
pub trait ExpressionEvaluator: Send + Sync {
    /// The value of `expression` as an array of one row that carries `ty`.
    fn evaluate(&self, expression: &str, ty: &SqlType) -> Result<ArrayRef>;
}

/// Converts values of a file that says its types to those of a table.
pub trait TypeConverter: Send + Sync {
    /// The values of `array`, which carries `from`, in an array of as many values that carries `to`.
    fn convert(&self, array: &ArrayRef, from: &SqlType, to: &SqlType) -> Result<ArrayRef>;
}

/// Work that formats leave to their caller; what is missing is an error where an input needs it.
#[derive(Clone, Default)]
pub struct Callbacks {
    pub evaluator: Option<Arc<dyn ExpressionEvaluator>>,
    pub converter: Option<Arc<dyn TypeConverter>>,
}
