//! Writes CustomSeparated.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use crate::block::{BlockWriter, Statistics};
use crate::header::Header;
use crate::lines::writers;
use crate::settings::{EscapingRule, FormatSettings};
use crate::text::{
    Style, ValueWriter, write_csv_quoted, write_escaped, write_json_string, write_quoted, write_xml,
};

pub(crate) struct CustomWriter {
    columns: Columns,
    settings: FormatSettings,
    header: Header,
    any_row: bool,
}

impl CustomWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings, header: Header) -> CustomWriter {
        CustomWriter { columns: columns.clone(), settings: settings.clone(), header, any_row: false }
    }

    /// Writes a row of names.
    fn write_names(&self, names: &[String], out: &mut Vec<u8>) {
        let custom = &self.settings.custom;
        out.extend_from_slice(custom.row_before.as_bytes());
        for (at, name) in names.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(custom.field_delimiter.as_bytes());
            }
            let name = name.as_bytes();
            match custom.rule {
                EscapingRule::Escaped => write_escaped(name, out),
                EscapingRule::Quoted => write_quoted(name, out),
                EscapingRule::Csv => write_csv_quoted(name, out),
                EscapingRule::Json => {
                    write_json_string(name, self.settings.text.json_escape_forward_slashes, out);
                }
                EscapingRule::Raw => out.extend_from_slice(name),
                EscapingRule::Xml => write_xml(name, out),
            }
        }
        out.extend_from_slice(custom.row_after.as_bytes());
        out.extend_from_slice(custom.row_between.as_bytes());
    }

    fn write_field(&self, values: &ValueWriter, row: usize, out: &mut Vec<u8>) {
        match self.settings.custom.rule {
            EscapingRule::Escaped if values.is_null(row) => {
                out.extend_from_slice(self.settings.tsv.null.as_bytes());
            }
            EscapingRule::Csv if values.is_null(row) => {
                out.extend_from_slice(self.settings.csv.null.as_bytes());
            }
            EscapingRule::Escaped => values.write(row, Style::Escaped, out),
            EscapingRule::Quoted => values.write(row, Style::Quoted, out),
            EscapingRule::Csv => values.write(row, Style::Csv, out),
            EscapingRule::Json => values.write(row, Style::Json, out),
            EscapingRule::Raw => values.write(row, Style::Raw, out),
            EscapingRule::Xml => values.write(row, Style::Xml, out),
        }
    }
}

impl BlockWriter for CustomWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.settings.custom.result_before.as_bytes());
        for names in self.header.of_columns(&self.columns) {
            self.write_names(&names, out);
        }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.settings.text)?;
        let custom = &self.settings.custom;
        for row in 0..batch.num_rows() {
            if std::mem::replace(&mut self.any_row, true) {
                out.extend_from_slice(custom.row_between.as_bytes());
            }
            out.extend_from_slice(custom.row_before.as_bytes());
            for (at, values) in values.iter().enumerate() {
                if at > 0 {
                    out.extend_from_slice(custom.field_delimiter.as_bytes());
                }
                self.write_field(values, row, out);
            }
            out.extend_from_slice(custom.row_after.as_bytes());
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(self.settings.custom.result_after.as_bytes());
        Ok(())
    }
}
