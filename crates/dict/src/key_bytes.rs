//! A composite key as one byte string, so that any key columns fit one table.
//!
//! # Layout
//!
//! The columns in order: values of one width as they are, strings after their length as a `u32`. A string in the last
//! column has no length: it ends with the key.

use std::sync::Arc;

use arrow::array::builder::BinaryViewBuilder;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::MutableBuffer;
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, SqlType, bail};

use crate::values::{StringArena, fixed_array, fixed_bytes_of, fixed_width};

const LENGTH_BYTES: usize = size_of::<u32>();

#[derive(Clone, Debug)]
pub(crate) struct KeyShape {
    columns: Vec<DataType>,
}

/// A key column of a block, to be read row by row.
enum KeyColumn<'a> {
    Fixed { bytes: Vec<u8>, width: usize },
    Strings(&'a arrow::array::BinaryViewArray),
}

impl KeyShape {
    pub(crate) fn new(types: &[SqlType]) -> Result<KeyShape> {
        let columns: Vec<DataType> = types.iter().map(SqlType::carrier).collect();
        for (carrier, ty) in columns.iter().zip(types) {
            let is_fixed = fixed_width(carrier).is_some_and(|width| width > 0);
            if !is_fixed && *carrier != DataType::BinaryView {
                return Err(Error::not_implemented(format!("a dictionary key of type {ty}")));
            }
        }
        Ok(KeyShape { columns })
    }

    /// The key of every row.
    pub(crate) fn encode(&self, keys: &[ArrayRef]) -> Result<StringArena> {
        let rows = keys.first().map_or(0, |key| key.len());
        let columns: Vec<KeyColumn<'_>> =
            self.columns.iter().zip(keys).map(|(carrier, array)| KeyColumn::new(carrier, array)).collect();
        let mut arena = StringArena::default();
        let mut key = Vec::new();
        for row in 0..rows {
            key.clear();
            for (position, column) in columns.iter().enumerate() {
                column.append(row, position + 1 == columns.len(), &mut key)?;
            }
            arena.push(&key);
        }
        Ok(arena)
    }

    /// The key columns of encoded keys.
    pub(crate) fn decode<'a>(&self, keys: impl Iterator<Item = &'a [u8]> + Clone) -> Result<Vec<ArrayRef>> {
        let mut rests: Vec<&[u8]> = keys.collect();
        let last = self.columns.len().saturating_sub(1);
        let columns = self.columns.iter().enumerate();
        columns.map(|(position, carrier)| decode_column(carrier, position == last, &mut rests)).collect()
    }
}

impl<'a> KeyColumn<'a> {
    fn new(carrier: &DataType, array: &'a ArrayRef) -> KeyColumn<'a> {
        match fixed_width(carrier) {
            Some(width) => KeyColumn::Fixed { bytes: fixed_bytes_of(array, width), width },
            None => KeyColumn::Strings(array.as_binary_view()),
        }
    }

    fn append(&self, row: usize, is_last: bool, key: &mut Vec<u8>) -> Result<()> {
        match self {
            KeyColumn::Fixed { bytes, width } => key.extend_from_slice(&bytes[row * width..][..*width]),
            KeyColumn::Strings(strings) => {
                let string = strings.value(row);
                let Ok(length) = u32::try_from(string.len()) else {
                    bail!(ArgumentOutOfBound, "a key string of {} bytes is too long", string.len());
                };
                if !is_last {
                    key.extend_from_slice(&length.to_le_bytes());
                }
                key.extend_from_slice(string);
            }
        }
        Ok(())
    }
}

/// Takes the value of one column off the front of every key.
fn decode_column(carrier: &DataType, is_last: bool, rests: &mut [&[u8]]) -> Result<ArrayRef> {
    if let Some(width) = fixed_width(carrier) {
        let mut bytes = MutableBuffer::with_capacity(rests.len() * width);
        for rest in rests {
            bytes.extend_from_slice(take_front(rest, width));
        }
        return fixed_array(carrier, bytes, None);
    }
    let mut strings = BinaryViewBuilder::with_capacity(rests.len());
    for rest in rests {
        let length = if is_last {
            rest.len()
        } else {
            let length = take_front(rest, LENGTH_BYTES);
            u32::from_le_bytes(length.try_into().expect("four bytes were taken")) as usize
        };
        strings.append_value(take_front(rest, length));
    }
    Ok(Arc::new(strings.finish()))
}

fn take_front<'a>(rest: &mut &'a [u8], bytes: usize) -> &'a [u8] {
    let (front, after) = rest.split_at(bytes);
    *rest = after;
    front
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, UInt16Array};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decode_undoes_encode(rows: Vec<(Vec<u8>, u16, Vec<u8>)>) {
            let keys: Vec<ArrayRef> = vec![
                Arc::new(BinaryViewArray::from_iter_values(rows.iter().map(|row| &row.0))),
                Arc::new(UInt16Array::from_iter_values(rows.iter().map(|row| row.1))),
                Arc::new(BinaryViewArray::from_iter_values(rows.iter().map(|row| &row.2))),
            ];
            let shape = KeyShape::new(&[SqlType::String, SqlType::Date, SqlType::String]).expect("plain keys");
            let arena = shape.encode(&keys).expect("short strings");
            let encoded: Vec<&[u8]> = (0..rows.len()).map(|row| arena.get(row)).collect();
            prop_assert_eq!(&shape.decode(encoded.iter().copied()).expect("own bytes"), &keys);
            for (left, left_row) in encoded.iter().zip(&rows) {
                for (right, right_row) in encoded.iter().zip(&rows) {
                    prop_assert_eq!(left == right, left_row == right_row);
                }
            }
        }
    }
}
