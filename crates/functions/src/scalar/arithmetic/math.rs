//! `sqrt`, `exp`, `log`, `pow`, `sin` and the like: functions of floats.
//!
//! Syntax: `sqrt(x)`, `pow(x, y)`, `pi()`. Arguments are converted to Float64, which is also the result type. Outside
//! of its domain a function is `nan`. NULL if an argument is NULL.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::Float64Type;
use basalt_base::{Result, SqlType};

use super::wide;
use super::zip::zip;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

/// Declares functions of one number.
macro_rules! unary {
    ($($static:ident $name:literal [$($alias:literal),*] $f:expr;)+) => { $(
        pub(super) static $static: Definition =
            Definition::new($name, Arity::Exactly(1), |call| bind_unary(call, $f))
                .aliases(&[$($alias),*])
                .case_insensitive();
    )+ };
}

unary! {
    SQRT "sqrt" [] f64::sqrt;
    CBRT "cbrt" [] f64::cbrt;
    EXP "exp" [] f64::exp;
    EXP2 "exp2" [] f64::exp2;
    EXP10 "exp10" [] |x| 10_f64.powf(x);
    LOG "log" ["ln"] f64::ln;
    LOG2 "log2" [] f64::log2;
    LOG10 "log10" [] f64::log10;
    LOG1P "log1p" [] f64::ln_1p;
    SIN "sin" [] f64::sin;
    COS "cos" [] f64::cos;
    TAN "tan" [] f64::tan;
    ASIN "asin" [] f64::asin;
    ACOS "acos" [] f64::acos;
    ATAN "atan" [] f64::atan;
    SINH "sinh" [] f64::sinh;
    COSH "cosh" [] f64::cosh;
    TANH "tanh" [] f64::tanh;
    DEGREES "degrees" [] f64::to_degrees;
    RADIANS "radians" [] f64::to_radians;
}

pub(super) static POW: Definition =
    Definition::new("pow", Arity::Exactly(2), |call| bind_binary(call, f64::powf))
        .aliases(&["power"])
        .case_insensitive();

pub(super) static ATAN2: Definition =
    Definition::new("atan2", Arity::Exactly(2), |call| bind_binary(call, f64::atan2)).case_insensitive();

pub(super) static HYPOT: Definition =
    Definition::new("hypot", Arity::Exactly(2), |call| bind_binary(call, f64::hypot)).case_insensitive();

pub(super) static PI: Definition =
    Definition::new("pi", Arity::Exactly(0), |_| Ok(constant(std::f64::consts::PI))).case_insensitive();

pub(super) static E: Definition =
    Definition::new("e", Arity::Exactly(0), |_| Ok(constant(std::f64::consts::E)));

fn bind_unary(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Bound> {
    if wide::applies(call) {
        return Ok(wide::bind_float(call, f));
    }
    call.expect_number(0)?;
    Ok(Bound::of(SqlType::Float64, move |args: &[Operand], _| {
        let numbers = args[0].numbers::<Float64Type>()?;
        Ok(Arc::new(Float64Array::from_iter_values(numbers.values().iter().map(|&x| f(x)))))
    }))
}

fn bind_binary(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Bound> {
    call.expect_number(0)?;
    call.expect_number(1)?;
    Ok(Bound::new(SqlType::Float64, move |args: &[Operand], rows| {
        zip::<Float64Type, Float64Type>(args, rows, f)
    }))
}

fn constant(value: f64) -> Bound {
    Bound::new(SqlType::Float64, move |_: &[Operand], rows| {
        Ok(Arc::new(Float64Array::from_value(value, rows)) as ArrayRef)
    })
}
