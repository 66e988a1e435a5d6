//! Writes Markdown: a table.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use crate::block::BlockWriter;
use crate::lines::writers;
use crate::pretty::aligns_right;
use crate::settings::FormatSettings;
use crate::text::{Style, TextSettings, write_escaped};

/// The characters with a meaning in Markdown.
const SPECIAL: &[u8] = b"!#$%&()*+,-./:;<=>?@[\\]^_`{|}~\"'";

pub(crate) struct MarkdownWriter {
    columns: Columns,
    text: TextSettings,
    escape: bool,
}

impl MarkdownWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings) -> MarkdownWriter {
        MarkdownWriter { columns: columns.clone(), text: settings.text, escape: settings.markdown_escape }
    }

    fn is_text(&self, column: usize) -> bool {
        matches!(self.columns[column].ty.stripped(), SqlType::String | SqlType::FixedString(_))
    }
}

impl BlockWriter for MarkdownWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"|");
        for column in self.columns.iter() {
            out.push(b' ');
            write_escaped(column.name.as_bytes(), out);
            out.extend_from_slice(b" |");
        }
        out.extend_from_slice(b"\n|");
        for column in self.columns.iter() {
            out.extend_from_slice(if aligns_right(&column.ty) { b"-:|" } else { b":-|" });
        }
        out.push(b'\n');
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        let mut cell = Vec::new();
        for row in 0..batch.num_rows() {
            out.extend_from_slice(b"| ");
            for (at, values) in values.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b" | " } else { b"" });
                if self.escape && self.is_text(at) && !values.is_null(row) {
                    cell.clear();
                    values.write(row, Style::Raw, &mut cell);
                    write_marked(&cell, out);
                } else {
                    values.write(row, Style::Escaped, out);
                }
            }
            out.extend_from_slice(b" |\n");
        }
        Ok(())
    }
}

fn write_marked(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        out.extend(SPECIAL.contains(&byte).then_some(b'\\'));
        out.push(byte);
    }
}
