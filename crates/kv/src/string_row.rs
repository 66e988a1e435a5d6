//! Rows of one String column outside the key, by the bytes of the string: for callers without arrays.

use arrow::datatypes::DataType;

use crate::columns::{Cursor, write_varint};
use crate::error::Corrupt;
use crate::row_encoding::{RowFields, RowLayout};

/// Reads and writes these rows.
pub struct StringRows {
    layout: RowLayout,
}

impl Default for StringRows {
    fn default() -> StringRows {
        StringRows { layout: RowLayout::new(vec![DataType::BinaryView]) }
    }
}

impl StringRows {
    /// Appends the row of a string to `out`.
    pub fn write(&self, string: &[u8], out: &mut Vec<u8>) {
        let _no_null = RowFields::begin(1, out);
        write_varint(string.len() as u64, out);
        out.extend_from_slice(string);
    }

    /// The string of a row.
    pub fn read<'r>(&self, row: &'r [u8]) -> Result<&'r [u8], Corrupt> {
        let mut found = Err(Corrupt::Columns { found: 0, expected: 1 });
        self.layout.each(row, |value| {
            found = value.ok_or(Corrupt::Flag { found: 1 }).and_then(|value| {
                let mut cursor = Cursor::new(value);
                cursor.varint()?;
                Ok(cursor.rest())
            });
        })?;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back() {
        let rows = StringRows::default();
        for string in [&b""[..], b"a", b"\0\xff", &[7; 300]] {
            let mut row = Vec::new();
            rows.write(string, &mut row);
            assert_eq!(rows.read(&row), Ok(string));
        }
    }

    #[test]
    fn every_bit_flip_and_truncation_is_survived() {
        let (rows, mut row) = (StringRows::default(), Vec::new());
        rows.write(b"some text", &mut row);
        for bit in 0..row.len() * 8 {
            let mut flipped = row.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = rows.read(&flipped);
        }
        for length in 0..row.len() {
            assert!(rows.read(&row[..length]).is_err());
        }
    }
}
