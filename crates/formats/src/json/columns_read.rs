//! Reads JSONColumns and its variants: an array for each column.

use std::io::Read;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Columns, Error, ErrorCode, Result};

use super::columns_write::ColumnsFrame;
use super::document_read::{check_types, document_parts};
use super::values::read_document;
use crate::block::{Block, BlockReader};
use crate::rows::RowsBuilder;
use crate::settings::FormatSettings;
use crate::text::JsonScanner;

pub(crate) fn open_columns(
    columns: &Columns,
    settings: &FormatSettings,
    frame: ColumnsFrame,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn BlockReader>> {
    Ok(Box::new(ColumnsReader {
        rows: RowsBuilder::new(columns, settings)?,
        columns: columns.clone(),
        settings: settings.clone(),
        frame,
        input: Some(input),
        text: Vec::new(),
        at: 0,
    }))
}

struct ColumnsReader {
    rows: RowsBuilder,
    columns: Columns,
    settings: FormatSettings,
    frame: ColumnsFrame,
    /// `None` once it is read.
    input: Option<Box<dyn Read + Send>>,
    text: Vec<u8>,
    /// The end of what was parsed.
    at: usize,
}

impl BlockReader for ColumnsReader {
    fn next_block(&mut self) -> Result<Option<Block>> {
        if let Some(input) = self.input.take() {
            self.text = self.data(read_document(input, &self.settings)?)?;
        }
        let text = std::mem::take(&mut self.text);
        loop {
            let mut scanner = JsonScanner::new(&text[self.at..]);
            if scanner.peek().is_none() {
                return Ok(None);
            }
            let rows = self.parse(&mut scanner)?;
            self.at += scanner.position();
            if rows > 0 {
                self.rows.end_rows(rows)?;
                self.text = text;
                return self.rows.finish().map(Some);
            }
        }
    }
}

impl ColumnsReader {
    /// The columns of a document; other inputs unchanged.
    fn data(&self, text: Vec<u8>) -> Result<Vec<u8>> {
        if self.frame != ColumnsFrame::Document || text.trim_ascii().is_empty() {
            return Ok(text);
        }
        let (meta, data) = document_parts(&text)?;
        if !self.settings.json.ignore_metadata_types {
            check_types(&meta, &self.columns)?;
        }
        Ok(data.to_vec())
    }

    /// Parses the columns between two brackets; returns the number of rows.
    fn parse(&mut self, scanner: &mut JsonScanner<'_>) -> Result<usize> {
        let brackets = if self.frame == ColumnsFrame::Array { *b"[]" } else { *b"{}" };
        scanner.expect(brackets[0])?;
        let (mut rows, mut scratch) = (None, Vec::new());
        let mut open = !scanner.eat(brackets[1]);
        for index in 0.. {
            if !open {
                break;
            }
            let column = match self.frame {
                ColumnsFrame::Array => self.nth(index)?,
                ColumnsFrame::Object | ColumnsFrame::Document => {
                    let name = String::from_utf8_lossy(scanner.string(&mut scratch)?).into_owned();
                    scanner.expect(b':')?;
                    self.named(&name)?
                }
            };
            match column {
                Some(column) => self.parse_column(column, &mut rows, scanner)?,
                None => drop(scanner.skip_value()?),
            }
            open = scanner.eat(b',');
            if !open {
                scanner.expect(brackets[1])?;
            }
        }
        Ok(rows.unwrap_or(0))
    }

    fn nth(&self, index: usize) -> Result<Option<usize>> {
        if index < self.columns.len() {
            return Ok(Some(index));
        }
        let what = format!("there are more than {} columns", self.columns.len());
        Err(Error::new(ErrorCode::IncorrectData, what))
    }

    /// The column called `name`; `None` if it is skipped.
    fn named(&self, name: &str) -> Result<Option<usize>> {
        match self.columns.position(name) {
            Some(column) if self.rows.has(column) => {
                let what = format!("column `{name}` is in the object twice");
                Err(Error::new(ErrorCode::IncorrectData, what))
            }
            None if !self.settings.skip_unknown_fields => {
                let hint = did_you_mean(name, self.columns.iter().map(|column| &*column.name));
                let what = format!("key `{name}` is not a column of the table{hint}");
                Err(Error::new(ErrorCode::IncorrectData, what))
            }
            found => Ok(found),
        }
    }

    fn parse_column(
        &mut self,
        column: usize,
        rows: &mut Option<usize>,
        scanner: &mut JsonScanner<'_>,
    ) -> Result<()> {
        let mut found = 0;
        scanner.expect(b'[')?;
        let mut open = !scanner.eat(b']');
        while open {
            let appended = self.rows.append(column, |builder| builder.parse_json(scanner));
            appended.map_err(|error| error.within(found as u64 + 1, self.at as u64))?;
            found += 1;
            open = scanner.eat(b',');
            if !open {
                scanner.expect(b']')?;
            }
        }
        let expected = *rows.get_or_insert(found);
        if found != expected {
            let name = &self.columns[column].name;
            let what = format!("column `{name}` has {found} rows, expected {expected}");
            return Err(Error::new(ErrorCode::IncorrectData, what));
        }
        Ok(())
    }
}
