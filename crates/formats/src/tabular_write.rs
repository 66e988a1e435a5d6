//! Writes TabSeparated, CSV and TSKV: a line a row, a delimiter between fields.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};
use memchr::memchr;

use crate::block::BlockWriter;
use crate::header::{Header, leaves};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{Style, TextSettings, ValueWriter, write_csv_quoted, write_escaped};

/// The differences between the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Tsv,
    TsvRaw,
    Csv,
    /// `name=value` for every field, tabs between.
    Tskv,
}

pub(crate) struct TabularWriter {
    columns: Columns,
    text: TextSettings,
    dialect: Dialect,
    header: Header,
    delimiter: u8,
    newline: &'static [u8],
    null: Vec<u8>,
    /// CSV writes a tuple as a field for each of its elements.
    tuples_apart: bool,
    /// `name=` for every column of TSKV.
    labels: Vec<Vec<u8>>,
}

impl TabularWriter {
    pub(crate) fn new(
        columns: &Columns,
        settings: &FormatSettings,
        dialect: Dialect,
        header: Header,
    ) -> TabularWriter {
        let csv = dialect == Dialect::Csv;
        let crlf = if csv { settings.csv.crlf_end_of_line } else { settings.tsv.crlf_end_of_line };
        let null = if csv { &settings.csv.null } else { &settings.tsv.null };
        let label = |column: &basalt_base::Column| {
            let mut label = Vec::new();
            write_escaped(column.name.as_bytes(), &mut label);
            label.push(b'=');
            label
        };
        TabularWriter {
            columns: columns.clone(),
            text: settings.text,
            dialect,
            header,
            delimiter: if csv { settings.csv.delimiter } else { settings.tsv.delimiter },
            newline: if crlf { b"\r\n" } else { b"\n" },
            null: null.clone().into_bytes(),
            tuples_apart: settings.csv.write_tuples_apart,
            labels: columns.iter().map(label).collect(),
        }
    }

    fn write_names(&self, names: &[String], out: &mut Vec<u8>) {
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                out.push(self.delimiter);
            }
            match self.dialect {
                Dialect::Csv => write_csv_quoted(name.as_bytes(), out),
                Dialect::TsvRaw => out.extend_from_slice(name.as_bytes()),
                Dialect::Tsv | Dialect::Tskv => write_escaped(name.as_bytes(), out),
            }
        }
        out.extend_from_slice(self.newline);
    }

    fn write_rows(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for row in 0..batch.num_rows() {
            for (at, values) in values.iter().enumerate() {
                if at > 0 {
                    out.push(self.delimiter);
                }
                if self.dialect == Dialect::Tskv {
                    out.extend_from_slice(&self.labels[at]);
                }
                self.write_field(values, row, out);
            }
            out.extend_from_slice(self.newline);
        }
        Ok(())
    }

    fn write_field(&self, values: &ValueWriter, row: usize, out: &mut Vec<u8>) {
        if values.is_null(row) {
            return out.extend_from_slice(&self.null);
        }
        match self.dialect {
            Dialect::Tsv if self.delimiter != b'\t' => {
                let start = out.len();
                values.write(row, Style::Escaped, out);
                escape_delimiters(self.delimiter, start, out);
            }
            Dialect::Tsv | Dialect::Tskv => values.write(row, Style::Escaped, out),
            Dialect::TsvRaw => values.write(row, Style::Raw, out),
            Dialect::Csv => self.write_csv_field(values, row, out),
        }
    }

    /// Writes a field; a tuple becomes a field for each of its elements.
    fn write_csv_field(&self, values: &ValueWriter, row: usize, out: &mut Vec<u8>) {
        let Some(elements) = values.tuple_elements().filter(|_| self.tuples_apart) else {
            return values.write(row, Style::Csv, out);
        };
        for (at, element) in elements.enumerate() {
            if at > 0 {
                out.push(self.delimiter);
            }
            self.write_field(element, row, out);
        }
    }
}

impl BlockWriter for TabularWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        if self.header == Header::None {
            return;
        }
        let leaves = self.columns.iter().flat_map(|column| match self.dialect {
            Dialect::Csv if self.tuples_apart => leaves(&column.name, &column.ty),
            _ => vec![(column.name.clone(), column.ty.clone())],
        });
        let (names, types): (Vec<_>, Vec<_>) = leaves.map(|(name, ty)| (name, ty.to_string())).unzip();
        self.write_names(&names, out);
        if self.header == Header::NamesAndTypes {
            self.write_names(&types, out);
        }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_rows(batch, out)
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        if self.dialect == Dialect::Tskv {
            return Ok(());
        }
        out.extend_from_slice(self.newline);
        self.write_rows(batch, out)
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.totals(batch, out)
    }

    fn content_type(&self) -> &'static str {
        match (self.dialect, self.header) {
            (Dialect::Csv, Header::None) => "text/csv; charset=UTF-8; header=absent",
            (Dialect::Csv, _) => "text/csv; charset=UTF-8; header=present",
            (Dialect::Tsv | Dialect::TsvRaw | Dialect::Tskv, _) => "text/tab-separated-values; charset=UTF-8",
        }
    }
}

/// Inserts a backslash before every delimiter from `start` on.
fn escape_delimiters(delimiter: u8, start: usize, out: &mut Vec<u8>) {
    if memchr(delimiter, &out[start..]).is_some() {
        let field = out.split_off(start);
        for byte in field {
            out.extend((byte == delimiter).then_some(b'\\'));
            out.push(byte);
        }
    }
}
