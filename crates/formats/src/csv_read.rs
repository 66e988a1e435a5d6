//! Reads CSV: fields separated by commas, in double quotes where needed.

use std::io::Read;
use std::sync::Arc;

use basalt_base::{Columns, Error, ErrorCode, Result};
use memchr::{memchr, memchr2};

use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::header::{Header, Target, by_name, by_position, is_header, wrong_field_count};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;
use crate::text::{ColumnBuilder, Parsed};

pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    header: Header,
) -> Result<Box<dyn BlockReader>> {
    let mut source = ChunkSource::new(input, settings);
    let mut parser = CsvParser {
        delimiter: settings.csv_delimiter,
        null: settings.csv_null.clone().into_bytes(),
        empty_as_default: settings.csv_empty_as_default,
        targets: by_position(columns, true),
    };
    for _ in 0..settings.skip_first_lines {
        parser.take_row(&mut source)?;
    }
    let mut header_rows = header.rows();
    if header == Header::None && settings.detect_header {
        let row = source.peek_row(|bytes| parser.row_end(bytes, 0))?.to_vec();
        header_rows = usize::from(parser.names(&row).is_ok_and(|names| is_header(&names, columns)));
    }
    if header_rows > 0 {
        let row = parser.take_row(&mut source)?;
        parser.targets = by_name(&parser.names(&row)?, columns, settings.skip_unknown_fields)?;
        // The types in the header are ignored; the table's are used.
        (1..header_rows).try_for_each(|_| parser.take_row(&mut source).map(drop))?;
    }
    let rows_before = (header_rows + settings.skip_first_lines) as u64;
    chunks::open(source, Arc::new(parser), columns, settings, rows_before)
}

/// The fields of a CSV row, for schema inference.
pub(crate) fn split_row(row: &[u8], delimiter: u8) -> Result<Vec<(Vec<u8>, bool)>> {
    let parser = CsvParser { delimiter, null: Vec::new(), empty_as_default: true, targets: Vec::new() };
    parser.fields(row)
}

/// The length of the first row, including its line end.
pub(crate) fn first_row_end(bytes: &[u8], delimiter: u8) -> Option<usize> {
    let parser = CsvParser { delimiter, null: Vec::new(), empty_as_default: true, targets: Vec::new() };
    parser.row_end(bytes, 0)
}

struct CsvParser {
    delimiter: u8,
    null: Vec<u8>,
    empty_as_default: bool,
    targets: Vec<Target>,
}

/// A field of a chunk.
struct Field<'a> {
    /// Without the surrounding quotes; with quotes still doubled if `doubled` is set.
    text: &'a [u8],
    in_quotes: bool,
    doubled: bool,
    /// The position of the delimiter or newline after it, or the end of the chunk.
    end: usize,
}

impl CsvParser {
    /// The position after the newline of the row that starts at `at`.
    fn row_end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let mut at = at;
        loop {
            let field = match self.field(bytes, at) {
                Ok(field) => field,
                // The row is malformed, not incomplete; the parser reports it.
                Err(error) if error.code() == ErrorCode::CannotParseInput => {
                    return memchr(b'\n', &bytes[at..]).map(|found| at + found + 1);
                }
                Err(_) => return None,
            };
            match bytes.get(field.end)? {
                b'\n' => return Some(field.end + 1),
                _ => at = field.end + 1,
            }
        }
    }

    fn take_row(&self, source: &mut ChunkSource) -> Result<Vec<u8>> {
        let len = source.peek_row(|bytes| self.row_end(bytes, 0))?.len();
        Ok(source.take(len).into_bytes())
    }

    fn names(&self, row: &[u8]) -> Result<Vec<String>> {
        let names = self.fields(row)?.into_iter();
        Ok(names.map(|(name, _)| String::from_utf8_lossy(&name).into_owned()).collect())
    }

    fn fields(&self, row: &[u8]) -> Result<Vec<(Vec<u8>, bool)>> {
        let row = row.strip_suffix(b"\n").unwrap_or(row);
        let (mut fields, mut at) = (Vec::new(), 0);
        loop {
            let field = self.field(row, at)?;
            let mut text = Vec::new();
            undouble(field.text, &mut text);
            fields.push((if field.doubled { text } else { field.text.to_vec() }, field.in_quotes));
            if field.end >= row.len() {
                return Ok(fields);
            }
            at = field.end + 1;
        }
    }

    /// The field at `at`. Fails if its quotes are not closed, or if something follows them.
    fn field<'a>(&self, chunk: &'a [u8], at: usize) -> Result<Field<'a>> {
        let start = at + self.spaces(&chunk[at..]);
        if chunk.get(start) == Some(&b'"') {
            return self.quoted_field(chunk, start + 1);
        }
        let found = memchr2(self.delimiter, b'\n', &chunk[start..]);
        let end = found.map_or(chunk.len(), |found| start + found);
        let mut text = &chunk[start..end];
        while let Some((last, before)) = text.split_last()
            && (matches!(last, b' ' | b'\t') && *last != self.delimiter
                || *last == b'\r' && chunk.get(end) != Some(&self.delimiter))
        {
            text = before;
        }
        Ok(Field { text, in_quotes: false, doubled: false, end })
    }

    fn quoted_field<'a>(&self, chunk: &'a [u8], start: usize) -> Result<Field<'a>> {
        let (mut at, mut doubled) = (start, false);
        let close = loop {
            let Some(found) = memchr(b'"', &chunk[at..]) else {
                let what = "a quoted field has no closing quote";
                return Err(Error::new(ErrorCode::CannotParseQuotedString, what));
            };
            at += found;
            if chunk.get(at + 1) != Some(&b'"') {
                break at;
            }
            doubled = true;
            at += 2;
        };
        let mut end = close + 1 + self.spaces(&chunk[close + 1..]);
        if chunk.get(end) == Some(&b'\r') && matches!(chunk.get(end + 1), None | Some(b'\n')) {
            end += 1;
        }
        if chunk.get(end).is_some_and(|&byte| byte != self.delimiter && byte != b'\n') {
            let what = "a quoted field is followed by more than spaces";
            return Err(Error::new(ErrorCode::CannotParseInput, what));
        }
        Ok(Field { text: &chunk[start..close], in_quotes: true, doubled, end })
    }

    /// The number of leading spaces.
    fn spaces(&self, text: &[u8]) -> usize {
        text.iter().take_while(|&&byte| matches!(byte, b' ' | b'\t') && byte != self.delimiter).count()
    }

    fn parse_field(
        &self,
        field: &Field<'_>,
        column: &mut ColumnBuilder,
        scratch: &mut Vec<u8>,
    ) -> Result<Parsed> {
        if !field.in_quotes && field.text == self.null {
            return column.append_missing();
        }
        if !field.in_quotes && field.text.is_empty() && self.empty_as_default {
            column.append_default();
            return Ok(Parsed::Default);
        }
        if field.doubled {
            scratch.clear();
            undouble(field.text, scratch);
            return column.parse_csv(scratch, true);
        }
        column.parse_csv(field.text, field.in_quotes)
    }

    /// Parses fields into the elements of a tuple; moves `at` to the end of the last of them.
    fn parse_tuple(
        &self,
        chunk: &[u8],
        at: &mut usize,
        column: &mut ColumnBuilder,
        scratch: &mut Vec<u8>,
    ) -> Result<Parsed> {
        for (index, element) in column.tuple_elements().into_iter().flatten().enumerate() {
            if index > 0 {
                if chunk.get(*at) != Some(&self.delimiter) {
                    return Err(Error::new(ErrorCode::CannotParseInput, "the row ends within a tuple"));
                }
                *at += 1;
            }
            if element.tuple_elements().is_some_and(|elements| !elements.is_empty()) {
                self.parse_tuple(chunk, at, element, scratch)?;
            } else {
                let field = self.field(chunk, *at)?;
                self.parse_field(&field, element, scratch)?;
                *at = field.end;
            }
        }
        column.end_tuple();
        Ok(Parsed::Value)
    }
}

impl RowParser for CsvParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        let mut whole = None;
        while let Some(end) = self.row_end(bytes, whole.unwrap_or(0)) {
            whole = Some(end);
        }
        whole
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let mut at = at;
        let mut scratch = std::mem::take(&mut rows.scratch);
        for (index, target) in self.targets.iter().enumerate() {
            let end = match *target {
                Target::TupleElements(column) => {
                    let mut end = at;
                    rows.append(column, |builder| self.parse_tuple(chunk, &mut end, builder, &mut scratch))?;
                    end
                }
                Target::Column(column) => {
                    let mut end = at;
                    rows.append(column, |builder| {
                        let field = self.field(chunk, at)?;
                        end = field.end;
                        self.parse_field(&field, builder, &mut scratch)
                    })?;
                    end
                }
                Target::Skip => self.field(chunk, at)?.end,
            };
            let last = index + 1 == self.targets.len();
            let ends_row = chunk.get(end) != Some(&self.delimiter);
            // Spreadsheets often leave a delimiter at the end of a line.
            let stray = last && matches!(chunk.get(end + 1), None | Some(b'\n' | b'\r')) && !ends_row;
            if ends_row != last && !stray {
                return Err(wrong_field_count(
                    ErrorCode::IncorrectData,
                    index + 1,
                    ends_row,
                    self.targets.len(),
                )
                .into());
            }
            at = (end + 1).min(chunk.len());
            if stray {
                at = (self.field(chunk, at)?.end + 1).min(chunk.len());
            }
        }
        rows.scratch = scratch;
        rows.end_row();
        Ok(at)
    }
}

fn undouble(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}
