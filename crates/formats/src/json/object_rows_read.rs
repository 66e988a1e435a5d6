//! Reads JSONObjectEachRow: one object, with a row for each of its names.

use std::io::Read;
use std::sync::Arc;

use basalt_base::{Columns, ErrorCode, Result};

use super::object_rows::name_column;
use super::row::Cells;
use super::rows_read::ObjectParser;
use super::values::between_rows;
use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;
use crate::text::JsonScanner;

pub(crate) fn open_object_rows(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let mut source = ChunkSource::new(input, settings);
    let not_spaces =
        |bytes: &[u8]| bytes.iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| at + 1);
    let length = source.peek_row(not_spaces)?.len();
    JsonScanner::new(&source.take(length).into_bytes()).expect(b'{')?;
    let rows = ObjectParser::new(columns, settings, Cells::Values);
    let parser = NamedRowParser { rows, names: name_column(columns, settings)? };
    chunks::open(source, Arc::new(parser), columns, settings, 0)
}

struct NamedRowParser {
    rows: ObjectParser,
    /// The column that takes the names of the rows.
    names: Option<usize>,
}

impl RowParser for NamedRowParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        let mut whole = None;
        loop {
            let at = whole.unwrap_or(0);
            let start = at + between_rows(&bytes[at..], b",");
            if bytes.get(start)? == &b'}' {
                return Some(bytes.len());
            }
            let mut scanner = JsonScanner::new(&bytes[start..]);
            let named = scanner.skip_value().and_then(|_| scanner.expect(b':'));
            match named.and_then(|()| scanner.skip_value().map(drop)) {
                Ok(()) => whole = Some(start + scanner.position()),
                Err(error) => {
                    let unfinished = [ErrorCode::UnexpectedEndOfFile, ErrorCode::CannotParseQuotedString]
                        .contains(&error.code());
                    // Malformed, not incomplete: `parse_row` reports it.
                    return if unfinished { whole } else { Some(bytes.len()) };
                }
            }
        }
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let start = at + between_rows(&chunk[at..], b",");
        let mut scanner = JsonScanner::new(&chunk[start..]);
        if scanner.rest().is_empty() {
            return Ok(chunk.len());
        }
        if scanner.eat(b'}') {
            return match scanner.peek() {
                None => Ok(chunk.len()),
                Some(_) => Err(scanner.error("expected after the object").into()),
            };
        }
        let mut scratch = std::mem::take(&mut rows.scratch);
        let name = scanner.string(&mut scratch)?;
        if let Some(column) = self.names {
            rows.append(column, |builder| builder.parse_raw(name))?;
        }
        scanner.expect(b':')?;
        self.rows.parse_object(&mut scanner, rows, &mut scratch)?;
        rows.scratch = scratch;
        rows.end_row();
        Ok(start + scanner.position())
    }
}
