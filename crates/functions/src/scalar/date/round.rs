//! Rounding down to a unit of time: `toStartOfMonth`, `toStartOfHour`, `toStartOfInterval`, `dateTrunc` and others.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type, UInt16Type, UInt32Type};
use basalt_base::civil::{days_from_civil, days_in_month};
use basalt_base::types::IntervalUnit;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::clamp::{date_of, date_time_of};
use super::source::{Calendar, DAY, HOUR, MINUTE, Source, first, illegal_time, ticks_per_second, zone_name};
use super::week::{MONDAY_FIRST, week_start};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Argument, Arity, Bound, Operand};

/// Intervals of several weeks count from this day, the first Monday of 1970.
const FIRST_MONDAY: i32 = 4;
/// Intervals of several months count from January of this year.
const MONTHS_FROM_YEAR: i32 = 1_900;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DaysKind {
    Year,
    IsoYear,
    Quarter,
    Month,
    Monday,
    LastOfMonth,
}

macro_rules! start_of_days {
    ($($constant:ident $name:literal $kind:ident $aliases:expr;)+) => {
        $(pub(super) static $constant: Definition =
            Definition::new($name, Arity::Between(1, 2), |call| bind_start_of_days(call, DaysKind::$kind))
                .sql_names(&$aliases);)+
    };
}

start_of_days! {
    TO_START_OF_YEAR "toStartOfYear" Year [];
    TO_START_OF_ISO_YEAR "toStartOfISOYear" IsoYear [];
    TO_START_OF_QUARTER "toStartOfQuarter" Quarter [];
    TO_START_OF_MONTH "toStartOfMonth" Month [];
    TO_MONDAY "toMonday" Monday [];
    TO_LAST_DAY_OF_MONTH "toLastDayOfMonth" LastOfMonth ["LAST_DAY"];
}

/// `toStartOf...` with an argument and a zone; the result is a Date.
fn bind_start_of_days(call: &Call<'_>, kind: DaysKind) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, call.args.get(1), call.context)?;
    Ok(Bound::new(SqlType::Date, move |operands: &[Operand], _: usize| {
        Ok(round_to_days(kind, source, first(operands)))
    }))
}

fn round_to_days(kind: DaysKind, source: Source, array: &ArrayRef) -> ArrayRef {
    let calendar = Calendar::new();
    macro_rules! dates {
        ($f:expr) => {
            Arc::new(source.map_days::<UInt16Type>(array, |days| date_of($f(days))))
        };
    }
    match kind {
        DaysKind::Year => dates!(|days| calendar.year_start(days)),
        DaysKind::IsoYear => dates!(|days| {
            let (year, _) = basalt_base::civil::iso_week(i32::from(date_of(days)));
            // January 4th is always in week 1.
            week_start(days_from_civil(year, 1, 4), MONDAY_FIRST)
        }),
        DaysKind::Quarter => dates!(|days| calendar.quarter_start(days)),
        DaysKind::Month => dates!(|days| calendar.month_start(days)),
        DaysKind::Monday => dates!(|days| week_start(days, MONDAY_FIRST)),
        DaysKind::LastOfMonth => dates!(|days| {
            let day = calendar.day(days);
            days - i32::from(day.day) + days_in_month(i32::from(day.year), u32::from(day.month)) as i32
        }),
    }
}

macro_rules! start_of_time {
    ($($constant:ident $name:literal $count:literal $unit:ident $aliases:expr;)+) => {
        $(pub(super) static $constant: Definition = Definition::new($name, Arity::Between(1, 2), |call| {
            bind_start_of_time(call, IntervalUnit::$unit, $count)
        })
        .aliases(&$aliases);)+
    };
}

start_of_time! {
    TO_START_OF_DAY "toStartOfDay" 1 Day [];
    TO_START_OF_HOUR "toStartOfHour" 1 Hour [];
    TO_START_OF_MINUTE "toStartOfMinute" 1 Minute [];
    TO_START_OF_FIVE_MINUTES "toStartOfFiveMinutes" 5 Minute ["toStartOfFiveMinute"];
    TO_START_OF_TEN_MINUTES "toStartOfTenMinutes" 10 Minute [];
    TO_START_OF_FIFTEEN_MINUTES "toStartOfFifteenMinutes" 15 Minute [];
    TIME_SLOT "timeSlot" 30 Minute [];
}

/// `toStartOfDay`, `toStartOfHour`, `toStartOfFiveMinutes`, `timeSlot`; the result is a DateTime.
fn bind_start_of_time(call: &Call<'_>, unit: IntervalUnit, count: i64) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, call.args.get(1), call.context)?;
    if unit != IntervalUnit::Day && !source.has_time() {
        return Err(illegal_time(call.name, &call.args[0].ty));
    }
    let ty = SqlType::DateTime(zone_name(&call.args[0].ty, call.args.get(1), call.name)?);
    Ok(Bound::new(ty, round_kernel(source, unit, count)))
}

/// The kernel that rounds a `DateTime` down to `count` of `unit`, which is a day or less.
fn round_kernel(
    source: Source,
    unit: IntervalUnit,
    count: i64,
) -> impl Fn(&[Operand], usize) -> Result<ArrayRef> + Send + Sync {
    let zone = source.zone();
    move |operands: &[Operand], _: usize| {
        let array = first(operands);
        Ok(Arc::new(source.map_instants::<UInt32Type>(array, |second, offset| {
            date_time_of(round_instant(second, offset, zone, unit, count))
        })) as ArrayRef)
    }
}

/// An instant rounded down in local time, which is `offset` ahead of UTC.
#[inline]
fn round_instant(second: i64, offset: i64, zone: Zone, unit: IntervalUnit, count: i64) -> i64 {
    let local = second + offset;
    match unit {
        IntervalUnit::Day => {
            let days = local.div_euclid(DAY);
            zone.from_local((days - days.rem_euclid(count)) * DAY)
        }
        IntervalUnit::Hour if count == 1 => round_span(second, offset, zone, HOUR, zone.has_whole_hours()),
        IntervalUnit::Hour => round_hours(second, offset, zone, count * HOUR),
        IntervalUnit::Minute => round_span(second, offset, zone, count * MINUTE, zone.has_whole_minutes()),
        _ if count % MINUTE == 0 => round_span(second, offset, zone, count, zone.has_whole_minutes()),
        _ => round_span(second, offset, zone, count, zone.has_whole_hours()),
    }
}

/// Intervals count from 1970 in zones without fractional offsets since then; elsewhere, and before 1970, from
/// midnight.
#[inline]
fn round_span(second: i64, offset: i64, zone: Zone, span: i64, from_epoch: bool) -> i64 {
    if from_epoch && second >= 0 {
        return second - second.rem_euclid(span);
    }
    second - (second - midnight(second, offset, zone)).rem_euclid(span)
}

/// Intervals of several hours count from midnight, by local clock time.
#[inline]
fn round_hours(second: i64, offset: i64, zone: Zone, span: i64) -> i64 {
    let midnight = midnight(second, offset, zone);
    let change = offset - i64::from(zone.offset_at(midnight));
    if change == 0 {
        return second - (second - midnight) % span;
    }
    let shown = second - midnight + change;
    let changed_at = change_between(zone, midnight, second) - midnight;
    let rounded = shown - shown % span;
    midnight + if rounded >= changed_at { (rounded - change).max(changed_at) } else { rounded }
}

/// The start of the day of `second`.
#[inline]
fn midnight(second: i64, offset: i64, zone: Zone) -> i64 {
    let local = second + offset;
    let same_offset = second - local.rem_euclid(DAY);
    if i64::from(zone.offset_at(same_offset)) == offset {
        return same_offset;
    }
    zone.from_local(local - local.rem_euclid(DAY))
}

/// The first instant with the offset of `after`, which is less than two days after `before`.
fn change_between(zone: Zone, before: i64, after: i64) -> i64 {
    let changed = zone.offset_at(after);
    let (mut before, mut after) = (before, after);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if zone.offset_at(middle) == changed { after = middle } else { before = middle }
    }
    after
}

/// Days rounded down to `count` of `unit`, which is a week or more.
fn round_days(calendar: Calendar, days: i32, unit: IntervalUnit, count: i32) -> i32 {
    match unit {
        IntervalUnit::Week if count == 1 => week_start(days, MONDAY_FIRST),
        IntervalUnit::Week => days - (days - FIRST_MONDAY).rem_euclid(count.saturating_mul(7)),
        IntervalUnit::Month if count == 1 => calendar.month_start(days),
        IntervalUnit::Month => round_months(calendar, days, count),
        IntervalUnit::Quarter if count == 1 => calendar.quarter_start(days),
        IntervalUnit::Quarter => round_months(calendar, days, count.saturating_mul(3)),
        _ => {
            let year = i32::from(calendar.day(days).year);
            days_from_civil(year - year % count, 1, 1)
        }
    }
}

fn round_months(calendar: Calendar, days: i32, count: i32) -> i32 {
    let day = calendar.day(days);
    let months = (i32::from(day.year) - MONTHS_FROM_YEAR) * 12 + i32::from(day.month) - 1;
    let months = months - months.rem_euclid(count);
    days_from_civil(MONTHS_FROM_YEAR + months.div_euclid(12), months.rem_euclid(12) as u32 + 1, 1)
}

/// `toStartOfInterval(t, INTERVAL n unit, zone)`.
pub(super) static TO_START_OF_INTERVAL: Definition =
    Definition::new("toStartOfInterval", Arity::Between(2, 3), bind_to_start_of_interval);

fn bind_to_start_of_interval(call: &Call<'_>) -> Result<Bound> {
    let source = Source::new(call.name, &call.args[0].ty, call.args.get(2), call.context)?;
    let SqlType::Interval(unit) = call.args[1].ty else {
        return Err(Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("function `{}` takes an interval second, got {}", call.name, call.args[1].ty),
        ));
    };
    let count = interval_count(call.name, &call.args[1])?;
    if unit < IntervalUnit::Day && !source.has_time() {
        return Err(illegal_time(call.name, &call.args[0].ty));
    }
    if unit <= IntervalUnit::Day {
        let ty = SqlType::DateTime(zone_name(&call.args[0].ty, call.args.get(2), call.name)?);
        return Ok(Bound::new(ty, round_kernel(source, unit, count)));
    }
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // As in ClickHouse, a Date32 day out of the range of Date wraps.
    let narrow: fn(i32) -> u16 = if let Source::Date32(_) = source { |days| days as u16 } else { date_of };
    Ok(Bound::new(SqlType::Date, move |operands: &[Operand], _: usize| {
        let calendar = Calendar::new();
        let rounded = |days| narrow(round_days(calendar, days, unit, count));
        Ok(Arc::new(source.map_days::<UInt16Type>(first(operands), rounded)) as ArrayRef)
    }))
}

fn interval_count(function: &str, arg: &Argument) -> Result<i64> {
    /// A century of seconds: larger than any sensible interval, and products with days still cannot overflow.
    const COUNT_MAX: i64 = 1 << 32;
    let value = arg.constant.as_ref().filter(|value| !value.is_null(0));
    match value.map(|value| value.as_primitive::<Int64Type>().value(0)) {
        Some(count @ 1..=COUNT_MAX) => Ok(count),
        Some(count) => Err(Error::new(
            ErrorCode::ArgumentOutOfBound,
            format!("the interval of `{function}` is positive and at most {COUNT_MAX}, got {count}"),
        )),
        None => {
            Err(Error::new(ErrorCode::IllegalColumn, format!("the interval of `{function}` is a constant")))
        }
    }
}

/// `dateTrunc('month', t, zone)`.
pub(super) static DATE_TRUNC: Definition =
    Definition::new("dateTrunc", Arity::Between(2, 3), bind_date_trunc)
        .aliases(&["DATE_TRUNC"])
        .case_insensitive();

fn bind_date_trunc(call: &Call<'_>) -> Result<Bound> {
    let unit_name = super::source::constant_text(call.name, &call.args[0], "a unit")?;
    let source = Source::new(call.name, &call.args[1].ty, call.args.get(2), call.context)?;
    if let Some(digits) = super::unit::fraction_digits(&unit_name) {
        let Source::DateTime64 { precision, .. } = source else {
            return Err(illegal_time(call.name, &call.args[1].ty));
        };
        return Ok(trunc_fraction(
            precision,
            digits,
            zone_name(&call.args[1].ty, call.args.get(2), call.name)?,
        ));
    }
    let unit = super::unit::parse_unit(call.name, &unit_name)?;
    let wide = matches!(source, Source::Date32(_) | Source::DateTime64 { .. });
    if unit >= IntervalUnit::Week {
        return Ok(trunc_to_days(source, unit, wide));
    }
    if unit != IntervalUnit::Day && !source.has_time() {
        return Err(illegal_time(call.name, &call.args[1].ty));
    }
    let zone = zone_name(&call.args[1].ty, call.args.get(2), call.name)?;
    let clock = source.zone();
    if wide {
        let ty = SqlType::DateTime64 { precision: 0, zone };
        return Ok(Bound::new(ty, move |operands: &[Operand], _: usize| {
            let rounded = |second, offset| round_instant(second, offset, clock, unit, 1);
            Ok(Arc::new(source.map_instants::<Int64Type>(&operands[1].array, rounded)) as ArrayRef)
        }));
    }
    let kernel = round_kernel(source, unit, 1);
    Ok(Bound::new(SqlType::DateTime(zone), move |operands: &[Operand], rows: usize| {
        kernel(&operands[1..], rows)
    }))
}

/// A `DateTime64` truncated to that many fractional digits.
fn trunc_fraction(precision: u8, digits: u8, zone: Option<Arc<str>>) -> Bound {
    let (given, wanted) = (ticks_per_second(precision), ticks_per_second(digits));
    Bound::new(SqlType::DateTime64 { precision: digits, zone }, move |operands: &[Operand], _: usize| {
        let times = operands[1].array.as_primitive::<Int64Type>();
        let truncated = times.unary::<_, Int64Type>(|tick| match wanted >= given {
            true => tick.saturating_mul(wanted / given),
            false => tick.div_euclid(given / wanted),
        });
        Ok(Arc::new(truncated) as ArrayRef)
    })
}

fn trunc_to_days(source: Source, unit: IntervalUnit, wide: bool) -> Bound {
    let ty = if wide { SqlType::Date32 } else { SqlType::Date };
    Bound::new(ty, move |operands: &[Operand], _: usize| {
        let calendar = Calendar::new();
        let array = &operands[1].array;
        if wide {
            let rounded = |days| round_days(calendar, days, unit, 1);
            return Ok(Arc::new(source.map_days::<Int32Type>(array, rounded)) as ArrayRef);
        }
        let rounded = |days| date_of(round_days(calendar, days, unit, 1));
        Ok(Arc::new(source.map_days::<UInt16Type>(array, rounded)) as ArrayRef)
    })
}

/// `toStartOfSecond(t)`: a DateTime64 without its fraction.
pub(super) static TO_START_OF_SECOND: Definition =
    Definition::new("toStartOfSecond", Arity::Between(1, 2), bind_to_start_of_second);

fn bind_to_start_of_second(call: &Call<'_>) -> Result<Bound> {
    let SqlType::DateTime64 { precision, .. } = &call.args[0].ty else {
        return Err(illegal_time(call.name, &call.args[0].ty));
    };
    let zone = zone_name(&call.args[0].ty, call.args.get(1), call.name)?;
    let ticks = ticks_per_second(*precision);
    let ty = SqlType::DateTime64 { precision: *precision, zone };
    Ok(Bound::new(ty, move |operands: &[Operand], _: usize| {
        let times = cast(first(operands), &DataType::Int64).map_err(Error::of_arrow)?;
        let times = times.as_primitive::<Int64Type>();
        Ok(Arc::new(times.unary::<_, Int64Type>(|tick| tick - tick.rem_euclid(ticks))) as ArrayRef)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2020-02-03 04:05:06 UTC, a Monday.
    const INSTANT: i64 = 1_580_702_706;

    fn check(unit: IntervalUnit, count: i64, expected: i64) {
        assert_eq!(round_instant(INSTANT, 0, Zone::utc(), unit, count), expected, "{count} {unit}");
    }

    #[test]
    fn spans_of_time_begin_where_clickhouse_begins_them() {
        let midnight = INSTANT - 4 * HOUR - 5 * MINUTE - 6;
        check(IntervalUnit::Day, 1, midnight);
        check(IntervalUnit::Day, 2, midnight - DAY);
        check(IntervalUnit::Hour, 7, midnight);
        check(IntervalUnit::Minute, 7, midnight + 3 * HOUR + 59 * MINUTE);
        check(IntervalUnit::Second, 7, INSTANT - 2);
    }

    #[test]
    fn spans_of_days_begin_where_clickhouse_begins_them() {
        let calendar = Calendar::new();
        let day = days_from_civil(2020, 2, 3);
        let round = |unit, count| round_days(calendar, day, unit, count);
        assert_eq!(round(IntervalUnit::Week, 2), days_from_civil(2020, 1, 27));
        assert_eq!(round(IntervalUnit::Month, 2), days_from_civil(2020, 1, 1));
        assert_eq!(round(IntervalUnit::Quarter, 3), days_from_civil(2020, 1, 1));
        assert_eq!(round(IntervalUnit::Year, 5), days_from_civil(2020, 1, 1));
    }
}
