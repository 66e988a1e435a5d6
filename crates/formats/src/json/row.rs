//! A row of JSON: an object or an array, of values or of their text.

use basalt_base::{Column, Columns};

use crate::text::{Indent, Style, TextSettings, ValueWriter, write_json_string};

/// The brackets of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Array,
}

/// The values in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cells {
    /// JSON values.
    Values,
    /// Strings with the text of the values.
    Text,
}

/// How rows are written.
pub(crate) struct RowStyle {
    pub(super) shape: Shape,
    pub(super) cells: Cells,
    /// `"name":` for every column.
    pub(super) keys: Vec<Vec<u8>>,
}

impl RowStyle {
    pub(crate) fn new(columns: &Columns, text: &TextSettings, shape: Shape, cells: Cells) -> RowStyle {
        RowStyle { shape, cells, keys: columns.iter().map(|column| key(column, text)).collect() }
    }

    /// Writes a row on one line.
    pub(super) fn write(&self, values: &[ValueWriter], row: usize, out: &mut Vec<u8>) {
        self.write_but(values, row, None, out);
    }

    /// Like [`RowStyle::write`], without the column `omitted`.
    pub(super) fn write_but(
        &self,
        values: &[ValueWriter],
        row: usize,
        omitted: Option<usize>,
        out: &mut Vec<u8>,
    ) {
        let (brackets, separator): (_, &[u8]) = match self.shape {
            Shape::Object => (*b"{}", b","),
            Shape::Array => (*b"[]", b", "),
        };
        out.push(brackets[0]);
        let shown = values.iter().enumerate().filter(|(at, _)| Some(*at) != omitted);
        for (index, (at, values)) in shown.enumerate() {
            out.extend_from_slice(if index > 0 { separator } else { b"" });
            if self.shape == Shape::Object {
                out.extend_from_slice(&self.keys[at]);
            }
            self.write_cell(values, row, out);
        }
        out.push(brackets[1]);
    }

    /// Writes an object with a line for each value, or an array on one line.
    pub(super) fn write_lines(
        &self,
        values: &[ValueWriter],
        row: usize,
        indent: Indent,
        nested: Nested,
        out: &mut Vec<u8>,
    ) {
        if self.shape == Shape::Array {
            return self.write(values, row, out);
        }
        out.extend_from_slice(b"{\n");
        for (at, (values, key)) in values.iter().zip(&self.keys).enumerate() {
            out.extend_from_slice(if at > 0 { b",\n" } else { b"" });
            indent.deeper().write(out);
            out.extend_from_slice(key);
            out.push(b' ');
            match nested {
                Nested::Indented if self.cells == Cells::Values => {
                    values.write_json_indented(row, indent.deeper(), out);
                }
                _ => self.write_cell(values, row, out),
            }
        }
        out.push(b'\n');
        indent.write(out);
        out.push(b'}');
    }

    fn write_cell(&self, values: &ValueWriter, row: usize, out: &mut Vec<u8>) {
        match self.cells {
            Cells::Values => values.write(row, Style::Json, out),
            Cells::Text => values.write_json_text(row, out),
        }
    }
}

/// The form of arrays, tuples and maps in a row of several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nested {
    Indented,
    Flat,
}

/// `"name":`.
fn key(column: &Column, text: &TextSettings) -> Vec<u8> {
    let mut key = Vec::new();
    write_json_string(column.name.as_bytes(), text.json_escape_forward_slashes, &mut key);
    key.push(b':');
    key
}
