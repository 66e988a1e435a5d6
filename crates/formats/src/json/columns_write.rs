//! Writes JSONColumns and JSONCompactColumns: an array for each column.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use super::row::{Cells, RowStyle, Shape};
use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{Style, TextSettings, ValueWriter, write_valid_utf8};

/// The brackets around the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnsFrame {
    /// JSONColumns: an object.
    Object,
    /// JSONCompactColumns: an array.
    Array,
    /// JSONColumnsWithMetadata: the `data` of a document.
    Document,
}

/// The text of each column so far. A column is complete only after the last row.
pub(super) struct ColumnTexts {
    texts: Vec<Vec<u8>>,
    any_row: bool,
}

impl ColumnTexts {
    pub(super) fn new(columns: &Columns) -> ColumnTexts {
        ColumnTexts { texts: vec![Vec::new(); columns.len()], any_row: false }
    }

    pub(super) fn push(&mut self, values: &[ValueWriter], rows: usize) {
        for (values, text) in values.iter().zip(&mut self.texts) {
            for row in 0..rows {
                text.extend_from_slice(if self.any_row || row > 0 { b", " } else { b"" });
                values.write(row, Style::Json, text);
            }
        }
        self.any_row |= rows > 0;
    }

    /// Writes a line for each column, indented by `tabs`; `keys` are the names, if columns have names.
    pub(super) fn write(&self, keys: Option<&[Vec<u8>]>, tabs: &[u8], out: &mut Vec<u8>) {
        for (at, text) in self.texts.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",\n" } else { b"" });
            out.extend_from_slice(tabs);
            if let Some(keys) = keys {
                out.extend_from_slice(&keys[at]);
                out.push(b' ');
            }
            out.push(b'[');
            out.extend_from_slice(text);
            out.push(b']');
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.any_row
    }
}

pub(crate) struct JsonColumnsWriter {
    columns: Columns,
    text: TextSettings,
    style: RowStyle,
    texts: ColumnTexts,
    validate_utf8: bool,
}

impl JsonColumnsWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings, shape: Shape) -> JsonColumnsWriter {
        JsonColumnsWriter {
            columns: columns.clone(),
            text: settings.text,
            style: RowStyle::new(columns, &settings.text, shape, Cells::Values),
            texts: ColumnTexts::new(columns),
            validate_utf8: settings.json.validate_utf8,
        }
    }
}

impl BlockWriter for JsonColumnsWriter {
    fn write(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.texts.push(&values, batch.num_rows());
        Ok(())
    }

    fn finish(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        let mut unchecked = Vec::new();
        match self.style.shape {
            Shape::Object => {
                unchecked.extend_from_slice(b"{\n");
                self.texts.write(Some(&self.style.keys), b"\t", &mut unchecked);
                unchecked.extend_from_slice(b"\n}\n");
            }
            Shape::Array => {
                unchecked.extend_from_slice(b"[\n");
                if !self.texts.is_empty() {
                    self.texts.write(None, b"\t", &mut unchecked);
                }
                unchecked.extend_from_slice(b"\n]\n");
            }
        }
        if self.validate_utf8 {
            write_valid_utf8(&unchecked, out);
        } else {
            out.append(&mut unchecked);
        }
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/json; charset=UTF-8"
    }
}
