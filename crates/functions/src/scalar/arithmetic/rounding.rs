//! `round`, `roundBankers`, `floor`, `ceil`, `trunc`: numbers rounded to a number of digits.
//!
//! Syntax: `round(x [, digits])`, where `digits` is a constant integer: positive after the point, negative before it.
//! The type does not change. `round` rounds halves of integers and decimals away from zero, and halves of floats to
//! even. NULL if the argument is NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow::datatypes::{Decimal128Type, Decimal256Type, DecimalType, Float32Type, Float64Type};
use basalt_base::{Result, SqlType, bail};

use super::decimal::Unscaled;
use super::wide_rounding;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::number::{Number, with_integer};
use crate::scalar::{Arity, Bound, Operand};

pub(super) static ROUND: Definition =
    Definition::new("round", Arity::Between(1, 2), |call| bind(call, Mode::Nearest)).case_insensitive();

pub(super) static ROUND_BANKERS: Definition =
    Definition::new("roundBankers", Arity::Between(1, 2), |call| bind(call, Mode::Even));

pub(super) static FLOOR: Definition =
    Definition::new("floor", Arity::Between(1, 2), |call| bind(call, Mode::Down)).case_insensitive();

pub(super) static CEIL: Definition =
    Definition::new("ceil", Arity::Between(1, 2), |call| bind(call, Mode::Up))
        .aliases(&["ceiling"])
        .case_insensitive();

pub(super) static TRUNC: Definition =
    Definition::new("trunc", Arity::Between(1, 2), |call| bind(call, Mode::ToZero))
        .aliases(&["truncate"])
        .case_insensitive();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Nearest,
    Even,
    Down,
    Up,
    ToZero,
}

/// More digits than any number has.
const DIGITS_MAX: i64 = 400;

fn bind(call: &Call<'_>, mode: Mode) -> Result<Bound> {
    let digits = if call.len() == 2 { call.expect_constant_integer(1)? } else { 0 };
    if !(-DIGITS_MAX..=DIGITS_MAX).contains(&digits) {
        bail!(ArgumentOutOfBound, "`{}` to {digits} digits: at most {DIGITS_MAX} are possible", call.name);
    }
    let (ty, digits) = (call.ty(0).clone(), digits as i32);
    match &ty {
        SqlType::Float32 => Ok(Bound::of(ty, move |args: &[Operand], _| {
            let numbers = args[0].primitives::<Float32Type>()?;
            let values = numbers.values().iter().map(|&x| round_float32(x, digits, mode));
            Ok(Arc::new(PrimitiveArray::<Float32Type>::from_iter_values(values)))
        })),
        SqlType::Float64 => Ok(Bound::of(ty, move |args: &[Operand], _| {
            let numbers = args[0].primitives::<Float64Type>()?;
            let values = numbers.values().iter().map(|&x| round_float(x, digits, mode));
            Ok(Arc::new(PrimitiveArray::<Float64Type>::from_iter_values(values)))
        })),
        SqlType::Decimal { precision, scale } => {
            let dropped = i32::from(*scale) - digits;
            if *precision <= basalt_base::types::DECIMAL128_DIGITS {
                Ok(Bound::new(ty, move |args: &[Operand], _| {
                    decimals::<Decimal128Type>(&args[0], dropped, mode)
                }))
            } else {
                Ok(Bound::new(ty, move |args: &[Operand], _| {
                    decimals::<Decimal256Type>(&args[0], dropped, mode)
                }))
            }
        }
        SqlType::Bool => Ok(Bound::new(ty, |args: &[Operand], _| Ok(Arc::clone(&args[0].array)))),
        SqlType::Wide(wide) => Ok(wide_rounding::bind(*wide, -digits, mode)),
        _ => with_integer!(ty.carrier(), T => {
            call.expect_integer(0)?;
            Ok(Bound::new(ty, move |args: &[Operand], _| integers::<T>(&args[0], -digits, mode)))
        }, Err(call.illegal(0))),
    }
}

fn integers<T>(operand: &Operand, dropped: i32, mode: Mode) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Number,
{
    if dropped <= 0 {
        return Ok(Arc::clone(&operand.array));
    }
    let numbers = operand.primitives::<T>()?;
    let wrap = |number: i128| T::Native::from_i64(number as i64);
    let step = 10_i128.checked_pow(dropped as u32).filter(|&step| wrap(step).to_i128() == step);
    let round = |value: T::Native| match step {
        Some(step) => wrap(round_integer::<T::Native>(value.to_i128(), step, mode)),
        None => T::Native::default(),
    };
    let values: Vec<T::Native> = numbers.values().iter().map(|&value| round(value)).collect();
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
}

/// The multiple of `step` nearest to `value` in the direction of `mode`, with ClickHouse's overflows: the number is
/// moved by up to a step in its own width, and then truncated.
fn round_integer<N: Number>(value: i128, step: i128, mode: Mode) -> i128 {
    let wrap = |number: i128| N::from_i64(number as i64).to_i128();
    let moved = match mode {
        Mode::ToZero => value,
        Mode::Down if value < 0 => wrap(value - (step - 1)),
        Mode::Up if value >= 0 => wrap(value + (step - 1)),
        Mode::Nearest | Mode::Even if value < 0 => wrap(value - step),
        _ => value,
    };
    if !matches!(mode, Mode::Nearest | Mode::Even) {
        return moved / step * step;
    }
    // Narrow numbers are added in 32 bits.
    let half = moved + step / 2;
    let half = if N::BITS >= 32 { wrap(half) } else { half };
    let quotient = half / step;
    let is_tie = mode == Mode::Even && quotient * step == half;
    let quotient = if is_tie { (quotient + i128::from(moved < 0)) & !1 } else { quotient };
    quotient * step
}

fn decimals<D>(operand: &Operand, dropped: i32, mode: Mode) -> Result<ArrayRef>
where
    D: DecimalType,
    D::Native: Unscaled,
{
    if dropped <= 0 {
        return Ok(Arc::clone(&operand.array));
    }
    let step = u8::try_from(dropped).ok().and_then(D::Native::power_of_ten);
    let numbers = operand.primitives::<D>()?;
    let zero = D::Native::default();
    let round = |value| step.and_then(|step| round_whole(value, step, mode)).unwrap_or(zero);
    let values: Vec<D::Native> = numbers.values().iter().map(|&value| round(value)).collect();
    Ok(Arc::new(
        PrimitiveArray::<D>::new(values.into(), None).with_data_type(operand.array.data_type().clone()),
    ))
}

/// The multiple of `step` nearest to `value` in the direction of `mode`; `None` on overflow.
fn round_whole<N: Unscaled>(value: N, step: N, mode: Mode) -> Option<N> {
    let zero = N::default();
    let one = N::from_i128(1);
    let quotient = value.div_checked(step).ok()?;
    let rest = value.mod_checked(step).ok()?;
    let negative = value.is_lt(zero);
    let size = if rest.is_lt(zero) { rest.neg_wrapping() } else { rest };
    // Twice the rest may overflow; compare it with the other part of the step instead.
    let other = step.sub_wrapping(size);
    let odd = !quotient.mod_checked(N::from_i128(2)).ok()?.is_zero();
    let away = match mode {
        Mode::ToZero => false,
        Mode::Down => negative && !rest.is_zero(),
        Mode::Up => !negative && !rest.is_zero(),
        Mode::Nearest => size.is_ge(other),
        Mode::Even => size.is_gt(other) || (size.is_eq(other) && odd),
    };
    let whole = match (away, negative) {
        (false, _) => quotient,
        (true, false) => quotient.add_checked(one).ok()?,
        (true, true) => quotient.sub_checked(one).ok()?,
    };
    whole.mul_checked(step).ok()
}

fn round_float(value: f64, digits: i32, mode: Mode) -> f64 {
    if digits == 0 || !value.is_finite() {
        return apply(value, mode);
    }
    let power = 10_f64.powi(digits.abs());
    let rounded =
        if digits > 0 { apply(value * power, mode) / power } else { apply(value / power, mode) * power };
    if rounded.is_finite() {
        rounded
    } else if digits > 0 {
        value
    } else {
        0.0
    }
}

fn round_float32(value: f32, digits: i32, mode: Mode) -> f32 {
    let power = 10_f32.powi(digits.abs());
    if !power.is_finite() {
        return round_float(f64::from(value), digits, mode) as f32;
    }
    let cut = |value: f32| apply(f64::from(value), mode) as f32;
    let rounded = if digits > 0 { cut(value * power) / power } else { cut(value / power) * power };
    if rounded.is_finite() { rounded } else { value }
}

fn apply(value: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest | Mode::Even => value.round_ties_even(),
        Mode::Down => value.floor(),
        Mode::Up => value.ceil(),
        Mode::ToZero => value.trunc(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_integers_go_away_from_zero_or_to_the_even() {
        assert_eq!(round_whole(25_i128, 10, Mode::Nearest), Some(30));
        assert_eq!(round_whole(-25_i128, 10, Mode::Nearest), Some(-30));
        assert_eq!(round_whole(25_i128, 10, Mode::Even), Some(20));
        assert_eq!(round_whole(-15_i128, 10, Mode::Down), Some(-20));
        assert_eq!(round_whole(15_i128, 10, Mode::Up), Some(20));
        for value in -60..60_i128 {
            for mode in [Mode::Nearest, Mode::Even, Mode::Down, Mode::Up, Mode::ToZero] {
                assert_eq!(
                    Some(round_integer::<i32>(value, 10, mode)),
                    round_whole(value, 10, mode),
                    "{value} {mode:?}"
                );
            }
        }
        assert_eq!(round_integer::<u64>(u64::MAX.into(), 100, Mode::Nearest), 0);
    }

    #[test]
    fn halves_of_floats_go_to_the_even() {
        assert_eq!([2.5, 3.5, -2.5, 0.5].map(|x| round_float(x, 0, Mode::Nearest)), [2.0, 4.0, -2.0, 0.0]);
        assert_eq!(round_float(-1.55, 1, Mode::Down), -1.6);
        assert_eq!(round_float(1.5, 400, Mode::Nearest), 1.5);
        assert_eq!(round_float(123.456, -400, Mode::Nearest), 0.0);
    }
}
