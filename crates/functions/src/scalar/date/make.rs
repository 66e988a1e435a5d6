//! `makeDate(year, month, day)`, `makeDateTime(year, month, day, hour, minute, second)`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, UInt16Array, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use basalt_base::civil::days_from_civil;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::clamp::date_time_of;
use super::source::{DAY, HOUR, MINUTE, constant_zone};
use crate::FunctionContext;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand, ScalarFunction};

pub(super) static MAKE_DATE: MakeDate = MakeDate { name: "makeDate", wide: false };
pub(super) static MAKE_DATE32: MakeDate = MakeDate { name: "makeDate32", wide: true };

const DATE_YEARS: std::ops::RangeInclusive<i64> = 1970..=2149;
const DATE32_YEARS: std::ops::RangeInclusive<i64> = 0..=9999;
const DATE_TIME_YEARS: std::ops::RangeInclusive<i64> = 1970..=9999;
/// The same for every year, including leap years.
const DAYS_OF_YEAR: std::ops::RangeInclusive<i64> = 1..=365;
/// Hours, minutes and seconds have two digits; larger values carry over into the next unit.
const CLOCK_MAX: i64 = 99;

/// Two arguments are a year and a day of the year. A day that does not exist gives 1970-01-01.
pub(super) struct MakeDate {
    name: &'static str,
    wide: bool,
}

impl ScalarFunction for MakeDate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn arity(&self) -> Arity {
        Arity::Between(2, 3)
    }

    fn bind(&self, args: &[Argument], _context: &FunctionContext) -> Result<Bound> {
        check_numbers(self.name, args)?;
        let wide = self.wide;
        let years = if wide { DATE32_YEARS } else { DATE_YEARS };
        let ty = if wide { SqlType::Date32 } else { SqlType::Date };
        Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
            let parts = whole_numbers(operands, rows)?;
            let days = (0..rows).map(|row| {
                let day = match parts.as_slice() {
                    [year, month, day] => civil_day(&years, year[row], month[row], day[row]),
                    [year, day] if DAYS_OF_YEAR.contains(&day[row]) && years.contains(&year[row]) => {
                        Some(i64::from(days_from_civil(year[row] as i32, 1, 1)) + day[row] - 1)
                    }
                    _ => None,
                };
                day.unwrap_or(0)
            });
            if wide {
                return Ok(Arc::new(Int32Array::from_iter_values(days.map(|day| day as i32))) as ArrayRef);
            }
            let days = days.map(|day| u16::try_from(day).unwrap_or(0));
            Ok(Arc::new(UInt16Array::from_iter_values(days)) as ArrayRef)
        }))
    }
}

/// As in ClickHouse, a day up to 31 that its month lacks carries over into the next month.
fn civil_day(years: &std::ops::RangeInclusive<i64>, year: i64, month: i64, day: i64) -> Option<i64> {
    let exists = years.contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    exists.then(|| i64::from(days_from_civil(year as i32, month as u32, day as u32)))
}

/// With a zone as an optional last argument.
pub(super) static MAKE_DATE_TIME: Definition =
    Definition::new("makeDateTime", Arity::Between(6, 7), bind_make_date_time);

fn bind_make_date_time(call: &Call<'_>) -> Result<Bound> {
    check_numbers(call.name, &call.args[..6])?;
    let named = call.args.get(6).map(|zone| constant_zone(call.name, zone)).transpose()?;
    let zone = named.unwrap_or(call.context.zone);
    let ty = SqlType::DateTime(named.map(|zone| zone.name().into()));
    Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
        let parts = whole_numbers(&operands[..6], rows)?;
        let seconds = (0..rows).map(|row| {
            let part = |index: usize| parts[index][row];
            let clock = [part(3), part(4), part(5)];
            let on_clock = clock.iter().all(|part| (0..=CLOCK_MAX).contains(part));
            let day = civil_day(&DATE_TIME_YEARS, part(0), part(1), part(2)).filter(|_| on_clock);
            let second = day
                .map_or(0, |day| zone.from_local(day * DAY + clock[0] * HOUR + clock[1] * MINUTE + clock[2]));
            date_time_of(second)
        });
        Ok(Arc::new(UInt32Array::from_iter_values(seconds)) as ArrayRef)
    }))
}

fn check_numbers(function: &str, args: &[Argument]) -> Result<()> {
    match args.iter().find(|arg| !arg.ty.is_number()) {
        None => Ok(()),
        Some(arg) => Err(Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("function `{function}` takes numbers, got {}", arg.ty),
        )),
    }
}

fn whole_numbers(operands: &[Operand], rows: usize) -> Result<Vec<Vec<i64>>> {
    let numbers = |operand: &Operand| {
        let whole = cast(&operand.full(rows)?, &DataType::Int64).map_err(Error::of_arrow)?;
        debug_assert_eq!(whole.len(), rows, "one number a row");
        Ok(whole.as_primitive::<Int64Type>().values().to_vec())
    };
    operands.iter().map(numbers).collect()
}
