//! Splits long lists before they are unfolded, to bound the size of ARRAY JOIN's blocks.
//!
//! DataFusion's unnest makes all rows of an input row at once, and repeats its other columns for each of them.
//! [`CUT_LISTS`] puts an operator below it, which splits a row with a long list into several rows with parts of the
//! list. It ends a block when the resulting rows reach [`BYTES_MAX`].

use std::fmt;
use std::sync::Arc;

use basalt_base::array_bytes::{VIEW_BYTES, add_row_bytes};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{Stream, StreamExt};

use crate::each_operator::EachOperator;
use crate::one_input::{OneInput, OneInputExec, over_inputs};

/// The maximum number of elements of a list.
const ELEMENTS_MAX: usize = 1 << 16;
/// The maximum bytes of the rows that a block unfolds to, except for a single larger row.
const BYTES_MAX: usize = 64 << 20;

/// The rule that puts the operator below every unnest.
pub(crate) const CUT_LISTS: EachOperator = EachOperator::new("cut_lists", |node| {
    let Some(unnest) = node.downcast_ref::<UnnestExec>() else { return Ok(None) };
    let lists = unnest.list_column_indices().iter().map(|list| list.index_in_input_schema).collect();
    let cut = OneInputExec(CutListsOperator { input: Arc::clone(unnest.input()), lists });
    over_inputs(node, vec![Arc::new(cut)]).map(Some)
});

/// The operator.
pub(crate) struct CutListsOperator {
    input: Arc<dyn ExecutionPlan>,
    /// The columns that are unfolded. They have equal lengths within a row.
    lists: Vec<usize>,
}

impl DisplayAs for CutListsOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CutListsExec: columns={:?}", self.lists)
    }
}

impl OneInput for CutListsOperator {
    const NAME: &'static str = "CutListsExec";
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<CutListsOperator> {
        Ok(CutListsOperator { input, lists: self.lists.clone() })
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let schema: SchemaRef = self.input.schema();
        let output = cut(Cutting { input, lists: self.lists.clone(), rest: None });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, output)))
    }
}

/// The stream of a partition.
struct Cutting<S> {
    input: S,
    lists: Vec<usize>,
    rest: Option<Rest>,
}

fn cut<S>(cutting: Cutting<S>) -> impl Stream<Item = Result<RecordBatch>> + Send
where
    S: Stream<Item = Result<RecordBatch>> + Send + Unpin,
{
    futures::stream::unfold(Some(cutting), |cutting| async move {
        let mut cutting = cutting?;
        match cutting.next().await {
            Ok(None) => None,
            Ok(Some(block)) => Some((Ok(block), Some(cutting))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl<S: Stream<Item = Result<RecordBatch>> + Unpin> Cutting<S> {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(rest) = &mut self.rest
                && let Some(block) = rest.next()?
            {
                return Ok(Some(block));
            }
            let Some(block) = self.input.next().await.transpose()? else { return Ok(None) };
            self.rest = Some(Rest::of(block, &self.lists)?);
        }
    }
}

/// An input block, and how much of it was emitted.
struct Rest {
    block: RecordBatch,
    /// The columns that are lists to unfold, and their offsets.
    lists: Vec<usize>,
    offsets: OffsetBuffer<i32>,
    /// The bytes that each row adds per repetition.
    widths: Vec<usize>,
    row: usize,
    /// The number of elements of the row that were emitted.
    element: usize,
}

/// A slice of the list of one row.
struct ListSlice {
    row: usize,
    end: usize,
}

impl Rest {
    fn of(block: RecordBatch, lists: &[usize]) -> Result<Rest> {
        let Some(&first) = lists.first() else {
            return Err(DataFusionError::Internal("lists to cut, but none is named".into()));
        };
        let offsets = list_of(block.column(first))?.offsets().clone();
        let mut widths = vec![VIEW_BYTES; block.num_rows()];
        for (at, column) in block.columns().iter().enumerate() {
            if !lists.contains(&at) {
                add_row_bytes(column, &mut widths);
            }
        }
        Ok(Rest { block, lists: lists.to_vec(), offsets, widths, row: 0, element: 0 })
    }

    /// The next rows, as many as a block may have.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let (first_row, first_element) = (self.row, self.element);
        let mut slices = Vec::new();
        let mut bytes = 0_usize;
        while self.row < self.block.num_rows() {
            let width = self.widths[self.row];
            let fitting = BYTES_MAX.saturating_sub(bytes) / width;
            if fitting == 0 && !slices.is_empty() {
                break;
            }
            let start = self.offsets[self.row] as usize + self.element;
            let length = (self.offsets[self.row + 1] as usize).saturating_sub(start);
            let taken = length.min(fitting.clamp(1, ELEMENTS_MAX));
            slices.push(ListSlice { row: self.row, end: start + taken });
            bytes = bytes.saturating_add(taken.saturating_mul(width));
            (self.row, self.element) =
                if taken == length { (self.row + 1, 0) } else { (self.row, self.element + taken) };
        }
        if slices.is_empty() {
            return Ok(None);
        }
        let whole_rows = first_element == 0 && self.element == 0 && slices.len() == self.row - first_row;
        if whole_rows {
            return Ok(Some(self.block.slice(first_row, slices.len())));
        }
        self.block_of(self.offsets[first_row] as usize + first_element, &slices).map(Some)
    }

    fn block_of(&self, start: usize, slices: &[ListSlice]) -> Result<RecordBatch> {
        let rows = UInt32Array::from_iter_values(slices.iter().map(|slice| slice.row as u32));
        let ends = slices.iter().map(|slice| slice.end as i32);
        let offsets: Vec<i32> = std::iter::once(start as i32).chain(ends).collect();
        let columns = self.block.columns().iter().enumerate().map(|(at, column)| -> Result<ArrayRef> {
            if !self.lists.contains(&at) {
                return Ok(take(column, &rows, None)?);
            }
            self.list(column, &offsets, slices)
        });
        Ok(RecordBatch::try_new(self.block.schema(), columns.collect::<Result<Vec<_>>>()?)?)
    }

    /// The slices of one of the lists. `offsets` belong to the first list; the others have the same offsets plus a
    /// constant.
    fn list(&self, column: &ArrayRef, offsets: &[i32], slices: &[ListSlice]) -> Result<ArrayRef> {
        let list = list_of(column)?;
        let DataType::List(field) = list.data_type() else {
            return Err(DataFusionError::Internal("a list to cut is a list".into()));
        };
        let first = slices.first().map_or(0, |slice| slice.row);
        let shift = list.offsets()[first] - self.offsets[first];
        let shifted = offsets.iter().map(|offset| offset + shift).collect::<Vec<i32>>();
        let nulls = list
            .nulls()
            .map(|nulls| slices.iter().map(|slice| nulls.is_valid(slice.row)).collect::<NullBuffer>());
        let offsets = OffsetBuffer::new(shifted.into());
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, Arc::clone(list.values()), nulls)?))
    }
}

fn list_of(column: &ArrayRef) -> Result<&ListArray> {
    column.as_list_opt::<i32>().ok_or_else(|| DataFusionError::Internal("ARRAY JOIN unfolds lists".into()))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{Field, Schema, UInt64Type};

    use super::*;

    /// A block of lists of consecutive numbers, and a column of lists of zeroes.
    fn block(lengths: &[usize], other: &[usize]) -> RecordBatch {
        let list = |lengths: &[usize]| -> ArrayRef {
            let mut next = 0..;
            Arc::new(ListArray::from_iter_primitive::<UInt64Type, _, _>(
                lengths.iter().map(|&length| Some(next.by_ref().take(length).map(Some).collect::<Vec<_>>())),
            ))
        };
        let columns = vec![list(lengths), list(other)];
        let fields: Vec<Field> = ["unfolded", "other"]
            .iter()
            .zip(&columns)
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a block")
    }

    fn check(lengths: &[usize], other: &[usize], expected: &[&[usize]]) {
        let mut rest = Rest::of(block(lengths, other), &[0]).expect("lists");
        let mut blocks = Vec::new();
        let mut next = 0;
        while let Some(block) = rest.next().expect("rows") {
            let list = list_of(block.column(0)).expect("a list");
            for row in 0..list.len() {
                let values = list.value(row);
                let values = values.as_primitive::<UInt64Type>().values();
                assert!(
                    values.iter().copied().eq(next..next + values.len() as u64),
                    "elements stay in order"
                );
                next += values.len() as u64;
            }
            blocks.push(list.offsets().lengths().collect::<Vec<_>>());
        }
        assert_eq!(next as usize, lengths.iter().sum::<usize>());
        assert_eq!(blocks, expected);
    }

    #[test]
    fn short_lists_stay_as_they_are() {
        check(&[], &[], &[]);
        check(&[3, 0, 2], &[1, 1, 1], &[&[3, 0, 2]]);
    }

    #[test]
    fn a_long_list_becomes_several() {
        check(&[1, 2 * ELEMENTS_MAX + 5, 0], &[0; 3], &[&[1, ELEMENTS_MAX, ELEMENTS_MAX, 5, 0]]);
    }

    #[test]
    fn a_block_ends_where_its_rows_become_large() {
        // The row's other column takes 16 bytes more than a quarter of a block.
        let other = BYTES_MAX / 4 / 8;
        check(&[1, 8], &[0, other], &[&[1, 3], &[3], &[2]]);
        check(&[2, 1], &[BYTES_MAX / 8, 0], &[&[1], &[1], &[1]]);
    }
}
