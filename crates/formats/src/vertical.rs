//! Vertical: a line a value, for rows that are too wide for a table.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};
use unicode_width::UnicodeWidthStr;

use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::pretty::write_tip;
use crate::settings::FormatSettings;
use crate::text::{Style, ValueWriter};

const NULL: &[u8] = "\u{1d3a}\u{1d41}\u{1d38}\u{1d38}".as_bytes();
const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

pub(crate) struct VerticalWriter {
    columns: Columns,
    settings: FormatSettings,
    /// `name: ` for every column, as wide as the widest.
    labels: Vec<String>,
    rows: usize,
    /// The first row waits for the second: alone it has its number put in words.
    first: Option<RecordBatch>,
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
            first: None,
            cut: false,
            totals_written: false,
        }
    }

    fn write_rows(&mut self, batch: &RecordBatch, alone: bool, out: &mut Vec<u8>) -> Result<()> {
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
            write_title(&format!("Row {}:", self.rows), out);
            self.write_values(&values, row, alone, out);
        }
        Ok(())
    }

    fn write_values(&self, values: &[ValueWriter], row: usize, alone: bool, out: &mut Vec<u8>) {
        for (at, (values, label)) in values.iter().zip(&self.labels).enumerate() {
            out.extend_from_slice(label.as_bytes());
            if values.is_null(row) {
                out.extend_from_slice(NULL);
            } else {
                values.write(row, Style::Raw, out);
            }
            if alone && at + 1 == self.labels.len() {
                values.as_number(row).into_iter().for_each(|number| write_tip(number, out));
            }
            out.push(b'\n');
        }
    }

    /// Writes the first row, if it still waits, and says how many rows were left out.
    fn flush(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if let Some(first) = self.first.take() {
            self.write_rows(&first, true, out)?;
        }
        if std::mem::take(&mut self.cut) {
            out.extend_from_slice(format!("\nShowed first {}.\n", self.rows).as_bytes());
        }
        Ok(())
    }
}

impl BlockWriter for VerticalWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if self.rows == 0 && self.first.is_none() && batch.num_rows() == 1 {
            self.first = Some(batch.clone());
            return Ok(());
        }
        if let Some(first) = self.first.take() {
            self.write_rows(&first, false, out)?;
        }
        self.write_rows(batch, false, out)
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.flush(out)?;
        let values = writers(&self.columns, batch, &self.settings.text)?;
        if batch.num_rows() > 0 {
            out.extend_from_slice(b"\n\n");
            write_title("Totals:", out);
            self.write_values(&values, 0, false, out);
            self.totals_written = true;
        }
        Ok(())
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.flush(out)?;
        let values = writers(&self.columns, batch, &self.settings.text)?;
        if !self.totals_written {
            out.push(b'\n');
        }
        for (row, title) in (0..batch.num_rows()).zip(["Min:", "Max:"]) {
            out.push(b'\n');
            write_title(title, out);
            self.write_values(&values, row, false, out);
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.flush(out)
    }
}

fn write_title(title: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(title.as_bytes());
    out.push(b'\n');
    out.extend_from_slice("\u{2500}".repeat(title.len()).as_bytes());
    out.push(b'\n');
}
