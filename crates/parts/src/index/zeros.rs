//! Zero values (0 or empty): most values of many columns, so zone maps count them.
//!
//! A zero is the number 0, `false`, or an empty string, as carried by the column's array. Floats have no zero here,
//! because -0 and 0 are two bit patterns of one value.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, downcast_primitive_array,
};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{ArrowNativeTypeOp, DataType};

/// Whether the type has a zero.
pub(crate) fn has_zero(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean | DataType::BinaryView => true,
        data_type => data_type.is_primitive() && !data_type.is_floating(),
    }
}

/// Counts the zeros of `array`; NULL is not one.
///
/// # Panics
///
/// If its type [has no zero](has_zero).
pub(crate) fn count(array: &ArrayRef) -> usize {
    downcast_primitive_array!(
        array => of_numbers(array),
        DataType::Boolean => of_flags(array.as_boolean()),
        DataType::BinaryView => {
            // The length is in the low half of a view.
            of_values(array.as_binary_view().views(), array, |view| *view as u32 == 0)
        },
        other => unreachable!("{other} has no zero"),
    )
}

fn of_numbers<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> usize {
    of_values(array.values(), array, |value| value.is_zero())
}

fn of_flags(array: &BooleanArray) -> usize {
    array.len() - array.null_count() - array.true_count()
}

fn of_values<V>(values: &[V], array: &dyn Array, is_zero: impl Fn(&V) -> bool) -> usize {
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => values.iter().filter(|value| is_zero(value)).count(),
        Some(nulls) => {
            let zeros = BooleanBuffer::collect_bool(values.len(), |at| is_zero(&values[at]));
            (&zeros & nulls.inner()).count_set_bits()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BinaryViewArray, Decimal128Array, UInt8Array};

    use super::*;

    fn check(array: ArrayRef, zeros: usize) {
        assert_eq!(count(&array), zeros, "{array:?}");
    }

    #[test]
    fn zeros_and_empty_strings_count_and_nulls_do_not() {
        check(Arc::new(UInt8Array::from(vec![0, 1, 0])), 2);
        check(Arc::new(UInt8Array::from(vec![Some(0), None, Some(2)])), 1);
        check(Arc::new(Decimal128Array::from(vec![Some(0), Some(-1), None])), 1);
        check(Arc::new(BooleanArray::from(vec![Some(false), None, Some(true)])), 1);
        let texts = [Some(""), None, Some("a"), Some("a text longer than a view"), Some("")];
        check(Arc::new(BinaryViewArray::from_iter(texts)), 2);
    }

    #[test]
    fn slices_count_their_own_rows() {
        check(Arc::new(UInt8Array::from(vec![Some(0), None, Some(0), Some(7)]).slice(1, 3)), 1);
    }

    #[test]
    fn floating_point_numbers_have_no_zero() {
        assert!(!has_zero(&DataType::Float64) && has_zero(&DataType::Int16));
    }
}
