//! The smallest and the largest value of an array, for zone maps and a part's bounds.
//!
//! Bounds may be loose: for long strings only a prefix is kept, rounded down for the smallest and up for the
//! largest value. NULL is ignored.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BinaryViewArray, BooleanArray,
    FixedSizeBinaryArray, Float32Array, Float64Array, PrimitiveArray, downcast_primitive_array,
};
use arrow::datatypes::{DataType, Float32Type, Float64Type};

use crate::error::Result;

/// Bytes of a string's prefix.
const STRING_BYTES_MAX: usize = 32;

/// The bounds of an array with at least one value.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// The smallest and the largest value, as an array of two.
    pub(crate) array: ArrayRef,
    /// The largest string cannot be rounded up, so the second value is no bound.
    pub(crate) is_unbounded: bool,
}

/// Whether arrays of the type have bounds.
pub(crate) fn has_order(data_type: &DataType) -> bool {
    data_type.is_primitive()
        || matches!(data_type, DataType::Boolean | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

/// The bounds of `array`; `None` if it has no value, or its type no order.
pub(crate) fn of_array(array: &ArrayRef) -> Result<Option<Bounds>> {
    let (array, is_unbounded) = match array.data_type() {
        DataType::Boolean => (boolean_bounds(array.as_boolean()), false),
        DataType::BinaryView => match string_bounds(array.as_binary_view()) {
            Some((bounds, is_unbounded)) => (Some(bounds), is_unbounded),
            None => (None, false),
        },
        DataType::FixedSizeBinary(_) => (fixed_string_bounds(array.as_fixed_size_binary())?, false),
        _ => (primitive_bounds(array), false),
    };
    Ok(array.map(|array| Bounds { array, is_unbounded }))
}

fn boolean_bounds(array: &BooleanArray) -> Option<ArrayRef> {
    let valid = array.len() - array.null_count();
    let trues = array.true_count();
    (valid > 0).then(|| Arc::new(BooleanArray::from(vec![trues == valid, trues > 0])) as ArrayRef)
}

fn string_bounds(array: &BinaryViewArray) -> Option<(ArrayRef, bool)> {
    let (low, high) =
        extremes((0..array.len()).filter(|&row| array.is_valid(row)).map(|row| array.value(row)))?;
    let low = &low[..low.len().min(STRING_BYTES_MAX)];
    let (high, is_unbounded) = match round_up(high) {
        Some(high) => (high, false),
        None => (high[..STRING_BYTES_MAX].to_vec(), true),
    };
    Some((Arc::new(BinaryViewArray::from_iter_values([low, &high])), is_unbounded))
}

fn fixed_string_bounds(array: &FixedSizeBinaryArray) -> Result<Option<ArrayRef>> {
    let values = (0..array.len()).filter(|&row| array.is_valid(row)).map(|row| array.value(row));
    let Some((low, high)) = extremes(values) else { return Ok(None) };
    let both = [low, high].concat();
    Ok(Some(Arc::new(FixedSizeBinaryArray::try_new(array.value_length(), both.into(), None)?)))
}

fn extremes<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
    let first = values.next()?;
    let (mut low, mut high) = (first, first);
    for value in values {
        if value < low {
            low = value;
        } else if value > high {
            high = value;
        }
    }
    Some((low, high))
}

fn primitive_bounds(array: &ArrayRef) -> Option<ArrayRef> {
    let bounds: Option<ArrayRef> = downcast_primitive_array!(
        array => numeric_bounds(array),
        _ => None
    );
    bounds.map(|bounds| widen_zeros(&bounds))
}

/// In the total order, in which NaN is the largest: the order of sorted parts.
fn numeric_bounds<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Option<ArrayRef> {
    let values = array.values();
    let (low, high) = if array.null_count() == 0 {
        numeric_extremes::<T>(values.iter().copied())?
    } else {
        numeric_extremes::<T>(array.iter().flatten())?
    };
    let bounds = PrimitiveArray::<T>::from_iter_values([low, high]);
    Some(Arc::new(bounds.with_data_type(array.data_type().clone())))
}

/// Branch-free, so that it vectorises.
fn numeric_extremes<T: ArrowPrimitiveType>(
    mut values: impl Iterator<Item = T::Native>,
) -> Option<(T::Native, T::Native)> {
    let first = values.next()?;
    Some(values.fold((first, first), |(low, high), value| {
        (if value.is_lt(low) { value } else { low }, if value.is_gt(high) { value } else { high })
    }))
}

/// -0 and +0 are equal in SQL and differ in the total order: bounds include both.
fn widen_zeros(bounds: &ArrayRef) -> ArrayRef {
    match bounds.data_type() {
        DataType::Float32 => {
            let values = bounds.as_primitive::<Float32Type>().values();
            let low = if values[0] == 0.0 { -0.0 } else { values[0] };
            let high = if values[1] == 0.0 { 0.0 } else { values[1] };
            Arc::new(Float32Array::from(vec![low, high]))
        }
        DataType::Float64 => {
            let values = bounds.as_primitive::<Float64Type>().values();
            let low = if values[0] == 0.0 { -0.0 } else { values[0] };
            let high = if values[1] == 0.0 { 0.0 } else { values[1] };
            Arc::new(Float64Array::from(vec![low, high]))
        }
        _ => Arc::clone(bounds),
    }
}

/// A string of at most [`STRING_BYTES_MAX`] bytes that is not below `high`.
fn round_up(high: &[u8]) -> Option<Vec<u8>> {
    if high.len() <= STRING_BYTES_MAX { Some(high.to_vec()) } else { successor(&high[..STRING_BYTES_MAX]) }
}

/// A short string that is above every string with this prefix.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut bytes = prefix[..=last].to_vec();
    bytes[last] += 1;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;

    use super::*;

    fn check(array: ArrayRef, expected: Option<ArrayRef>) {
        let bounds = of_array(&array).unwrap();
        assert_eq!(bounds.map(|bounds| bounds.array.to_data()), expected.map(|bounds| bounds.to_data()));
    }

    #[test]
    fn bounds_skip_null() {
        check(
            Arc::new(Int32Array::from(vec![Some(3), None, Some(2), Some(9)])),
            Some(Arc::new(Int32Array::from(vec![2, 9]))),
        );
        check(Arc::new(Int32Array::from(vec![None::<i32>])), None);
        check(
            Arc::new(Float64Array::from(vec![1.0, f64::NAN, -1.0])),
            Some(Arc::new(Float64Array::from(vec![-1.0, f64::NAN]))),
        );
        check(
            Arc::new(BooleanArray::from(vec![Some(true), None])),
            Some(Arc::new(BooleanArray::from(vec![true, true]))),
        );
    }

    #[test]
    fn long_strings_are_rounded_outwards() {
        let long = |byte: u8| vec![byte; 100];
        let mut up = vec![b'y'; STRING_BYTES_MAX];
        up[STRING_BYTES_MAX - 1] = b'z';
        let expected = BinaryViewArray::from_iter_values([vec![b'a'; STRING_BYTES_MAX], up]);
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([long(b'a'), long(b'y')]));
        check(array, Some(Arc::new(expected)));
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([long(u8::MAX)]));
        assert!(of_array(&array).unwrap().unwrap().is_unbounded);
    }
}
