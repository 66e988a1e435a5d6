//! Rows of text from another database, as columns.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::kernels::zip::zip;
use basalt_base::{Error, Result, SqlType, bail};
use basalt_formats::TextSettings;
use basalt_formats::text::ColumnBuilder;
use basalt_sources::{Row, RowStream};

use super::LoadRequest;
use super::foreign_value::plain;

const ROWS_A_BLOCK: usize = 65_409;
/// Wide rows make shorter blocks.
const BYTES_A_BLOCK: usize = 8 << 20;

/// Blocks of the requested columns, made of rows of text.
pub(super) struct TextBlocks<R> {
    rows: R,
    builders: Vec<ColumnBuilder>,
    types: Vec<SqlType>,
    names: Vec<String>,
    key_count: usize,
    defaults: Arc<[ArrayRef]>,
    is_done: bool,
    whence: String,
}

impl<R: RowStream> TextBlocks<R> {
    pub(super) fn new(load: &LoadRequest, rows: R, with_time: bool, whence: &str) -> Result<TextBlocks<R>> {
        let columns = load.columns_of_rows(with_time);
        let zone = Arc::clone(&load.host).context(load.query(whence)).zone;
        let settings = TextSettings { zone, ..TextSettings::default() };
        let builders =
            columns.iter().map(|column| ColumnBuilder::new(&column.ty, &settings)).collect::<Result<_>>()?;
        Ok(TextBlocks {
            rows,
            builders,
            types: columns.iter().map(|column| column.ty.stripped().clone()).collect(),
            names: columns.iter().map(|column| column.name.clone()).collect(),
            key_count: load.key_count(),
            defaults: Arc::clone(&load.defaults),
            is_done: false,
            whence: whence.to_owned(),
        })
    }

    fn block(&mut self) -> Result<Vec<ArrayRef>> {
        let mut row = Row::default();
        let mut missing: Vec<Vec<bool>> = vec![Vec::new(); self.builders.len()];
        let (mut count, mut bytes) = (0, 0);
        while count < ROWS_A_BLOCK && bytes < BYTES_A_BLOCK {
            if !self.rows.next_row(&mut row)? {
                self.is_done = true;
                break;
            }
            if row.len() != self.builders.len() {
                bail!(
                    NumberOfColumnsDoesntMatch,
                    "the source sends rows of {} columns, the dictionary has {}",
                    row.len(),
                    self.builders.len()
                );
            }
            for (at, field) in row.fields().enumerate() {
                bytes += field.map_or(0, <[u8]>::len);
                let is_missing = self.push(at, field)?;
                if is_missing {
                    missing[at].resize(count, false);
                    missing[at].push(true);
                }
            }
            count += 1;
        }
        let columns: Vec<ArrayRef> = self.builders.iter_mut().map(ColumnBuilder::finish).collect();
        let columns = columns.into_iter().zip(missing).enumerate();
        columns.map(|(at, (column, missing))| self.with_defaults(at, column, missing)).collect()
    }

    /// Appends a value; returns whether it is missing and the column takes no NULL.
    fn push(&mut self, at: usize, field: Option<&[u8]>) -> Result<bool> {
        let (builder, name) = (&mut self.builders[at], &self.names[at]);
        let Some(text) = field else {
            if at < self.key_count {
                bail!(CannotInsertNullInOrdinaryColumn, "the source has a row whose key `{name}` is NULL");
            }
            let is_null = builder.ty().accepts_null();
            builder.append_default();
            return Ok(!is_null);
        };
        let parsed = builder.parse_raw(&plain(text, &self.types[at]));
        parsed.map_err(|error| {
            let shown = String::from_utf8_lossy(&text[..text.len().min(100)]).into_owned();
            error.within(format!("column `{name}`, value `{shown}`"))
        })?;
        Ok(false)
    }

    fn with_defaults(&self, at: usize, column: ArrayRef, mut missing: Vec<bool>) -> Result<ArrayRef> {
        let Some(default) = at.checked_sub(self.key_count).and_then(|at| self.defaults.get(at)) else {
            return Ok(column);
        };
        if missing.is_empty() {
            return Ok(column);
        }
        missing.resize(column.len(), false);
        let zeroes = arrow::array::UInt32Array::from(vec![0; column.len()]);
        let defaults = arrow::compute::take(default, &zeroes, None).map_err(Error::logical)?;
        zip(&missing.into(), &defaults, &column).map_err(Error::of_arrow)
    }
}

impl<R: RowStream> Iterator for TextBlocks<R> {
    type Item = Result<Vec<ArrayRef>>;

    fn next(&mut self) -> Option<Result<Vec<ArrayRef>>> {
        if self.is_done {
            return None;
        }
        let block = self.block().map_err(|error| error.within(&self.whence));
        if block.is_err() {
            self.is_done = true;
        }
        Some(block)
    }
}
