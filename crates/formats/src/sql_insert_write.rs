//! Writes SQLInsert: INSERT statements with the rows.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use crate::block::{BlockWriter, Statistics};
use crate::lines::writers;
use crate::settings::FormatSettings;
use crate::text::{Style, TextSettings};

pub(crate) struct SqlInsertWriter {
    columns: Columns,
    text: TextSettings,
    /// The statement up to the first row.
    head: Vec<u8>,
    rows_max: usize,
    /// Rows of the open statement.
    rows: usize,
}

impl SqlInsertWriter {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings) -> SqlInsertWriter {
        SqlInsertWriter {
            columns: columns.clone(),
            text: settings.text,
            head: head(columns, settings),
            rows_max: settings.sql_insert.rows_max.max(1),
            rows: 0,
        }
    }
}

fn head(columns: &Columns, settings: &FormatSettings) -> Vec<u8> {
    let insert = &settings.sql_insert;
    let verb = if insert.replace { "REPLACE" } else { "INSERT" };
    let mut head = format!("{verb} INTO {}", insert.table);
    if insert.write_names {
        let name = |column: &basalt_base::Column| match insert.quote_names {
            true => format!("`{}`", column.name),
            false => column.name.clone(),
        };
        let names: Vec<String> = columns.iter().map(name).collect();
        head.push_str(&format!(" ({})", names.join(", ")));
    }
    head.push_str(" VALUES ");
    head.into_bytes()
}

impl BlockWriter for SqlInsertWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for row in 0..batch.num_rows() {
            if self.rows == self.rows_max {
                out.extend_from_slice(b";\n");
                self.rows = 0;
            }
            match self.rows {
                0 => out.extend_from_slice(&self.head),
                _ => out.extend_from_slice(b", "),
            }
            self.rows += 1;
            out.push(b'(');
            for (at, values) in values.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b", " } else { b"" });
                values.write(row, Style::Quoted, out);
            }
            out.push(b')');
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b";\n");
        Ok(())
    }
}
