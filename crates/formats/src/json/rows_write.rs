//! Writes JSONEachRow and JSONCompactEachRow, of values or strings, and PrettyJSONEachRow: row after row.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use super::row::{Cells, Nested, RowStyle, Shape};
use crate::block::{BlockWriter, Statistics};
use crate::header::Header;
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{Indent, TextSettings, write_json_string, write_valid_utf8};

/// The form of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One line.
    Line,
    /// A line for each value.
    Pretty,
}

pub(crate) struct JsonRowsWriter {
    columns: Columns,
    text: TextSettings,
    style: RowStyle,
    layout: Layout,
    header: Header,
    /// The rows are the elements of one array.
    in_array: bool,
    validate_utf8: bool,
    any_row: bool,
}

impl JsonRowsWriter {
    pub(crate) fn new(
        columns: &Columns,
        settings: &FormatSettings,
        shape: Shape,
        cells: Cells,
        header: Header,
    ) -> JsonRowsWriter {
        JsonRowsWriter {
            columns: columns.clone(),
            text: settings.text,
            style: RowStyle::new(columns, &settings.text, shape, cells),
            layout: Layout::Line,
            header,
            in_array: settings.json.array_of_rows && shape == Shape::Object,
            validate_utf8: settings.json.validate_utf8,
            any_row: false,
        }
    }

    pub(crate) fn with_layout(self, layout: Layout) -> JsonRowsWriter {
        JsonRowsWriter { layout, ..self }
    }

    fn write_rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for row in 0..batch.num_rows() {
            if self.in_array && self.any_row {
                out.extend_from_slice(b",\n");
            }
            match self.layout {
                Layout::Line => self.style.write(&values, row, out),
                Layout::Pretty => {
                    self.style.write_lines(&values, row, Indent::spaces(0), Nested::Indented, out);
                }
            }
            if !self.in_array {
                out.push(b'\n');
            }
            self.any_row = true;
        }
        Ok(())
    }

    fn write_names(&self, names: &[String], out: &mut Vec<u8>) {
        for (at, name) in names.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b", " } else { b"[" });
            write_json_string(name.as_bytes(), self.text.json_escape_forward_slashes, out);
        }
        out.extend_from_slice(b"]\n");
    }
}

impl BlockWriter for JsonRowsWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        if self.in_array {
            out.extend_from_slice(b"[\n");
        }
        for names in self.header.of_columns(&self.columns) {
            self.write_names(&names, out);
        }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        if !self.validate_utf8 {
            return self.write_rows(batch, out);
        }
        let mut unchecked = Vec::new();
        self.write_rows(batch, &mut unchecked)?;
        write_valid_utf8(&unchecked, out);
        Ok(())
    }

    fn finish(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        if self.in_array {
            out.extend_from_slice(b"\n]\n");
        }
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        match self.style.shape {
            Shape::Object if self.in_array => "application/json; charset=UTF-8",
            Shape::Object => "application/x-ndjson; charset=UTF-8",
            Shape::Array => "text/plain; charset=UTF-8",
        }
    }
}
