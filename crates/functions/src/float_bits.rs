//! Floats as the integers with their bits, and back: the equality of groups, DISTINCT and joins.
//!
//! As in ClickHouse, the two zeroes are different keys, and all NaN are one key.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, UInt32Type, UInt64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

static BITS_OF_FLOAT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| FloatBits::function(Direction::ToBits));
static FLOAT_OF_BITS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| FloatBits::function(Direction::ToFloat));

/// A function of one float; the result is an unsigned integer of the same width.
pub fn bits_of_float() -> Arc<ScalarUDF> {
    Arc::clone(&BITS_OF_FLOAT)
}

/// The inverse of [`bits_of_float`].
pub fn float_of_bits() -> Arc<ScalarUDF> {
    Arc::clone(&FLOAT_OF_BITS)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Direction {
    ToBits,
    ToFloat,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatBits {
    direction: Direction,
    signature: Signature,
}

impl FloatBits {
    fn function(direction: Direction) -> Arc<ScalarUDF> {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(FloatBits { direction, signature }))
    }
}

impl ScalarUDFImpl for FloatBits {
    fn name(&self) -> &str {
        match self.direction {
            Direction::ToBits => "_bits_of_float",
            Direction::ToFloat => "_float_of_bits",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match (self.direction, arg_types) {
            (Direction::ToBits, [DataType::Float32]) => Ok(DataType::UInt32),
            (Direction::ToBits, [DataType::Float64]) => Ok(DataType::UInt64),
            (Direction::ToFloat, [DataType::UInt32]) => Ok(DataType::Float32),
            (Direction::ToFloat, [DataType::UInt64]) => Ok(DataType::Float64),
            _ => Err(DataFusionError::Internal(format!("`{}` of {arg_types:?}", self.name()))),
        }
    }

    /// Bounds must have the type of the results. Otherwise comparing with them is an error, and no order of the
    /// expression is known.
    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        let types: Vec<DataType> = inputs.iter().map(|input| input.data_type()).collect();
        Interval::make_unbounded(&self.return_type(&types)?)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [array] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!("`{}` takes one argument", self.name())));
        };
        Ok(ColumnarValue::Array(match self.direction {
            Direction::ToBits => bits_of(array),
            Direction::ToFloat => floats_of(array),
        }))
    }
}

fn bits_of(floats: &ArrayRef) -> ArrayRef {
    match floats.data_type() {
        DataType::Float32 => {
            let floats = floats.as_primitive::<Float32Type>();
            Arc::new(floats.unary::<_, UInt32Type>(|x| if x.is_nan() { f32::NAN } else { x }.to_bits()))
        }
        _ => {
            let floats = floats.as_primitive::<Float64Type>();
            Arc::new(floats.unary::<_, UInt64Type>(|x| if x.is_nan() { f64::NAN } else { x }.to_bits()))
        }
    }
}

fn floats_of(bits: &ArrayRef) -> ArrayRef {
    match bits.data_type() {
        DataType::UInt32 => {
            Arc::new(bits.as_primitive::<UInt32Type>().unary::<_, Float32Type>(f32::from_bits))
        }
        _ => Arc::new(bits.as_primitive::<UInt64Type>().unary::<_, Float64Type>(f64::from_bits)),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;

    use super::*;

    #[test]
    fn zeroes_are_two_and_nan_is_one() {
        let given = vec![Some(0.0), Some(-0.0), Some(f64::NAN), Some(-f64::NAN), None, Some(1.5)];
        let floats: ArrayRef = Arc::new(Float64Array::from(given));
        let bits = bits_of(&floats);
        let values = bits.as_primitive::<UInt64Type>();
        assert_ne!(values.value(0), values.value(1));
        assert_eq!(values.value(2), values.value(3));
        let back = floats_of(&bits);
        let back = back.as_primitive::<Float64Type>();
        assert!(back.value(1).is_sign_negative() && back.value(2).is_nan() && back.is_null(4));
        assert_eq!(back.value(5), 1.5);
    }
}
