//! Reads CSV: fields separated by commas, in double quotes where needed.

use std::io::Read;
use std::sync::Arc;

use basalt_base::{Columns, Error, ErrorCode, Result};
use memchr::{memchr, memchr2};

use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::header::{Header, HeaderRows, Target, by_position, take_header, wrong_field_count};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::{CsvSettings, FormatSettings};
use crate::text::{ColumnBuilder, Parsed};
use crate::tsv_read::is_blank;

pub(crate) fn open(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
    header: Header,
) -> Result<Box<dyn BlockReader>> {
    let mut source = ChunkSource::new(input, settings);
    let mut parser = CsvParser::new(&settings.csv);
    let fields = by_position(columns, settings.csv.read_tuples_apart);
    let (targets, rows_before) = take_header(&parser, &mut source, header, fields, columns, settings)?;
    parser.targets = targets;
    chunks::open(source, Arc::new(parser), columns, settings, rows_before)
}

/// The fields of a CSV row, for schema inference.
pub(crate) fn split_row(row: &[u8], settings: &CsvSettings) -> Result<Vec<(Vec<u8>, bool)>> {
    CsvParser::new(settings).fields(row)
}

/// The length of the first row, including its line end.
pub(crate) fn first_row_end(bytes: &[u8], settings: &CsvSettings) -> Option<usize> {
    CsvParser::new(settings).row_length(bytes)
}

struct CsvParser {
    settings: CsvSettings,
    delimiter: u8,
    null: Vec<u8>,
    targets: Vec<Target>,
}

/// A field of a chunk.
struct Field<'a> {
    /// Without the surrounding quotes; with quotes still doubled.
    text: &'a [u8],
    in_quotes: bool,
    /// The quote, if it is doubled in the text.
    doubled: Option<u8>,
    /// The position of the delimiter or newline after it, or the end of the chunk.
    end: usize,
}

impl CsvParser {
    fn new(settings: &CsvSettings) -> CsvParser {
        CsvParser {
            delimiter: settings.delimiter,
            null: settings.null.clone().into_bytes(),
            settings: settings.clone(),
            targets: Vec::new(),
        }
    }

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

    fn fields(&self, row: &[u8]) -> Result<Vec<(Vec<u8>, bool)>> {
        let row = row.strip_suffix(b"\n").unwrap_or(row);
        let (mut fields, mut at) = (Vec::new(), 0);
        loop {
            let field = self.field(row, at)?;
            let mut text = Vec::new();
            match field.doubled {
                Some(quote) => undouble(field.text, quote, &mut text),
                None => text.extend_from_slice(field.text),
            }
            fields.push((text, field.in_quotes));
            if field.end >= row.len() {
                return Ok(fields);
            }
            at = field.end + 1;
        }
    }

    /// The field at `at`. Fails if its quotes are not closed, or if something follows them.
    fn field<'a>(&self, chunk: &'a [u8], at: usize) -> Result<Field<'a>> {
        let first = at + self.spaces(&chunk[at..]);
        match chunk.get(first) {
            Some(b'"') if self.settings.allow_double_quotes => {
                return self.quoted_field(chunk, first + 1, b'"');
            }
            Some(b'\'') if self.settings.allow_single_quotes => {
                return self.quoted_field(chunk, first + 1, b'\'');
            }
            _ => {}
        }
        let start = if self.settings.trim_whitespaces { first } else { at };
        let found = memchr2(self.delimiter, b'\n', &chunk[start..]);
        let end = found.map_or(chunk.len(), |found| start + found);
        let mut text = &chunk[start..end];
        while let Some((last, before)) = text.split_last()
            && (matches!(last, b' ' | b'\t') && *last != self.delimiter && self.settings.trim_whitespaces
                || *last == b'\r' && chunk.get(end) != Some(&self.delimiter))
        {
            text = before;
        }
        Ok(Field { text, in_quotes: false, doubled: None, end })
    }

    fn quoted_field<'a>(&self, chunk: &'a [u8], start: usize, quote: u8) -> Result<Field<'a>> {
        let (mut at, mut doubled) = (start, None);
        let close = loop {
            let Some(found) = memchr(quote, &chunk[at..]) else {
                let what = "a quoted field has no closing quote";
                return Err(Error::new(ErrorCode::CannotParseQuotedString, what));
            };
            at += found;
            if chunk.get(at + 1) != Some(&quote) {
                break at;
            }
            doubled = Some(quote);
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
        if !field.in_quotes && field.text.is_empty() && self.settings.empty_as_default {
            column.append_default();
            return Ok(Parsed::Default);
        }
        let parsed = match field.doubled {
            Some(quote) => {
                scratch.clear();
                undouble(field.text, quote, scratch);
                column.parse_csv(scratch, true)
            }
            None => column.parse_csv(field.text, field.in_quotes),
        };
        if parsed.is_err() && self.settings.default_on_bad_values {
            column.append_default();
            return Ok(Parsed::Default);
        }
        parsed
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

impl HeaderRows for CsvParser {
    fn row_length(&self, bytes: &[u8]) -> Option<usize> {
        self.row_end(bytes, 0)
    }

    fn names(&self, row: &[u8]) -> Result<Vec<String>> {
        let names = self.fields(row)?.into_iter();
        Ok(names.map(|(name, _)| String::from_utf8_lossy(&name).into_owned()).collect())
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
        if self.settings.skip_trailing_empty_lines && is_blank(&chunk[at..]) {
            return Ok(chunk.len());
        }
        let mut at = at;
        let mut scratch = std::mem::take(&mut rows.scratch);
        for (index, target) in self.targets.iter().enumerate() {
            let end = self.parse_target(*target, chunk, at, rows, &mut scratch)?;
            let last = index + 1 == self.targets.len();
            let ends_row = chunk.get(end) != Some(&self.delimiter);
            // Spreadsheets often leave a delimiter at the end of a line.
            let stray = last && matches!(chunk.get(end + 1), None | Some(b'\n' | b'\r')) && !ends_row;
            if ends_row != last && !stray && !self.settings.allow_variable_columns {
                let (code, count) = (ErrorCode::IncorrectData, self.targets.len());
                return Err(wrong_field_count(code, index + 1, ends_row, count).into());
            }
            at = (end + 1).min(chunk.len());
            if ends_row != last {
                at = if ends_row { at } else { self.row_end(chunk, at).unwrap_or(chunk.len()) };
                break;
            }
        }
        rows.scratch = scratch;
        rows.end_row();
        Ok(at)
    }
}

impl CsvParser {
    /// Parses the fields of one target; returns the position after them.
    fn parse_target(
        &self,
        target: Target,
        chunk: &[u8],
        at: usize,
        rows: &mut RowsBuilder,
        scratch: &mut Vec<u8>,
    ) -> Result<usize, RowError> {
        let mut end = at;
        match target {
            Target::TupleElements(column) => {
                rows.append(column, |builder| self.parse_tuple(chunk, &mut end, builder, scratch))?;
            }
            Target::Column(column) => rows.append(column, |builder| {
                let field = self.field(chunk, at)?;
                end = field.end;
                self.parse_field(&field, builder, scratch)
            })?,
            Target::Skip => end = self.field(chunk, at)?.end,
        }
        Ok(end)
    }
}

fn undouble(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(quote, rest) {
        out.extend_from_slice(&rest[..=at]);
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}
