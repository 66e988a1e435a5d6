//! `isNaN`, `isInfinite`, `isFinite`: the class of a float.
//!
//! Syntax: `isNaN(x)`. 1 or 0 as UInt8; integers are finite. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::UInt8Array;
use arrow::datatypes::Float64Type;
use basalt_base::{Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static IS_NAN: Definition =
    Definition::new("isNaN", Arity::Exactly(1), |call| bind(call, f64::is_nan));

pub(super) static IS_INFINITE: Definition =
    Definition::new("isInfinite", Arity::Exactly(1), |call| bind(call, f64::is_infinite));

pub(super) static IS_FINITE: Definition =
    Definition::new("isFinite", Arity::Exactly(1), |call| bind(call, f64::is_finite));

fn bind(call: &Call<'_>, test: fn(f64) -> bool) -> Result<Bound> {
    call.expect_number(0)?;
    Ok(Bound::of(SqlType::UInt8, move |args: &[Operand], _| {
        let numbers = args[0].numbers::<Float64Type>()?;
        Ok(Arc::new(UInt8Array::from_iter_values(numbers.values().iter().map(|&x| u8::from(test(x))))))
    }))
}
