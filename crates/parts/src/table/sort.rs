//! Sorts a block of rows by the key, unless it is sorted already.

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::row::{RowConverter, Rows};

use super::order::order;
use crate::error::{Error, Result};
use crate::spec::{PartSpec, sort_field};

/// The rows in the order of the sort key; equal keys keep their order.
pub(super) fn sort(batch: RecordBatch, spec: &PartSpec) -> Result<RecordBatch> {
    if spec.sort_key.is_empty() || batch.num_rows() < 2 {
        return Ok(batch);
    }
    if u32::try_from(batch.num_rows()).is_err() {
        return Err(Error::BlockMismatch { what: "it has more than 2^32 rows".to_owned() });
    }
    match order(&encode_key(&batch, spec)?) {
        Some(order) => Ok(take_record_batch(&batch, &UInt32Array::from(order))?),
        None => Ok(batch),
    }
}

/// The sort keys in Arrow's row format, in which byte order is key order.
pub(super) fn encode_key(batch: &RecordBatch, spec: &PartSpec) -> Result<Rows> {
    let fields = spec.sort_key.iter().map(|&column| sort_field(&spec.field(column))).collect();
    let columns: Vec<ArrayRef> =
        spec.sort_key.iter().map(|&column| batch.column(column).slice(0, batch.num_rows())).collect();
    Ok(RowConverter::new(fields)?.convert_columns(&columns)?)
}
