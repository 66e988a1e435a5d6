//! Matches the columns of a block with those of a table: by name, converted to the table's types.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter;
use basalt_base::array_bytes::VIEW_BYTES;
use basalt_base::query::check_allocation;
use basalt_base::suggest::did_you_mean;
use basalt_base::{Column, Columns, Error, ErrorCode, Result, SqlType};

use super::safe_cast::{safe_cast, with_defaults};
use crate::block::{Block, Defaulted, TypeConverter};
use crate::settings::FormatSettings;

/// The columns of a table, and how others become them.
pub(crate) struct Matching {
    wanted: Columns,
    skip_unknown: bool,
    null_as_default: bool,
    converter: Option<Arc<dyn TypeConverter>>,
}

impl Matching {
    pub(crate) fn new(
        wanted: &Columns,
        settings: &FormatSettings,
        converter: Option<Arc<dyn TypeConverter>>,
    ) -> Matching {
        Matching {
            wanted: wanted.clone(),
            skip_unknown: settings.skip_unknown_fields,
            null_as_default: settings.text.null_as_default,
            converter,
        }
    }

    pub(crate) fn wanted(&self) -> &Columns {
        &self.wanted
    }

    /// For each column of the table its position among `found`; `None` if it is missing there. Fails if a name is
    /// there twice, or is not a column of the table and must not be skipped.
    pub(crate) fn positions(&self, found: &Columns) -> Result<Vec<Option<usize>>> {
        let mut names = HashSet::new();
        for Column { name, .. } in found.iter() {
            if !names.insert(name.as_str()) {
                let what = format!("column `{name}` is in the input twice");
                return Err(Error::new(ErrorCode::IncorrectData, what));
            }
            if !self.skip_unknown && self.wanted.position(name).is_none() {
                let hint = did_you_mean(name, self.wanted.iter().map(|column| &*column.name));
                let what = format!("column `{name}` of the input is not a column of the table{hint}");
                return Err(Error::new(ErrorCode::NoSuchColumnInTable, what));
            }
        }
        Ok(self.wanted.iter().map(|column| found.position(&column.name)).collect())
    }

    /// The block of the table for `arrays`, which carry the columns `found` at `positions`. `defaulted` says which
    /// of their values were missing.
    pub(crate) fn block(
        &self,
        found: &Columns,
        positions: &[Option<usize>],
        arrays: &[ArrayRef],
        defaulted: &[Defaulted],
        rows: usize,
    ) -> Result<Block> {
        let (mut columns, mut missing) = (Vec::new(), Vec::new());
        for (wanted, position) in self.wanted.iter().zip(positions) {
            let (array, rows_missing) = match *position {
                None => {
                    check_allocation((rows * wanted.ty.fixed_bytes().unwrap_or(VIEW_BYTES)) as u64)?;
                    (wanted.ty.default_array(rows), Defaulted::Always)
                }
                Some(at) => {
                    let (array, nulls) = self
                        .cast(&arrays[at], &found[at].ty, &wanted.ty)
                        .map_err(|error| error.within(format!("column `{}`", wanted.name)))?;
                    (array, nulls.unwrap_or_else(|| defaulted[at].clone()))
                }
            };
            columns.push(array);
            missing.push(rows_missing);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.wanted.to_arrow(), columns, &options)
            .map_err(|error| Error::logical(format!("columns that were read are no batch: {error}")))?;
        Ok(Block { batch, defaulted: missing })
    }

    /// Converts `array`. Where it is NULL and `to` has no NULL, the result is the default of `to`, and the second
    /// result says so.
    fn cast(&self, array: &ArrayRef, from: &SqlType, to: &SqlType) -> Result<(ArrayRef, Option<Defaulted>)> {
        if let Some(cast) = safe_cast(array, from, to) {
            return Ok((cast, None));
        }
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let Some(nulls) = nulls.filter(|_| from.accepts_null() && !to.accepts_null()) else {
            return Ok((self.convert(array, from, to)?, None));
        };
        if !self.null_as_default {
            let what = format!("NULL is not a value of type {to}");
            return Err(Error::new(ErrorCode::CannotInsertNullInOrdinaryColumn, what));
        }
        let given = BooleanArray::new(nulls.inner().clone(), None);
        let values = filter(array, &given).map_err(Error::of_arrow)?;
        let values = match safe_cast(&values, from, to) {
            Some(cast) => cast,
            None => self.convert(&values, from, to)?,
        };
        let defaulted = match nulls.null_count() == array.len() {
            true => Defaulted::Always,
            false => Defaulted::Rows(!nulls.inner()),
        };
        Ok((with_defaults(&values, to, nulls.inner())?, Some(defaulted)))
    }

    fn convert(&self, array: &ArrayRef, from: &SqlType, to: &SqlType) -> Result<ArrayRef> {
        let Some(converter) = &self.converter else {
            let what = format!("the input has values of type {from}, but the column is of type {to}");
            return Err(Error::new(ErrorCode::TypeMismatch, what));
        };
        let converted = converter.convert(array, from, to)?;
        if converted.len() != array.len() || *converted.data_type() != to.carrier() {
            let what =
                format!("{} values of {from} were converted to {}", array.len(), converted.data_type());
            return Err(Error::logical(what));
        }
        if !to.accepts_null() && converted.logical_null_count() > 0 {
            let what = format!("a value of type {from} has none in type {to}");
            return Err(Error::new(ErrorCode::CannotConvertType, what));
        }
        Ok(converted)
    }
}
