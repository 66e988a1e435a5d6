//! Dictionary arrays to plain ones: for operators that need the strings themselves.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, UInt32Type};

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
    let values = dictionary.values().as_binary_view();
    let keys = dictionary.keys();
    let views = gather(values.views(), keys.values(), keys.nulls());
    let buffers = values.data_buffers().to_vec();
    Arc::new(
        BinaryViewArray::try_new(ScalarBuffer::from(views), buffers, keys.nulls().cloned())
            .expect("views of a dictionary are of its buffers"),
    )
}

/// The view of each key; the empty string where there is none.
fn gather(views: &[u128], keys: &[u32], nulls: Option<&NullBuffer>) -> Vec<u128> {
    match nulls {
        None => keys.iter().map(|&key| views[key as usize]).collect(),
        Some(nulls) => keys
            .iter()
            .zip(nulls.inner().iter())
            .map(|(&key, valid)| if valid { views[key as usize] } else { 0 })
            .collect(),
    }
}
