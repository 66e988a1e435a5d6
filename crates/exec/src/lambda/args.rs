//! The arguments for one block: lists, whose elements are passed to the body, and captured values.

use std::ops::Range;
use std::sync::Arc;

use basalt_base::array_bytes::{VIEW_BYTES, add_row_bytes};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};

/// The maximum bytes of a batch of elements with the repeated values.
pub(super) const BATCH_BYTES_MAX: usize = 64 << 20;

/// One argument; a constant is an array of one row.
struct Arg {
    array: ArrayRef,
    is_constant: bool,
}

impl Arg {
    fn of(value: &ColumnarValue) -> Result<Arg> {
        Ok(match value {
            ColumnarValue::Array(array) => Arg { array: Arc::clone(array), is_constant: false },
            ColumnarValue::Scalar(value) => Arg { array: value.to_array()?, is_constant: true },
        })
    }

    fn place(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }
}

/// All arguments of a block.
pub(super) struct Args {
    lists: Vec<Arg>,
    captured: Vec<Arg>,
    /// The bytes of the captured values of each row; a single number if all of them are constants.
    widths: Vec<usize>,
}

impl Args {
    /// The first `lists` of `values` are lists, the others are captured.
    pub(super) fn of(values: &[ColumnarValue], lists: usize) -> Result<Args> {
        let (lists, captured) = values.split_at(lists.min(values.len()));
        let captured = captured.iter().map(Arg::of).collect::<Result<Vec<_>>>()?;
        let rows = captured.iter().filter(|arg| !arg.is_constant).map(|arg| arg.array.len()).next();
        let mut widths = vec![VIEW_BYTES; rows.unwrap_or(1)];
        for arg in &captured {
            let mut own = vec![0; arg.array.len()];
            add_row_bytes(&arg.array, &mut own);
            widths.iter_mut().enumerate().for_each(|(row, width)| *width += own[arg.place(row)]);
        }
        let lists = lists.iter().map(Arg::of).collect::<Result<Vec<_>>>()?;
        for list in &lists {
            list_of(&list.array)?;
        }
        Ok(Args { lists, captured, widths })
    }

    fn length(&self, row: usize) -> usize {
        self.lists.first().map_or(0, |arg| {
            let list = arg.array.as_list::<i32>();
            let ends = &list.offsets()[arg.place(row)..];
            (ends[1] - ends[0]) as usize
        })
    }

    fn width(&self, row: usize) -> usize {
        self.widths[row.min(self.widths.len() - 1)]
    }

    /// The number of elements of `rows`.
    pub(super) fn elements(&self, rows: usize) -> usize {
        (0..rows).fold(0, |sum, row| sum.saturating_add(self.length(row)))
    }

    /// Whether the captured values of the row, repeated `elements` times, exceed a batch.
    pub(super) fn is_wide(&self, row: usize, elements: usize) -> bool {
        elements.saturating_mul(self.width(row)) > BATCH_BYTES_MAX
    }

    /// Splits the rows into ranges whose repeated values fit a batch. A row that exceeds a batch is a range of its
    /// own.
    pub(super) fn spans(&self, rows: usize) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        let (mut start, mut bytes) = (0, 0_usize);
        for row in 0..rows {
            let more = self.length(row).saturating_mul(self.width(row));
            if bytes.saturating_add(more) > BATCH_BYTES_MAX && start < row {
                spans.push(start..row);
                (start, bytes) = (row, 0);
            }
            bytes = bytes.saturating_add(more);
        }
        if start < rows {
            spans.push(start..rows);
        }
        spans
    }

    /// The lists of some rows, without elements outside of these rows.
    pub(super) fn lists(&self, rows: Range<usize>) -> Result<Vec<ListArray>> {
        self.lists
            .iter()
            .map(|arg| {
                if !arg.is_constant {
                    return compact(list_of(&arg.array)?, rows.clone());
                }
                let repeated = ScalarValue::try_from_array(&arg.array, 0)?.to_array_of_size(rows.len())?;
                compact(list_of(&repeated)?, 0..rows.len())
            })
            .collect()
    }

    /// The captured values of some rows, each repeated for every element of its row.
    pub(super) fn repeated(&self, rows: Range<usize>, offsets: &OffsetBuffer<i32>) -> Result<Vec<ArrayRef>> {
        let origins = |is_constant: bool| -> UInt32Array {
            let place = |row: usize| if is_constant { 0 } else { (rows.start + row) as u32 };
            let lengths = offsets.lengths().enumerate();
            lengths.flat_map(|(row, length)| std::iter::repeat_n(place(row), length)).collect()
        };
        if self.captured.is_empty() {
            return Ok(Vec::new());
        }
        let (varying, constant) = (origins(false), origins(true));
        let repeated = self
            .captured
            .iter()
            .map(|arg| Ok(take(&arg.array, if arg.is_constant { &constant } else { &varying }, None)?));
        repeated.collect()
    }

    /// The captured values of one row.
    pub(super) fn captured_in(&self, row: usize) -> Result<Vec<ScalarValue>> {
        self.captured.iter().map(|arg| ScalarValue::try_from_array(&arg.array, arg.place(row))).collect()
    }

    /// The columns that the body is compiled over.
    pub(super) fn schema(&self, columns: &[String]) -> Schema {
        let elements = self.lists.iter().map(|arg| match arg.array.data_type() {
            DataType::List(field) => field.data_type().clone(),
            other => other.clone(),
        });
        let types = elements.chain(self.captured.iter().map(|arg| arg.array.data_type().clone()));
        Schema::new(
            columns.iter().zip(types).map(|(name, ty)| Field::new(name, ty, true)).collect::<Vec<_>>(),
        )
    }
}

/// The first of `names` with these columns of `rows` rows.
pub(super) fn batch_of(names: &[String], columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let fields: Vec<Field> = names
        .iter()
        .zip(&columns)
        .map(|(name, column)| Field::new(name, column.data_type().clone(), true))
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
}

/// `body` with constants in place of the columns from `first` on.
pub(super) fn with_constants(
    body: &Arc<dyn PhysicalExpr>,
    first: usize,
    values: &[ScalarValue],
) -> Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(body)
        .transform_up(|part| {
            let captured = part.downcast_ref::<Column>().and_then(|column| column.index().checked_sub(first));
            Ok(match captured.and_then(|at| values.get(at)) {
                Some(value) => {
                    Transformed::yes(Arc::new(Literal::new(value.clone())) as Arc<dyn PhysicalExpr>)
                }
                None => Transformed::no(part),
            })
        })
        .data()
}

fn list_of(array: &ArrayRef) -> Result<&ListArray> {
    array.as_list_opt::<i32>().ok_or_else(|| DataFusionError::Internal("a lambda takes lists".into()))
}

fn compact(list: &ListArray, rows: Range<usize>) -> Result<ListArray> {
    let list = list.slice(rows.start, rows.len());
    let offsets = OffsetBuffer::from_lengths(list.offsets().lengths());
    let (start, length) = (list.offsets()[0] as usize, offsets[list.len()] as usize);
    let DataType::List(field) = list.data_type() else {
        return Err(DataFusionError::Internal("a lambda takes lists".into()));
    };
    Ok(ListArray::try_new(Arc::clone(field), offsets, list.values().slice(start, length), None)?)
}
