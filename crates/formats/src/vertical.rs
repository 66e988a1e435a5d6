//! Vertical: a line a value, for rows that are too wide for a table.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};
use unicode_width::UnicodeWidthStr;

use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::pretty::write_tip;
use crate::settings::FormatSettings;
use crate::text::{NULL_SIGN, Style, ValueWriter};

const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

pub(crate) struct VerticalWriter {
    columns: Columns,
    settings: FormatSettings,
    /// `name: ` for every column, padded to the widest.
    labels: Vec<String>,
    rows: usize,
    cut: bool,
    totals_written: bool,
}

impl VerticalWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings) -> VerticalWriter {
        let widest = columns.iter().map(|column| column.name.width()).max().unwrap_or(0);
        let label = |column: &basalt_base::Column| {
            let fill = " ".repeat(widest - column.name.width() + 1);
            match settings.pretty_color {
                true => format!("{BOLD}{}:{PLAIN}{fill}", column.name),
                false => format!("{}:{fill}", column.name),
            }
        };
        VerticalWriter {
            columns: columns.clone(),
            settings: settings.clone(),
            labels: columns.iter().map(label).collect(),
            rows: 0,
            cut: false,
            totals_written: false,
        }
    }

    fn write_rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.settings.text)?;
        for row in 0..batch.num_rows() {
            if self.rows == self.settings.pretty_max_rows {
                self.cut = true;
                return Ok(());
            }
            self.rows += 1;
            if self.rows > 1 {
                out.push(b'\n');
            }
            // The line under a title has the length of the next row's title.
            let next = format!("Row {}:", self.rows + 1);
            write_title(&format!("Row {}:", self.rows), next.len(), out);
            self.write_values(&values, row, out);
        }
        Ok(())
    }

    fn write_values(&self, values: &[ValueWriter], row: usize, out: &mut Vec<u8>) {
        for (values, label) in values.iter().zip(&self.labels) {
            out.extend_from_slice(label.as_bytes());
            if values.is_null(row) {
                out.extend_from_slice(NULL_SIGN);
            } else {
                values.write(row, Style::Raw, out);
            }
            values.as_number(row).into_iter().for_each(|number| write_tip(number, out));
            out.push(b'\n');
        }
    }

    /// Reports once how many rows were left out.
    fn end_rows(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.cut) {
            out.extend_from_slice(format!("\nShowed first {}.\n", self.rows).as_bytes());
        }
    }
}

impl BlockWriter for VerticalWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_rows(batch, out)
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.end_rows(out);
        let values = writers(&self.columns, batch, &self.settings.text)?;
        if batch.num_rows() > 0 {
            out.extend_from_slice(b"\n\n");
            write_title("Totals:", 7, out);
            self.write_values(&values, 0, out);
            self.totals_written = true;
        }
        Ok(())
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.end_rows(out);
        let values = writers(&self.columns, batch, &self.settings.text)?;
        if !self.totals_written {
            out.push(b'\n');
        }
        for (row, title) in (0..batch.num_rows()).zip(["Min:", "Max:"]) {
            out.push(b'\n');
            write_title(title, title.len(), out);
            self.write_values(&values, row, out);
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.end_rows(out);
        Ok(())
    }
}

fn write_title(title: &str, line: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(title.as_bytes());
    out.push(b'\n');
    out.extend_from_slice("\u{2500}".repeat(line).as_bytes());
    out.push(b'\n');
}
