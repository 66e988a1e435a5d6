//! The instant of the query: `now`, `now64`, `today`, `yesterday`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt16Array, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt8Type};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::clamp::date_of;
use super::source::{DAY, constant_zone, ticks_per_second};
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand, ScalarFunction, Volatility};

const MICROSECONDS: u64 = 1_000_000;

/// A kernel that returns one value.
fn constant(ty: SqlType, value: ArrayRef) -> Bound {
    Bound::new(ty, move |_: &[Operand], rows: usize| {
        Operand { array: Arc::clone(&value), constant: true }.full(rows)
    })
}

/// `now(zone)`.
pub(super) static NOW: Definition = Definition::new("now", Arity::Between(0, 1), bind_now)
    .aliases(&["current_timestamp"])
    .case_insensitive()
    .volatility(Volatility::Stable);

fn bind_now(call: &Call<'_>) -> Result<Bound> {
    let zone = call.args.first().map(|zone| constant_zone(call.name, zone)).transpose()?;
    let seconds = (call.context.now_us / MICROSECONDS) as u32;
    let ty = SqlType::DateTime(zone.map(|zone| zone.name().into()));
    Ok(constant(ty, Arc::new(UInt32Array::from(vec![seconds]))))
}

/// `now64(precision, zone)`.
pub(super) static NOW64: Definition = Definition::new("now64", Arity::Between(0, 2), bind_now64)
    .case_insensitive()
    .volatility(Volatility::Stable);

fn bind_now64(call: &Call<'_>) -> Result<Bound> {
    let precision = call.args.first().map_or(Ok(3), |arg| constant_precision(call.name, arg))?;
    let zone = call.args.get(1).map(|zone| constant_zone(call.name, zone)).transpose()?;
    let ticks = i128::from(call.context.now_us) * i128::from(ticks_per_second(precision));
    let ticks = (ticks / i128::from(MICROSECONDS)) as i64;
    let ty = SqlType::DateTime64 { precision, zone: zone.map(|zone| zone.name().into()) };
    Ok(constant(ty, Arc::new(Int64Array::from(vec![ticks]))))
}

/// The precision in a constant argument.
pub(super) fn constant_precision(function: &str, arg: &Argument) -> Result<u8> {
    let value = arg.constant.as_ref().filter(|_| arg.ty.stripped().is_integer());
    let Some(value) = value else {
        return Err(Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("function `{function}` takes its precision as a constant integer, got {}", arg.ty),
        ));
    };
    let digits = Some(value)
        .filter(|value| !value.is_null(0))
        .and_then(|value| cast(value, &DataType::UInt8).ok())
        .filter(|digits| !digits.is_null(0));
    match digits.map(|digits| digits.as_primitive::<UInt8Type>().value(0)) {
        Some(digits @ 0..=9) => Ok(digits),
        _ => Err(Error::new(
            ErrorCode::ArgumentOutOfBound,
            format!("function `{function}` takes a constant precision from 0 to 9"),
        )),
    }
}

pub(super) static TODAY: Today = Today { name: "today", aliases: &["current_date", "curdate"], days_back: 0 };
pub(super) static YESTERDAY: Today = Today { name: "yesterday", aliases: &[], days_back: 1 };

/// `today()`, `yesterday()` in the session's zone.
pub(super) struct Today {
    name: &'static str,
    aliases: &'static [&'static str],
    days_back: i64,
}

impl ScalarFunction for Today {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn case_insensitive(&self) -> bool {
        true
    }

    fn arity(&self) -> Arity {
        Arity::Exactly(0)
    }

    fn volatility(&self) -> Volatility {
        Volatility::Stable
    }

    fn bind(&self, _args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        let local = context.zone.to_local((context.now_us / MICROSECONDS) as i64);
        let day = date_of((local.div_euclid(DAY) - self.days_back) as i32);
        Ok(constant(SqlType::Date, Arc::new(UInt16Array::from(vec![day]))))
    }
}
