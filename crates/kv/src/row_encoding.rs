//! The value of a row: its columns outside the key.
//!
//! # Layout (format versions 1 and 2)
//!
//! ```text
//! version      u8       1, or 2 where rows expire
//! written      u32      version 2 only: seconds since 1970 of the insert, little-endian
//! columns      varint   number of columns when the row was written
//! null bitmap  columns/8 bytes, rounded up; a set bit is a NULL
//! values       those that are not NULL, in the layout of `columns`
//! ```
//!
//! A row without any bytes is a tombstone.
//!
//! Columns are identified by position, so a table may gain columns at the end: older rows have fewer and read the
//! defaults. RocksDB verifies the block checksum before a row is decoded; the decoder still accepts any bytes and
//! returns an error for bad ones.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use basalt_base::Result;
use basalt_base::clock::Clock;
use rocksdb::Options;
use rocksdb::compaction_filter::Decision;

use crate::columns::{ColumnBuilder, ColumnReader, Cursor, skip, write_varint};
use crate::error::Corrupt;

const PLAIN: u8 = 1;
const EXPIRING: u8 = 2;
const WRITTEN_BYTES: usize = size_of::<u32>();

/// The value of a row that says that its key is deleted.
pub(crate) const TOMBSTONE: &[u8] = &[];

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredRow<'a> {
    /// The encoded columns outside the key.
    Row(&'a [u8]),
    /// The key is deleted. It may have rows in older places.
    Tombstone,
}

impl<'a> StoredRow<'a> {
    pub(crate) fn of(value: &'a [u8]) -> StoredRow<'a> {
        if value == TOMBSTONE { StoredRow::Tombstone } else { StoredRow::Row(value) }
    }
}

/// Writes the rows of one block.
pub struct RowWriter<'a> {
    columns: Vec<ColumnReader<'a>>,
    /// The write time, for rows that expire.
    written: Option<u32>,
}

impl<'a> RowWriter<'a> {
    /// `columns` are the value columns in order, each with whether its type is nullable.
    pub fn new(
        columns: impl Iterator<Item = (&'a ArrayRef, bool)>,
        written: Option<u32>,
    ) -> Result<RowWriter<'a>> {
        let columns = columns.map(|(column, nullable)| ColumnReader::new(column, nullable));
        Ok(RowWriter { columns: columns.collect::<Result<_>>()?, written })
    }

    /// Appends the row at `row` to `out`.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self.written {
            None => out.push(PLAIN),
            Some(written) => {
                out.push(EXPIRING);
                out.extend_from_slice(&written.to_le_bytes());
            }
        }
        let nulls = NullBitmap::begin(self.columns.len(), out);
        for (position, column) in self.columns.iter().enumerate() {
            if column.is_null(row) {
                nulls.set(position, out);
            } else {
                column.write(row, out);
            }
        }
    }
}

/// Where the bitmap of NULLs is in a row that is being written.
#[derive(Clone, Copy)]
struct NullBitmap {
    at: usize,
}

impl NullBitmap {
    /// Appends the number of columns and a bitmap without NULLs.
    fn begin(columns: usize, out: &mut Vec<u8>) -> NullBitmap {
        write_varint(columns as u64, out);
        let at = out.len();
        out.resize(at + columns.div_ceil(8), 0);
        NullBitmap { at }
    }

    fn set(self, position: usize, out: &mut [u8]) {
        out[self.at + position / 8] |= 1 << (position % 8);
    }
}

/// Writes a row from the bytes of its values, which come from elsewhere than arrays.
pub struct RowFields {
    nulls: NullBitmap,
    position: usize,
}

impl RowFields {
    /// Begins a row of `columns` columns, that does not expire, at the end of `out`.
    pub fn begin(columns: usize, out: &mut Vec<u8>) -> RowFields {
        out.push(PLAIN);
        RowFields { nulls: NullBitmap::begin(columns, out), position: 0 }
    }

    /// Adds the next column, which `append` appends: the bytes of its value, of a string without its length. It returns
    /// `false` for NULL.
    #[inline]
    pub fn push(
        &mut self,
        is_string: bool,
        out: &mut Vec<u8>,
        append: impl FnOnce(&mut Vec<u8>) -> Result<bool>,
    ) -> Result<()> {
        let start = out.len();
        if !append(out)? {
            self.nulls.set(self.position, out);
        } else if is_string {
            prefix_length(start, out);
        }
        self.position += 1;
        Ok(())
    }

    /// Adds the next column by its encoded bytes.
    #[inline]
    pub fn push_encoded(&mut self, value: Option<&[u8]>, out: &mut Vec<u8>) {
        match value {
            Some(value) => out.extend_from_slice(value),
            None => self.nulls.set(self.position, out),
        }
        self.position += 1;
    }
}

/// The columns of encoded rows, for a reader that wants their bytes.
pub struct RowLayout {
    carriers: Vec<DataType>,
}

impl RowLayout {
    /// `carriers` are the value columns in order.
    pub fn new(carriers: Vec<DataType>) -> RowLayout {
        RowLayout { carriers }
    }

    /// Whether the row has all columns.
    pub fn is_whole(&self, row: &[u8]) -> Result<bool, Corrupt> {
        let mut cursor = Cursor::new(row);
        read_written(&mut cursor)?;
        Ok(cursor.varint()? == self.carriers.len() as u64)
    }

    /// Calls `visit` with the encoded bytes of each column that the row has, in order; with `None` for NULL.
    pub fn each<'r>(&self, row: &'r [u8], mut visit: impl FnMut(Option<&'r [u8]>)) -> Result<(), Corrupt> {
        let mut cursor = Cursor::new(row);
        read_written(&mut cursor)?;
        let (found, expected) = (cursor.varint()?, self.carriers.len());
        let columns = usize::try_from(found).ok().filter(|&columns| columns <= expected);
        let columns = columns.ok_or(Corrupt::Columns { found, expected })?;
        let nulls = cursor.take(columns.div_ceil(8))?;
        for (position, carrier) in self.carriers[..columns].iter().enumerate() {
            if nulls[position / 8] >> (position % 8) & 1 == 1 {
                visit(None);
                continue;
            }
            let start = cursor.clone().rest();
            skip(carrier, &mut cursor)?;
            visit(Some(&start[..start.len() - cursor.remaining()]));
        }
        Ok(())
    }
}

/// Puts the number of the bytes from `start` on before them.
fn prefix_length(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    write_varint(length as u64, out);
    out[start..].rotate_left(length);
}

/// Decodes rows into column builders.
pub struct RowReader {
    carriers: Vec<DataType>,
    /// The builder index of each value column, if it is wanted.
    targets: Vec<Option<usize>>,
    /// Columns before this one are read or skipped, the rest is not decoded.
    needed: usize,
    /// The default of each value column, as an array of one row.
    defaults: Vec<ArrayRef>,
}

impl RowReader {
    /// `targets` and `defaults` have an element for each of `carriers`, the value columns in order.
    pub fn new(carriers: Vec<DataType>, targets: Vec<Option<usize>>, defaults: Vec<ArrayRef>) -> RowReader {
        let needed = targets.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        RowReader { carriers, targets, needed, defaults }
    }

    /// Appends the columns of a row to their builders; returns the number of columns stored in the row.
    pub fn read(&self, row: &[u8], builders: &mut [ColumnBuilder]) -> Result<usize, Corrupt> {
        let mut cursor = Cursor::new(row);
        read_written(&mut cursor)?;
        let expected = self.carriers.len();
        let found = cursor.varint()?;
        let columns = usize::try_from(found).ok().filter(|&columns| columns <= expected);
        let columns = columns.ok_or(Corrupt::Columns { found, expected })?;
        let nulls = cursor.take(columns.div_ceil(8))?;
        for position in 0..self.needed.min(columns) {
            let is_null = nulls[position / 8] >> (position % 8) & 1 == 1;
            match (self.targets[position], is_null) {
                (Some(target), true) if builders[target].nullable() => builders[target].push_null(),
                (_, true) if self.targets[position].is_none() => {}
                (Some(_), true) => return Err(Corrupt::Flag { found: nulls[position / 8] }),
                (Some(target), false) => builders[target].read(&mut cursor)?,
                (None, _) => skip(&self.carriers[position], &mut cursor)?,
            }
        }
        if self.needed == expected && columns == expected && cursor.remaining() > 0 {
            return Err(Corrupt::Trailing { left: cursor.remaining() });
        }
        self.append_defaults(columns, builders)?;
        Ok(columns)
    }

    /// Appends the defaults of columns that the row lacks.
    pub(crate) fn append_defaults(&self, from: usize, builders: &mut [ColumnBuilder]) -> Result<(), Corrupt> {
        for position in from..self.needed {
            let Some(target) = self.targets[position] else { continue };
            let default = &self.defaults[position];
            if default.is_null(0) {
                builders[target].push_null();
                continue;
            }
            // The types of defaults are checked when the store is opened.
            let Ok(reader) = ColumnReader::new(default, false) else { continue };
            let mut bytes = Vec::new();
            reader.write(0, &mut bytes);
            builders[target].read(&mut Cursor::new(&bytes))?;
        }
        Ok(())
    }
}

/// Whether a row was written more than `ttl_seconds` before `now`. A row without a time never expires.
pub(crate) fn is_expired(row: &[u8], ttl_seconds: u32, now: u32) -> bool {
    match read_written(&mut Cursor::new(row)) {
        Ok(Some(written)) => now.saturating_sub(written) > ttl_seconds,
        _ => false,
    }
}

/// Makes compactions drop expired rows.
pub(crate) fn expire_in_compactions(options: &mut Options, ttl_seconds: u32, clock: Arc<dyn Clock>) {
    options.set_compaction_filter("basalt.expire", move |_, _, row: &[u8]| {
        let now = u32::try_from(clock.now_us() / 1_000_000).unwrap_or(u32::MAX);
        if is_expired(row, ttl_seconds, now) { Decision::Remove } else { Decision::Keep }
    });
}

fn read_written(cursor: &mut Cursor<'_>) -> Result<Option<u32>, Corrupt> {
    match cursor.byte()? {
        PLAIN => Ok(None),
        EXPIRING => {
            let written = cursor.take(WRITTEN_BYTES)?;
            Ok(Some(u32::from_le_bytes(written.try_into().expect("four bytes were taken"))))
        }
        found => Err(Corrupt::Version { found, newest: EXPIRING }),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryViewArray, BooleanArray, UInt16Array, new_null_array};
    use basalt_base::SqlType;
    use proptest::prelude::*;

    use super::*;

    fn types() -> Vec<SqlType> {
        vec![
            SqlType::UInt16,
            SqlType::String.into_nullable(),
            SqlType::Bool,
            SqlType::array_of(SqlType::tuple_of([SqlType::String.into_nullable(), SqlType::Uuid])),
        ]
    }

    fn columns(number: u16, text: Option<&[u8]>, flag: bool, elements: usize) -> Vec<ArrayRef> {
        let types = types();
        let texts: ArrayRef = match text {
            Some(text) => Arc::new(BinaryViewArray::from_iter_values([text])),
            None => new_null_array(&DataType::BinaryView, 1),
        };
        let mut list = ColumnBuilder::new(&types[3]).expect("a list");
        let mut bytes = Vec::new();
        write_varint(elements as u64, &mut bytes);
        for element in 0..elements {
            if element % 2 == 0 {
                bytes.push(0);
            } else {
                bytes.extend_from_slice(&[1, 2, b'o', b'k']);
            }
            bytes.extend_from_slice(&[element as u8; 16]);
        }
        list.read(&mut Cursor::new(&bytes)).expect("a list's bytes");
        vec![
            Arc::new(UInt16Array::from(vec![number])),
            texts,
            Arc::new(BooleanArray::from(vec![flag])),
            list.finish().expect("a whole list"),
        ]
    }

    fn write(columns: &[ArrayRef], written: Option<u32>) -> Vec<u8> {
        let types = types();
        let pairs = columns.iter().zip(types.iter().map(SqlType::accepts_null));
        let mut row = Vec::new();
        RowWriter::new(pairs, written).expect("storable columns").write(0, &mut row);
        row
    }

    fn read(row: &[u8], wanted: &[usize]) -> Result<Vec<ArrayRef>, Corrupt> {
        let types = types();
        let mut targets = vec![None; types.len()];
        wanted.iter().enumerate().for_each(|(target, &position)| targets[position] = Some(target));
        let mut builders: Vec<_> =
            wanted.iter().map(|&at| ColumnBuilder::new(&types[at]).expect("storable")).collect();
        let carriers = types.iter().map(SqlType::carrier).collect();
        let defaults = types.iter().map(|ty| ty.default_array(1)).collect();
        RowReader::new(carriers, targets, defaults).read(row, &mut builders)?;
        Ok(builders.into_iter().map(|builder| builder.finish().expect("whole columns")).collect())
    }

    proptest! {
        #[test]
        fn read_undoes_write(number: u16, text: Option<Vec<u8>>, flag: bool, elements in 0..4_usize, at: Option<u32>) {
            let columns = columns(number, text.as_deref(), flag, elements);
            let row = write(&columns, at);
            prop_assert_eq!(read(&row, &[0, 1, 2, 3]).expect("own bytes"), columns.clone());
            prop_assert_eq!(read(&row, &[3, 1]).expect("own bytes"), [columns[3].clone(), columns[1].clone()]);
        }

        #[test]
        fn any_bytes_read_without_a_panic(row: Vec<u8>) {
            let _ = read(&row, &[0, 1, 2, 3]);
        }
    }

    #[test]
    fn every_bit_flip_and_truncation_is_survived() {
        let row = write(&columns(7, Some(b"text"), true, 3), Some(1));
        for bit in 0..row.len() * 8 {
            let mut flipped = row.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = read(&flipped, &[0, 1, 2, 3]);
            let _ = read(&flipped, &[3]);
        }
        for len in 0..row.len() {
            assert!(read(&row[..len], &[0, 1, 2, 3]).is_err(), "{len} of {} bytes", row.len());
        }
    }

    #[test]
    fn older_rows_have_the_defaults_of_newer_columns() {
        let columns = columns(7, None, true, 1);
        let mut row = Vec::new();
        let old = columns[..2].iter().zip([false, true]);
        RowWriter::new(old, None).expect("storable columns").write(0, &mut row);
        let all = read(&row, &[0, 1, 2, 3]).expect("own bytes");
        let types = types();
        assert_eq!(all[..2], columns[..2]);
        assert_eq!(all[2..], [types[2].default_array(1), types[3].default_array(1)]);
    }

    #[test]
    fn rows_expire_after_their_time() {
        let row = write(&columns(7, None, true, 1), Some(100));
        assert!(!is_expired(&row, 10, 110));
        assert!(is_expired(&row, 10, 111));
        assert!(!is_expired(&write(&columns(7, None, true, 1), None), 10, u32::MAX));
    }
}
