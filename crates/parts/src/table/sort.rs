//! Sorts the rows of one or several blocks by key, unless they are sorted already.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::row::{RowConverter, Rows};
use basalt_base::parallel::for_each;

use super::order::order;
use crate::error::{Error, Result};
use crate::spec::PartSpec;

/// The rows in the order of the sorting key, stable for equal keys.
pub(super) fn sort(batch: RecordBatch, spec: &PartSpec, threads: usize) -> Result<RecordBatch> {
    if spec.sort_key.is_empty() || batch.num_rows() < 2 {
        return Ok(batch);
    }
    if u32::try_from(batch.num_rows()).is_err() {
        return Err(Error::BlockMismatch { what: "it has more than 2^32 rows".to_owned() });
    }
    match order(&encode_key(&batch, spec)?) {
        Some(order) => gather(&batch, &UInt32Array::from(order), threads),
        None => Ok(batch),
    }
}

/// The rows of `blocks` (block, row) in the order of the sorting key, stable for equal keys; `None` if they are
/// sorted already.
pub(super) fn sorted_picks(blocks: &[RecordBatch], spec: &PartSpec) -> Result<Option<Vec<(usize, usize)>>> {
    if spec.sort_key.is_empty() {
        return Ok(None);
    }
    let rows: usize = blocks.iter().map(RecordBatch::num_rows).sum();
    if u32::try_from(rows).is_err() {
        return Err(Error::BlockMismatch { what: "it has more than 2^32 rows".to_owned() });
    }
    let fields = spec.sort_key.iter().map(|element| element.sort_field(&spec.columns)).collect();
    let converter = RowConverter::new(fields)?;
    let mut keys = converter.empty_rows(rows, 0);
    for block in blocks {
        converter.append(&mut keys, &key_columns(block, spec)?)?;
    }
    let Some(order) = order(&keys) else { return Ok(None) };
    drop(keys);
    let row = |(block, rows): (usize, &RecordBatch)| (0..rows.num_rows()).map(move |row| (block, row));
    let places: Vec<(usize, usize)> = blocks.iter().enumerate().flat_map(row).collect();
    Ok(Some(order.into_iter().map(|row| places[row as usize]).collect()))
}

/// The rows of `batch` in the given order.
fn gather(batch: &RecordBatch, order: &UInt32Array, threads: usize) -> Result<RecordBatch> {
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    for_each::<_, Error>(columns.iter_mut(), threads, |column| {
        *column = take(column, order, None)?;
        Ok(())
    })?;
    let options = RecordBatchOptions::new().with_row_count(Some(order.len()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

/// The sorting keys in Arrow's row format, whose byte order is key order.
pub(crate) fn encode_key(batch: &RecordBatch, spec: &PartSpec) -> Result<Rows> {
    let fields = spec.sort_key.iter().map(|element| element.sort_field(&spec.columns)).collect();
    Ok(RowConverter::new(fields)?.convert_columns(&key_columns(batch, spec)?)?)
}

/// The values of the sorting key in the rows of `batch`.
pub(crate) fn key_columns(batch: &RecordBatch, spec: &PartSpec) -> Result<Vec<ArrayRef>> {
    spec.sort_key.iter().map(|element| element.array(batch, &spec.columns)).collect()
}
