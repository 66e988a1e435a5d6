//! Conversions to and from integers of 128 and 256 bits.
//!
//! Integers keep their low bits. Floats are truncated; one beyond the type keeps the low bits of its integer part. A
//! decimal beyond the type is DECIMAL_OVERFLOW. To dates and times, numbers beyond 64 bits become the nearest one.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::datatypes::{Decimal256Type, Float64Type, Int64Type, UInt32Type, i256};
use basalt_base::types::{U256, Wide, WideNumber, wide_of};
use basalt_base::{Error, Result, SqlType, bail};

use super::decimals;
use super::numbers::expect_finite;
use super::step::{Step, impossible};
use super::times;
use crate::FunctionContext;
use crate::scalar::arithmetic::decimal::unscaled;
use crate::scalar::number::wrap_to;
use crate::scalar::operand::Bytes;
use crate::scalar::whole::{collect_whole, collect_wide, floats_of, singles_of, wholes_of};

/// The step if one of the types is a wide integer and the other a number, a date, a time, an address or a UUID;
/// `None` for other pairs.
pub(super) fn step(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Option<Step>> {
    match (from, to) {
        (SqlType::Wide(_), SqlType::Wide(_)) => Ok(Some(between(from, to))),
        (_, SqlType::Wide(wide)) => to_wide(from, *wide),
        (SqlType::Wide(wide), _) => from_wide(*wide, to, context),
        _ => Ok(None),
    }
}

/// Between integers: the low bits stay.
fn between(from: &SqlType, to: &SqlType) -> Step {
    let (from, to) = (from.clone(), to.clone());
    Box::new(move |array| {
        let wholes = wholes_of(&from, array)?;
        collect_whole(&to, wholes.into_iter().map(WideNumber::bits))
    })
}

fn to_wide(from: &SqlType, wide: Wide) -> Result<Option<Step>> {
    let to = SqlType::Wide(wide);
    Ok(Some(match from {
        SqlType::Float32 | SqlType::Float64 => Box::new(move |array| of_floats(array, wide)),
        SqlType::Decimal { scale, .. } => {
            let scale = *scale;
            Box::new(move |array| of_decimals(array, scale, wide))
        }
        SqlType::DateTime64 { precision, .. } => {
            let power = 10_i64.pow(u32::from(*precision));
            Box::new(move |array| {
                let ticks = wrap_to::<Int64Type>(array)?;
                let seconds = ticks.values().iter().map(|tick| i128::from(tick / power));
                collect_wide(wide, seconds.map(|second| WideNumber::from(second).bits()))
            })
        }
        SqlType::Uuid | SqlType::Ipv6 if wide == Wide::UInt128 => Box::new(|array| Ok(Arc::clone(array))),
        SqlType::Ipv4 if !wide.is_signed() => Box::new(move |array| {
            let addresses = array.as_primitive::<UInt32Type>().values();
            collect_wide(wide, addresses.iter().map(|&address| U256::from(address)))
        }),
        SqlType::Uuid | SqlType::Ipv4 | SqlType::Ipv6 => return Err(unsupported(from, &to)),
        number if number.is_integer() || is_number_inside(number) => between(from, &to),
        _ => return Ok(None),
    }))
}

/// Types other than integers whose carrier is their number.
fn is_number_inside(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Bool | SqlType::Interval(_))
        || ty.enum_number().is_some()
        || (ty.is_date_or_time() && !matches!(ty, SqlType::DateTime64 { .. }))
}

fn from_wide(wide: Wide, to: &SqlType, context: &FunctionContext) -> Result<Option<Step>> {
    let from = SqlType::Wide(wide);
    Ok(Some(match to {
        SqlType::Float64 => Box::new(move |array| Ok(Arc::new(floats_of(&from, array)?))),
        SqlType::Float32 => Box::new(move |array| Ok(Arc::new(singles_of(&from, array)?))),
        SqlType::Bool => Box::new(move |array| {
            let wholes = wholes_of(&from, array)?;
            let flags: Vec<bool> = wholes.into_iter().map(|number| !number.is_zero()).collect();
            Ok(Arc::new(BooleanArray::from(flags)))
        }),
        SqlType::Decimal { precision, scale } => {
            let (precision, scale) = (*precision, *scale);
            Box::new(move |array| decimals::of_wholes(&wholes_of(&from, array)?, array, precision, scale))
        }
        SqlType::Interval(_) => Box::new(move |array| {
            collect_whole(&SqlType::Int64, wholes_of(&from, array)?.into_iter().map(WideNumber::bits))
        }),
        SqlType::Ipv6 if wide == Wide::UInt128 => Box::new(|array| Ok(Arc::clone(array))),
        SqlType::Uuid | SqlType::Ipv4 | SqlType::Ipv6 => return Err(unsupported(&from, to)),
        time if time.is_date_or_time() => {
            let Some(inner) = times::to_time(&SqlType::Int64, to, context)? else {
                return Err(impossible(&from, to));
            };
            Box::new(move |array| inner(&saturated(&from, array)?))
        }
        integer if integer.is_integer() => between(&from, to),
        _ => return Ok(None),
    }))
}

fn unsupported(from: &SqlType, to: &SqlType) -> Error {
    Error::not_implemented(format!("a conversion from {from} to {to}"))
}

/// The numbers as those of 64 bits; larger ones saturate.
fn saturated(from: &SqlType, array: &ArrayRef) -> Result<ArrayRef> {
    let narrow = |number: WideNumber| match number.to_i128().map(i64::try_from) {
        Some(Ok(narrow)) => narrow,
        _ if number.is_negative() => i64::MIN,
        _ => i64::MAX,
    };
    let numbers: Vec<i64> = wholes_of(from, array)?.into_iter().map(narrow).collect();
    Ok(Arc::new(Int64Array::new(numbers.into(), array.nulls().cloned())))
}

fn of_floats(array: &ArrayRef, wide: Wide) -> Result<ArrayRef> {
    expect_finite(array)?;
    let floats = wrap_to::<Float64Type>(array)?;
    let whole = |float: &f64| WideNumber::of_float(*float).unwrap_or_default().bits();
    collect_wide(wide, floats.values().iter().map(whole))
}

/// The integer parts of decimals.
fn of_decimals(array: &ArrayRef, scale: u8, wide: Wide) -> Result<ArrayRef> {
    let values = unscaled::<Decimal256Type>(array)?;
    let power = i256::from_i128(10).wrapping_pow(u32::from(scale));
    let mut wholes = Vec::with_capacity(values.len());
    for (row, value) in values.into_iter().enumerate() {
        let whole = wide_of(value.checked_div(power).unwrap_or(i256::ZERO));
        match wide.holds(whole) {
            true => wholes.push(whole.bits()),
            false if array.is_null(row) => wholes.push(U256::ZERO),
            false => bail!(DecimalOverflow, "a decimal does not fit type {}", wide.name()),
        }
    }
    collect_wide(wide, wholes.into_iter())
}

/// Text as numbers of a wide type; digits beyond the type wrap.
pub(super) fn of_text(array: &ArrayRef, wide: Wide, trim: impl Fn(&[u8]) -> &[u8]) -> Result<ArrayRef> {
    let text = Bytes::of(array)?;
    let mut numbers = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_null(row) {
            numbers.push(U256::ZERO);
            continue;
        }
        let text = trim(text.get(row));
        let number =
            basalt_formats::text::parse_wide(text, wide).map_err(|error| unreadable(&error, text, wide))?;
        numbers.push(number.bits());
    }
    collect_wide(wide, numbers.into_iter())
}

#[cold]
fn unreadable(error: &Error, text: &[u8], wide: Wide) -> Error {
    let shown = String::from_utf8_lossy(text);
    let name = wide.name();
    Error::new(
        error.code(),
        format!("cannot parse string `{shown}` as {name}; the `OrZero` and `OrNull` forms forgive it"),
    )
}
