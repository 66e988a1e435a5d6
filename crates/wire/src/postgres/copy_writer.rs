//! A result set as the data of COPY TO STDOUT: a message for each row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::RecordBatch;
use basalt_base::Result;
use basalt_base::zone::Zone;
use basalt_formats::{BlockWriter, Statistics};

use super::Format;
use super::row_writer::{ResultColumn, column_values};
use super::server_message::{put_count, put_message};
use super::value::ColumnValues;

const DATA: u8 = b'd';

/// The start of binary data: a signature, flags, and the length of an extension.
pub(super) const BINARY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The number of columns of the row that ends binary data.
pub(super) const BINARY_END: u16 = u16::MAX;

/// The form of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyForm {
    Text { delimiter: u8, null: String, header: bool },
    Csv { delimiter: u8, null: String, header: bool },
    Binary,
}

impl CopyForm {
    /// The format that the client is told.
    pub fn format(&self) -> Format {
        match self {
            CopyForm::Binary => Format::Binary,
            CopyForm::Text { .. } | CopyForm::Csv { .. } => Format::Text,
        }
    }
}

/// Writes the rows of a result set as messages with data.
pub struct CopyOutWriter {
    form: CopyForm,
    names: Vec<String>,
    columns: Vec<ResultColumn>,
    zone: Zone,
    rows: Arc<AtomicU64>,
    /// The head of binary data, which comes in one message with what follows it.
    head: &'static [u8],
}

impl CopyOutWriter {
    /// The number of written rows is added to `rows`.
    pub fn new(
        form: CopyForm,
        names: Vec<String>,
        columns: Vec<ResultColumn>,
        zone: Zone,
        rows: Arc<AtomicU64>,
    ) -> CopyOutWriter {
        let head = if form == CopyForm::Binary { BINARY_HEAD } else { b"" };
        CopyOutWriter { form, names, columns, zone, rows, head }
    }

    fn put_row(&self, values: &[ColumnValues], row: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.form == CopyForm::Binary {
            put_count(out, values.len());
            return values.iter().try_for_each(|values| values.put_binary_value(row, out));
        }
        let mut text = Vec::new();
        self.put_line(out, values.len(), |index, out| {
            if values[index].is_null(row) {
                out.extend_from_slice(self.null().as_bytes());
                return;
            }
            text.clear();
            values[index].put_text(row, &mut text);
            self.put_field(&text, values.len(), out);
        });
        Ok(())
    }

    fn put_line(&self, out: &mut Vec<u8>, fields: usize, mut put: impl FnMut(usize, &mut Vec<u8>)) {
        let delimiter = match self.form {
            CopyForm::Text { delimiter, .. } | CopyForm::Csv { delimiter, .. } => delimiter,
            CopyForm::Binary => b'\t',
        };
        for index in 0..fields {
            if index > 0 {
                out.push(delimiter);
            }
            put(index, out);
        }
        out.push(b'\n');
    }

    fn null(&self) -> &str {
        match &self.form {
            CopyForm::Text { null, .. } | CopyForm::Csv { null, .. } => null,
            CopyForm::Binary => "",
        }
    }

    fn put_field(&self, text: &[u8], fields: usize, out: &mut Vec<u8>) {
        match &self.form {
            CopyForm::Text { delimiter, .. } => put_escaped(text, *delimiter, out),
            CopyForm::Csv { delimiter, null, .. } => {
                // A line with `\.` alone ends the data.
                let is_end = fields == 1 && text == b"\\.";
                put_csv(text, *delimiter, is_end || text == null.as_bytes(), out);
            }
            CopyForm::Binary => {}
        }
    }
}

impl BlockWriter for CopyOutWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        match &self.form {
            CopyForm::Text { header: true, .. } | CopyForm::Csv { header: true, .. } => {
                let put = |index: usize, out: &mut Vec<u8>| {
                    self.put_field(self.names[index].as_bytes(), self.names.len(), out);
                };
                put_message(out, DATA, |out| self.put_line(out, self.names.len(), put));
            }
            _ => {}
        }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = column_values(&self.columns, batch, self.zone)?;
        for row in 0..batch.num_rows() {
            let (mut written, head) = (Ok(()), std::mem::take(&mut self.head));
            put_message(out, DATA, |out| {
                out.extend_from_slice(head);
                written = self.put_row(&values, row, out);
            });
            written?;
        }
        self.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn finish(&mut self, _statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        if self.form == CopyForm::Binary {
            let head = std::mem::take(&mut self.head);
            put_message(out, DATA, |out| {
                out.extend_from_slice(head);
                out.extend_from_slice(&BINARY_END.to_be_bytes());
            });
        }
        Ok(())
    }
}

/// With backslash escapes.
fn put_escaped(text: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for byte in text {
        let letter = match byte {
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0b => b'v',
            0x0c => b'f',
            other if *other == delimiter => delimiter,
            other => {
                out.push(*other);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

/// In quotes if it needs them, or could be read as NULL.
fn put_csv(text: &[u8], delimiter: u8, in_quotes: bool, out: &mut Vec<u8>) {
    let special = |byte: &u8| *byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    if !in_quotes && !text.iter().any(special) {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for byte in text {
        if *byte == b'"' {
            out.push(b'"');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, BinaryViewArray};
    use basalt_base::{Column, Columns, SqlType};

    use super::super::oid;
    use super::*;

    fn check(form: CopyForm, expected: &[&[u8]]) {
        let ty = SqlType::String.into_nullable();
        let columns = Columns::new(vec![Column::new("a", ty.clone())]);
        let values = [Some("x"), None, Some(""), Some("1\t\"2\"\\"), Some("\\."), Some("a,b")];
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter(values.map(|v| v.map(str::as_bytes))));
        let batch = RecordBatch::try_new(columns.to_arrow(), vec![array]).expect("a block");
        let (mut out, rows) = (Vec::new(), Arc::new(AtomicU64::new(0)));
        let column = ResultColumn { ty, oid: oid::TEXT, format: form.format() };
        let mut writer =
            CopyOutWriter::new(form, vec!["a".to_owned()], vec![column], Zone::utc(), Arc::clone(&rows));
        writer.start(&mut out);
        writer.write(&batch, &mut out).expect("written");
        writer.finish(&Statistics::default(), &mut out).expect("finished");
        let (mut found, mut rest) = (Vec::new(), out.as_slice());
        while let Some((head, _)) = rest.split_at_checked(5) {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            found.push(&rest[5..=length]);
            rest = &rest[length + 1..];
        }
        assert_eq!((found, rows.load(Ordering::Relaxed)), (expected.to_vec(), 6));
    }

    #[test]
    fn forms_are_those_of_postgres() {
        let text = CopyForm::Text { delimiter: b'\t', null: "\\N".to_owned(), header: true };
        check(text, &[b"a\n", b"x\n", b"\\N\n", b"\n", b"1\\t\"2\"\\\\\n", b"\\\\.\n", b"a,b\n"]);
        let csv = CopyForm::Csv { delimiter: b',', null: String::new(), header: false };
        check(csv, &[b"x\n", b"\n", b"\"\"\n", b"\"1\t\"\"2\"\"\\\"\n", b"\"\\.\"\n", b"\"a,b\"\n"]);
        let first = [BINARY_HEAD, b"\0\x01\0\0\0\x01x"].concat();
        let binary: [&[u8]; 7] = [
            &first,
            b"\0\x01\xff\xff\xff\xff",
            b"\0\x01\0\0\0\0",
            b"\0\x01\0\0\0\x061\t\"2\"\\",
            b"\0\x01\0\0\0\x02\\.",
            b"\0\x01\0\0\0\x03a,b",
            b"\xff\xff",
        ];
        check(CopyForm::Binary, &binary);
    }
}
