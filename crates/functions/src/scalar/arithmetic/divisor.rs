//! `gcd`, `lcm`: the greatest common divisor and the least common multiple of two integers.
//!
//! Syntax: `gcd(a, b)`. Signs are dropped. Zero is ILLEGAL_DIVISION, and the lowest Int64 is DECIMAL_OVERFLOW, since
//! its positive counterpart does not fit. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Int64Type, UInt64Type};
use basalt_base::types::{Arithmetic, arithmetic_type};
use basalt_base::{Result, SqlType, bail};

use super::wide;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, with_number};
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::{Arity, Bound, Operand};

/// The magnitude of the lowest signed number.
const LOWEST: u64 = i64::MIN.unsigned_abs();

pub(super) static GCD: Definition = Definition::new("gcd", Arity::Exactly(2), |call| bind(call, gcd, false));

pub(super) static LCM: Definition = Definition::new("lcm", Arity::Exactly(2), |call| bind(call, lcm, true));

fn bind(call: &Call<'_>, f: fn(u64, u64) -> u64, multiple: bool) -> Result<Bound> {
    if wide::applies(call) {
        return wide::bind_common(call, multiple);
    }
    call.expect_integer(0)?;
    call.expect_integer(1)?;
    let ty = arithmetic_type(Arithmetic::Plus, call.ty(0), call.ty(1)).ok_or_else(|| call.illegal_types())?;
    let unsigned = [call.ty(0), call.ty(1)].map(|ty| *ty == SqlType::UInt64);
    let is_signed = ty == SqlType::Int64;
    with_number!(ty.carrier(), T => Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let left = magnitudes(&args[0], unsigned[0])?;
        let right = magnitudes(&args[1], unsigned[1])?;
        let nulls = nulls_of(args, rows);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (a, b) = (left[args[0].index(row)], right[args[1].index(row)]);
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if is_signed && !is_null && (a == LOWEST || b == LOWEST) {
                bail!(DecimalOverflow, "the lowest signed number has no divisors and multiples of its type");
            }
            match (is_null, a == 0 || b == 0) {
                (true, _) => values.push(0),
                (false, false) => values.push(f(a, b)),
                (false, true) => bail!(IllegalDivision, "zero has no divisors and multiples in common with a number"),
            }
        }
        Ok(collect::<T>(values.into_iter()))
    })), Err(call.illegal_types()))
}

fn magnitudes(operand: &Operand, unsigned: bool) -> Result<Vec<u64>> {
    if unsigned {
        return Ok(operand.numbers::<UInt64Type>()?.values().to_vec());
    }
    Ok(operand.numbers::<Int64Type>()?.values().iter().map(|value| value.unsigned_abs()).collect())
}

fn collect<T>(values: impl Iterator<Item = u64>) -> ArrayRef
where
    T: ArrowPrimitiveType,
    T::Native: Number,
{
    Arc::new(PrimitiveArray::<T>::from_iter_values(values.map(T::Native::from_u64)))
}

/// Euclid's algorithm.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Neither number may be 0.
fn lcm(a: u64, b: u64) -> u64 {
    (a / gcd(a, b)).wrapping_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_and_multiples() {
        assert_eq!((gcd(12, 18), lcm(12, 18)), (6, 36));
    }
}
