//! Conversions between native numbers with ClickHouse's rules: integers wrap.

use arrow::array::{Array, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, i256};
use basalt_base::processor;
use basalt_base::types::{decimal_as_float, power_of_ten};
use basalt_base::{Error, Result, SqlType};

/// Runs `$body` with `$T` as the Arrow type of an integer's carrier, or else `$other`.
macro_rules! with_integer {
    ($carrier:expr, $T:ident => $body:expr, $other:expr) => {{
        use arrow::datatypes as arrow_types;
        match $carrier {
            arrow_types::DataType::UInt8 => {
                type $T = arrow_types::UInt8Type;
                $body
            }
            arrow_types::DataType::UInt16 => {
                type $T = arrow_types::UInt16Type;
                $body
            }
            arrow_types::DataType::UInt32 => {
                type $T = arrow_types::UInt32Type;
                $body
            }
            arrow_types::DataType::UInt64 => {
                type $T = arrow_types::UInt64Type;
                $body
            }
            arrow_types::DataType::Int8 => {
                type $T = arrow_types::Int8Type;
                $body
            }
            arrow_types::DataType::Int16 => {
                type $T = arrow_types::Int16Type;
                $body
            }
            arrow_types::DataType::Int32 => {
                type $T = arrow_types::Int32Type;
                $body
            }
            arrow_types::DataType::Int64 => {
                type $T = arrow_types::Int64Type;
                $body
            }
            _ => $other,
        }
    }};
}

/// Runs `$body` with `$T` as the Arrow type of a number's carrier, or else `$other`.
macro_rules! with_number {
    ($carrier:expr, $T:ident => $body:expr, $other:expr) => {{
        use arrow::datatypes as arrow_types;
        match $carrier {
            arrow_types::DataType::Float32 => {
                type $T = arrow_types::Float32Type;
                $body
            }
            arrow_types::DataType::Float64 => {
                type $T = arrow_types::Float64Type;
                $body
            }
            _ => $crate::scalar::number::with_integer!($carrier, $T => $body, $other),
        }
    }};
}

pub(super) use {with_integer, with_number};

/// A native number to which all others can be converted.
pub(super) trait Number: Copy + Default + PartialOrd + Send + Sync + 'static {
    const IS_FLOAT: bool;
    const IS_SIGNED: bool;
    const BITS: u32;

    /// An integer, truncated to the bits that fit.
    fn from_i64(value: i64) -> Self;
    fn from_u64(value: u64) -> Self;
    fn from_f64(value: f64) -> Self;
    fn from_f32(value: f32) -> Self;
    /// `self` in the type of `other`, by the three functions above.
    fn wrap<N: Number>(self) -> N;
    fn to_i128(self) -> i128;
}

macro_rules! integer_number {
    ($($T:ty, $via:ident, $wide:ty, $signed:literal;)+) => { $(
        impl Number for $T {
            const IS_FLOAT: bool = false;
            const IS_SIGNED: bool = $signed;
            const BITS: u32 = <$T>::BITS;

            #[inline(always)]
            fn from_i64(value: i64) -> $T { value as $T }
            #[inline(always)]
            fn from_u64(value: u64) -> $T { value as $T }
            #[inline(always)]
            fn from_f64(value: f64) -> $T { truncate(value) as $T }
            #[inline(always)]
            fn from_f32(value: f32) -> $T { truncate(f64::from(value)) as $T }
            #[inline(always)]
            fn wrap<N: Number>(self) -> N { N::$via(self as $wide) }
            #[inline(always)]
            fn to_i128(self) -> i128 { i128::from(self) }
        }
    )+ };
}

integer_number! {
    u8, from_u64, u64, false;
    u16, from_u64, u64, false;
    u32, from_u64, u64, false;
    u64, from_u64, u64, false;
    i8, from_i64, i64, true;
    i16, from_i64, i64, true;
    i32, from_i64, i64, true;
    i64, from_i64, i64, true;
}

macro_rules! float_number {
    ($($T:ty, $via:ident, $bits:literal;)+) => { $(
        impl Number for $T {
            const IS_FLOAT: bool = true;
            const IS_SIGNED: bool = true;
            const BITS: u32 = $bits;

            #[inline(always)]
            fn from_i64(value: i64) -> $T { value as $T }
            #[inline(always)]
            fn from_u64(value: u64) -> $T { value as $T }
            #[inline(always)]
            fn from_f64(value: f64) -> $T { value as $T }
            #[inline(always)]
            fn from_f32(value: f32) -> $T { value as $T }
            #[inline(always)]
            fn wrap<N: Number>(self) -> N { N::$via(self) }
            #[inline(always)]
            fn to_i128(self) -> i128 { self as i128 }
        }
    )+ };
}

float_number! {
    f32, from_f32, 32;
    f64, from_f64, 64;
}

/// The integer part of a float, as the processor truncates it: out of the range of `i64` it is the minimum, except
/// for values in the range of `u64`.
#[inline(always)]
fn truncate(value: f64) -> i64 {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if (-TWO_TO_63..TWO_TO_63).contains(&value) {
        value as i64
    } else if (TWO_TO_63..2.0 * TWO_TO_63).contains(&value) {
        value as u64 as i64
    } else {
        i64::MIN
    }
}

/// Converts the numbers of `array` to type `T`; integers wrap, and NULLs stay.
pub(super) fn wrap_to<T>(array: &dyn Array) -> Result<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType,
    T::Native: Number,
{
    if let Some(same) = array.as_primitive_opt::<T>() {
        return Ok(same.clone());
    }
    if let Some(flags) = array.as_boolean_opt() {
        let bits = flags.values();
        let values: Vec<T::Native> =
            (0..flags.len()).map(|row| T::Native::from_u64(u64::from(bits.value(row)))).collect();
        return Ok(PrimitiveArray::new(values.into(), flags.nulls().cloned()));
    }
    if let DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) = array.data_type() {
        return wrap_decimals(array, *scale);
    }
    with_number!(array.data_type(), F => {
        let source = array.as_primitive::<F>();
        let values: Vec<T::Native> = processor::run(
            #[inline(always)]
            || source.values().iter().map(|&value| value.wrap()).collect(),
        );
        Ok(PrimitiveArray::new(values.into(), source.nulls().cloned()))
    }, Err(Error::logical(format!("{} is not the carrier of a number", array.data_type()))))
}

/// Decimals as floats, or their integer parts as integers.
fn wrap_decimals<T>(array: &dyn Array, scale: i8) -> Result<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType,
    T::Native: Number,
{
    let (power, digits) = (power_of_ten(scale.unsigned_abs()), scale.unsigned_abs());
    let values: Vec<T::Native> = if let Some(narrow) = array.as_primitive_opt::<Decimal128Type>() {
        let whole = 10_i128.checked_pow(u32::from(scale.unsigned_abs())).unwrap_or(i128::MAX);
        let convert = |&value: &i128| {
            if T::Native::IS_FLOAT {
                T::Native::from_f64(value as f64 / power)
            } else {
                T::Native::from_i64((value / whole) as i64)
            }
        };
        narrow.values().iter().map(convert).collect()
    } else {
        let wide = array.as_primitive::<Decimal256Type>();
        let float = |&value: &i256| T::Native::from_f64(decimal_as_float(value, digits));
        wide.values().iter().map(float).collect()
    };
    Ok(PrimitiveArray::new(values.into(), array.nulls().cloned()))
}

/// The Arrow type of an integer or float, of `Bool` (as a number) or of an enum or a date.
pub(super) fn native_carrier(ty: &SqlType) -> DataType {
    match ty {
        SqlType::Bool => DataType::UInt8,
        other => other.carrier(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, Int64Array};
    use arrow::datatypes::{UInt8Type, UInt64Type};

    use super::*;

    #[test]
    fn integers_wrap_and_floats_are_cut() {
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![300, -1]));
        assert_eq!(wrap_to::<UInt8Type>(&wide).unwrap().values(), &[44, 255]);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![300.7, -1.5, 1e19, 1e30]));
        assert_eq!(wrap_to::<UInt8Type>(&floats).unwrap().values()[..2], [44, 255]);
        let expected = [300, u64::MAX, 10_000_000_000_000_000_000, 9_223_372_036_854_775_808];
        assert_eq!(wrap_to::<UInt64Type>(&floats).unwrap().values()[..], expected);
    }
}
