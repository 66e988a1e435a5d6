//! The size of an array's values, independent of its buffers. It decides whether a part is wide, and how many rows
//! a granule has.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, UInt32Type};

/// Bytes of a length, as ClickHouse counts them.
const LENGTH_BYTES: u64 = 8;

/// Bytes of the values of `array`: a string has its characters and a length, NULL is an empty value of its type.
/// Does not depend on how the values are split into arrays.
pub fn value_bytes(array: &dyn Array) -> u64 {
    let rows = array.len() as u64;
    match array.data_type() {
        DataType::Null => 0,
        DataType::Boolean => rows,
        DataType::BinaryView => string_bytes(array),
        DataType::FixedSizeBinary(width) => rows * *width as u64,
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.value_offsets();
            let (first, last) = (offsets[0] as usize, offsets[list.len()] as usize);
            rows * LENGTH_BYTES + value_bytes(&list.values().slice(first, last - first))
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(|field| value_bytes(field)).sum(),
        DataType::Dictionary(..) => dictionary_bytes(array),
        fixed => rows * fixed.primitive_width().unwrap_or_default() as u64,
    }
}

fn string_bytes(array: &dyn Array) -> u64 {
    // The length is in the low quarter of a view; the string under a NULL is undefined.
    let strings = array.as_binary_view();
    let views = strings.views();
    let bytes = |row: usize| u64::from(views[row] as u32);
    let characters: u64 = match strings.nulls() {
        None => (0..views.len()).map(bytes).sum(),
        Some(nulls) => nulls.valid_indices().map(bytes).sum(),
    };
    characters + views.len() as u64 * LENGTH_BYTES
}

fn dictionary_bytes(array: &dyn Array) -> u64 {
    let Some(coded) = array.as_dictionary_opt::<UInt32Type>() else { return 0 };
    let Some(strings) = coded.values().as_binary_view_opt() else { return 0 };
    let views = strings.views();
    let keys = coded.keys();
    let bytes = |key: u32| u64::from(views[key as usize] as u32);
    let characters: u64 = match keys.nulls() {
        None => keys.values().iter().map(|&key| bytes(key)).sum(),
        Some(_) => keys.iter().flatten().map(bytes).sum(),
    };
    characters + array.len() as u64 * LENGTH_BYTES
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, DictionaryArray, ListArray, UInt16Array, UInt32Array};

    use super::*;

    #[test]
    fn only_the_values_of_a_slice_count() {
        let strings = BinaryViewArray::from_iter_values(["a", "a string that is longer than a view", ""]);
        assert_eq!(value_bytes(&strings.slice(2, 1)), 8);
        assert_eq!(value_bytes(&strings.slice(1, 1)), 8 + 35);
        let keys = UInt32Array::from(vec![Some(1), None, Some(0), Some(1)]);
        let coded = DictionaryArray::new(keys, Arc::new(strings));
        assert_eq!(value_bytes(&coded), 4 * 8 + 35 + 1 + 35);
        let numbers = Arc::new(UInt16Array::from_iter_values(0..10));
        assert_eq!(value_bytes(&numbers.slice(3, 4)), 8);
        let field = Arc::new(arrow::datatypes::Field::new("item", DataType::UInt16, false));
        let offsets = arrow::buffer::OffsetBuffer::from_lengths([1, 9]);
        let list = ListArray::new(field, offsets, numbers, None);
        assert_eq!(value_bytes(&list.slice(1, 1)), 8 + 18);
    }
}
