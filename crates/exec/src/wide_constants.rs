//! A rule for physical plans: small blocks where a large constant array is repeated for each row.
//!
//! DataFusion expands a constant to a column with one copy per row. For a constant array of a million elements that
//! would be 64 GB. [`WIDE_CONSTANTS`] puts an operator below the projection that splits blocks, so that the copies
//! take at most [`BYTES_MAX`].

use std::fmt;
use std::sync::Arc;

use basalt_base::array_bytes::add_row_bytes;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::StreamExt;

use crate::each_operator::EachOperator;
use crate::one_input::{OneInput, OneInputExec, over_inputs};

/// The maximum bytes of the copies in a block, except for a block of one row.
const BYTES_MAX: usize = 16 << 20;
/// Constants up to this size are not limited.
const NARROW_BYTES: usize = 1 << 10;

/// The optimizer rule.
pub(crate) const WIDE_CONSTANTS: EachOperator = EachOperator::new("wide_constants", |node| {
    let Some(projection) = node.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let Some(rows) = rows_of_blocks(projection)? else { return Ok(None) };
    let cut = CutRowsOperator::new(Arc::clone(projection.input()), rows);
    over_inputs(node, vec![Arc::new(OneInputExec(cut))]).map(Some)
});

/// The number of rows whose copies of constants take [`BYTES_MAX`]; `None` if the constants are small.
fn rows_of_blocks(projection: &ProjectionExec) -> Result<Option<usize>> {
    let mut width = [0];
    for column in projection.expr() {
        if let Some(constant) = column.expr.downcast_ref::<Literal>()
            && constant.value().data_type().is_nested()
        {
            add_row_bytes(&constant.value().to_array()?, &mut width);
        }
    }
    Ok((width[0] > NARROW_BYTES).then(|| (BYTES_MAX / width[0]).max(1)))
}

/// The operator.
pub(crate) struct CutRowsOperator {
    input: Arc<dyn ExecutionPlan>,
    /// The maximum number of rows of a block.
    rows: usize,
}

impl CutRowsOperator {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, rows: usize) -> CutRowsOperator {
        CutRowsOperator { input, rows }
    }
}

impl DisplayAs for CutRowsOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CutRowsExec: rows={}", self.rows)
    }
}

impl OneInput for CutRowsOperator {
    const NAME: &'static str = "CutRowsExec";
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<CutRowsOperator> {
        Ok(CutRowsOperator { input, rows: self.rows })
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (blocks, rows) = (self.input.execute(partition, context)?, self.rows);
        let cut = blocks.flat_map(move |block| futures::stream::iter(cut(block, rows)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), cut)))
    }
}

/// Splits a block into blocks of `rows` rows.
fn cut(block: Result<RecordBatch>, rows: usize) -> Vec<Result<RecordBatch>> {
    match block {
        Ok(block) if block.num_rows() > rows => (0..block.num_rows())
            .step_by(rows)
            .map(|start| Ok(block.slice(start, rows.min(block.num_rows() - start))))
            .collect(),
        whole => vec![whole],
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, UInt64Array};

    use super::*;

    #[track_caller]
    fn check(rows: u64, most: usize, expected: &[usize]) {
        let column: ArrayRef = Arc::new((0..rows).collect::<UInt64Array>());
        let block = RecordBatch::try_from_iter([("a", column)]).unwrap();
        let lengths: Vec<usize> =
            cut(Ok(block), most).into_iter().map(|block| block.unwrap().num_rows()).collect();
        assert_eq!(lengths, expected);
    }

    #[test]
    fn blocks_have_at_most_so_many_rows() {
        check(5, 2, &[2, 2, 1]);
        check(4, 2, &[2, 2]);
        check(2, 2, &[2]);
        check(0, 2, &[0]);
        check(3, 1, &[1, 1, 1]);
    }
}
