//! Writes the whole result of a query: JSON, JSONCompact, of values or strings, and JSONColumnsWithMetadata.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use super::columns_write::ColumnTexts;
use super::row::{Cells, Nested, RowStyle, Shape};
use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{
    Indent, TextSettings, ValueWriter, write_float64, write_integer, write_json_string, write_valid_utf8,
};

/// Writes the whole result: `meta`, `data`, statistics.
pub(crate) struct JsonWriter {
    columns: Columns,
    text: TextSettings,
    style: RowStyle,
    nested: Nested,
    /// The columns of JSONColumnsWithMetadata.
    texts: Option<ColumnTexts>,
    write_statistics: bool,
    rows: u64,
    /// `data` is closed, because something followed it.
    data_closed: bool,
    /// Buffer in which invalid UTF-8 is replaced, so that the document is valid JSON.
    unchecked: Vec<u8>,
}

impl JsonWriter {
    pub(crate) fn new(
        columns: &Columns,
        settings: &FormatSettings,
        shape: Shape,
        cells: Cells,
    ) -> JsonWriter {
        JsonWriter {
            columns: columns.clone(),
            text: settings.text,
            style: RowStyle::new(columns, &settings.text, shape, cells),
            nested: if settings.json.flat { Nested::Flat } else { Nested::Indented },
            texts: None,
            write_statistics: settings.write_statistics,
            rows: 0,
            data_closed: false,
            unchecked: Vec::new(),
        }
    }

    /// A writer whose `data` has an array for each column.
    pub(crate) fn of_columns(columns: &Columns, settings: &FormatSettings) -> JsonWriter {
        let texts = Some(ColumnTexts::new(columns));
        JsonWriter { texts, ..JsonWriter::new(columns, settings, Shape::Object, Cells::Values) }
    }

    fn close_data(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.data_closed, true) {
            return;
        }
        match &self.texts {
            Some(texts) => {
                let mut unchecked = Vec::new();
                if !texts.is_empty() {
                    texts.write(Some(&self.style.keys), b"\t\t", &mut unchecked);
                }
                write_valid_utf8(&unchecked, out);
                out.extend_from_slice(b"\n\t}");
            }
            None => out.extend_from_slice(b"\n\t]"),
        }
    }

    /// Writes `"name": row` after the data; JSON puts the row on a line of its own.
    fn write_named_row(
        &self,
        name: &str,
        values: &[ValueWriter],
        row: usize,
        indent: usize,
        out: &mut Vec<u8>,
    ) {
        tabs(indent, out);
        out.extend_from_slice(format!("\"{name}\":").as_bytes());
        if self.style.shape == Shape::Array {
            out.push(b' ');
        } else {
            out.push(b'\n');
            tabs(indent, out);
        }
        self.style.write_lines(values, row, Indent::tabs(indent), self.nested, out);
    }

    /// Runs `write` on a buffer and appends it to `out` with invalid UTF-8 replaced.
    fn checked(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut JsonWriter, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut unchecked = std::mem::take(&mut self.unchecked);
        unchecked.clear();
        let written = write(self, &mut unchecked);
        write_valid_utf8(&unchecked, out);
        self.unchecked = unchecked;
        written
    }
}

impl BlockWriter for JsonWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\n\t\"meta\":\n\t[\n");
        for (at, column) in self.columns.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",\n" } else { b"" });
            out.extend_from_slice(b"\t\t{\n\t\t\t\"name\": ");
            write_json_string(column.name.as_bytes(), self.text.json_escape_forward_slashes, out);
            out.extend_from_slice(b",\n\t\t\t\"type\": ");
            write_json_string(column.ty.to_string().as_bytes(), self.text.json_escape_forward_slashes, out);
            out.extend_from_slice(b"\n\t\t}");
        }
        out.extend_from_slice(b"\n\t],\n\n\t\"data\":\n\t");
        out.extend_from_slice(if self.texts.is_some() { b"{\n" } else { b"[\n" });
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        if let Some(texts) = &mut self.texts {
            texts.push(&values, batch.num_rows());
            self.rows += batch.num_rows() as u64;
            return Ok(());
        }
        self.checked(out, |writer, out| {
            for row in 0..batch.num_rows() {
                out.extend_from_slice(if writer.rows > 0 { b",\n" } else { b"" });
                tabs(2, out);
                writer.style.write_lines(&values, row, Indent::tabs(2), writer.nested, out);
                writer.rows += 1;
            }
            Ok(())
        })
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.close_data(out);
        self.checked(out, |writer, out| {
            if batch.num_rows() > 0 {
                out.extend_from_slice(b",\n\n");
                writer.write_named_row("totals", &values, 0, 1, out);
            }
            Ok(())
        })
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.close_data(out);
        self.checked(out, |writer, out| {
            if batch.num_rows() >= 2 {
                out.extend_from_slice(b",\n\n\t\"extremes\":\n\t{\n");
                writer.write_named_row("min", &values, 0, 2, out);
                out.extend_from_slice(b",\n");
                writer.write_named_row("max", &values, 1, 2, out);
                out.extend_from_slice(b"\n\t}");
            }
            Ok(())
        })
    }

    fn finish(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.close_data(out);
        let count = |name: &str, value: u64, out: &mut Vec<u8>| {
            out.extend_from_slice(format!(",\n\n\t\"{name}\": ").as_bytes());
            write_integer(value, out);
        };
        count("rows", self.rows, out);
        if let Some(rows) = statistics.rows_before_limit {
            count("rows_before_limit_at_least", rows, out);
        }
        if self.write_statistics {
            out.extend_from_slice(b",\n\n\t\"statistics\":\n\t{\n\t\t\"elapsed\": ");
            write_float64(statistics.elapsed_seconds, out);
            out.extend_from_slice(b",\n\t\t\"rows_read\": ");
            write_integer(statistics.rows_read, out);
            out.extend_from_slice(b",\n\t\t\"bytes_read\": ");
            write_integer(statistics.bytes_read, out);
            out.extend_from_slice(b"\n\t}");
        }
        out.extend_from_slice(b"\n}\n");
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/json; charset=UTF-8"
    }
}

fn tabs(count: usize, out: &mut Vec<u8>) {
    Indent::tabs(count).write(out);
}
