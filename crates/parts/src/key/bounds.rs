//! The smallest and the largest value of a column in one part: lets a query skip the part.
//!
//! Bounds may be loose: of a long string only the first bytes are kept, rounded down for the smallest
//! and up for the largest value. NULL does not count; the part's metadata says how many there are.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BinaryViewArray, PrimitiveArray,
    downcast_primitive_array,
};
use arrow::compute::{concat, take};
use arrow::datatypes::DataType;

use crate::error::Result;

/// Bytes that are kept of a string.
const STRING_BYTES_MAX: usize = 64;

/// Collects the bounds of arrays.
#[derive(Debug, Default)]
pub(crate) struct BoundsBuilder {
    /// Smallest and largest value so far.
    bounds: Option<ArrayRef>,
    /// A largest string that cannot be rounded up: there are no bounds any more.
    unbounded: bool,
    null_count: u64,
}

impl BoundsBuilder {
    pub(crate) fn update(&mut self, array: &ArrayRef) -> Result<()> {
        self.null_count += array.null_count() as u64;
        if self.unbounded {
            return Ok(());
        }
        let Some((low, high)) = extremes(array) else { return Ok(()) };
        let (low, high) = (array.slice(low, 1), array.slice(high, 1));
        let candidates = match &self.bounds {
            Some(bounds) => concat(&[&low, &high, bounds])?,
            None => concat(&[&low, &high])?,
        };
        let Some((low, high)) = extremes(&candidates) else { return Ok(()) };
        let rows = arrow::array::UInt32Array::from(vec![low as u32, high as u32]);
        let bounds = take(&candidates, &rows, None)?;
        self.bounds = shorten(bounds);
        self.unbounded = self.bounds.is_none();
        Ok(())
    }

    /// Smallest and largest value, if the type has an order and there is a value; and the NULLs.
    pub(crate) fn finish(self) -> (Option<ArrayRef>, u64) {
        (self.bounds, self.null_count)
    }
}

/// The positions of the smallest and the largest value that is not NULL.
fn extremes(array: &ArrayRef) -> Option<(usize, usize)> {
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean();
            extremes_by(array, |row| values.value(row))
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            extremes_by(array, |row| values.value(row))
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            extremes_by(array, |row| values.value(row))
        }
        _ => primitive_extremes(array),
    }
}

fn extremes_by<T: PartialOrd>(array: &dyn Array, value: impl Fn(usize) -> T) -> Option<(usize, usize)> {
    let mut rows = (0..array.len()).filter(|&row| array.is_valid(row));
    let first = rows.next()?;
    let (mut low, mut high) = (first, first);
    for row in rows {
        if value(row) < value(low) {
            low = row;
        } else if value(row) > value(high) {
            high = row;
        }
    }
    Some((low, high))
}

fn primitive_extremes(array: &dyn Array) -> Option<(usize, usize)> {
    downcast_primitive_array!(
        array => numeric_extremes(array),
        _ => None
    )
}

/// In the total order, where NaN is the largest: the order of sorted parts.
fn numeric_extremes<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Option<(usize, usize)> {
    let values = array.values();
    let mut rows = (0..values.len()).filter(|&row| array.is_valid(row));
    let first = rows.next()?;
    let (mut low, mut high) = (first, first);
    for row in rows {
        if values[row].is_lt(values[low]) {
            low = row;
        } else if values[row].is_gt(values[high]) {
            high = row;
        }
    }
    Some((low, high))
}

/// Bounds that take little space and keep no large buffer alive. `None` if there is no short upper
/// bound.
fn shorten(bounds: ArrayRef) -> Option<ArrayRef> {
    let Some(strings) = bounds.as_binary_view_opt() else { return Some(bounds) };
    let (low, high) = (strings.value(0), strings.value(1));
    let low = &low[..low.len().min(STRING_BYTES_MAX)];
    let high =
        if high.len() <= STRING_BYTES_MAX { high.to_vec() } else { successor(&high[..STRING_BYTES_MAX])? };
    Some(Arc::new(BinaryViewArray::from_iter_values([low, &high])))
}

/// A short string that is larger than every string that begins with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut bytes = prefix[..=last].to_vec();
    bytes[last] += 1;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int32Array};

    use super::*;

    fn check(arrays: Vec<ArrayRef>, expected: Option<ArrayRef>) {
        let mut builder = BoundsBuilder::default();
        for array in &arrays {
            builder.update(array).unwrap();
        }
        let (bounds, _) = builder.finish();
        assert_eq!(bounds.as_ref().map(|bounds| bounds.to_data()), expected.map(|bounds| bounds.to_data()));
    }

    #[test]
    fn bounds_skip_null_and_grow() {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![Some(3), None, Some(2)])),
            Arc::new(Int32Array::from(vec![None::<i32>])),
            Arc::new(Int32Array::from(vec![9, 4])),
        ];
        check(arrays, Some(Arc::new(Int32Array::from(vec![2, 9]))));
        check(vec![Arc::new(Int32Array::from(vec![None::<i32>]))], None);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, -1.0]));
        check(vec![floats], Some(Arc::new(Float64Array::from(vec![-1.0, f64::NAN]))));
    }

    #[test]
    fn long_strings_are_rounded_outwards() {
        let long = |byte: u8| vec![byte; 100];
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([long(b'a'), long(b'y')]));
        let mut up = vec![b'y'; STRING_BYTES_MAX];
        up[STRING_BYTES_MAX - 1] = b'z';
        let expected = BinaryViewArray::from_iter_values([vec![b'a'; STRING_BYTES_MAX], up]);
        check(vec![array], Some(Arc::new(expected)));
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([long(u8::MAX)]));
        check(vec![array], None);
    }
}
