//! The minimum and maximum of every result column, for `extremes = 1`.
//!
//! NULL and NaN are ignored unless there is nothing else. The extremes of a tuple are those of its elements; arrays
//! and maps compare as a whole.

use std::sync::Arc;

use basalt_base::{Columns, Error, Result};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, StructArray, UInt32Array, make_comparator,
};
use datafusion::arrow::compute::{SortOptions, concat, filter, is_not_null, sort_to_indices, take};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::record_batch::RecordBatch;

/// The extremes of the rows seen so far.
#[derive(Debug)]
pub struct Extremes {
    columns: Columns,
    /// Minimum and maximum of each column; empty before the first row.
    bounds: Vec<ArrayRef>,
}

impl Extremes {
    pub fn new(columns: Columns) -> Extremes {
        Extremes { columns, bounds: Vec::new() }
    }

    /// Adds a block of the result, whose columns correspond to those of [`Extremes::new`] by position.
    pub fn update(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let known = std::mem::take(&mut self.bounds);
        for (at, array) in batch.columns().iter().enumerate() {
            let mut bounds = bounds_of(array)?;
            if let Some(known) = known.get(at) {
                bounds = bounds_of(&concat(&[known.as_ref(), bounds.as_ref()]).map_err(Error::of_arrow)?)?;
            }
            self.bounds.push(bounds);
        }
        Ok(())
    }

    /// Two rows, minimum and maximum; `None` if there were no rows.
    pub fn finish(self) -> Result<Option<RecordBatch>> {
        if self.bounds.is_empty() {
            return Ok(None);
        }
        RecordBatch::try_new(self.columns.to_arrow(), self.bounds).map(Some).map_err(Error::logical)
    }
}

/// The minimum and maximum of a non-empty array; of a tuple by element.
fn bounds_of(array: &ArrayRef) -> Result<ArrayRef> {
    if let Some(tuple) = array.as_struct_opt()
        && tuple.null_count() == 0
    {
        let bounds = tuple.columns().iter().map(bounds_of).collect::<Result<Vec<_>>>()?;
        let tuple = StructArray::try_new_with_length(tuple.fields().clone(), bounds, None, 2);
        return Ok(Arc::new(tuple.map_err(Error::logical)?));
    }
    let values = comparable(array)?;
    let (values, ends) = match values.is_empty() {
        true => (array, [0, 0]),
        false => (&values, ends_of(&values)?),
    };
    take(values, &UInt32Array::from(ends.to_vec()), None).map_err(Error::of_arrow)
}

/// The positions of the minimum and the maximum.
fn ends_of(values: &ArrayRef) -> Result<[u32; 2]> {
    let options = |descending| SortOptions { descending, nulls_first: false };
    if values.data_type().is_nested() {
        let compare = make_comparator(values, values, options(false)).map_err(Error::logical)?;
        let rows = 0..values.len();
        let least = rows.clone().min_by(|a, b| compare(*a, *b)).unwrap_or(0);
        // The first of equal values, as for the minimum.
        let greatest = rows.rev().max_by(|a, b| compare(*a, *b)).unwrap_or(0);
        return Ok([least as u32, greatest as u32]);
    }
    let end = |descending| {
        let indices = sort_to_indices(values, Some(options(descending)), Some(1)).map_err(Error::of_arrow)?;
        Ok(indices.value(0))
    };
    Ok([end(false)?, end(true)?])
}

/// The values that are neither NULL nor NaN.
fn comparable(array: &ArrayRef) -> Result<ArrayRef> {
    let keeps = match array.data_type() {
        DataType::Float32 => not_nan(array.as_primitive::<Float32Type>().iter().map(|v| v.map(f32::is_nan))),
        DataType::Float64 => not_nan(array.as_primitive::<Float64Type>().iter().map(|v| v.map(f64::is_nan))),
        _ if array.null_count() == 0 => return Ok(ArrayRef::clone(array)),
        _ => is_not_null(array).map_err(Error::logical)?,
    };
    filter(array, &keeps).map_err(Error::of_arrow)
}

fn not_nan(values: impl Iterator<Item = Option<bool>>) -> BooleanArray {
    values.map(|is_nan| Some(is_nan == Some(false))).collect()
}

#[cfg(test)]
mod tests {
    use basalt_base::{Column, SqlType};
    use datafusion::arrow::array::{BinaryViewArray, Float64Array, Int8Array};

    use super::*;

    fn check(ty: SqlType, array: ArrayRef, expected: Option<ArrayRef>) {
        let columns = Columns::new(vec![Column::new("x", ty)]);
        let mut extremes = Extremes::new(columns.clone());
        let batch = RecordBatch::try_new(columns.to_arrow(), vec![array]).unwrap();
        let half = batch.num_rows() / 2;
        extremes.update(&batch.slice(0, half)).unwrap();
        extremes.update(&batch.slice(half, batch.num_rows() - half)).unwrap();
        let found = extremes.finish().unwrap().map(|rows| Arc::clone(rows.column(0)));
        assert_eq!(found, expected);
    }

    #[test]
    fn numbers_have_extremes_past_null_and_nan() {
        check(
            SqlType::Int8,
            Arc::new(Int8Array::from(vec![3, -1, 2])),
            Some(Arc::new(Int8Array::from(vec![-1, 3]))),
        );
        check(
            SqlType::Float64,
            Arc::new(Float64Array::from(vec![f64::NAN, 2.0, 1.0])),
            Some(Arc::new(Float64Array::from(vec![1.0, 2.0]))),
        );
        check(
            SqlType::Int8.into_nullable(),
            Arc::new(Int8Array::from(vec![None, Some(5), None])),
            Some(Arc::new(Int8Array::from(vec![Some(5), Some(5)]))),
        );
    }

    #[test]
    fn nothing_but_nan_is_nan() {
        let nothing: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN; 3]));
        check(SqlType::Float64, Arc::clone(&nothing), Some(nothing.slice(0, 2)));
    }

    #[test]
    fn strings_have_extremes() {
        let strings: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["b", "a", "c"]));
        let expected: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["a", "c"]));
        check(SqlType::String, strings, Some(expected));
    }

    #[test]
    fn no_rows_have_no_extremes() {
        check(SqlType::Int8, Arc::new(Int8Array::from(Vec::<i8>::new())), None);
    }
}
