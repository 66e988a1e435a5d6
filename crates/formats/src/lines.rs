//! LineAsString and RawBLOB: a line, or the whole input, is the value of the only column.

use std::io::Read;
use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType};
use memchr::{memchr, memrchr};

use crate::block::{BlockReader, BlockWriter};
use crate::chunks::{self, ChunkSource, RowParser};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::{FormatSettings, TextSettings};
use crate::text::{Style, ValueWriter};

pub(crate) fn open_lines(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    only_string(columns, "LineAsString")?;
    chunks::open(ChunkSource::new(input, settings), Arc::new(LineParser), columns, settings, 0)
}

pub(crate) fn open_blob(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    only_string(columns, "RawBLOB")?;
    chunks::open(ChunkSource::new(input, settings), Arc::new(BlobParser), columns, settings, 0)
}

pub(crate) fn only_string(columns: &Columns, format: &str) -> Result<()> {
    if columns.len() == 1 && *columns[0].ty.stripped() == SqlType::String {
        return Ok(());
    }
    let what = format!("format {format} reads one column of type String, not {}", columns.len());
    Err(Error::new(ErrorCode::BadArguments, what))
}

struct LineParser;

impl RowParser for LineParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        memrchr(b'\n', bytes).map(|end| end + 1)
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let end = memchr(b'\n', &chunk[at..]).map_or(chunk.len(), |found| at + found);
        rows.append(0, |builder| builder.parse_raw(&chunk[at..end]))?;
        rows.end_row();
        Ok((end + 1).min(chunk.len()))
    }
}

struct BlobParser;

impl RowParser for BlobParser {
    fn whole_rows(&self, _: &[u8]) -> Option<usize> {
        None
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        rows.append(0, |builder| builder.parse_raw(&chunk[at..]))?;
        rows.end_row();
        Ok(chunk.len())
    }
}

/// Writes RawBLOB: every value unchanged, with nothing between.
pub(crate) struct PlainWriter {
    pub(crate) columns: Columns,
    pub(crate) text: TextSettings,
}

impl BlockWriter for PlainWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let values = writers(&self.columns, batch, &self.text)?;
        for row in 0..batch.num_rows() {
            values.iter().for_each(|values| values.write(row, Style::Raw, out));
        }
        Ok(())
    }
}

/// A [`ValueWriter`] for every column of a batch.
pub(crate) fn writers(
    columns: &Columns,
    batch: &RecordBatch,
    text: &TextSettings,
) -> Result<Vec<ValueWriter>> {
    if columns.len() != batch.num_columns() {
        let what = format!("a batch of {} columns was given as {}", batch.num_columns(), columns.len());
        return Err(Error::logical(what));
    }
    let pairs = columns.iter().zip(batch.columns());
    pairs.map(|(column, array)| ValueWriter::new(&column.ty, array, text)).collect()
}
