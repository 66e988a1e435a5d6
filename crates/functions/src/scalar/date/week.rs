//! Weeks in MySQL's modes: `toWeek`, `toYearWeek`, `toStartOfWeek`, `toLastDayOfWeek`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, UInt8Type, UInt16Type, UInt32Type};
use basalt_base::civil::{civil_from_days, days_from_civil, is_leap_year, weekday};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::clamp::date_of;
use super::source::{Source, first};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand};

/// Weeks begin on Monday instead of Sunday.
pub(super) const MONDAY_FIRST: u8 = 1;
/// A day before week 1 is in the last week of the previous year instead of week 0.
const WEEK_OF_YEAR: u8 = 2;
/// Week 1 is the first week that begins in the year, not the first with four days in it.
const FIRST_WEEKDAY: u8 = 4;
/// Week 1 is the week of January 1st.
const NEW_YEAR: u8 = 8;

pub(super) static TO_WEEK: Definition =
    Definition::new("toWeek", Arity::Between(1, 3), |call| bind(call, Kind::Week)).sql_names(&["WEEK"]);
pub(super) static TO_YEAR_WEEK: Definition =
    Definition::new("toYearWeek", Arity::Between(1, 3), |call| bind(call, Kind::YearWeek))
        .sql_names(&["YEARWEEK"]);
pub(super) static TO_START_OF_WEEK: Definition =
    Definition::new("toStartOfWeek", Arity::Between(1, 3), |call| bind(call, Kind::Start));
pub(super) static TO_LAST_DAY_OF_WEEK: Definition =
    Definition::new("toLastDayOfWeek", Arity::Between(1, 3), |call| bind(call, Kind::Last));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Week,
    YearWeek,
    Start,
    Last,
}

fn bind(call: &Call<'_>, kind: Kind) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, call.args.get(2), call.context)?;
    let mode = constant_mode(call.name, call.args.get(1))?;
    let ty = match kind {
        Kind::Week => SqlType::UInt8,
        Kind::YearWeek => SqlType::UInt32,
        Kind::Start | Kind::Last => SqlType::Date,
    };
    Ok(Bound::new(ty, move |operands: &[Operand], _: usize| {
        Ok(evaluate(kind, mode, source, first(operands)))
    }))
}

fn evaluate(kind: Kind, mode: u8, source: Source, array: &ArrayRef) -> ArrayRef {
    match kind {
        Kind::Week => Arc::new(source.map_days::<UInt8Type>(array, |days| year_and_week(days, mode).1 as u8)),
        Kind::YearWeek => Arc::new(source.map_days::<UInt32Type>(array, |days| {
            let (year, week) = year_and_week(days, mode | WEEK_OF_YEAR);
            (year * 100 + week) as u32
        })),
        Kind::Start => Arc::new(source.map_days::<UInt16Type>(array, |days| date_of(week_start(days, mode)))),
        Kind::Last => {
            Arc::new(source.map_days::<UInt16Type>(array, |days| date_of(week_start(days, mode) + 6)))
        }
    }
}

/// The mode in a constant argument; 0 without one.
pub(super) fn constant_mode(function: &str, arg: Option<&Argument>) -> Result<u8> {
    let Some(arg) = arg else { return Ok(0) };
    let value = arg.constant.as_ref().filter(|value| arg.ty.stripped().is_integer() && !value.is_null(0));
    let mode = value.and_then(|value| cast(value, &DataType::Int64).ok());
    match mode.map(|mode| mode.as_primitive::<Int64Type>().value(0)) {
        Some(mode @ 0..=255) => Ok(mode as u8),
        _ => Err(Error::new(
            ErrorCode::IllegalColumn,
            format!("function `{function}` takes a mode from 0 to 9 as a constant number"),
        )),
    }
}

/// The first day of the week: Monday in the odd modes, else Sunday.
pub(super) fn week_start(days: i32, mode: u8) -> i32 {
    let from_monday = weekday(days) as i32 - 1;
    if mode & MONDAY_FIRST != 0 { days - from_monday } else { days - (from_monday + 1) % 7 }
}

/// The year and the number of the week.
fn year_and_week(days: i32, mode: u8) -> (i32, i32) {
    let monday_first = mode & MONDAY_FIRST != 0;
    if mode & NEW_YEAR != 0 {
        return new_year_week(days, mode);
    }
    // With Sunday first, the flag has the opposite meaning.
    let first_weekday = (mode & FIRST_WEEKDAY != 0) == monday_first;
    let mut of_year = mode & WEEK_OF_YEAR != 0;
    let (mut year, month, day) = civil_from_days(days);
    let mut first = days_from_civil(year, 1, 1);
    // 0 for the first day of a week.
    let mut position = first - week_start(first, mode);
    let starts_late = |position: i32| if first_weekday { position != 0 } else { position >= 4 };
    if month == 1 && day as i32 <= 7 - position {
        if !of_year && starts_late(position) {
            return (year, 0);
        }
        of_year = true;
        year -= 1;
        let length = days_in_year(year);
        first -= length;
        position = (position + 53 * 7 - length) % 7;
    }
    let since = if starts_late(position) { days - (first + 7 - position) } else { days - (first - position) };
    if of_year && since >= 52 * 7 {
        position = (position + days_in_year(year)) % 7;
        if !starts_late(position) {
            return (year + 1, 1);
        }
    }
    (year, since / 7 + 1)
}

/// Week 1 is the week of January 1st.
fn new_year_week(days: i32, mode: u8) -> (i32, i32) {
    let start = week_start(days, mode);
    let (year, _, _) = civil_from_days(start + 6);
    let first = week_start(days_from_civil(year, 1, 1), mode);
    (year, (start - first) / 7 + 1)
}

fn days_in_year(year: i32) -> i32 {
    365 + i32::from(is_leap_year(year))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_those_of_clickhouse() {
        let day = days_from_civil(2016, 1, 1);
        let weeks = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|mode| year_and_week(day, mode).1);
        assert_eq!(weeks, [0, 0, 52, 53, 0, 0, 52, 52, 1, 1]);
        let years = [0, 1, 2, 3, 4].map(|mode| {
            let (year, week) = year_and_week(day, mode | WEEK_OF_YEAR);
            year * 100 + week
        });
        assert_eq!(years, [201_552, 201_553, 201_552, 201_553, 201_552]);
        assert_eq!(week_start(day, 0), days_from_civil(2015, 12, 27));
        assert_eq!(week_start(day, 1), days_from_civil(2015, 12, 28));
    }
}
