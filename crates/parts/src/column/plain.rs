//! Converts dictionary arrays to plain arrays, for operators that need the strings.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, UInt32Type};
use basalt_base::string_views::gather;

/// The strings of a dictionary array as a `BinaryViewArray` over the same bytes: only views are gathered. Any other
/// array is returned unchanged.
///
/// # Panics
///
/// If a dictionary array does not have `UInt32` keys over `BinaryView` values without NULLs, as arrays of a part
/// do.
pub fn plain(array: &ArrayRef) -> ArrayRef {
    if !matches!(array.data_type(), DataType::Dictionary(..)) {
        return Arc::clone(array);
    }
    let dictionary = array.as_dictionary::<UInt32Type>();
    let keys = dictionary.keys();
    let strings = dictionary.values().as_binary_view();
    Arc::new(gather(strings, keys.values(), keys.nulls().cloned()))
}
