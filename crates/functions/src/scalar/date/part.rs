//! Parts of a date or a time: `toYear`, `toHour`, `toYYYYMM`, `toRelativeDayNum` and others.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use basalt_base::civil::{day_of_year, days_from_civil, iso_week, weekday};
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType};

use super::clamp::{date_of, date_time_of};
use super::source::{Calendar, DAY, HOUR, MINUTE, Source, first, illegal_time};
use super::week::{MONDAY_FIRST, week_start};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

const HOURS_PER_DAY: i64 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Year,
    Quarter,
    Month,
    DayOfMonth,
    DayOfYear,
    Hour,
    Minute,
    Second,
    IsoWeek,
    IsoYear,
    YearMonth,
    YearMonthDay,
    YearToSecond,
    DaysSinceYearZero,
    RelativeYear,
    RelativeQuarter,
    RelativeMonth,
    RelativeWeek,
    RelativeDay,
    RelativeHour,
    RelativeMinute,
    RelativeSecond,
}

macro_rules! parts {
    ($($constant:ident $name:literal $part:ident $aliases:expr;)+) => {
        $(pub(super) static $constant: Definition =
            Definition::new($name, Arity::Between(1, 2), |call| bind_part(call, Part::$part)).sql_names(&$aliases);)+
    };
}

parts! {
    TO_YEAR "toYear" Year ["YEAR"];
    TO_QUARTER "toQuarter" Quarter ["QUARTER"];
    TO_MONTH "toMonth" Month ["MONTH"];
    TO_DAY_OF_MONTH "toDayOfMonth" DayOfMonth ["DAY", "DAYOFMONTH"];
    TO_DAY_OF_YEAR "toDayOfYear" DayOfYear ["DAYOFYEAR"];
    TO_HOUR "toHour" Hour ["HOUR"];
    TO_MINUTE "toMinute" Minute ["MINUTE"];
    TO_SECOND "toSecond" Second ["SECOND"];
    TO_ISO_WEEK "toISOWeek" IsoWeek [];
    TO_ISO_YEAR "toISOYear" IsoYear [];
    TO_YYYYMM "toYYYYMM" YearMonth [];
    TO_YYYYMMDD "toYYYYMMDD" YearMonthDay [];
    TO_YYYYMMDDHHMMSS "toYYYYMMDDhhmmss" YearToSecond [];
    TO_DAYS_SINCE_YEAR_ZERO "toDaysSinceYearZero" DaysSinceYearZero ["TO_DAYS"];
    TO_RELATIVE_YEAR_NUM "toRelativeYearNum" RelativeYear [];
    TO_RELATIVE_QUARTER_NUM "toRelativeQuarterNum" RelativeQuarter [];
    TO_RELATIVE_MONTH_NUM "toRelativeMonthNum" RelativeMonth [];
    TO_RELATIVE_WEEK_NUM "toRelativeWeekNum" RelativeWeek [];
    TO_RELATIVE_DAY_NUM "toRelativeDayNum" RelativeDay [];
    TO_RELATIVE_HOUR_NUM "toRelativeHourNum" RelativeHour [];
    TO_RELATIVE_MINUTE_NUM "toRelativeMinuteNum" RelativeMinute [];
    TO_RELATIVE_SECOND_NUM "toRelativeSecondNum" RelativeSecond [];
}

/// A function that extracts one part. The optional second argument is the zone.
fn bind_part(call: &Call<'_>, part: Part) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, call.args.get(1), call.context)?;
    if matches!(part, Part::Hour | Part::Minute | Part::Second) && !source.has_time() {
        return Err(illegal_time(call.name, &call.args[0].ty));
    }
    let kernel = move |operands: &[Operand], _: usize| Ok(take_part(part, source, first(operands)));
    Ok(Bound::new(part_type(part), kernel))
}

fn part_type(part: Part) -> SqlType {
    match part {
        Part::Quarter | Part::Month | Part::DayOfMonth => SqlType::UInt8,
        Part::Hour | Part::Minute | Part::Second | Part::IsoWeek => SqlType::UInt8,
        Part::Year | Part::DayOfYear | Part::IsoYear | Part::RelativeYear => SqlType::UInt16,
        Part::YearToSecond => SqlType::UInt64,
        _ => SqlType::UInt32,
    }
}

/// One specialized loop per part.
fn take_part(part: Part, source: Source, array: &ArrayRef) -> ArrayRef {
    let calendar = Calendar::new();
    macro_rules! of_day {
        ($carrier:ty, $f:expr) => {
            Arc::new(source.map_days::<$carrier>(array, $f))
        };
    }
    macro_rules! of_time {
        ($carrier:ty, $f:expr) => {
            Arc::new(source.map_local::<$carrier>(array, $f))
        };
    }
    macro_rules! of_instant {
        ($f:expr) => {
            Arc::new(source.map_instants::<UInt32Type>(array, $f))
        };
    }
    match part {
        Part::Year | Part::RelativeYear => of_day!(UInt16Type, |days| calendar.day(days).year),
        Part::Quarter => of_day!(UInt8Type, |days| (calendar.day(days).month - 1) / 3 + 1),
        Part::Month => of_day!(UInt8Type, |days| calendar.day(days).month),
        Part::DayOfMonth => of_day!(UInt8Type, |days| calendar.day(days).day),
        Part::DayOfYear => of_day!(UInt16Type, |days| day_of_year(days) as u16),
        Part::IsoWeek => of_day!(UInt8Type, |days| iso_week(days).1 as u8),
        Part::IsoYear => of_day!(UInt16Type, |days| iso_week(days).0 as u16),
        Part::YearMonth => of_day!(UInt32Type, |days| {
            let day = calendar.day(days);
            u32::from(day.year) * 100 + u32::from(day.month)
        }),
        Part::YearMonthDay => of_day!(UInt32Type, |days| year_month_day(calendar, days)),
        Part::YearToSecond => of_time!(UInt64Type, |local| {
            let (days, second) = (local.div_euclid(DAY) as i32, local.rem_euclid(DAY));
            let clock = second / HOUR * 10_000 + second % HOUR / MINUTE * 100 + second % MINUTE;
            u64::from(year_month_day(calendar, days)) * 1_000_000 + clock as u64
        }),
        Part::Hour => of_time!(UInt8Type, |local| (local.rem_euclid(DAY) / HOUR) as u8),
        Part::Minute => of_time!(UInt8Type, |local| (local.rem_euclid(HOUR) / MINUTE) as u8),
        Part::Second => of_time!(UInt8Type, |local| local.rem_euclid(MINUTE) as u8),
        Part::DaysSinceYearZero => {
            let year_zero = days_from_civil(0, 1, 1);
            of_day!(UInt32Type, |days| (days - year_zero) as u32)
        }
        Part::RelativeQuarter => of_day!(UInt32Type, |days| {
            let day = calendar.day(days);
            u32::from(day.year) * 4 + u32::from((day.month - 1) / 3)
        }),
        Part::RelativeMonth => of_day!(UInt32Type, |days| {
            let day = calendar.day(days);
            u32::from(day.year) * 12 + u32::from(day.month)
        }),
        Part::RelativeWeek => of_day!(UInt32Type, |days| relative_week(days.max(0)) as u32),
        Part::RelativeDay => of_day!(UInt32Type, |days| u32::from(date_of(days))),
        Part::RelativeHour => {
            let zone = source.zone();
            of_instant!(|second, _| relative_hour(second.max(0), zone) as u32)
        }
        Part::RelativeMinute => of_instant!(|second, _| second.max(0).div_euclid(MINUTE) as u32),
        Part::RelativeSecond => of_instant!(|second, _| date_time_of(second)),
    }
}

/// Weeks begin on Monday. The week of 1970-01-01 and the week before it both have number 0.
pub(super) fn relative_week(days: i32) -> i32 {
    (week_start(days, MONDAY_FIRST) + 8) / 7
}

/// If the zone's offset has a fraction of an hour, hours begin where they did in 1970.
fn relative_hour(second: i64, zone: Zone) -> i64 {
    if zone.has_whole_hours() { second.div_euclid(HOUR) } else { stable_hour(second, zone) + HOURS_PER_DAY }
}

/// Hours since the midnight of the zone in 1970.
pub(super) fn stable_hour(second: i64, zone: Zone) -> i64 {
    (second - i64::from(zone.offset_at(0))).div_euclid(HOUR)
}

fn year_month_day(calendar: Calendar, days: i32) -> u32 {
    let day = calendar.day(days);
    u32::from(day.year) * 10_000 + u32::from(day.month) * 100 + u32::from(day.day)
}

/// `toDayOfWeek(t, mode, zone)`: the mode selects the first day of the week and the numbering.
pub(super) static TO_DAY_OF_WEEK: Definition =
    Definition::new("toDayOfWeek", Arity::Between(1, 3), bind_to_day_of_week)
        .aliases(&["DAYOFWEEK"])
        .case_insensitive();

fn bind_to_day_of_week(call: &Call<'_>) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, call.args.get(2), call.context)?;
    let mode = super::week::constant_mode(call.name, call.args.get(1))?;
    let kernel = move |operands: &[Operand], _: usize| {
        let days = source.map_days::<UInt8Type>(first(operands), |days| day_of_week(days, mode));
        Ok(Arc::new(days) as ArrayRef)
    };
    Ok(Bound::new(SqlType::UInt8, kernel))
}

/// Mode 0: Monday 1 to Sunday 7; 1: Monday 0; 2: Sunday 0; 3: Sunday 1.
fn day_of_week(days: i32, mode: u8) -> u8 {
    let from_monday = weekday(days) as u8;
    match mode & 3 {
        0 => from_monday,
        1 => from_monday - 1,
        2 => from_monday % 7,
        _ => from_monday % 7 + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_week_in_every_mode() {
        let friday = days_from_civil(2016, 1, 1);
        assert_eq!([0, 1, 2, 3].map(|mode| day_of_week(friday, mode)), [5, 4, 5, 6]);
    }
}
