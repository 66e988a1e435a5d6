//! `addDays(t, n)`, `subtractMonths(t, n)` and others: moves a time by a number of units.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Int32Type, Int64Type, UInt16Type, UInt32Type};
use basalt_base::civil::add_months;
use basalt_base::types::IntervalUnit;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::source::{DAY, FIRST_DAY, HOUR, LAST_DAY, MINUTE, Source, ticks_per_second};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Converter, Operand};

/// ClickHouse's precision for a `Date32` plus hours.
const DATE32_TIME_PRECISION: u8 = 3;
const TEXT_PRECISION: u8 = 3;
/// 2299-12-31, the end of the table in which ClickHouse adds months.
const LAST_TABLE_DAY: i32 = 120_529;

macro_rules! shifts {
    ($($constant:ident $name:literal $sign:literal $unit:ident;)+) => {
        $(pub(super) static $constant: Definition = Definition::new($name, Arity::Exactly(2), |call| {
            bind_shift(call, (0, 1), Step { unit: IntervalUnit::$unit, sign: $sign }, 0)
        });)+
    };
}

shifts! {
    ADD_SECONDS "addSeconds" 1 Second;
    ADD_MINUTES "addMinutes" 1 Minute;
    ADD_HOURS "addHours" 1 Hour;
    ADD_DAYS "addDays" 1 Day;
    ADD_WEEKS "addWeeks" 1 Week;
    ADD_MONTHS "addMonths" 1 Month;
    ADD_QUARTERS "addQuarters" 1 Quarter;
    ADD_YEARS "addYears" 1 Year;
    SUBTRACT_SECONDS "subtractSeconds" -1 Second;
    SUBTRACT_MINUTES "subtractMinutes" -1 Minute;
    SUBTRACT_HOURS "subtractHours" -1 Hour;
    SUBTRACT_DAYS "subtractDays" -1 Day;
    SUBTRACT_WEEKS "subtractWeeks" -1 Week;
    SUBTRACT_MONTHS "subtractMonths" -1 Month;
    SUBTRACT_QUARTERS "subtractQuarters" -1 Quarter;
    SUBTRACT_YEARS "subtractYears" -1 Year;
}

/// A unit and a direction.
#[derive(Clone, Copy)]
struct Step {
    unit: IntervalUnit,
    /// 1 or -1.
    sign: i64,
}

/// Binds the arguments at `time` and `amount`. In the kernel the time is operand `time_index`, and the number of units
/// is the other one.
fn bind_shift(
    call: &Call<'_>,
    (time, amount): (usize, usize),
    step: Step,
    time_index: usize,
) -> Result<Bound> {
    let (name, context) = (call.name, call.context);
    let (time, amount) = (&call.args[time].ty, &call.args[amount].ty);
    let counts = amount.is_number() && !matches!(amount, SqlType::Decimal { .. });
    if !(counts || matches!(amount, SqlType::Interval(_))) {
        return Err(Error::new(
            ErrorCode::IllegalTypeOfArgument,
            format!("function `{name}` takes a number of units, got {amount}"),
        ));
    }
    // A string is parsed as a time in milliseconds.
    let text = SqlType::DateTime64 { precision: TEXT_PRECISION, zone: None };
    let (time, parse) = match time {
        SqlType::String => (&text, Some(Converter::new(time, &text, context)?)),
        _ => (time, None),
    };
    let source = Source::new(name, time, None, context)?;
    let zone = source.zone();
    let of_time = step.unit < IntervalUnit::Day;
    let ty = match (source, of_time) {
        (Source::Date(_), true) => SqlType::DateTime(None),
        (Source::Date32(_), true) => SqlType::DateTime64 { precision: DATE32_TIME_PRECISION, zone: None },
        _ => time.clone(),
    };
    Ok(Bound::new(ty, move |operands: &[Operand], rows: usize| {
        let times = operands[time_index].full(rows)?;
        let times = parse.as_ref().map_or_else(|| Ok(Arc::clone(&times)), |parse| parse.convert(&times))?;
        let amounts = amounts(&operands[1 - time_index], rows, step.sign)?;
        Ok(shift_all(source, zone, step.unit, &times, &amounts))
    }))
}

/// The number of units for each row, truncated.
fn amounts(operand: &Operand, rows: usize, sign: i64) -> Result<PrimitiveArray<Int64Type>> {
    let array = operand.full(rows)?;
    let whole = match array.data_type() {
        // Wraps only beyond the range of Int64, where there is no date either.
        DataType::UInt64 => array.as_primitive::<arrow::datatypes::UInt64Type>().unary(|n| n as i64),
        _ => cast(&array, &DataType::Int64).map_err(Error::of_arrow)?.as_primitive::<Int64Type>().clone(),
    };
    Ok(if sign < 0 { whole.unary(i64::wrapping_neg) } else { whole })
}

fn shift_all(
    source: Source,
    zone: Zone,
    unit: IntervalUnit,
    times: &ArrayRef,
    amounts: &PrimitiveArray<Int64Type>,
) -> ArrayRef {
    match source {
        Source::Date(_) if unit < IntervalUnit::Day => {
            each::<UInt16Type, UInt32Type>(times, amounts, |day, n| {
                zone.from_local(i64::from(day) * DAY).wrapping_add(seconds(unit, n)) as u32
            })
        }
        Source::Date(_) => each::<UInt16Type, UInt16Type>(times, amounts, |day, n| {
            narrow_day(shift_days(i32::from(day), unit, n), unit) as u16
        }),
        Source::Date32(_) if unit < IntervalUnit::Day => {
            let ticks = ticks_per_second(DATE32_TIME_PRECISION);
            each::<Int32Type, Int64Type>(times, amounts, |day, n| {
                let second = zone.from_local(i64::from(day) * DAY).wrapping_add(seconds(unit, n));
                second.wrapping_mul(ticks)
            })
        }
        Source::Date32(_) => each::<Int32Type, Int32Type>(times, amounts, |day, n| {
            shift_days(day, unit, n).clamp(FIRST_DAY, LAST_DAY)
        }),
        Source::DateTime(_) => each::<UInt32Type, UInt32Type>(times, amounts, |second, n| {
            let shifted = shift_second(i64::from(second), zone, unit, n, |day| last_of_table(day, unit));
            (if unit < IntervalUnit::Month { shifted } else { shifted.max(0) }) as u32
        }),
        Source::DateTime64 { precision, .. } => {
            let ticks = ticks_per_second(precision);
            each::<Int64Type, Int64Type>(times, amounts, |tick, n| {
                let in_range = |day: i32| day.clamp(FIRST_DAY, LAST_DAY);
                let shifted = shift_second(tick.div_euclid(ticks), zone, unit, n, in_range);
                shifted.wrapping_mul(ticks).wrapping_add(tick.rem_euclid(ticks))
            })
        }
    }
}

#[inline]
fn each<T: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    times: &ArrayRef,
    amounts: &PrimitiveArray<Int64Type>,
    f: impl Fn(T::Native, i64) -> O::Native,
) -> ArrayRef {
    let times = times.as_primitive::<T>().values();
    let shifted = times.iter().zip(amounts.values()).map(|(&time, &amount)| f(time, amount));
    Arc::new(PrimitiveArray::<O>::from_iter_values(shifted))
}

fn seconds(unit: IntervalUnit, count: i64) -> i64 {
    count.wrapping_mul(match unit {
        IntervalUnit::Second => 1,
        IntervalUnit::Minute => MINUTE,
        _ => HOUR,
    })
}

/// A day moved by `count` units; `unit` is a day or more.
fn shift_days(day: i32, unit: IntervalUnit, count: i64) -> i32 {
    match unit {
        IntervalUnit::Day => day.wrapping_add(count as i32),
        IntervalUnit::Week => day.wrapping_add(count.wrapping_mul(7) as i32),
        IntervalUnit::Month => add_months(day, count),
        IntervalUnit::Quarter => add_months(day, count.saturating_mul(3)),
        _ => add_months(day, count.saturating_mul(12)),
    }
}

/// The day that ClickHouse stores in a `Date` for a day out of range: days wrap, months stop at 1970 and at the last
/// day of its table.
fn narrow_day(day: i32, unit: IntervalUnit) -> i32 {
    if unit < IntervalUnit::Month { day } else { day.clamp(0, LAST_TABLE_DAY) }
}

/// Like [`narrow_day`], for times, which already stop at 1970.
fn last_of_table(day: i32, unit: IntervalUnit) -> i32 {
    if unit < IntervalUnit::Month { day } else { day.min(LAST_TABLE_DAY) }
}

/// An instant moved by `count` units. Units of a day or more keep the local time, on a day that `in_range` clamps.
fn shift_second(
    second: i64,
    zone: Zone,
    unit: IntervalUnit,
    count: i64,
    in_range: impl Fn(i32) -> i32,
) -> i64 {
    if unit < IntervalUnit::Day {
        return second.wrapping_add(seconds(unit, count));
    }
    let local = zone.to_local(second);
    let day = local.div_euclid(DAY).clamp(i64::from(FIRST_DAY), i64::from(LAST_DAY));
    let shifted = match unit {
        IntervalUnit::Day => far_day(day.saturating_add(count)),
        IntervalUnit::Week => far_day(day.saturating_add(count.saturating_mul(7))),
        _ => shift_days(day as i32, unit, count),
    };
    zone.from_local(i64::from(in_range(shifted)) * DAY + local.rem_euclid(DAY))
}

/// The day, or the last day of the calendar.
fn far_day(day: i64) -> i32 {
    day.clamp(i64::from(FIRST_DAY), i64::from(LAST_DAY)) as i32
}

pub(super) static DATE_ADD: Definition =
    Definition::new("dateAdd", Arity::Between(2, 3), |call| bind_date_shift(call, 1)).sql_names(&[
        "DATE_ADD",
        "timestampAdd",
        "TIMESTAMP_ADD",
    ]);
pub(super) static DATE_SUB: Definition =
    Definition::new("dateSub", Arity::Between(2, 3), |call| bind_date_shift(call, -1)).sql_names(&[
        "DATE_SUB",
        "timestampSub",
        "TIMESTAMP_SUB",
    ]);

/// `dateAdd('day', 3, t)`: the unit as a constant string, then the number. Or a time and an INTERVAL, in either order.
fn bind_date_shift(call: &Call<'_>, sign: i64) -> Result<Bound> {
    let name = call.name;
    if let [first, second] = call.args {
        let (time, amount) = if matches!(first.ty, SqlType::Interval(_)) { (1, 0) } else { (0, 1) };
        let SqlType::Interval(unit) = call.args[amount].ty else {
            let ty = &second.ty;
            return Err(Error::new(
                ErrorCode::IllegalTypeOfArgument,
                format!("function `{name}` of two arguments takes an interval, got {ty}"),
            ));
        };
        return bind_shift(call, (time, amount), Step { unit, sign }, time);
    }
    let unit = super::source::constant_text(name, &call.args[0], "a unit")?;
    let step = Step { unit: super::unit::parse_unit(name, &unit)?, sign };
    let Bound { return_type, kernel } = bind_shift(call, (2, 1), step, 1)?;
    Ok(Bound::new(return_type, move |operands: &[Operand], rows: usize| {
        kernel.evaluate(&operands[1..], rows)
    }))
}

#[cfg(test)]
mod tests {
    use basalt_base::civil::days_from_civil;

    use super::*;

    #[test]
    fn months_end_where_the_month_does() {
        let january = days_from_civil(2020, 1, 31);
        assert_eq!(shift_days(january, IntervalUnit::Month, 1), days_from_civil(2020, 2, 29));
        assert_eq!(shift_days(january, IntervalUnit::Quarter, -1), days_from_civil(2019, 10, 31));
        let leap = days_from_civil(2020, 2, 29);
        assert_eq!(shift_days(leap, IntervalUnit::Year, 1), days_from_civil(2021, 2, 28));
    }

    #[test]
    fn days_keep_the_time_on_the_clock() {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        // 2024-03-30 12:00 there; the clocks go forward in the night after.
        let noon = berlin.from_local(i64::from(days_from_civil(2024, 3, 30)) * DAY + 12 * HOUR);
        assert_eq!(shift_second(noon, berlin, IntervalUnit::Day, 1, |day| day) - noon, 23 * HOUR);
        assert_eq!(shift_second(noon, berlin, IntervalUnit::Hour, 24, |day| day) - noon, DAY);
    }
}
