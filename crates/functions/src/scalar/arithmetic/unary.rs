//! `negate`, `abs`, `sign`: functions of the sign of a number.
//!
//! Syntax: `negate(x)`. `negate` of an unsigned number is signed and one step wider; `abs` of a signed number is
//! unsigned; `sign` is -1, 0 or 1 as Int8. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Decimal128Type, Decimal256Type, DecimalType, Float64Type, Int8Type};
use basalt_base::{Result, SqlType};

use super::decimal::Unscaled;
use super::wide;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, native_carrier, with_number};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static NEGATE: Definition = Definition::new("negate", Arity::Exactly(1), bind_negate);

pub(super) static ABS: Definition = Definition::new("abs", Arity::Exactly(1), bind_abs).case_insensitive();

pub(super) static SIGN: Definition = Definition::new("sign", Arity::Exactly(1), bind_sign).case_insensitive();

fn bind_negate(call: &Call<'_>) -> Result<Bound> {
    let ty = match call.ty(0) {
        SqlType::Wide(wide) => return Ok(wide::bind_negate(*wide)),
        SqlType::UInt8 | SqlType::Bool => SqlType::Int16,
        SqlType::UInt16 => SqlType::Int32,
        SqlType::UInt32 | SqlType::UInt64 => SqlType::Int64,
        decimal @ SqlType::Decimal { .. } => return Ok(bind_decimal(decimal, Sign::Turned)),
        signed if signed.is_number() => signed.clone(),
        SqlType::Interval(_) => call.ty(0).clone(),
        _ => return Err(call.illegal(0)),
    };
    with_number!(ty.carrier(), T => Ok(Bound::new(ty, move |args: &[Operand], _| {
        map::<T, T>(&args[0], |value| value.neg_wrapping())
    })), Err(call.illegal(0)))
}

fn bind_abs(call: &Call<'_>) -> Result<Bound> {
    let ty = match call.ty(0) {
        SqlType::Wide(wide) => return Ok(wide::bind_abs(*wide)),
        SqlType::Int8 => SqlType::UInt8,
        SqlType::Int16 => SqlType::UInt16,
        SqlType::Int32 => SqlType::UInt32,
        SqlType::Int64 => SqlType::UInt64,
        SqlType::Bool => SqlType::UInt8,
        decimal @ SqlType::Decimal { .. } => return Ok(bind_decimal(decimal, Sign::Dropped)),
        other if other.is_number() => other.clone(),
        _ => return Err(call.illegal(0)),
    };
    let carrier = native_carrier(call.ty(0));
    with_number!(carrier, T => with_number!(ty.carrier(), O => Ok(Bound::new(ty, move |args: &[Operand], _| {
        let zero = <T as ArrowPrimitiveType>::Native::default();
        map::<T, O>(&args[0], |value| if value < zero { value.neg_wrapping().wrap() } else { value.wrap() })
    })), Err(call.illegal(0))), Err(call.illegal(0)))
}

fn bind_sign(call: &Call<'_>) -> Result<Bound> {
    if let Some(wide) = call.ty(0).wide() {
        return Ok(wide::bind_sign(wide));
    }
    call.expect_number(0)?;
    Ok(Bound::new(SqlType::Int8, |args: &[Operand], _| {
        map::<Float64Type, Int8Type>(&args[0], |value| match value {
            value if value < 0.0 => -1,
            // Also for NaN, as in ClickHouse.
            value => i8::from(value != 0.0),
        })
    }))
}

/// Applies `f` to every number.
fn map<T, O>(operand: &Operand, f: impl Fn(T::Native) -> O::Native) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Number,
    O: ArrowPrimitiveType,
{
    let values: Vec<O::Native> = operand.numbers::<T>()?.values().iter().map(|&value| f(value)).collect();
    Ok(Arc::new(PrimitiveArray::<O>::new(values.into(), None)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Turned,
    Dropped,
}

fn bind_decimal(ty: &SqlType, sign: Sign) -> Bound {
    if matches!(ty.carrier(), arrow::datatypes::DataType::Decimal128(..)) {
        Bound::new(ty.clone(), move |args: &[Operand], _| signed::<Decimal128Type>(&args[0], sign))
    } else {
        Bound::new(ty.clone(), move |args: &[Operand], _| signed::<Decimal256Type>(&args[0], sign))
    }
}

fn signed<D>(operand: &Operand, sign: Sign) -> Result<ArrayRef>
where
    D: DecimalType,
    D::Native: Unscaled,
{
    let zero = D::Native::default();
    let numbers = operand.primitives::<D>()?;
    let turn = |value: D::Native| {
        if sign == Sign::Turned || value.is_lt(zero) { value.neg_wrapping() } else { value }
    };
    let values: Vec<D::Native> = numbers.values().iter().map(|&value| turn(value)).collect();
    let array =
        PrimitiveArray::<D>::new(values.into(), None).with_data_type(operand.array.data_type().clone());
    Ok(Arc::new(array))
}
