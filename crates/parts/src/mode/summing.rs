//! Combines the rows of a key to one row, with the sums of some columns.
//!
//! Sums have the column's type and wrap around. NULLs are skipped; the sum of only NULLs is NULL. Columns that are
//! not summed keep the value of the first row. A row whose sums are all zero (or NULL, for nullable types) is
//! removed.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, PrimitiveBuilder, RecordBatch,
    downcast_primitive_array,
};
use arrow::datatypes::{ArrowNativeTypeOp, DataType};

use super::reducer::{Reducer, RowRef};
use crate::error::{Error, Result};

/// Sums column by column.
pub(super) struct Summing {
    columns: Vec<usize>,
    /// One sum for each column, created with the first batch.
    sums: Vec<Box<dyn ColumnSum>>,
    first: Vec<RowRef>,
}

impl Summing {
    pub(super) fn new(columns: Vec<usize>) -> Summing {
        Summing { columns, sums: Vec::new(), first: Vec::new() }
    }
}

impl Reducer for Summing {
    fn attach(&mut self, batch: &RecordBatch) -> Result<()> {
        if self.sums.is_empty() {
            let nullable = |column: usize| batch.schema_ref().field(column).is_nullable();
            self.sums = self
                .columns
                .iter()
                .map(|&column| column_sum(batch.column(column), nullable(column)))
                .collect::<Result<_>>()?;
        }
        for (&column, sum) in self.columns.iter().zip(&mut self.sums) {
            sum.attach(batch.column(column));
        }
        Ok(())
    }

    fn add(&mut self, source: usize, rows: Range<usize>, _out: &mut Vec<RowRef>) -> Result<()> {
        if self.first.is_empty() {
            self.first.push(RowRef { source, row: rows.start });
        }
        self.sums.iter_mut().for_each(|sum| sum.add(rows.clone()));
        Ok(())
    }

    fn end_key(&mut self, out: &mut Vec<RowRef>) {
        let Some(first) = self.first.pop() else { return };
        let is_zero = !self.sums.is_empty() && self.sums.iter().all(|sum| sum.is_zero());
        self.sums.iter_mut().for_each(|sum| sum.end(!is_zero));
        if !is_zero {
            out.push(first);
        }
    }

    fn held(&mut self) -> &mut [RowRef] {
        &mut self.first
    }

    fn finish(&mut self, picked: RecordBatch) -> Result<RecordBatch> {
        let mut columns = picked.columns().to_vec();
        for (&column, sum) in self.columns.iter().zip(&mut self.sums) {
            columns[column] = sum.finish();
        }
        Ok(RecordBatch::try_new(picked.schema(), columns)?)
    }
}

/// The sums of one column.
trait ColumnSum: Send {
    fn attach(&mut self, values: &ArrayRef);
    fn add(&mut self, rows: Range<usize>);
    /// Whether the sum so far is the default of its type.
    fn is_zero(&self) -> bool;
    /// Ends the sum of the current key, and emits it if `is_kept`.
    fn end(&mut self, is_kept: bool);
    /// The emitted sums.
    fn finish(&mut self) -> ArrayRef;
}

struct PrimitiveSum<T: ArrowPrimitiveType> {
    values: Option<PrimitiveArray<T>>,
    sum: Option<T::Native>,
    is_nullable: bool,
    out: PrimitiveBuilder<T>,
}

fn column_sum(values: &ArrayRef, is_nullable: bool) -> Result<Box<dyn ColumnSum>> {
    downcast_primitive_array!(
        values => Ok(primitive_sum(values, is_nullable)),
        other => Err(Error::Arrow { what: format!("a column of type {other} cannot be summed") })
    )
}

fn primitive_sum<T: ArrowPrimitiveType>(like: &PrimitiveArray<T>, is_nullable: bool) -> Box<dyn ColumnSum> {
    let data_type: DataType = like.data_type().clone();
    let out = PrimitiveBuilder::<T>::new().with_data_type(data_type);
    Box::new(PrimitiveSum::<T> { values: None, sum: None, is_nullable, out })
}

impl<T: ArrowPrimitiveType> ColumnSum for PrimitiveSum<T> {
    fn attach(&mut self, values: &ArrayRef) {
        self.values = Some(values.as_primitive::<T>().clone());
    }

    fn add(&mut self, rows: Range<usize>) {
        let Some(values) = &self.values else { return };
        for row in rows {
            if values.is_valid(row) {
                let value = values.value(row);
                self.sum = Some(self.sum.map_or(value, |sum| sum.add_wrapping(value)));
            }
        }
    }

    fn is_zero(&self) -> bool {
        match self.sum {
            None => true,
            Some(sum) => !self.is_nullable && sum.is_zero(),
        }
    }

    fn end(&mut self, is_kept: bool) {
        if is_kept {
            self.out.append_option(self.sum);
        }
        self.sum = None;
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.out.finish())
    }
}
