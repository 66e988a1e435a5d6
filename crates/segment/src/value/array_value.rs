//! The bytes of one value of an Arrow array.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::{Error, Result};

/// Appends the bytes of the value at `row`, which is there; `false` for NULL.
pub(super) fn append_array_value(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<bool> {
    if row >= array.len() {
        return Err(Error::logical("a store gave fewer values than it was asked for"));
    }
    if array.is_null(row) {
        return Ok(false);
    }
    match array.data_type() {
        DataType::Boolean => out.push(u8::from(array.as_boolean().value(row))),
        DataType::BinaryView => out.extend_from_slice(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => out.extend_from_slice(array.as_fixed_size_binary().value(row)),
        other => {
            let Some(width) = other.primitive_width() else {
                return Err(Error::not_implemented(format!("the bytes of a value of type {other}")));
            };
            let data = array.to_data();
            let start = (data.offset() + row) * width;
            out.extend_from_slice(&data.buffers()[0].as_slice()[start..start + width]);
        }
    }
    Ok(true)
}
