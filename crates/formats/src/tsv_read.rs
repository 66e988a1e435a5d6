//! Reads TabSeparated: a line a row, tabs between fields, backslash escapes.

use std::io::Read;
use std::sync::Arc;

use basalt_base::{Columns, Error, ErrorCode, Result, SqlType};
use memchr::{memchr, memchr2, memrchr};

use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::header::{Header, HeaderRows, Target, by_position, take_header, wrong_field_count};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;
use crate::text::{ColumnBuilder, Parsed, unescape};

/// Opens TabSeparated, or TSVRaw, which has no escapes.
pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    header: Header,
    raw: bool,
) -> Result<Box<dyn BlockReader>> {
    let mut source = ChunkSource::new(input, settings);
    let mut parser = TsvParser {
        delimiter: settings.tsv.delimiter,
        null: settings.tsv.null.clone().into_bytes(),
        empty_as_default: settings.tsv.empty_as_default,
        allow_variable: settings.tsv.allow_variable_columns,
        skip_trailing_empty_lines: settings.tsv.skip_trailing_empty_lines,
        raw,
        targets: Vec::new(),
    };
    let (targets, rows_before) =
        take_header(&parser, &mut source, header, by_position(columns, false), columns, settings)?;
    parser.targets = targets;
    chunks::open(source, Arc::new(parser), columns, settings, rows_before)
}

struct TsvParser {
    delimiter: u8,
    null: Vec<u8>,
    empty_as_default: bool,
    /// A row may have fewer fields, which are missing, or more, which are skipped.
    allow_variable: bool,
    skip_trailing_empty_lines: bool,
    raw: bool,
    targets: Vec<Target>,
}

impl TsvParser {
    /// The end of the field at `at`: a delimiter, a newline, or the end of the chunk.
    #[inline]
    fn field_end(&self, chunk: &[u8], at: usize) -> usize {
        let mut from = at;
        while let Some(found) = memchr2(self.delimiter, b'\n', &chunk[from..]) {
            let end = from + found;
            if self.raw || !(end > at && chunk[end - 1] == b'\\' && is_escaped(&chunk[at..], end - at)) {
                return end;
            }
            from = end + 1;
        }
        chunk.len()
    }

    /// The start of the line after `at`.
    fn line_end(&self, chunk: &[u8], at: usize) -> usize {
        self.row_length(&chunk[at..]).map_or(chunk.len(), |length| at + length)
    }

    fn parse_field(&self, field: &[u8], column: &mut ColumnBuilder) -> Result<Parsed> {
        if field == self.null && (!self.raw || column.ty().accepts_null()) {
            return column.append_missing();
        }
        if field.is_empty() && self.empty_as_default {
            column.append_default();
            return Ok(Parsed::Default);
        }
        if self.raw {
            return column.parse_raw(field);
        }
        if field.is_empty() && is_number(column.ty()) {
            return parse_empty_number(column);
        }
        if self.delimiter != b'\t' && memchr2(b'\\', self.delimiter, field).is_some() {
            return column.parse_escaped(&self.unescape_delimiters(field));
        }
        column.parse_escaped(field)
    }

    /// The field without the backslashes before delimiters, which are no escapes of other delimiters than a tab.
    fn unescape_delimiters(&self, field: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(field.len());
        let mut bytes = field.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            let next = bytes.next_if(|_| byte == b'\\');
            if next != Some(self.delimiter) {
                out.push(byte);
            }
            out.extend(next);
        }
        out
    }
}

impl HeaderRows for TsvParser {
    fn row_length(&self, bytes: &[u8]) -> Option<usize> {
        let mut from = 0;
        loop {
            let end = from + memchr(b'\n', &bytes[from..])?;
            if self.raw || !is_escaped(bytes, end) {
                return Some(end + 1);
            }
            from = end + 1;
        }
    }

    fn names(&self, row: &[u8]) -> Result<Vec<String>> {
        let line = row.strip_suffix(b"\n").unwrap_or(row);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let name = |field: &[u8]| {
            let mut name = Vec::new();
            if self.raw {
                name.extend_from_slice(field)
            } else {
                unescape(field, &mut name)?
            }
            Ok(String::from_utf8_lossy(&name).into_owned())
        };
        line.split(|&byte| byte == self.delimiter).map(name).collect()
    }
}

impl RowParser for TsvParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        let mut end = memrchr(b'\n', bytes)?;
        while !self.raw && is_escaped(bytes, end) {
            end = memrchr(b'\n', &bytes[..end])?;
        }
        Some(end + 1)
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        if self.skip_trailing_empty_lines && is_blank(&chunk[at..]) {
            return Ok(chunk.len());
        }
        let mut at = at;
        for (field, target) in self.targets.iter().enumerate() {
            let end = self.field_end(chunk, at);
            let last = field + 1 == self.targets.len();
            let ends_row = chunk.get(end) != Some(&self.delimiter);
            if ends_row != last && !self.allow_variable {
                return Err(wrong_field_count(
                    ErrorCode::CannotParseInput,
                    field + 1,
                    ends_row,
                    self.targets.len(),
                )
                .into());
            }
            let mut text = &chunk[at..end];
            if (last || ends_row) && !self.raw {
                text = text.strip_suffix(b"\r").unwrap_or(text);
            }
            if let Target::Column(column) = *target {
                rows.append(column, |builder| self.parse_field(text, builder))?;
            }
            at = (end + 1).min(chunk.len());
            if ends_row != last {
                // A row of another length, which is allowed: see above.
                if !ends_row {
                    at = self.line_end(chunk, at);
                }
                break;
            }
        }
        rows.end_row();
        Ok(at)
    }
}

fn is_number(ty: &SqlType) -> bool {
    let ty = ty.stripped();
    ty.is_whole() || ty.is_float() || matches!(ty, SqlType::Decimal { .. })
}

/// An empty text is zero for integers and decimals, as in ClickHouse; for floats it is an error.
fn parse_empty_number(column: &mut ColumnBuilder) -> Result<Parsed> {
    if !column.ty().stripped().is_float() {
        return column.parse_raw(b"0");
    }
    let what = "an empty field is not a number; `input_format_tsv_empty_as_default` reads it as the default";
    Err(Error::new(ErrorCode::CannotParseNumber, what))
}

/// Whether there are only line ends.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Whether the byte at `at` is preceded by an odd number of backslashes.
pub(crate) fn is_escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}
