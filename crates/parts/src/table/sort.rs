//! Sorts a block of rows by the key, unless it is sorted already.

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::row::{RowConverter, Rows};

use crate::error::{Error, Result};
use crate::spec::{PartSpec, sort_field};

/// The rows in the order of the sort key; equal keys keep their order.
pub(super) fn sort(batch: RecordBatch, spec: &PartSpec) -> Result<RecordBatch> {
    if spec.sort_key.is_empty() || batch.num_rows() < 2 {
        return Ok(batch);
    }
    let rows = encode_key(&batch, spec)?;
    if is_sorted(&rows) {
        return Ok(batch);
    }
    let count = u32::try_from(batch.num_rows())
        .map_err(|_| Error::BlockMismatch { what: "it has more than 2^32 rows".to_owned() })?;
    let mut order: Vec<u32> = (0..count).collect();
    order.sort_by(|&a, &b| rows.row(a as usize).cmp(&rows.row(b as usize)));
    Ok(take_record_batch(&batch, &UInt32Array::from(order))?)
}

/// The sort keys in Arrow's row format, in which byte order is key order.
pub(super) fn encode_key(batch: &RecordBatch, spec: &PartSpec) -> Result<Rows> {
    let fields = spec.sort_key.iter().map(|&column| sort_field(&spec.field(column))).collect();
    let columns: Vec<ArrayRef> =
        spec.sort_key.iter().map(|&column| batch.column(column).slice(0, batch.num_rows())).collect();
    Ok(RowConverter::new(fields)?.convert_columns(&columns)?)
}

fn is_sorted(rows: &Rows) -> bool {
    (1..rows.num_rows()).all(|row| rows.row(row - 1) <= rows.row(row))
}
