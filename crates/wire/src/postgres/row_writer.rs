//! A result set as messages: one for each row.

use arrow::array::RecordBatch;
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType};
use basalt_formats::BlockWriter;

use super::Format;
use super::server_message::{put_count, put_message};
use super::value::ColumnValues;

/// The kind of a row.
const ROW: u8 = b'D';

/// A column of a result set, as the client was told.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    pub ty: SqlType,
    pub oid: u32,
    pub format: Format,
}

/// Writes the rows of a result set as messages. Totals and extremes have no place in the protocol.
pub struct RowWriter {
    columns: Vec<ResultColumn>,
    zone: Zone,
}

impl RowWriter {
    /// `zone` is that of times whose type has none.
    pub fn new(columns: Vec<ResultColumn>, zone: Zone) -> RowWriter {
        RowWriter { columns, zone }
    }
}

impl BlockWriter for RowWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = column_values(&self.columns, batch, self.zone)?;
        for row in 0..batch.num_rows() {
            let mut written = Ok(());
            put_message(out, ROW, |out| {
                put_count(out, values.len());
                written = values
                    .iter()
                    .zip(&self.columns)
                    .try_for_each(|(values, column)| put_value(values, column.format, row, out));
            });
            written?;
        }
        Ok(())
    }
}

/// The columns of a block, ready to be written.
pub(super) fn column_values(
    columns: &[ResultColumn],
    batch: &RecordBatch,
    zone: Zone,
) -> Result<Vec<ColumnValues>> {
    let arrays = columns.iter().zip(batch.columns());
    arrays.map(|(column, array)| ColumnValues::new(&column.ty, array, column.oid, zone)).collect()
}

/// Appends the length of a value and the value.
fn put_value(values: &ColumnValues, format: Format, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if format == Format::Binary || values.is_null(row) {
        return values.put_binary_value(row, out);
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    values.put_text(row, out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// The number of rows in bytes of a [`RowWriter`].
pub fn count_rows(bytes: &[u8]) -> u64 {
    rows_end(bytes, u64::MAX).0
}

/// How many of the first `rows_max` rows are in bytes of a [`RowWriter`], and where they end.
pub fn rows_end(bytes: &[u8], rows_max: u64) -> (u64, usize) {
    let (mut rows, mut end) = (0, 0);
    while rows < rows_max
        && let Some([_, a, b, c, d]) = bytes.get(end..end + 5)
    {
        end += 1 + u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        rows += 1;
    }
    (rows, end)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BinaryViewArray, Int32Array, Int32Builder, ListBuilder};
    use basalt_base::{Column, Columns};

    use super::super::oid;
    use super::*;

    fn written(ty: SqlType, oid: u32, format: Format, array: ArrayRef) -> Vec<u8> {
        let columns = Columns::new(vec![Column::new("a", ty.clone())]);
        let batch = RecordBatch::try_new(columns.to_arrow(), vec![array]).expect("a block");
        let mut out = Vec::new();
        let mut writer = RowWriter::new(vec![ResultColumn { ty, oid, format }], Zone::utc());
        writer.write(&batch, &mut out).expect("written");
        out
    }

    #[test]
    fn rows_are_messages() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(258), None]));
        let text = written(SqlType::Int32.into_nullable(), oid::INT4, Format::Text, Arc::clone(&array));
        assert_eq!(text, b"D\0\0\0\x0d\0\x01\0\0\0\x03258D\0\0\0\x0a\0\x01\xff\xff\xff\xff");
        let binary = written(SqlType::Int32.into_nullable(), oid::INT8, Format::Binary, array);
        assert_eq!(&binary[..19], b"D\0\0\0\x12\0\x01\0\0\0\x08\0\0\0\0\0\0\x01\x02");
        assert_eq!((count_rows(&binary), rows_end(&binary, 1), rows_end(&binary, 0)), (2, (1, 19), (0, 0)));
    }

    #[test]
    fn arrays_have_both_forms() {
        let field = SqlType::Int32.into_nullable().element_field();
        let mut lists = ListBuilder::new(Int32Builder::new()).with_field(field);
        lists.append_value([Some(1), None]);
        let array: ArrayRef = Arc::new(lists.finish());
        let ty = SqlType::array_of(SqlType::Int32.into_nullable());
        let text = written(ty.clone(), 1007, Format::Text, Arc::clone(&array));
        assert_eq!(&text[11..], b"{1,NULL}");
        let binary = written(ty, 1007, Format::Binary, array);
        let expected: [u32; 8] = [1, 1, oid::INT4, 2, 1, 4, 1, u32::MAX];
        assert_eq!(&binary[11..], expected.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn texts_are_their_bytes() {
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([b"a\0b"]));
        for format in [Format::Text, Format::Binary] {
            assert_eq!(&written(SqlType::String, oid::TEXT, format, Arc::clone(&array))[11..], b"a\0b");
        }
    }
}
