//! Writes JSONObjectEachRow: one object, with a row for each of its names.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, ErrorCode, Result};

use super::row::{Cells, RowStyle, Shape};
use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{TextSettings, write_valid_utf8};

pub(crate) struct JsonObjectRowsWriter {
    columns: Columns,
    text: TextSettings,
    style: RowStyle,
    /// The column with the names of the rows.
    names: Option<usize>,
    validate_utf8: bool,
    rows: u64,
}

impl JsonObjectRowsWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings) -> Result<JsonObjectRowsWriter> {
        Ok(JsonObjectRowsWriter {
            columns: columns.clone(),
            text: settings.text,
            style: RowStyle::new(columns, &settings.text, Shape::Object, Cells::Values),
            names: name_column(columns, settings)?,
            validate_utf8: settings.json.validate_utf8,
            rows: 0,
        })
    }

    fn write_rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for row in 0..batch.num_rows() {
            out.extend_from_slice(if self.rows > 0 { b",\n\t" } else { b"\t" });
            self.rows += 1;
            match self.names {
                Some(column) => values[column].write_json_text(row, out),
                None => out.extend_from_slice(format!("\"row_{}\"", self.rows).as_bytes()),
            }
            out.extend_from_slice(b": ");
            self.style.write_but(&values, row, self.names, out);
        }
        Ok(())
    }
}

impl BlockWriter for JsonObjectRowsWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\n");
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
        out.extend_from_slice(b"\n}\n");
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/json; charset=UTF-8"
    }
}

/// The column that the settings name for the names of rows.
pub(super) fn name_column(columns: &Columns, settings: &FormatSettings) -> Result<Option<usize>> {
    let name = &settings.json.object_name_column;
    if name.is_empty() {
        return Ok(None);
    }
    let missing = || {
        let what = format!("column `{name}` for the names of rows is not one of the columns");
        Error::new(ErrorCode::NoSuchColumnInTable, what)
    };
    columns.position(name).map(Some).ok_or_else(missing)
}
