//! Reads JSON rows: an object a row (JSONEachRow), an array a row (JSONCompactEachRow), or any object (JSONAsString).

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Error, ErrorCode, Result};

use super::row::Cells;
use super::values::{between_rows, first_value_end, whole_values};
use crate::block::BlockReader;
use crate::chunks::{self, ChunkSource, RowParser};
use crate::header::{Header, Target, by_position, targets_of_header};
use crate::lines::only_string;
use crate::rows::{RowError, RowsBuilder};
use crate::settings::FormatSettings;
use crate::text::{ColumnBuilder, JsonScanner, Parsed};

pub(crate) fn open_objects(
    columns: &Columns,
    settings: &FormatSettings,
    cells: Cells,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let parser = Arc::new(ObjectParser::new(columns, settings, cells));
    chunks::open(ChunkSource::new(input, settings), parser, columns, settings, 0)
}

pub(crate) fn open_arrays(
    columns: &Columns,
    settings: &FormatSettings,
    cells: Cells,
    header: Header,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    let mut source = ChunkSource::new(input, settings);
    let above = (0..header.rows()).map(|_| take_names(&mut source)).collect::<Result<Vec<_>>>()?;
    let targets = match &above[..] {
        [] => by_position(columns, false),
        [names, types @ ..] => targets_of_header(names, types.first(), columns, settings)?,
    };
    let parser = ArrayParser { targets, cells, allow_variable: settings.json.allow_variable_columns };
    chunks::open(source, Arc::new(parser), columns, settings, header.rows() as u64)
}

/// Opens JSONAsString: the text of every object is the value of the only column.
pub(crate) fn open_texts(
    columns: &Columns,
    settings: &FormatSettings,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    only_string(columns, "JSONAsString")?;
    chunks::open(ChunkSource::new(input, settings), Arc::new(TextParser), columns, settings, 0)
}

/// Takes the array of strings that the input begins with.
fn take_names(source: &mut ChunkSource) -> Result<Vec<String>> {
    let length = source.peek_row(first_value_end)?.len();
    let row = source.take(length).into_bytes();
    let (mut names, mut scratch) = (Vec::new(), Vec::new());
    let mut scanner = JsonScanner::new(&row);
    scanner.expect(b'[')?;
    while !scanner.eat(b']') {
        names.push(String::from_utf8_lossy(scanner.string(&mut scratch)?).into_owned());
        if !scanner.eat(b',') {
            scanner.expect(b']')?;
            break;
        }
    }
    Ok(names)
}

/// The place of the next row, and a scanner that begins there; `None` if there are only separators.
fn next_row<'a>(chunk: &'a [u8], at: usize, separators: &[u8]) -> Option<(usize, JsonScanner<'a>)> {
    let start = at + between_rows(&chunk[at..], separators);
    let scanner = JsonScanner::new(&chunk[start..]);
    (!scanner.rest().is_empty()).then_some((start, scanner))
}

fn parse_cell(builder: &mut ColumnBuilder, cells: Cells, scanner: &mut JsonScanner<'_>) -> Result<Parsed> {
    match cells {
        Cells::Values => builder.parse_json(scanner),
        Cells::Text => builder.parse_json_text(scanner),
    }
}

pub(super) struct ObjectParser {
    columns: Columns,
    cells: Cells,
    positions: HashMap<Vec<u8>, usize>,
    skip_unknown: bool,
}

impl ObjectParser {
    pub(super) fn new(columns: &Columns, settings: &FormatSettings, cells: Cells) -> ObjectParser {
        let names = columns.iter().enumerate().map(|(at, column)| (column.name.clone().into_bytes(), at));
        ObjectParser {
            columns: columns.clone(),
            cells,
            positions: names.collect(),
            skip_unknown: settings.skip_unknown_fields,
        }
    }

    /// The column of a key. Keys usually come in the order of the columns, so `expected` is tried first.
    fn position(&self, key: &[u8], expected: usize) -> Option<usize> {
        match self.columns.get(expected) {
            Some(column) if column.name.as_bytes() == key => Some(expected),
            _ => self.positions.get(key).copied(),
        }
    }

    pub(super) fn parse_object(
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
                    rows.append(column, |builder| parse_cell(builder, self.cells, scanner))?;
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
        let Some((start, mut scanner)) = next_row(chunk, at, b"[],;") else { return Ok(chunk.len()) };
        let mut scratch = std::mem::take(&mut rows.scratch);
        self.parse_object(&mut scanner, rows, &mut scratch)?;
        rows.scratch = scratch;
        rows.end_row();
        Ok(start + scanner.position())
    }
}

pub(super) struct ArrayParser {
    pub(super) targets: Vec<Target>,
    pub(super) cells: Cells,
    /// A row may have fewer values, which are missing, or more, which are skipped.
    pub(super) allow_variable: bool,
}

impl RowParser for ArrayParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        whole_values(bytes, b",;")
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let Some((start, mut scanner)) = next_row(chunk, at, b",;") else { return Ok(chunk.len()) };
        scanner.expect(b'[')?;
        for (field, target) in self.targets.iter().enumerate() {
            if self.allow_variable && scanner.peek() == Some(b']') {
                break;
            }
            if field > 0 {
                scanner.expect(b',')?;
            }
            match *target {
                Target::Column(column) | Target::TupleElements(column) => {
                    rows.append(column, |builder| parse_cell(builder, self.cells, &mut scanner))?;
                }
                Target::Skip => drop(scanner.skip_value()?),
            }
        }
        while self.allow_variable && scanner.eat(b',') {
            scanner.skip_value()?;
        }
        scanner.expect(b']')?;
        rows.end_row();
        Ok(start + scanner.position())
    }
}

struct TextParser;

impl RowParser for TextParser {
    fn whole_rows(&self, bytes: &[u8]) -> Option<usize> {
        whole_values(bytes, b"[],;")
    }

    fn parse_row(&self, chunk: &[u8], at: usize, rows: &mut RowsBuilder) -> Result<usize, RowError> {
        let Some((start, mut scanner)) = next_row(chunk, at, b"[],;") else { return Ok(chunk.len()) };
        if scanner.peek() != Some(b'{') {
            return Err(Error::new(ErrorCode::IncorrectData, scanner.error("a JSON object").message()).into());
        }
        let text = scanner.skip_value()?;
        rows.append(0, |builder| builder.parse_raw(text))?;
        rows.end_row();
        Ok(start + scanner.position())
    }
}
