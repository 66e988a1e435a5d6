//! The least and the greatest value of every result column: what `extremes = 1` adds to an answer.
//!
//! Numbers, dates, times, enums, UUIDs and decimals have extremes; strings, arrays and maps give
//! their default value, as ClickHouse has it. NULL and NaN are passed over.

use std::cmp::Ordering;

use basalt_base::{Columns, Error, Result, SqlType};
use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::{SortOptions, filter, is_not_null, sort_to_indices};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;

/// The extremes of the rows seen so far.
#[derive(Debug)]
pub struct Extremes {
    columns: Columns,
    /// Least and greatest of each column; `None` until a value was seen.
    bounds: Vec<Option<(ScalarValue, ScalarValue)>>,
    rows: usize,
}

impl Extremes {
    pub fn new(columns: Columns) -> Extremes {
        let bounds = vec![None; columns.len()];
        Extremes { columns, bounds, rows: 0 }
    }

    /// Takes in a block of the result; its columns are those given to [`Extremes::new`], by position.
    pub fn update(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows();
        for ((column, array), bounds) in self.columns.iter().zip(batch.columns()).zip(&mut self.bounds) {
            if !has_extremes(&column.ty) {
                continue;
            }
            if let Some((least, greatest)) = bounds_of(array)? {
                *bounds = Some(match bounds.take() {
                    None => (least, greatest),
                    Some((low, high)) => {
                        (pick(low, least, Ordering::Less), pick(high, greatest, Ordering::Greater))
                    }
                });
            }
        }
        Ok(())
    }

    /// Two rows, least and greatest; `None` if there was no row at all.
    pub fn finish(self) -> Result<Option<RecordBatch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let arrays = self
            .columns
            .iter()
            .zip(self.bounds)
            .map(|(column, bounds)| match bounds {
                None => Ok(column.ty.default_array(2)),
                Some((least, greatest)) => {
                    ScalarValue::iter_to_array([least, greatest]).map_err(Error::logical)
                }
            })
            .collect::<Result<Vec<ArrayRef>>>()?;
        RecordBatch::try_new(self.columns.to_arrow(), arrays).map(Some).map_err(Error::logical)
    }
}

fn has_extremes(ty: &SqlType) -> bool {
    !matches!(
        ty.stripped(),
        SqlType::String
            | SqlType::FixedString(_)
            | SqlType::Array(_)
            | SqlType::Map(..)
            | SqlType::Tuple(_)
            | SqlType::Nothing
    )
}

fn bounds_of(array: &ArrayRef) -> Result<Option<(ScalarValue, ScalarValue)>> {
    let values = comparable(array)?;
    if values.is_empty() {
        return Ok(None);
    }
    let end = |descending| {
        let options = SortOptions { descending, nulls_first: false };
        let indices = sort_to_indices(&values, Some(options), Some(1)).map_err(Error::logical)?;
        ScalarValue::try_from_array(&values, indices.value(0) as usize).map_err(Error::logical)
    };
    Ok(Some((end(false)?, end(true)?)))
}

/// The values that are neither NULL nor NaN.
fn comparable(array: &ArrayRef) -> Result<ArrayRef> {
    let keeps = match array.data_type() {
        DataType::Float32 => not_nan(array.as_primitive::<Float32Type>().iter().map(|v| v.map(f32::is_nan))),
        DataType::Float64 => not_nan(array.as_primitive::<Float64Type>().iter().map(|v| v.map(f64::is_nan))),
        _ if array.null_count() == 0 => return Ok(ArrayRef::clone(array)),
        _ => is_not_null(array).map_err(Error::logical)?,
    };
    filter(array, &keeps).map_err(Error::logical)
}

fn not_nan(values: impl Iterator<Item = Option<bool>>) -> BooleanArray {
    values.map(|is_nan| Some(is_nan == Some(false))).collect()
}

/// Whichever of the two stands in `order` to the other.
fn pick(left: ScalarValue, right: ScalarValue, order: Ordering) -> ScalarValue {
    if right.partial_cmp(&left) == Some(order) { right } else { left }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use basalt_base::Column;
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
    fn strings_have_the_default() {
        let strings: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(["b", "a"]));
        check(SqlType::String, strings, Some(SqlType::String.default_array(2)));
    }

    #[test]
    fn no_rows_have_no_extremes() {
        check(SqlType::Int8, Arc::new(Int8Array::from(Vec::<i8>::new())), None);
    }
}
