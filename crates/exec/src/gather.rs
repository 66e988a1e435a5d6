//! Few large blocks of many small ones, for operators whose work costs less a row in large ones.
//!
//! # Cost
//!
//! Each row is copied once. A block has [`ROWS`] rows, or fewer where they take [`BYTES_MAX`].

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};

use crate::one_input::OneInput;

/// Rows that make a large block.
const ROWS: usize = 1 << 20;
/// Bytes that do.
const BYTES_MAX: usize = 64 << 20;

/// The operator.
pub struct GatherOperator {
    input: Arc<dyn ExecutionPlan>,
}

impl GatherOperator {
    pub fn new(input: Arc<dyn ExecutionPlan>) -> GatherOperator {
        GatherOperator { input }
    }
}

impl DisplayAs for GatherOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GatherExec: rows={ROWS}")
    }
}

impl OneInput for GatherOperator {
    const NAME: &'static str = "GatherExec";
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<GatherOperator> {
        Ok(GatherOperator::new(input))
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let schema = self.input.schema();
        let output = gathered(input, Arc::clone(&schema));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, output)))
    }
}

fn gathered(
    input: impl Stream<Item = Result<RecordBatch>> + Send + Unpin,
    schema: SchemaRef,
) -> impl Stream<Item = Result<RecordBatch>> + Send {
    futures::stream::unfold(Some(input), move |input| {
        let schema = Arc::clone(&schema);
        async move {
            let mut input = input?;
            let mut blocks: Vec<RecordBatch> = Vec::new();
            let (mut rows, mut bytes) = (0, 0);
            while rows < ROWS && bytes < BYTES_MAX {
                match input.next().await {
                    Some(Ok(block)) => {
                        rows += block.num_rows();
                        bytes += block.get_array_memory_size();
                        blocks.push(block);
                    }
                    Some(Err(error)) => return Some((Err(error), None)),
                    None if blocks.is_empty() => return None,
                    None => return Some((joined(&schema, blocks), None)),
                }
            }
            Some((joined(&schema, blocks), Some(input)))
        }
    })
}

fn joined(schema: &SchemaRef, mut blocks: Vec<RecordBatch>) -> Result<RecordBatch> {
    match blocks.as_slice() {
        [_] => Ok(blocks.swap_remove(0)),
        _ => Ok(concat_batches(schema, &blocks)?),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{AsArray, BinaryViewArray, UInt32Array};
    use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt32Type};
    use datafusion::common::DataFusionError;

    use super::*;

    fn check(lengths: &[usize], bytes_a_row: usize, expected: &[usize]) {
        let fields = vec![
            Field::new("number", DataType::UInt32, false),
            Field::new("text", DataType::BinaryView, false),
        ];
        let schema = Arc::new(Schema::new(fields));
        let mut next = 0_u32;
        let text = vec![b'x'; bytes_a_row];
        let blocks: Vec<Result<RecordBatch>> = lengths
            .iter()
            .map(|&length| {
                let numbers = UInt32Array::from_iter_values(next..next + length as u32);
                next += length as u32;
                let texts = BinaryViewArray::from_iter_values(std::iter::repeat_n(&text, length));
                Ok(RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(numbers), Arc::new(texts)])?)
            })
            .collect();
        let output = gathered(futures::stream::iter(blocks), schema).collect::<Vec<_>>();
        let output: Vec<RecordBatch> =
            futures::executor::block_on(output).into_iter().map(|block| block.expect("rows")).collect();
        assert_eq!(output.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), expected);
        let numbers = output.iter().flat_map(|block| block.column(0).as_primitive::<UInt32Type>().values());
        assert!(numbers.copied().eq(0..next), "rows are there once and in their order");
    }

    #[test]
    fn small_blocks_become_large_ones() {
        check(&[], 1, &[]);
        check(&[3, 0, 4], 1, &[7]);
        check(&[ROWS / 2; 5], 1, &[ROWS, ROWS, ROWS / 2]);
    }

    #[test]
    fn wide_rows_make_smaller_blocks() {
        let rows = BYTES_MAX / 4096 / 2 + 1;
        check(&[rows; 3], 4096, &[2 * rows, rows]);
    }

    #[test]
    fn an_error_is_the_end() {
        let schema = Arc::new(Schema::empty());
        let blocks = vec![
            Ok(RecordBatch::new_empty(Arc::clone(&schema))),
            Err(DataFusionError::Internal("broken".into())),
            Ok(RecordBatch::new_empty(Arc::clone(&schema))),
        ];
        let output = gathered(futures::stream::iter(blocks), schema).collect::<Vec<_>>();
        let output = futures::executor::block_on(output);
        assert!(matches!(output.as_slice(), [Err(_)]));
    }
}
