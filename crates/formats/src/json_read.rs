//! Reads JSON: an object a row (JSONEachRow), an array a row (JSONCompactEachRow), or the whole result of a query
//! (JSON, JSONCompact).

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Error, ErrorCode, Result};

use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::header::{Target, by_name, by_position};
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;
use crate::text::JsonScanner;

pub(crate) fn open_objects(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let names = columns.iter().enumerate().map(|(at, column)| (column.name.clone().into_bytes(), at));
    let parser = ObjectParser {
        columns: columns.clone(),
        positions: names.collect(),
        skip_unknown: settings.skip_unknown_fields,
    };
    chunks::open(ChunkSource::new(input, settings), Arc::new(parser), columns, settings, 0)
}

pub(crate) fn open_arrays(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let parser = ArrayParser { targets: by_position(columns, false) };
    chunks::open(ChunkSource::new(input, settings), Arc::new(parser), columns, settings, 0)
}

/// Opens the result of a query, as written by `FORMAT JSON` or `FORMAT JSONCompact`.
pub(crate) fn open_document(
    columns: &Columns,
    settings: &FormatSettings,
    mut input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let mut text = Vec::new();
    let limit = settings.max_row_bytes as u64;
    input.by_ref().take(limit + 1).read_to_end(&mut text).map_err(Error::of_reading)?;
    if text.len() as u64 > limit {
        let what = format!("a JSON document of more than {limit} bytes; use JSONEachRow");
        return Err(Error::new(ErrorCode::IncorrectData, what));
    }
    if is_rows(&text) {
        return open_objects(columns, settings, Box::new(Cursor::new(text)));
    }
    let (names, data) = document_parts(&text)?;
    let inside = data.strip_prefix(b"[").and_then(|data| data.strip_suffix(b"]"));
    let Some(inside) = inside else {
        return Err(Error::new(ErrorCode::IncorrectData, "`data` of the JSON document is not an array"));
    };
    let rows: Box<dyn Read + Send> = Box::new(Cursor::new(inside.to_vec()));
    if JsonScanner::new(inside).peek() != Some(b'[') {
        return open_objects(columns, settings, rows);
    }
    let targets = by_name(&names, columns, settings.skip_unknown_fields)?;
    let parser = Arc::new(ArrayParser { targets });
    chunks::open(ChunkSource::new(rows, settings), parser, columns, settings, 0)
}

/// Whether `text` has rows only: an array of objects, or objects that do not begin like a query's result.
pub(crate) fn is_rows(text: &[u8]) -> bool {
    let mut scanner = JsonScanner::new(text);
    match scanner.peek() {
        Some(b'[') => true,
        Some(b'{') => {
            let mut key = Vec::new();
            let known = |key: &[u8]| {
                let known: [&[u8]; 7] =
                    [b"meta", b"data", b"totals", b"extremes", b"rows", b"statistics", b"exception"];
                known.contains(&key)
            };
            scanner.expect(b'{').is_ok() && scanner.string(&mut key).is_ok_and(|key| !known(key))
        }
        _ => false,
    }
}

/// The names in `meta`, and the text of `data`.
fn document_parts(text: &[u8]) -> Result<(Vec<String>, &[u8])> {
    let (mut names, mut data, mut scratch) = (Vec::new(), None, Vec::new());
    let mut scanner = JsonScanner::new(text);
    scanner.expect(b'{')?;
    while !scanner.eat(b'}') {
        let key = scanner.string(&mut scratch)?.to_vec();
        scanner.expect(b':')?;
        match &key[..] {
            b"meta" => names = meta_names(scanner.skip_value()?),
            b"data" => data = Some(scanner.skip_value()?),
            _ => drop(scanner.skip_value()?),
        }
        if !scanner.eat(b',') {
            scanner.expect(b'}')?;
            break;
        }
    }
    let missing = || Error::new(ErrorCode::IncorrectData, "the JSON document has no `data`");
    Ok((names, data.ok_or_else(missing)?))
}

fn meta_names(meta: &[u8]) -> Vec<String> {
    let parsed: serde_json::Value = serde_json::from_slice(meta).unwrap_or_default();
    let name = |column: &serde_json::Value| column["name"].as_str().unwrap_or_default().to_owned();
    parsed.as_array().map(|columns| columns.iter().map(name).collect()).unwrap_or_default()
}

struct ObjectParser {
    columns: Columns,
    positions: HashMap<Vec<u8>, usize>,
    skip_unknown: bool,
}

impl ObjectParser {
    /// The column of a key. Keys usually come in the order of the columns, so `expected` is tried first.
    fn position(&self, key: &[u8], expected: usize) -> Option<usize> {
        match self.columns.get(expected) {
            Some(column) if column.name.as_bytes() == key => Some(expected),
            _ => self.positions.get(key).copied(),
        }
    }

    fn parse_object(
        &self,
        scanner: &mut JsonScanner<'_>,
        rows: &mut RowsBuilder,
        scratch: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        scanner.expect(b'{')?;
        if scanner.eat(b'}') {
            return Ok(());
        }
        let mut expected = 0;
        loop {
            let key = scanner.string(scratch)?;
            let position = self.position(key, expected);
            if position.is_none() && !self.skip_unknown {
                return Err(self.unknown(key).into());
            }
            if position.is_some_and(|column| rows.has(column)) {
                let what = format!("key `{}` is in the object twice", String::from_utf8_lossy(key));
                return Err(Error::new(ErrorCode::IncorrectData, what).into());
            }
            scanner.expect(b':')?;
            match position {
                Some(column) => {
                    rows.append(column, |builder| builder.parse_json(scanner))?;
                    expected = column + 1;
                }
                None => drop(scanner.skip_value()?),
            }
            if !scanner.eat(b',') {
                return Ok(scanner.expect(b'}')?);
            }
        }
    }

    #[cold]
    fn unknown(&self, key: &[u8]) -> Error {
        let name = String::from_utf8_lossy(key);
        let hint = did_you_mean(&name, self.columns.iter().map(|column| &*column.name));
        Error::new(ErrorCode::IncorrectData, format!("key `{name}` is not a column of the table{hint}"))
    }
}

impl RowParser for ObjectParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        whole_values(bytes, b"[],;")
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let start = at + between_rows(&chunk[at..], b"[],;");
        let mut scanner = JsonScanner::new(&chunk[start..]);
        if scanner.rest().is_empty() {
            return Ok(chunk.len());
        }
        let mut scratch = std::mem::take(&mut rows.scratch);
        self.parse_object(&mut scanner, rows, &mut scratch)?;
        rows.scratch = scratch;
        rows.end_row();
        Ok(start + scanner.position())
    }
}

struct ArrayParser {
    targets: Vec<Target>,
}

impl RowParser for ArrayParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        whole_values(bytes, b",;")
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let start = at + between_rows(&chunk[at..], b",;");
        let mut scanner = JsonScanner::new(&chunk[start..]);
        if scanner.rest().is_empty() {
            return Ok(chunk.len());
        }
        scanner.expect(b'[')?;
        for (field, target) in self.targets.iter().enumerate() {
            if field > 0 {
                scanner.expect(b',')?;
            }
            match *target {
                Target::Column(column) | Target::TupleElements(column) => {
                    rows.append(column, |builder| builder.parse_json(&mut scanner))?;
                }
                Target::Skip => drop(scanner.skip_value()?),
            }
        }
        scanner.expect(b']')?;
        rows.end_row();
        Ok(start + scanner.position())
    }
}

/// The number of leading bytes that are spaces or `separators`.
fn between_rows(bytes: &[u8], separators: &[u8]) -> usize {
    let between = |byte: &&u8| byte.is_ascii_whitespace() || separators.contains(byte);
    bytes.iter().take_while(between).count()
}

/// The end of the last complete value.
fn whole_values(bytes: &[u8], separators: &[u8]) -> Option<usize> {
    let mut whole = None;
    loop {
        let at = whole.unwrap_or(0);
        let start = at + between_rows(&bytes[at..], separators);
        let mut scanner = JsonScanner::new(&bytes[start..]);
        match scanner.skip_value() {
            // A bare word at the end may be cut off.
            Ok(_) if start + scanner.position() == bytes.len() && !ends_with_bracket(bytes) => return whole,
            Ok(_) => whole = Some(start + scanner.position()),
            Err(error) => {
                let unfinished = [ErrorCode::UnexpectedEndOfFile, ErrorCode::CannotParseQuotedString]
                    .contains(&error.code());
                // Malformed, not incomplete: `parse_row` reports it.
                return if unfinished { whole } else { Some(bytes.len()) };
            }
        }
    }
}

fn ends_with_bracket(bytes: &[u8]) -> bool {
    matches!(bytes.last(), Some(b'}' | b']' | b'"'))
}
