//! 128-bit hashes of values of any type, for sets of strings and nested values.
//!
//! As in ClickHouse's `uniqExact`, a collision is expected after about `2^64` distinct values. The hash is the same
//! on every machine, so that states can be exchanged.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type};
use basalt_base::Result;
use cityhash_rs::cityhash_102_128;

use super::slots::{ByteRows, Null};
use crate::native_order::with_one_nan;

/// One key per row, over all `columns`.
pub(super) fn hash_rows(columns: &[ArrayRef]) -> Result<Vec<u128>> {
    let mut keys: Vec<u128> = Vec::new();
    for (position, column) in columns.iter().enumerate() {
        let hashes = hash_column(column)?;
        if position == 0 {
            keys = hashes;
            continue;
        }
        let mut pair = [0_u8; 2 * size_of::<u128>()];
        for (key, hash) in keys.iter_mut().zip(hashes) {
            pair[..16].copy_from_slice(&key.to_le_bytes());
            pair[16..].copy_from_slice(&hash.to_le_bytes());
            *key = cityhash_102_128(&pair);
        }
    }
    Ok(keys)
}

fn hash_column(column: &ArrayRef) -> Result<Vec<u128>> {
    if matches!(column.data_type(), DataType::Decimal128(..)) {
        return Ok(column.as_primitive::<Decimal128Type>().values().iter().map(|v| *v as u128).collect());
    }
    if let Some(keys) = narrow_keys(column) {
        return Ok(keys.into_iter().map(u128::from).collect());
    }
    let values = ByteRows::new(column, Null::First)?;
    Ok((0..column.len()).map(|row| cityhash_102_128(values.value(row))).collect())
}

/// The values themselves, if 64 bits hold one. All NaN are equal.
pub(super) fn narrow_keys(column: &ArrayRef) -> Option<Vec<u64>> {
    let rows = column.len();
    let data = with_one_nan(column).to_data();
    macro_rules! keys {
        ($native:ty) => {{
            let values = &data.buffers()[0].typed_data::<$native>()[data.offset()..][..rows];
            values.iter().map(|&value| u64::from(value)).collect()
        }};
    }
    Some(match column.data_type() {
        DataType::Null => vec![0; rows],
        DataType::Boolean => column.as_boolean().values().iter().map(u64::from).collect(),
        DataType::UInt8 | DataType::Int8 => keys!(u8),
        DataType::UInt16 | DataType::Int16 => keys!(u16),
        DataType::UInt32 | DataType::Int32 | DataType::Float32 => keys!(u32),
        DataType::UInt64 | DataType::Int64 | DataType::Float64 => keys!(u64),
        _ => return None,
    })
}
