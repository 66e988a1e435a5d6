//! Dictionary arrays to plain ones: for operators that need the strings themselves.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, UInt32Type};
use basalt_base::string_views::gather;

/// The strings of a dictionary array as a `BinaryViewArray` over the same bytes: only views are
/// gathered. Any other array is returned as it is.
///
/// # Panics
///
/// If a dictionary array is not of `UInt32` keys over `BinaryView` values without NULLs, as a part has it.
pub fn plain(array: &ArrayRef) -> ArrayRef {
    if !matches!(array.data_type(), DataType::Dictionary(..)) {
        return Arc::clone(array);
    }
    let dictionary = array.as_dictionary::<UInt32Type>();
    let keys = dictionary.keys();
    let strings = dictionary.values().as_binary_view();
    Arc::new(gather(strings, keys.values(), keys.nulls().cloned()))
}
