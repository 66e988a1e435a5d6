//! Arithmetic with integers of 128 and 256 bits: sums, products, signs, common divisors. Results wrap.
//!
//! As in ClickHouse, `/`, `%` and functions of floats convert a wide integer to the nearest Float64, and no other
//! operator takes one next to a float.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::{Float64Type, Int8Type};
use basalt_base::types::{Arithmetic, U256, Wide, WideNumber, arithmetic_type, integer_of};
use basalt_base::{Error, Result, SqlType, bail};

use super::zip::zip;
use crate::scalar::definition::Call;
use crate::scalar::operand::{nulls_of, rows_needed};
use crate::scalar::whole::{
    Wholes, any_is_wide, as_floats, as_unscaled, collect_whole, floats_of, is_whole, wholes_of,
};
use crate::scalar::{Bound, Operand};

/// Whether an argument of the call is a wide integer.
pub(super) fn applies(call: &Call<'_>) -> bool {
    any_is_wide(call.args.iter().map(|arg| &arg.ty))
}

/// `plus`, `minus`, `multiply` and `divide`.
pub(super) fn bind(call: &Call<'_>, op: Arithmetic) -> Result<Bound> {
    let f: fn(U256, U256) -> U256 = match op {
        Arithmetic::Plus => U256::wrapping_add,
        Arithmetic::Minus => U256::wrapping_sub,
        Arithmetic::Multiply => U256::wrapping_mul,
        _ => return bind_floats(call, |a, b| a / b),
    };
    let (left, right) = (call.ty(0).clone(), call.ty(1).clone());
    let ty = arithmetic_type(op, &left, &right).ok_or_else(|| call.illegal_types())?;
    Ok(Bound::new(ty.clone(), move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (left, right) = (Wholes::of(&left, &args[0])?, Wholes::of(&right, &args[1])?);
        collect_whole(&ty, (0..rows).map(|row| f(left.get(row).bits(), right.get(row).bits())))
    }))
}

/// A function of two numbers as floats.
pub(super) fn bind_floats(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Bound> {
    let types = [call.ty(0).clone(), call.ty(1).clone()];
    if !types.iter().all(|ty| is_whole(ty) || ty.is_float()) {
        return Err(call.illegal_types());
    }
    Ok(Bound::new(SqlType::Float64, move |args: &[Operand], rows| {
        let sides = [as_floats(&types[0], &args[0])?, as_floats(&types[1], &args[1])?];
        zip::<Float64Type, Float64Type>(&sides, rows, f)
    }))
}

/// A function of one number as a float.
pub(super) fn bind_float(call: &Call<'_>, f: fn(f64) -> f64) -> Bound {
    let ty = call.ty(0).clone();
    Bound::of(SqlType::Float64, move |args: &[Operand], _| {
        let floats = floats_of(&ty, &args[0].array)?;
        Ok(Arc::new(Float64Array::from_iter_values(floats.values().iter().map(|&x| f(x)))))
    })
}

/// `negate`: the signed type of the same width.
pub(super) fn bind_negate(wide: Wide) -> Bound {
    let from = SqlType::Wide(wide);
    let ty = integer_of(true, wide.bits());
    Bound::new(ty.clone(), move |args: &[Operand], _| {
        let wholes = wholes_of(&from, &args[0].array)?;
        collect_whole(&ty, wholes.into_iter().map(|number| number.bits().wrapping_neg()))
    })
}

/// `abs`: the unsigned type of the same width.
pub(super) fn bind_abs(wide: Wide) -> Bound {
    let from = SqlType::Wide(wide);
    let ty = integer_of(false, wide.bits());
    Bound::new(ty.clone(), move |args: &[Operand], _| {
        let wholes = wholes_of(&from, &args[0].array)?;
        collect_whole(&ty, wholes.into_iter().map(WideNumber::magnitude))
    })
}

pub(super) fn bind_sign(wide: Wide) -> Bound {
    let from = SqlType::Wide(wide);
    Bound::new(SqlType::Int8, move |args: &[Operand], _| {
        let wholes = wholes_of(&from, &args[0].array)?;
        let signs = wholes
            .into_iter()
            .map(|number| if number.is_negative() { -1 } else { i8::from(!number.is_zero()) });
        Ok(Arc::new(arrow::array::PrimitiveArray::<Int8Type>::from_iter_values(signs)) as ArrayRef)
    })
}

/// `gcd`, and `lcm` (`multiple`). Zero is ILLEGAL_DIVISION, and the lowest number of the result's type is
/// DECIMAL_OVERFLOW.
pub(super) fn bind_common(call: &Call<'_>, multiple: bool) -> Result<Bound> {
    let (left, right) = (call.ty(0).clone(), call.ty(1).clone());
    let ty = arithmetic_type(Arithmetic::Plus, &left, &right).ok_or_else(|| call.illegal_types())?;
    let least = ty.wide().ok_or_else(|| call.illegal_types())?.limits().0;
    Ok(Bound::new(ty.clone(), move |args: &[Operand], rows| {
        let rows = rows_needed(args, rows);
        let (left, right) = (Wholes::of(&left, &args[0])?, Wholes::of(&right, &args[1])?);
        let nulls = nulls_of(args, rows);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (a, b) = (left.get(row), right.get(row));
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                values.push(U256::ZERO);
                continue;
            }
            if least.is_negative() && (a == least || b == least) {
                bail!(DecimalOverflow, "the lowest signed number has no divisors and multiples of its type");
            }
            if a.is_zero() || b.is_zero() {
                bail!(IllegalDivision, "zero has no divisors and multiples in common with a number");
            }
            let (a, b) = (a.magnitude(), b.magnitude());
            let divisor = gcd(a, b);
            values.push(if multiple { (a / divisor).wrapping_mul(b) } else { divisor });
        }
        collect_whole(&ty, values.into_iter())
    }))
}

/// Euclid's algorithm.
fn gcd(mut a: U256, mut b: U256) -> U256 {
    while b != U256::ZERO {
        (a, b) = (b, a % b);
    }
    a
}

/// The arguments of a decimal operation with wide integers as decimals of scale 0.
pub(super) fn as_decimals(
    types: &[SqlType; 2],
    args: &[Operand],
    carrier: &arrow::datatypes::DataType,
) -> Result<Vec<Operand>> {
    let convert = |(ty, operand): (&SqlType, &Operand)| -> Result<Operand> {
        if ty.wide().is_none() {
            return Ok(operand.clone());
        }
        let array = as_unscaled(ty, &operand.array, carrier)?;
        Ok(Operand { array, constant: operand.constant })
    };
    types.iter().zip(args).map(convert).collect()
}

/// NOT_IMPLEMENTED, with the names of the function and of the types.
pub(super) fn unsupported(call: &Call<'_>) -> Error {
    let types: Vec<String> = call.args.iter().map(|arg| arg.ty.to_string()).collect();
    Error::not_implemented(format!("function `{}` of arguments of types {}", call.name, types.join(", ")))
}
