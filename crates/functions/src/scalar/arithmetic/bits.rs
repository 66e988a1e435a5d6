//! `bitAnd`, `bitOr`, `bitXor`, `bitNot`, `bitShiftLeft`, `bitShiftRight`, `bitCount`: bits of integers.
//!
//! Syntax: `bitAnd(a, b)`. The result is as wide as the wider side (for shifts as the left one) and
//! signed if one side is. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Int64Type, UInt8Type};
use basalt_base::types::U256;
use basalt_base::{Result, SqlType, bail};

use super::wide_bits::Shift;
use super::zip::zip_values;
use super::{wide, wide_bits};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, native_carrier, with_integer, with_number};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static BIT_AND: Definition =
    Definition::new("bitAnd", Arity::Exactly(2), |call| bind_pair(call, |a, b| a & b, |a, b| a & b));

pub(super) static BIT_OR: Definition =
    Definition::new("bitOr", Arity::Exactly(2), |call| bind_pair(call, |a, b| a | b, |a, b| a | b));

pub(super) static BIT_XOR: Definition =
    Definition::new("bitXor", Arity::Exactly(2), |call| bind_pair(call, |a, b| a ^ b, |a, b| a ^ b));

pub(super) static BIT_NOT: Definition = Definition::new("bitNot", Arity::Exactly(1), bind_not);

pub(super) static BIT_SHIFT_LEFT: Definition = Definition::new("bitShiftLeft", Arity::Exactly(2), |call| {
    bind_shift(call, Shift::Left, |value, by| value << by)
});

pub(super) static BIT_SHIFT_RIGHT: Definition = Definition::new("bitShiftRight", Arity::Exactly(2), |call| {
    bind_shift(call, Shift::Right, |value, by| value >> by)
});

pub(super) static BIT_COUNT: Definition = Definition::new("bitCount", Arity::Exactly(1), bind_count);

/// The type of an operation on the bits of two integers.
fn common_bits(left: &SqlType, right: &SqlType) -> SqlType {
    let signed = |ty: &SqlType| ty.is_integer() && !ty.is_unsigned();
    let bytes = left.fixed_bytes().max(right.fixed_bytes());
    integer(signed(left) || signed(right), bytes.unwrap_or(8))
}

fn integer(signed: bool, bytes: usize) -> SqlType {
    match (signed, bytes) {
        (false, 1) => SqlType::UInt8,
        (false, 2) => SqlType::UInt16,
        (false, 4) => SqlType::UInt32,
        (false, _) => SqlType::UInt64,
        (true, 1) => SqlType::Int8,
        (true, 2) => SqlType::Int16,
        (true, 4) => SqlType::Int32,
        (true, _) => SqlType::Int64,
    }
}

fn bind_pair(call: &Call<'_>, f: fn(i64, i64) -> i64, wide: fn(U256, U256) -> U256) -> Result<Bound> {
    if wide::applies(call) {
        return wide_bits::bind_pair(call, wide);
    }
    call.expect_integer(0)?;
    call.expect_integer(1)?;
    let ty = common_bits(call.ty(0), call.ty(1));
    with_number!(ty.carrier(), T => Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let (left, right) = (args[0].numbers::<Int64Type>()?, args[1].numbers::<Int64Type>()?);
        Ok(collect::<T>(zip_values(&left, &right, rows_needed(args, rows), f)))
    })), Err(call.illegal_types()))
}

fn bind_not(call: &Call<'_>) -> Result<Bound> {
    if let Some(wide) = call.ty(0).wide() {
        return Ok(wide_bits::bind_not(wide));
    }
    call.expect_integer(0)?;
    let ty = common_bits(call.ty(0), call.ty(0));
    with_number!(ty.carrier(), T => Ok(Bound::new(ty, move |args: &[Operand], _| {
        let numbers = args[0].numbers::<Int64Type>()?;
        Ok(collect::<T>(numbers.values().iter().map(|value| !value).collect()))
    })), Err(call.illegal(0)))
}

fn bind_shift(call: &Call<'_>, direction: Shift, f: fn(i128, u32) -> i128) -> Result<Bound> {
    if wide::applies(call) {
        return wide_bits::bind_shift(call, direction);
    }
    call.expect_integer(0)?;
    call.expect_integer(1)?;
    let ty = common_bits(call.ty(0), call.ty(1));
    let value_carrier = native_carrier(call.ty(0));
    with_number!(ty.carrier(), T => with_integer!(value_carrier, V => {
        Ok(Bound::new(ty, move |args: &[Operand], rows| {
            let rows = rows_needed(args, rows);
            let (values, steps) = (args[0].numbers::<V>()?, args[1].numbers::<Int64Type>()?);
            let nulls = nulls_of(args, rows);
            let bits = <<V as ArrowPrimitiveType>::Native as Number>::BITS;
            let mut shifted = Vec::with_capacity(rows);
            for row in 0..rows {
                let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                shifted.push(shift(values.get(row).to_i128(), steps.get(row), bits, is_null, f)?);
            }
            Ok(collect::<T>(shifted))
        }))
    }, Err(call.illegal(0))), Err(call.illegal_types()))
}

/// The low 64 bits of a shifted value; 0 if shifted by the width of its type or more.
fn shift(value: i128, by: i64, bits: u32, is_null: bool, f: fn(i128, u32) -> i128) -> Result<i64> {
    match u32::try_from(by) {
        _ if is_null => Ok(0),
        Err(_) if by < 0 => {
            bail!(ArgumentOutOfBound, "a shift by {by} bits: the number must not be negative")
        }
        Ok(by) if by < bits => Ok(f(value, by) as i64),
        _ => Ok(0),
    }
}

fn bind_count(call: &Call<'_>) -> Result<Bound> {
    let ty = call.ty(0);
    if let Some(wide) = ty.wide() {
        return Ok(wide_bits::bind_count(wide));
    }
    if !ty.is_number() && !ty.is_date_or_time() || matches!(ty, SqlType::Decimal { .. }) {
        return Err(call.illegal(0));
    }
    match ty {
        SqlType::Float32 => Ok(Bound::new(SqlType::UInt8, |args: &[Operand], _| {
            let numbers = args[0].numbers::<arrow::datatypes::Float32Type>()?;
            Ok(count_bits(numbers.values().iter().map(|value| u64::from(value.to_bits()))))
        })),
        SqlType::Float64 => Ok(Bound::new(SqlType::UInt8, |args: &[Operand], _| {
            let numbers = args[0].numbers::<arrow::datatypes::Float64Type>()?;
            Ok(count_bits(numbers.values().iter().map(|value| value.to_bits())))
        })),
        _ => {
            let bits = ty.fixed_bytes().map_or(64, |bytes| bytes as u32 * 8);
            Ok(Bound::new(SqlType::UInt8, move |args: &[Operand], _| {
                let numbers = args[0].numbers::<Int64Type>()?;
                let mask = u64::MAX >> (64 - bits);
                Ok(count_bits(numbers.values().iter().map(|&value| value as u64 & mask)))
            }))
        }
    }
}

fn count_bits(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(PrimitiveArray::<UInt8Type>::from_iter_values(values.map(|value| value.count_ones() as u8)))
}

fn collect<T>(values: Vec<i64>) -> ArrayRef
where
    T: ArrowPrimitiveType,
    T::Native: Number,
{
    Arc::new(PrimitiveArray::<T>::from_iter_values(values.into_iter().map(T::Native::from_i64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_by_all_bits_leave_nothing() {
        let left = |value: i128, by| value << by;
        assert_eq!(shift(255, 1, 8, false, left).unwrap() as u8, 254);
        assert_eq!(shift(1, 8, 8, false, left).unwrap(), 0);
        assert!(shift(1, -1, 8, false, left).is_err());
        assert_eq!(shift(-4, 1, 8, false, |value, by| value >> by).unwrap(), -2);
    }
}
