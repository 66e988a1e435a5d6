//! Writes JSONEachRowWithProgress and its variants: a line for the columns, each row, and the figures of the query.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use super::row::{Cells, RowStyle, Shape};
use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{TextSettings, ValueWriter, write_json_string};

pub(crate) struct JsonProgressWriter {
    columns: Columns,
    text: TextSettings,
    style: RowStyle,
    /// Rows and bytes of the last line of figures.
    reported: (u64, u64),
}

impl JsonProgressWriter {
    pub(crate) fn new(
        columns: &Columns,
        settings: &FormatSettings,
        shape: Shape,
        cells: Cells,
    ) -> JsonProgressWriter {
        let style = RowStyle::new(columns, &settings.text, shape, cells);
        JsonProgressWriter { columns: columns.clone(), text: settings.text, style, reported: (0, 0) }
    }

    /// `{"name":<row>}`.
    fn write_line(&self, name: &str, values: &[ValueWriter], row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{{\"{name}\":").as_bytes());
        self.style.write(values, row, out);
        out.extend_from_slice(b"}\n");
    }
}

impl BlockWriter for JsonProgressWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"meta\":[");
        for (at, column) in self.columns.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b"," } else { b"" });
            out.extend_from_slice(b"{\"name\":");
            write_json_string(column.name.as_bytes(), self.text.json_escape_forward_slashes, out);
            out.extend_from_slice(b",\"type\":");
            write_json_string(column.ty.to_string().as_bytes(), self.text.json_escape_forward_slashes, out);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}\n");
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        (0..batch.num_rows()).for_each(|row| self.write_line("row", &values, row, out));
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        (0..batch.num_rows().min(1)).for_each(|row| self.write_line("totals", &values, row, out));
        Ok(())
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for (row, name) in (0..batch.num_rows()).zip(["min", "max"]) {
            self.write_line(name, &values, row, out);
        }
        Ok(())
    }

    fn shows_progress(&self) -> bool {
        true
    }

    fn progress(&mut self, statistics: &Statistics, out: &mut Vec<u8>) {
        let figures = (statistics.rows_read, statistics.bytes_read);
        if figures == self.reported {
            return;
        }
        self.reported = figures;
        let line = format!(
            "{{\"progress\":{{\"read_rows\":\"{}\",\"read_bytes\":\"{}\",",
            statistics.rows_read, statistics.bytes_read
        );
        out.extend_from_slice(line.as_bytes());
        if statistics.total_rows_to_read > 0 {
            let total = format!("\"total_rows_to_read\":\"{}\",", statistics.total_rows_to_read);
            out.extend_from_slice(total.as_bytes());
        }
        let elapsed_ns = (statistics.elapsed_seconds * 1e9) as u64;
        out.extend_from_slice(format!("\"elapsed_ns\":\"{elapsed_ns}\"}}}}\n").as_bytes());
    }

    fn finish(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.progress(statistics, out);
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/json; charset=UTF-8"
    }
}
