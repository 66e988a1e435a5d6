//! Writes JSON: the whole result of a query (JSON, JSONCompact), or a line a row (JSONEachRow, JSONCompactEachRow).

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{Style, TextSettings, ValueWriter, write_float64, write_integer, write_json_string};

/// Writes a line a row.
pub(crate) struct JsonLinesWriter {
    columns: Columns,
    text: TextSettings,
    /// `"name":` for every column; `None` if rows are arrays.
    keys: Option<Vec<Vec<u8>>>,
}

impl JsonLinesWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings, compact: bool) -> JsonLinesWriter {
        let keys = (!compact).then(|| keys(columns, &settings.text));
        JsonLinesWriter { columns: columns.clone(), text: settings.text, keys }
    }
}

impl BlockWriter for JsonLinesWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for row in 0..batch.num_rows() {
            match &self.keys {
                None => write_compact_row(&values, row, out),
                Some(keys) => {
                    out.push(b'{');
                    for (at, (values, key)) in values.iter().zip(keys).enumerate() {
                        if at > 0 {
                            out.push(b',');
                        }
                        out.extend_from_slice(key);
                        values.write(row, Style::Json, out);
                    }
                    out.push(b'}');
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/x-ndjson; charset=UTF-8"
    }
}

/// Writes the whole result: `meta`, `data`, statistics.
pub(crate) struct JsonWriter {
    columns: Columns,
    text: TextSettings,
    keys: Vec<Vec<u8>>,
    compact: bool,
    write_statistics: bool,
    rows: u64,
    /// `data` is closed, because something followed it.
    data_closed: bool,
    /// Buffer in which invalid UTF-8 is replaced, so that the document is valid JSON.
    unchecked: Vec<u8>,
}

impl JsonWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings, compact: bool) -> JsonWriter {
        JsonWriter {
            columns: columns.clone(),
            text: settings.text,
            keys: keys(columns, &settings.text),
            compact,
            write_statistics: settings.write_statistics,
            rows: 0,
            data_closed: false,
            unchecked: Vec::new(),
        }
    }

    fn close_data(&mut self, out: &mut Vec<u8>) {
        if !self.data_closed {
            out.extend_from_slice(b"\n\t]");
            self.data_closed = true;
        }
    }

    /// Writes a row as a value, indented by `indent` tabs.
    fn write_row(&self, values: &[ValueWriter], row: usize, indent: usize, out: &mut Vec<u8>) {
        if self.compact {
            return write_compact_row(values, row, out);
        }
        out.extend_from_slice(b"{\n");
        for (at, (values, key)) in values.iter().zip(&self.keys).enumerate() {
            if at > 0 {
                out.extend_from_slice(b",\n");
            }
            tabs(indent + 1, out);
            out.extend_from_slice(key);
            out.push(b' ');
            values.write_json_indented(row, indent + 1, out);
        }
        out.push(b'\n');
        tabs(indent, out);
        out.push(b'}');
    }

    /// Writes `"name": row` after the data; JSON puts the row on a line of its own.
    fn write_named_row(
        &self,
        name: &str,
        values: &[ValueWriter],
        row: usize,
        indent: usize,
        out: &mut Vec<u8>,
    ) {
        tabs(indent, out);
        out.extend_from_slice(format!("\"{name}\":").as_bytes());
        if self.compact {
            out.push(b' ');
        } else {
            out.push(b'\n');
            tabs(indent, out);
        }
        self.write_row(values, row, indent, out);
    }

    /// Runs `write` on a buffer and appends it to `out` with invalid UTF-8 replaced.
    fn checked(
        &mut self,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut JsonWriter, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut unchecked = std::mem::take(&mut self.unchecked);
        unchecked.clear();
        let written = write(self, &mut unchecked);
        for chunk in unchecked.utf8_chunks() {
            out.extend_from_slice(chunk.valid().as_bytes());
            if !chunk.invalid().is_empty() {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        self.unchecked = unchecked;
        written
    }
}

impl BlockWriter for JsonWriter {
    fn start(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\n\t\"meta\":\n\t[\n");
        for (at, column) in self.columns.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",\n" } else { b"" });
            out.extend_from_slice(b"\t\t{\n\t\t\t\"name\": ");
            write_json_string(column.name.as_bytes(), self.text.json_escape_forward_slashes, out);
            out.extend_from_slice(b",\n\t\t\t\"type\": ");
            write_json_string(column.ty.to_string().as_bytes(), self.text.json_escape_forward_slashes, out);
            out.extend_from_slice(b"\n\t\t}");
        }
        out.extend_from_slice(b"\n\t],\n\n\t\"data\":\n\t[\n");
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.checked(out, |writer, out| {
            for row in 0..batch.num_rows() {
                out.extend_from_slice(if writer.rows > 0 { b",\n" } else { b"" });
                tabs(2, out);
                writer.write_row(&values, row, 2, out);
                writer.rows += 1;
            }
            Ok(())
        })
    }

    fn totals(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.close_data(out);
        self.checked(out, |writer, out| {
            if batch.num_rows() > 0 {
                out.extend_from_slice(b",\n\n");
                writer.write_named_row("totals", &values, 0, 1, out);
            }
            Ok(())
        })
    }

    fn extremes(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        self.close_data(out);
        self.checked(out, |writer, out| {
            if batch.num_rows() >= 2 {
                out.extend_from_slice(b",\n\n\t\"extremes\":\n\t{\n");
                writer.write_named_row("min", &values, 0, 2, out);
                out.extend_from_slice(b",\n");
                writer.write_named_row("max", &values, 1, 2, out);
                out.extend_from_slice(b"\n\t}");
            }
            Ok(())
        })
    }

    fn finish(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.close_data(out);
        let count = |name: &str, value: u64, out: &mut Vec<u8>| {
            out.extend_from_slice(format!(",\n\n\t\"{name}\": ").as_bytes());
            write_integer(value, out);
        };
        count("rows", self.rows, out);
        if let Some(rows) = statistics.rows_before_limit {
            count("rows_before_limit_at_least", rows, out);
        }
        if self.write_statistics {
            out.extend_from_slice(b",\n\n\t\"statistics\":\n\t{\n\t\t\"elapsed\": ");
            write_float64(statistics.elapsed_seconds, out);
            out.extend_from_slice(b",\n\t\t\"rows_read\": ");
            write_integer(statistics.rows_read, out);
            out.extend_from_slice(b",\n\t\t\"bytes_read\": ");
            write_integer(statistics.bytes_read, out);
            out.extend_from_slice(b"\n\t}");
        }
        out.extend_from_slice(b"\n}\n");
        Ok(())
    }

    fn content_type(&self) -> &'static str {
        "application/json; charset=UTF-8"
    }
}

/// `"name":` for every column.
fn keys(columns: &Columns, text: &TextSettings) -> Vec<Vec<u8>> {
    let key = |column: &basalt_base::Column| {
        let mut key = Vec::new();
        write_json_string(column.name.as_bytes(), text.json_escape_forward_slashes, &mut key);
        key.push(b':');
        key
    };
    columns.iter().map(key).collect()
}

fn write_compact_row(values: &[ValueWriter], row: usize, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, values) in values.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b", " } else { b"" });
        values.write(row, Style::Json, out);
    }
    out.push(b']');
}

fn tabs(count: usize, out: &mut Vec<u8>) {
    out.extend(std::iter::repeat_n(b'\t', count));
}
