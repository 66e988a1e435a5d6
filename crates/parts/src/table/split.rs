//! Splits a block of rows by partition.

use std::collections::HashMap;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::row::{RowConverter, Rows};

use crate::error::{Error, Result};
use crate::spec::PartSpec;

/// The rows of `block` by partition, in the order of the partitions' first rows. More than `partitions_max`
/// partitions are an error; 0 is no limit.
pub(super) fn split(block: RecordBatch, spec: &PartSpec, partitions_max: usize) -> Result<Vec<RecordBatch>> {
    if spec.partition_key.is_empty() {
        return Ok(vec![block]);
    }
    let rows = encode_partitions(&block, spec)?;
    if (1..rows.num_rows()).all(|row| rows.row(row) == rows.row(0)) {
        return Ok(vec![block]);
    }
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for row in 0..rows.num_rows() {
        let place = *places.entry(rows.row(row).data()).or_insert(groups.len());
        if place == groups.len() {
            if partitions_max > 0 && place == partitions_max {
                return Err(Error::TooManyPartitions { most: partitions_max });
            }
            groups.push(Vec::new());
        }
        let row = u32::try_from(row)
            .map_err(|_| Error::BlockMismatch { what: "it has more than 2^32 rows".to_owned() })?;
        groups[place].push(row);
    }
    groups.into_iter().map(|rows| Ok(take_record_batch(&block, &UInt32Array::from(rows))?)).collect()
}

fn encode_partitions(block: &RecordBatch, spec: &PartSpec) -> Result<Rows> {
    let fields = spec.partition_key.iter().map(|element| element.sort_field(&spec.columns)).collect();
    let columns: Vec<ArrayRef> = spec
        .partition_key
        .iter()
        .map(|element| element.array(block, &spec.columns))
        .collect::<Result<_>>()?;
    Ok(RowConverter::new(fields)?.convert_columns(&columns)?)
}
