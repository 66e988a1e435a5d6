//! Writes XML: the columns, an element for each row, totals, extremes and figures of the query.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{
    Style, TextSettings, ValueWriter, write_float64, write_integer, write_valid_utf8, write_xml,
};

pub(crate) struct XmlWriter {
    columns: Columns,
    text: TextSettings,
    /// The element of each column: its name, or `field` if that is no name of XML.
    tags: Vec<String>,
    write_statistics: bool,
    rows: u64,
    data_closed: bool,
}

impl XmlWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings) -> XmlWriter {
        XmlWriter {
            columns: columns.clone(),
            text: settings.text,
            tags: columns.iter().map(|column| tag(&column.name)).collect(),
            write_statistics: settings.write_statistics,
            rows: 0,
            data_closed: false,
        }
    }

    /// Writes row `row` as an element `name`, indented by `levels` tabs.
    fn write_row(&self, name: &str, values: &[ValueWriter], row: usize, levels: usize, out: &mut Vec<u8>) {
        let indent = "\t".repeat(levels);
        let mut unchecked = format!("{indent}<{name}>\n").into_bytes();
        for (values, tag) in values.iter().zip(&self.tags) {
            unchecked.extend_from_slice(format!("{indent}\t<{tag}>").as_bytes());
            values.write(row, Style::Xml, &mut unchecked);
            unchecked.extend_from_slice(format!("</{tag}>\n").as_bytes());
        }
        unchecked.extend_from_slice(format!("{indent}</{name}>\n").as_bytes());
        write_valid_utf8(&unchecked, out);
    }

    fn close_data(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.data_closed, true) {
            out.extend_from_slice(b"\t</data>\n");
        }
    }
}

impl BlockWriter for XmlWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        let head = "<?xml version='1.0' encoding='UTF-8' ?>\n<result>\n\t<meta>\n\t\t<columns>\n";
        out.extend_from_slice(head.as_bytes());
        for column in self.columns.iter() {
            out.extend_from_slice(b"\t\t\t<column>\n\t\t\t\t<name>");
            write_xml(column.name.as_bytes(), out);
            out.extend_from_slice(b"</name>\n\t\t\t\t<type>");
            write_xml(column.ty.to_string().as_bytes(), out);
            out.extend_from_slice(b"</type>\n\t\t\t</column>\n");
        }
        out.extend_from_slice(b"\t\t</columns>\n\t</meta>\n\t<data>\n");
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        (0..batch.num_rows()).for_each(|row| self.write_row("row", &values, row, 2, out));
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.close_data(out);
        (0..batch.num_rows().min(1)).for_each(|row| self.write_row("totals", &values, row, 1, out));
        Ok(())
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.close_data(out);
        if batch.num_rows() >= 2 {
            out.extend_from_slice(b"\t<extremes>\n");
            self.write_row("min", &values, 0, 2, out);
            self.write_row("max", &values, 1, 2, out);
            out.extend_from_slice(b"\t</extremes>\n");
        }
        Ok(())
    }

    fn finish(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.close_data(out);
        let count = |indent: &str, name: &str, value: u64, out: &mut Vec<u8>| {
            out.extend_from_slice(format!("{indent}<{name}>").as_bytes());
            write_integer(value, out);
            out.extend_from_slice(format!("</{name}>\n").as_bytes());
        };
        count("\t", "rows", self.rows, out);
        if let Some(rows) = statistics.rows_before_limit {
            count("\t", "rows_before_limit_at_least", rows, out);
        }
        if self.write_statistics {
            out.extend_from_slice(b"\t<statistics>\n\t\t<elapsed>");
            write_float64(statistics.elapsed_seconds, out);
            out.extend_from_slice(b"</elapsed>\n");
            count("\t\t", "rows_read", statistics.rows_read, out);
            count("\t\t", "bytes_read", statistics.bytes_read, out);
            out.extend_from_slice(b"\t</statistics>\n");
        }
        out.extend_from_slice(b"</result>\n");
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/xml; charset=UTF-8"
    }
}

/// `name` if it is a letter or underscore and then letters, digits, underscores, hyphens and points.
fn tag(name: &str) -> String {
    let starts = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let goes_on = |byte: u8| starts(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let fits = name.bytes().next().is_some_and(starts) && name.bytes().all(goes_on);
    (if fits { name } else { "field" }).to_owned()
}
