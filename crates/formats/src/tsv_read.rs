//! Reads TabSeparated: a line a row, tabs between fields, backslash escapes.

use std::io::Read;
use std::sync::Arc;

use basalt_base::{Columns, ErrorCode, Result, SqlType};
use memchr::{memchr, memchr2, memrchr};

use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::header::{Header, Target, by_name, by_position, is_header, wrong_field_count};
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
        delimiter: settings.tsv_delimiter,
        null: settings.tsv_null.clone().into_bytes(),
        empty_as_default: settings.tsv_empty_as_default,
        raw,
        targets: by_position(columns, false),
    };
    for _ in 0..settings.skip_first_lines {
        parser.take_line(&mut source)?;
    }
    let mut header_rows = header.rows();
    if header == Header::None && settings.detect_header {
        let line = source.peek_row(|bytes| parser.line_end(bytes))?.to_vec();
        header_rows = usize::from(parser.names(&line).is_ok_and(|names| is_header(&names, columns)));
    }
    if header_rows > 0 {
        let line = parser.take_line(&mut source)?;
        parser.targets = by_name(&parser.names(&line)?, columns, settings.skip_unknown_fields)?;
        // The types in the header are ignored; the table's are used.
        (1..header_rows).try_for_each(|_| parser.take_line(&mut source).map(drop))?;
    }
    let rows_before = (header_rows + settings.skip_first_lines) as u64;
    chunks::open(source, Arc::new(parser), columns, settings, rows_before)
}

struct TsvParser {
    delimiter: u8,
    null: Vec<u8>,
    empty_as_default: bool,
    raw: bool,
    targets: Vec<Target>,
}

impl TsvParser {
    /// The length of the first line, including its newline.
    fn line_end(&self, bytes: &[u8]) -> Option<usize> {
        let mut from = 0;
        loop {
            let end = from + memchr(b'\n', &bytes[from..])?;
            if self.raw || !is_escaped(bytes, end) {
                return Some(end + 1);
            }
            from = end + 1;
        }
    }

    fn take_line(&self, source: &mut ChunkSource) -> Result<Vec<u8>> {
        let len = source.peek_row(|bytes| self.line_end(bytes))?.len();
        Ok(source.take(len).into_bytes())
    }

    fn names(&self, line: &[u8]) -> Result<Vec<String>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
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
        if field.is_empty() && is_exact_number(column.ty()) {
            return column.parse_raw(b"0");
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

impl RowParser for TsvParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        let mut end = memrchr(b'\n', bytes)?;
        while !self.raw && is_escaped(bytes, end) {
            end = memrchr(b'\n', &bytes[..end])?;
        }
        Some(end + 1)
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let mut at = at;
        for (field, target) in self.targets.iter().enumerate() {
            let end = self.field_end(chunk, at);
            let last = field + 1 == self.targets.len();
            let ends_row = chunk.get(end) != Some(&self.delimiter);
            if ends_row != last {
                return Err(wrong_field_count(
                    ErrorCode::CannotParseInput,
                    field + 1,
                    ends_row,
                    self.targets.len(),
                )
                .into());
            }
            let mut text = &chunk[at..end];
            if last && !self.raw {
                text = text.strip_suffix(b"\r").unwrap_or(text);
            }
            if let Target::Column(column) = *target {
                rows.append(column, |builder| self.parse_field(text, builder))?;
            }
            at = (end + 1).min(chunk.len());
        }
        rows.end_row();
        Ok(at)
    }
}

/// Whether an empty text is zero for this type, as in ClickHouse; for other types it is an error.
fn is_exact_number(ty: &SqlType) -> bool {
    let ty = ty.stripped();
    ty.is_integer() || matches!(ty, SqlType::Decimal { .. })
}

/// Whether the byte at `at` is preceded by an odd number of backslashes.
fn is_escaped(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}
