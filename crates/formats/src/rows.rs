//! Blocks under construction: one builder a column, and the missing values.

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use basalt_base::{Column, Columns, Error, ErrorCode, Result};

use crate::block::{Block, Defaulted};
use crate::settings::FormatSettings;
use crate::text::{ColumnBuilder, Parsed};

/// Rows that become a block.
pub(crate) struct RowsBuilder {
    columns: Columns,
    schema: SchemaRef,
    builders: Vec<ColumnBuilder>,
    /// For every column, the rows whose value was missing in the input.
    defaulted: Vec<Vec<u32>>,
    rows: usize,
    /// Buffer for parsers that unescape.
    pub(crate) scratch: Vec<u8>,
}

/// A row that could not be parsed.
#[derive(Debug)]
pub(crate) struct RowError {
    pub(crate) error: Error,
    /// The column that was being parsed, if any.
    column: Option<Column>,
    /// Whether the value is an SQL expression, whose error is complete by itself.
    is_of_expression: bool,
}

impl RowsBuilder {
    pub(crate) fn new(columns: &Columns, settings: &FormatSettings) -> Result<RowsBuilder> {
        let builders = columns.iter().map(|column| ColumnBuilder::new(&column.ty, &settings.text));
        Ok(RowsBuilder {
            columns: columns.clone(),
            schema: columns.to_arrow(),
            builders: builders.collect::<Result<_>>()?,
            defaulted: vec![Vec::new(); columns.len()],
            rows: 0,
            scratch: Vec::new(),
        })
    }

    /// Number of complete rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether this row has a value in `column` already.
    pub(crate) fn has(&self, column: usize) -> bool {
        self.builders[column].len() > self.rows
    }

    /// Appends one value to `column` with `parse`.
    pub(crate) fn append(
        &mut self,
        column: usize,
        parse: impl FnOnce(&mut ColumnBuilder) -> Result<Parsed>,
    ) -> Result<(), RowError> {
        let row = self.builders[column].len() as u32;
        match parse(&mut self.builders[column]) {
            Ok(Parsed::Value) => Ok(()),
            Ok(Parsed::Default) => {
                self.defaulted[column].push(row);
                Ok(())
            }
            Err(error) => Err(RowError { column: Some(self.columns[column].clone()), ..error.into() }),
        }
    }

    pub(crate) fn append_default(&mut self, column: usize) {
        self.defaulted[column].push(self.builders[column].len() as u32);
        self.builders[column].append_default();
    }

    /// Ends a row; columns without a value get their default.
    pub(crate) fn end_row(&mut self) {
        for column in 0..self.builders.len() {
            if !self.has(column) {
                self.append_default(column);
            }
        }
        self.rows += 1;
    }

    /// Ends `count` rows that were appended column by column; columns without values get their default.
    pub(crate) fn end_rows(&mut self, count: usize) -> Result<()> {
        for column in 0..self.builders.len() {
            if !self.has(column) {
                (0..count).for_each(|_| self.append_default(column));
            }
            if self.builders[column].len() != self.rows + count {
                let what = format!("column `{}` has another number of rows", self.columns[column].name);
                return Err(Error::new(ErrorCode::IncorrectData, what));
            }
        }
        self.rows += count;
        Ok(())
    }

    /// Drops what was appended to the row that is not ended.
    pub(crate) fn drop_row(&mut self) {
        for (builder, defaulted) in self.builders.iter_mut().zip(&mut self.defaulted) {
            builder.truncate(self.rows);
            while defaulted.last().is_some_and(|&row| row as usize >= self.rows) {
                defaulted.pop();
            }
        }
    }

    /// Returns the rows so far as a block and resets the builder.
    pub(crate) fn finish(&mut self) -> Result<Block> {
        let rows = std::mem::take(&mut self.rows);
        let arrays = self.builders.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|error| Error::logical(format!("parsed columns are no batch: {error}")))?;
        let defaulted =
            self.defaulted.iter_mut().map(|found| missing_rows(std::mem::take(found), rows)).collect();
        Ok(Block { batch, defaulted })
    }
}

impl RowError {
    /// Marks the value as an SQL expression.
    pub(crate) fn of_expression(self) -> RowError {
        RowError { is_of_expression: true, ..self }
    }

    /// The error with the column, the row (from 1) and the row's offset in the input.
    pub(crate) fn within(self, row: u64, offset: u64) -> Error {
        let error = match self.column {
            Some(Column { name, ty }) => self.error.within(format!("column `{name}` of type {ty}")),
            None => self.error,
        };
        let error = error.within(format!("row {row} at byte {offset}"));
        match error.code() {
            // A bad value is another error in a cast than in a file, as in ClickHouse.
            ErrorCode::CannotParseText if !self.is_of_expression => {
                Error::new(ErrorCode::CannotParseInput, error.message())
            }
            _ => error,
        }
    }
}

impl From<Error> for RowError {
    fn from(error: Error) -> RowError {
        RowError { error, column: None, is_of_expression: false }
    }
}

/// The rows of `found` out of `rows`.
pub(crate) fn missing_rows(found: Vec<u32>, rows: usize) -> Defaulted {
    match found.len() {
        0 => Defaulted::Never,
        all if all == rows => Defaulted::Always,
        _ => {
            let mut bits = vec![false; rows];
            found.iter().for_each(|&row| bits[row as usize] = true);
            Defaulted::Rows(BooleanBuffer::from(bits))
        }
    }
}
