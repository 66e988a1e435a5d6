//! Sorts rows by their keys, with most comparisons on inline key prefixes.

use std::cmp::Ordering;

use arrow::row::Rows;

/// Bytes of the key prefix that is stored next to the row number.
const PREFIX_BYTES: usize = 16;

/// A row, and its key's prefix as a number with the same order.
#[derive(Clone, Copy)]
struct Prefixed {
    prefix: u128,
    row: u32,
}

/// The order of the rows by key, stable for equal keys; `None` if they are sorted already.
///
/// # Panics
///
/// If there are more than 2^32 rows.
pub(super) fn order(keys: &Rows) -> Option<Vec<u32>> {
    let row_count = u32::try_from(keys.num_rows()).expect("the caller limits the rows of a block");
    if (1..keys.num_rows()).all(|row| keys.row(row - 1) <= keys.row(row)) {
        return None;
    }
    let prefixed = |row: u32| Prefixed { prefix: prefix(keys.row(row as usize).data()), row };
    let mut rows: Vec<Prefixed> = (0..row_count).map(prefixed).collect();
    // The row numbers differ, so an unstable sort is stable.
    rows.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| compare_rest(keys, *a, *b)));
    Some(rows.into_iter().map(|prefixed| prefixed.row).collect())
}

fn compare_rest(keys: &Rows, a: Prefixed, b: Prefixed) -> Ordering {
    keys.row(a.row as usize).cmp(&keys.row(b.row as usize)).then(a.row.cmp(&b.row))
}

/// Shorter keys are zero-padded; if prefixes are equal, the whole keys decide.
fn prefix(key: &[u8]) -> u128 {
    let mut bytes = [0; PREFIX_BYTES];
    let length = key.len().min(PREFIX_BYTES);
    bytes[..length].copy_from_slice(&key[..length]);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BinaryViewArray, UInt8Array};
    use arrow::datatypes::DataType;
    use arrow::row::{RowConverter, SortField};

    use super::*;
    use crate::sample::Noise;

    fn check(strings: &[Vec<u8>], numbers: &[u8]) {
        let columns: [ArrayRef; 2] = [
            Arc::new(BinaryViewArray::from_iter_values(strings)),
            Arc::new(UInt8Array::from(numbers.to_vec())),
        ];
        let fields = vec![SortField::new(DataType::BinaryView), SortField::new(DataType::UInt8)];
        let keys = RowConverter::new(fields).unwrap().convert_columns(&columns).unwrap();
        let mut expected: Vec<u32> = (0..strings.len() as u32).collect();
        expected.sort_by_key(|&row| (&strings[row as usize], numbers[row as usize]));
        let is_sorted = expected.is_sorted();
        assert_eq!(order(&keys), (!is_sorted).then_some(expected));
    }

    #[test]
    fn rows_are_in_the_order_of_whole_keys_and_then_of_insertion() {
        let mut noise = Noise(4);
        for rows in [0, 1, 2, 700] {
            // Long strings that differ after the prefix, and short ones that are equal.
            let string = |kind: u64| vec![b'a'; (kind % 40) as usize];
            let strings: Vec<_> = (0..rows).map(|_| string(noise.below(60))).collect();
            let numbers: Vec<u8> = (0..rows).map(|_| noise.below(3) as u8).collect();
            check(&strings, &numbers);
        }
        check(&[vec![], vec![1], vec![1, 0]], &[0, 0, 0]);
    }
}
