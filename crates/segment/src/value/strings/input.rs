//! The strings of Arrow arrays.

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray};
use arrow::datatypes::DataType;
use basalt_base::query::checkpoint;
use basalt_base::{Error, ErrorCode, Result};

/// The longest string: Arrow counts the bytes of a string as a signed number of four bytes.
pub(super) const STRING_BYTES_MAX: usize = i32::MAX as usize;

/// Strings between checks of the query.
const CHECKED_ROWS: usize = 4096;

/// The strings of an array of type `BinaryView` or `Binary`, over the same buffers.
pub(super) fn views(values: &ArrayRef) -> Result<BinaryViewArray> {
    match values.data_type() {
        DataType::BinaryView => Ok(values.as_binary_view().clone()),
        DataType::Binary => Ok(BinaryViewArray::from(values.as_binary::<i32>())),
        other => Err(Error::logical(format!("a column of strings has the Arrow type {other}"))),
    }
}

/// Calls `take` with each string of `values`. In place of NULL it is empty: nulls are stored elsewhere.
pub(in crate::value) fn for_each(values: &ArrayRef, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let views = views(values)?;
    views.iter().enumerate().try_for_each(|(row, string)| {
        if row % CHECKED_ROWS == 0 {
            checkpoint()?;
        }
        let string = string.unwrap_or_default();
        if string.len() > STRING_BYTES_MAX {
            let what = format!("a string of {} bytes; the limit is {STRING_BYTES_MAX}", string.len());
            return Err(Error::new(ErrorCode::ArgumentOutOfBound, what));
        }
        take(string)
    })
}
