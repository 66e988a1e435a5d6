//! Reads TSKV: a line a row, `name=value` for every field, tabs between.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Error, ErrorCode, Result};
use memchr::{memchr2, memchr3, memrchr};

use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;
use crate::text::unescape;
use crate::tsv_read::is_escaped;

pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let names = columns.iter().enumerate().map(|(at, column)| (column.name.clone().into_bytes(), at));
    let parser = TskvParser {
        columns: columns.clone(),
        positions: names.collect(),
        skip_unknown: settings.skip_unknown_fields,
    };
    chunks::open(ChunkSource::new(input, settings), Arc::new(parser), columns, settings, 0)
}

struct TskvParser {
    columns: Columns,
    positions: HashMap<Vec<u8>, usize>,
    skip_unknown: bool,
}

impl TskvParser {
    /// The column of the field called `name`; `None` if it is skipped.
    fn column(&self, name: &[u8], rows: &RowsBuilder) -> Result<Option<usize>> {
        match self.positions.get(name) {
            Some(&column) if rows.has(column) => {
                let what = format!("field `{}` is in the row twice", String::from_utf8_lossy(name));
                Err(Error::new(ErrorCode::IncorrectData, what))
            }
            Some(&column) => Ok(Some(column)),
            None if self.skip_unknown => Ok(None),
            None => {
                let name = String::from_utf8_lossy(name);
                let hint = did_you_mean(&name, self.columns.iter().map(|column| &*column.name));
                let what = format!("field `{name}` is not a column of the table{hint}");
                Err(Error::new(ErrorCode::IncorrectData, what))
            }
        }
    }

    /// Parses the field at `at`; returns the position after it.
    fn parse_field(
        &self,
        chunk: &[u8],
        at: usize,
        rows: &mut RowsBuilder,
        scratch: &mut Vec<u8>,
    ) -> Result<usize, RowError> {
        let name_end = end_of(&chunk[at..], |bytes| memchr3(b'=', b'\t', b'\n', bytes)).map(|end| at + end);
        let name_end = name_end.unwrap_or(chunk.len());
        scratch.clear();
        unescape(&chunk[at..name_end], scratch)?;
        if chunk.get(name_end) != Some(&b'=') {
            // A first field `tskv` without a value names the format.
            if scratch.is_empty() || scratch == b"tskv" {
                return Ok(name_end);
            }
            let what = format!("field `{}` has no value", String::from_utf8_lossy(scratch));
            return Err(Error::new(ErrorCode::IncorrectData, what).into());
        }
        let start = name_end + 1;
        let end = end_of(&chunk[start..], |bytes| memchr2(b'\t', b'\n', bytes)).map(|end| start + end);
        let end = end.unwrap_or(chunk.len());
        if let Some(column) = self.column(scratch, rows)? {
            rows.append(column, |builder| match &chunk[start..end] {
                b"" if builder.ty().stripped().is_whole() => builder.parse_raw(b"0"),
                value => builder.parse_escaped(value),
            })?;
        }
        Ok(end)
    }
}

impl RowParser for TskvParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        let mut end = memrchr(b'\n', bytes)?;
        while is_escaped(bytes, end) {
            end = memrchr(b'\n', &bytes[..end])?;
        }
        Some(end + 1)
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let mut scratch = std::mem::take(&mut rows.scratch);
        let mut at = at;
        loop {
            let end = self.parse_field(chunk, at, rows, &mut scratch)?;
            at = (end + 1).min(chunk.len());
            if chunk.get(end) != Some(&b'\t') {
                break;
            }
        }
        rows.scratch = scratch;
        rows.end_row();
        Ok(at)
    }
}

/// The first byte that `find` finds and no backslash escapes.
fn end_of(bytes: &[u8], find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + find(&bytes[from..])?;
        if !is_escaped(bytes, end) {
            return Some(end);
        }
        from = end + 1;
    }
}
