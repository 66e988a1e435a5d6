//! Writes VALUES, and Null, which writes nothing.

use arrow::array::RecordBatch;
use basalt_base::{Columns, Result};

use crate::block::BlockWriter;
use crate::lines::writers;
use crate::settings::TextSettings;
use crate::text::Style;

/// `(1,'a'),(2,'b')`.
pub(crate) struct ValuesWriter {
    pub(crate) columns: Columns,
    pub(crate) text: TextSettings,
    pub(crate) any_row: bool,
}

impl BlockWriter for ValuesWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for row in 0..batch.num_rows() {
            out.extend_from_slice(if self.any_row { b",(" } else { b"(" });
            self.any_row = true;
            for (at, values) in values.iter().enumerate() {
                out.extend_from_slice(if at > 0 { b"," } else { b"" });
                values.write(row, Style::Quoted, out);
            }
            out.push(b')');
        }
        Ok(())
    }
}

/// Takes the rows and writes nothing: to measure a query without its output.
pub(crate) struct NullWriter;

impl BlockWriter for NullWriter {
    fn write(&mut self, _: &RecordBatch, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
