//! Estimates the bytes that a copy of values takes, before they are copied.

use arrow::array::{Array, AsArray};
use arrow::datatypes::DataType;

/// Bytes of one string view.
pub const VIEW_BYTES: usize = 16;

/// Bytes that a copy of `rows` of `array` takes. Strings are not copied, only their views. Inside lists of lists
/// the result is an average.
pub fn taken_bytes(array: &dyn Array, rows: impl Iterator<Item = usize>) -> u64 {
    match array.as_list_opt::<i32>() {
        Some(lists) => {
            let width = width(lists.values().as_ref());
            let offsets = lists.value_offsets();
            let elements: u64 = rows.map(|row| (offsets[row + 1] - offsets[row]) as u64).sum();
            (elements as f64 * width) as u64
        }
        None => (rows.count() as f64 * width(array)) as u64,
    }
}

/// Adds the bytes that a copy of each row's value takes to `bytes`, counted as by [`taken_bytes`].
pub fn add_row_bytes(array: &dyn Array, bytes: &mut [usize]) {
    if let Some(lists) = array.as_list_opt::<i32>() {
        let element = width(lists.values().as_ref());
        let lengths = lists.offsets().lengths();
        bytes.iter_mut().zip(lengths).for_each(|(row, length)| *row += (length as f64 * element) as usize);
    } else if let Some(fields) = array.as_struct_opt() {
        fields.columns().iter().for_each(|field| add_row_bytes(field.as_ref(), bytes));
    } else {
        let each = width(array).ceil() as usize;
        bytes.iter_mut().for_each(|row| *row += each);
    }
}

/// Average bytes of one value.
fn width(array: &dyn Array) -> f64 {
    let rows = array.len().max(1) as f64;
    let within = |first: i32, last: i32| f64::from(last - first) / rows;
    match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let (first, last) = ends(lists.value_offsets());
            4.0 + within(first, last) * width(lists.values().as_ref())
        }
        DataType::Map(..) => {
            let maps = array.as_map();
            let (first, last) = ends(maps.value_offsets());
            4.0 + within(first, last) * width(maps.entries())
        }
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(|column| width(column.as_ref())).sum::<f64>()
        }
        DataType::FixedSizeBinary(bytes) => f64::from(*bytes),
        DataType::BinaryView | DataType::Utf8View => VIEW_BYTES as f64,
        DataType::Dictionary(key, _) => key.primitive_width().unwrap_or(8) as f64,
        other => other.primitive_width().unwrap_or(1) as f64,
    }
}

fn ends(offsets: &[i32]) -> (i32, i32) {
    (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BinaryViewArray, ListArray, UInt32Array};
    use arrow::datatypes::{Int64Type, UInt64Type};

    use super::*;

    fn check(array: ArrayRef, rows: &[usize], expected: u64) {
        assert_eq!(taken_bytes(array.as_ref(), rows.iter().copied()), expected);
    }

    #[test]
    fn copies_are_as_large_as_what_is_copied() {
        check(Arc::new(UInt32Array::from(vec![1, 2, 3])), &[0, 0, 0, 2], 16);
        check(Arc::new(BinaryViewArray::from_iter_values(["a long string stays in place"])), &[0, 0], 32);
        let ragged = || {
            let lists = [Some(vec![Some(1); 1000]), Some(vec![Some(1)])];
            ListArray::from_iter_primitive::<Int64Type, _, _>(lists)
        };
        check(Arc::new(ragged()), &[0, 0, 1], 8 * 2001);
        check(Arc::new(ragged().slice(1, 1)), &[0, 0], 8 * 2);
        let none = ListArray::from_iter_primitive::<UInt64Type, Vec<Option<u64>>, _>([]);
        check(Arc::new(none), &[], 0);
    }
}
