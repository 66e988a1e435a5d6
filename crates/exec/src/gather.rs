//! Coalesces small blocks, for operators whose cost per row is lower in large blocks.
//!
//! # Cost
//!
//! Each row is copied once. A block has [`ROWS`] rows, or fewer if they take [`BYTES_MAX`]. The gathered rows and the
//! last emitted block are charged to the query's memory.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{Stream, StreamExt};

use crate::one_input::OneInput;

/// Rows of a large block.
const ROWS: usize = 1 << 20;
/// Bytes of a large block.
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

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let memory = MemoryConsumer::new(GatherOperator::NAME).register(context.memory_pool());
        let input = self.input.execute(partition, context)?;
        let schema = self.input.schema();
        let output = gathered(Gathering { input, schema: Arc::clone(&schema), memory });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, output)))
    }
}

/// The stream of a partition.
struct Gathering<S> {
    input: S,
    schema: SchemaRef,
    /// For the waiting blocks, then for the block made of them, until the next one is requested.
    memory: MemoryReservation,
}

fn gathered<S>(gathering: Gathering<S>) -> impl Stream<Item = Result<RecordBatch>> + Send
where
    S: Stream<Item = Result<RecordBatch>> + Send + Unpin,
{
    futures::stream::unfold(Some(gathering), |gathering| async move {
        let mut gathering = gathering?;
        match gathering.next().await {
            Ok((None, _)) => None,
            Ok((Some(block), is_last)) => Some((Ok(block), Some(gathering).filter(|_| !is_last))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl<S: Stream<Item = Result<RecordBatch>> + Unpin> Gathering<S> {
    /// The next block, and whether the input has ended after it.
    async fn next(&mut self) -> Result<(Option<RecordBatch>, bool)> {
        self.memory.free();
        let mut blocks: Vec<RecordBatch> = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        let mut is_last = false;
        while rows < ROWS && bytes < BYTES_MAX {
            let Some(block) = self.input.next().await.transpose()? else {
                is_last = true;
                break;
            };
            let block_bytes = block.get_array_memory_size();
            self.memory.try_grow(block_bytes)?;
            rows += block.num_rows();
            bytes += block_bytes;
            blocks.push(block);
        }
        let block = match blocks.as_slice() {
            [] => return Ok((None, is_last)),
            [_] => blocks.swap_remove(0),
            _ => {
                // The blocks stay in memory until the new block is complete.
                self.memory.try_grow(bytes)?;
                concat_batches(&self.schema, &blocks)?
            }
        };
        drop(blocks);
        self.memory.try_resize(block.get_array_memory_size())?;
        Ok((Some(block), is_last))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{AsArray, BinaryViewArray, UInt32Array};
    use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt32Type};
    use datafusion::common::DataFusionError;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};

    use super::*;

    /// Sends the blocks of `input` through the operator, which may use `bytes_max`.
    fn output(
        input: Vec<Result<RecordBatch>>,
        schema: SchemaRef,
        bytes_max: usize,
    ) -> Vec<Result<RecordBatch>> {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes_max));
        let memory = MemoryConsumer::new("gather").register(&pool);
        let gathering = Gathering { input: futures::stream::iter(input), schema, memory };
        let output = futures::executor::block_on(gathered(gathering).collect::<Vec<_>>());
        assert_eq!(pool.reserved(), 0, "memory stays charged");
        output
    }

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
        let output: Vec<RecordBatch> =
            output(blocks, schema, usize::MAX).into_iter().map(|block| block.expect("rows")).collect();
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
        assert!(matches!(output(blocks, schema, usize::MAX).as_slice(), [Err(_)]));
    }

    #[test]
    fn what_is_gathered_is_charged() {
        let schema = Arc::new(Schema::new(vec![Field::new("number", DataType::UInt32, false)]));
        let block = || {
            let numbers: UInt32Array = (0..1000).collect();
            Ok(RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(numbers)])?)
        };
        let bytes = block().map(|block: RecordBatch| block.get_array_memory_size()).expect("rows");
        let check = |bytes_max: usize, fits: bool| {
            let output = output(vec![block(), block()], Arc::clone(&schema), bytes_max);
            assert_eq!(matches!(output.as_slice(), [Ok(_)]), fits, "{output:?}");
            assert!(fits || matches!(output.as_slice(), [Err(DataFusionError::ResourcesExhausted(_))]));
        };
        check(4 * bytes, true);
        check(3 * bytes, false);
        check(bytes, false);
    }
}
