//! Reads rows in binary form.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::io::Read;
use std::sync::Arc;

use arrow::array::ArrayRef;
use basalt_base::query::{check_allocation, checkpoint};
use basalt_base::{Column, Columns, Error, ErrorCode, Result};

use super::RowLayout;
use super::bytes::{Bytes, Stop};
use super::column::{ColumnReader, bytes_min};
use crate::binary::{COLUMNS_MAX, Matching, NAME_BYTES_MAX, named_type};
use crate::block::{Block, BlockReader, Defaulted, TypeConverter};
use crate::header::Header;
use crate::rows::missing_rows;
use crate::settings::FormatSettings;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of a block, at most, if a row is not longer: the strings of a block must fit the offsets of a buffer.
const BLOCK_BYTES_MAX: usize = 1 << 28;
/// Rows of a block, at most, whatever the settings say.
const ROWS_MAX: usize = 1 << 30;
/// The longest row, whatever the settings say, for the same reason.
const ROW_BYTES_MAX: usize = 1 << 31;

pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    layout: RowLayout,
    converter: Option<Arc<dyn TypeConverter>>,
) -> Result<Box<dyn BlockReader>> {
    if columns.is_empty() {
        return Err(Error::new(ErrorCode::BadArguments, "there are no columns to read into"));
    }
    Ok(Box::new(RowBinaryReader {
        input: Input::new(input, settings),
        layout,
        matching: Matching::new(columns, settings, converter),
        rows_max: settings.max_block_rows.clamp(1, ROWS_MAX),
        rows_done: 0,
        rows: None,
    }))
}

/// The columns that the header of `sample` names.
pub(crate) fn header_columns(sample: &[u8]) -> Result<Columns> {
    match read_header(&mut Bytes::new(sample), Header::NamesAndTypes, &Columns::new(Vec::new())) {
        Ok(columns) => Ok(columns),
        Err(Stop::Incomplete) => Err(cut_off()),
        Err(Stop::Failed(error)) => Err(*error),
    }
}

#[cold]
fn cut_off() -> Error {
    Error::new(ErrorCode::CannotReadAllData, "the input ends within a row or its header")
}

struct RowBinaryReader {
    input: Input,
    layout: RowLayout,
    matching: Matching,
    rows_max: usize,
    rows_done: u64,
    /// `None` before the header.
    rows: Option<Rows>,
}

/// The rows of a block under construction.
struct Rows {
    columns: Columns,
    readers: Vec<ColumnReader>,
    /// For each column the rows whose value is missing.
    missing: Vec<Vec<u32>>,
    /// Where the table's columns are.
    positions: Vec<Option<usize>>,
    count: usize,
}

impl BlockReader for RowBinaryReader {
    fn next_block(&mut self) -> Result<Option<Block>> {
        let mut rows = match self.rows.take() {
            Some(rows) => rows,
            None => self.open_rows()?,
        };
        let start = self.input.offset();
        while rows.count < self.rows_max && self.input.offset() - start < BLOCK_BYTES_MAX as u64 {
            if self.input.is_at_end()? {
                break;
            }
            let mut bytes = Bytes::new(self.input.bytes());
            match rows.read(&mut bytes, self.layout.marks_missing) {
                Ok(()) => {
                    let rest = bytes.len();
                    self.input.consume_all_but(rest);
                }
                Err((column, stop)) => {
                    rows.drop_part();
                    let error = match stop {
                        Stop::Incomplete => match self.input.read_more() {
                            Ok(()) => continue,
                            Err(error) => error,
                        },
                        Stop::Failed(error) => *error,
                    };
                    return Err(self.within(error, &rows, column));
                }
            }
        }
        let block = self.finish(&mut rows)?;
        self.rows = Some(rows);
        Ok(block)
    }
}

impl RowBinaryReader {
    fn open_rows(&mut self) -> Result<Rows> {
        loop {
            // An empty file has no rows, with or without a header.
            if self.input.is_at_end()? {
                return self.rows_of(self.matching.wanted().clone());
            }
            let mut bytes = Bytes::new(self.input.bytes());
            match read_header(&mut bytes, self.layout.header, self.matching.wanted()) {
                Ok(columns) => {
                    let rest = bytes.len();
                    self.input.consume_all_but(rest);
                    return self.rows_of(columns);
                }
                Err(Stop::Incomplete) => self.input.read_more()?,
                Err(Stop::Failed(error)) => return Err(*error),
            }
        }
    }

    fn rows_of(&self, columns: Columns) -> Result<Rows> {
        let positions = self.matching.positions(&columns)?;
        let marks = usize::from(self.layout.marks_missing);
        if columns.iter().all(|column| bytes_min(&column.ty) + marks == 0) {
            let what = "rows of no bytes cannot be told apart: no column has a value of at least one byte";
            return Err(Error::new(ErrorCode::BadArguments, what));
        }
        let readers = columns.iter().map(|column| ColumnReader::new(&column.ty)).collect::<Result<_>>()?;
        let missing = vec![Vec::new(); columns.len()];
        Ok(Rows { columns, readers, missing, positions, count: 0 })
    }

    fn finish(&mut self, rows: &mut Rows) -> Result<Option<Block>> {
        let count = std::mem::take(&mut rows.count);
        if count == 0 {
            return Ok(None);
        }
        let (mut arrays, mut defaulted): (Vec<ArrayRef>, Vec<Defaulted>) = (Vec::new(), Vec::new());
        for (at, reader) in rows.readers.iter_mut().enumerate() {
            let within = |error: Error| error.within(format!("column `{}`", rows.columns[at].name));
            arrays.push(reader.finish(count).map_err(within)?);
            defaulted.push(missing_rows(std::mem::take(&mut rows.missing[at]), count));
        }
        self.rows_done += count as u64;
        self.matching.block(&rows.columns, &rows.positions, &arrays, &defaulted, count).map(Some)
    }

    #[cold]
    fn within(&self, error: Error, rows: &Rows, column: usize) -> Error {
        let Column { name, ty } = &rows.columns[column];
        let row = self.rows_done + rows.count as u64 + 1;
        let error = error.within(format!("column `{name}` of type {ty}"));
        error.within(format!("row {row} at byte {}", self.input.offset()))
    }
}

impl Rows {
    /// Reads a row. If it fails, the error has the column.
    fn read(&mut self, bytes: &mut Bytes<'_>, marks_missing: bool) -> Result<(), (usize, Stop)> {
        let row = u32::try_from(self.count).expect("a block has fewer rows");
        for (at, reader) in self.readers.iter_mut().enumerate() {
            if marks_missing && bytes.byte().map_err(|stop| (at, stop))? != 0 {
                reader.push_default();
                self.missing[at].push(row);
                continue;
            }
            reader.read(bytes).map_err(|stop| (at, stop))?;
        }
        self.count += 1;
        Ok(())
    }

    /// Drops what was read of a row.
    fn drop_part(&mut self) {
        for (reader, missing) in self.readers.iter_mut().zip(&mut self.missing) {
            reader.truncate(self.count);
            missing.pop_if(|row| *row as usize == self.count);
        }
    }
}

/// The columns of the rows, by their header or as the table has them.
fn read_header(bytes: &mut Bytes<'_>, header: Header, wanted: &Columns) -> Result<Columns, Stop> {
    if header == Header::None {
        return Ok(wanted.clone());
    }
    let count = bytes.varint()?;
    if count > COLUMNS_MAX {
        let what = format!("a header has {count} columns, more than {COLUMNS_MAX}");
        return Err(Error::new(ErrorCode::IncorrectData, what).into());
    }
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(String::from_utf8_lossy(bytes.text(NAME_BYTES_MAX)?).into_owned());
    }
    let mut columns = Vec::new();
    for name in names {
        let ty = match header {
            Header::NamesAndTypes => named_type(bytes.text(NAME_BYTES_MAX)?)
                .map_err(|error| error.within(format!("column `{name}`")))?,
            _ => match wanted.position(&name) {
                Some(at) => wanted[at].ty.clone(),
                None => return Err(unknown_type(&name).into()),
            },
        };
        columns.push(Column::new(name, ty));
    }
    Ok(Columns::new(columns))
}

fn unknown_type(name: &str) -> Error {
    let what = format!(
        "column `{name}` of the input is not a column of the table, and cannot be skipped because its type is unknown: \
         use RowBinaryWithNamesAndTypes"
    );
    Error::new(ErrorCode::NoSuchColumnInTable, what)
}

/// The input, with the bytes of some rows in memory.
struct Input {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were consumed.
    at: usize,
    /// The offset of the buffer in the input.
    buffer_offset: u64,
    is_read: bool,
    row_bytes_max: usize,
}

impl Input {
    fn new(input: Box<dyn Read + Send>, settings: &FormatSettings) -> Input {
        let row_bytes_max = settings.max_row_bytes.min(ROW_BYTES_MAX);
        Input { input, buffer: Vec::new(), at: 0, buffer_offset: 0, is_read: false, row_bytes_max }
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    fn offset(&self) -> u64 {
        self.buffer_offset + self.at as u64
    }

    fn consume_all_but(&mut self, rest: usize) {
        self.at = self.buffer.len() - rest;
    }

    fn is_at_end(&mut self) -> Result<bool> {
        if self.at == self.buffer.len() && !self.is_read {
            self.read_more()?;
        }
        Ok(self.at == self.buffer.len())
    }

    /// Reads bytes after those in memory; fails if there are none, unless there are none in memory either, or if the
    /// row is too long.
    fn read_more(&mut self) -> Result<()> {
        let rest = self.buffer.len() - self.at;
        if self.is_read {
            return Err(cut_off());
        }
        if rest > self.row_bytes_max {
            let what = format!("a row is longer than {} bytes", self.row_bytes_max);
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
        checkpoint()?;
        self.buffer.copy_within(self.at.., 0);
        self.buffer.truncate(rest);
        self.buffer_offset += self.at as u64;
        self.at = 0;
        // Twice the bytes of a row that did not fit, so that it is read again few times.
        let more = rest.max(CHUNK_BYTES);
        check_allocation(more as u64)?;
        self.buffer.reserve_exact(more);
        let read = self.input.by_ref().take(more as u64).read_to_end(&mut self.buffer);
        self.is_read = read.map_err(Error::of_reading)? < more;
        Ok(())
    }
}
