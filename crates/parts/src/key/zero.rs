//! -0 and +0 are equal in SQL and differ in the row format: sets of values have both or none.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Float32Type, Float64Type};

use crate::error::Result;

/// The same values with every zero of this sign.
pub(crate) fn with_zeros(values: &ArrayRef, is_negative: bool) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => {
            let zero = if is_negative { -0.0 } else { 0.0 };
            let unary = |value: f32| if value == 0.0 { zero } else { value };
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(unary))
        }
        DataType::Float64 => {
            let zero = if is_negative { -0.0 } else { 0.0 };
            let unary = |value: f64| if value == 0.0 { zero } else { value };
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(unary))
        }
        _ => Arc::clone(values),
    }
}

/// The same values with every zero in both signs.
pub(crate) fn with_both_zeros(values: &ArrayRef) -> Result<ArrayRef> {
    if !values.data_type().is_floating() {
        return Ok(Arc::clone(values));
    }
    Ok(concat(&[&*with_zeros(values, true), &*with_zeros(values, false)])?)
}
