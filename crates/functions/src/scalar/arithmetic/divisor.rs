//! `gcd`, `lcm`: the greatest common divisor and the least common multiple of two integers.
//!
//! Syntax: `gcd(a, b)`. Signs are dropped. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Int64Type, UInt64Type};
use basalt_base::types::{Arithmetic, arithmetic_type};
use basalt_base::{Result, SqlType};

use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, with_number};
use crate::scalar::operand::rows_needed;
use crate::scalar::{Arity, Bound, Operand};

pub(super) static GCD: Definition = Definition::new("gcd", Arity::Exactly(2), |call| bind(call, gcd));

pub(super) static LCM: Definition = Definition::new("lcm", Arity::Exactly(2), |call| bind(call, lcm));

fn bind(call: &Call<'_>, f: fn(u64, u64) -> u64) -> Result<Bound> {
    call.expect_integer(0)?;
    call.expect_integer(1)?;
    let ty = arithmetic_type(Arithmetic::Plus, call.ty(0), call.ty(1)).ok_or_else(|| call.illegal_types())?;
    let unsigned = [call.ty(0), call.ty(1)].map(|ty| *ty == SqlType::UInt64);
    with_number!(ty.carrier(), T => Ok(Bound::new(ty, move |args: &[Operand], rows| {
        let left = magnitudes(&args[0], unsigned[0])?;
        let right = magnitudes(&args[1], unsigned[1])?;
        let value = |row| f(left[args[0].index(row)], right[args[1].index(row)]);
        Ok(collect::<T>((0..rows_needed(args, rows)).map(value)))
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

/// Euclid's algorithm; `gcd(0, 0)` is 0.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn lcm(a: u64, b: u64) -> u64 {
    match gcd(a, b) {
        0 => 0,
        divisor => (a / divisor).wrapping_mul(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_and_multiples() {
        assert_eq!((gcd(12, 18), lcm(12, 18)), (6, 36));
        assert_eq!((gcd(0, 5), gcd(0, 0), lcm(0, 5)), (5, 0, 0));
    }
}
