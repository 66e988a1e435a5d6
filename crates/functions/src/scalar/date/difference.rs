//! `dateDiff(unit, a, b)`: how many boundaries of a unit are between two times; `age`: how many complete units.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::Int64Type;
use basalt_base::civil::weekday;
use basalt_base::types::IntervalUnit;
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType};

use super::part::{relative_week, stable_hour};
use super::source::{Calendar, DAY, HOUR, MINUTE, Source, constant_text, ticks_per_second};
use super::unit::{fraction_digits, parse_unit};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

/// The digits of a second that `age` uses.
const FINE_DIGITS: u8 = 6;

pub(super) static DATE_DIFF: Definition =
    Definition::new("dateDiff", Arity::Between(3, 4), |call| bind(call, Counted::Boundaries)).sql_names(&[
        "date_diff",
        "timestampDiff",
        "timestamp_diff",
    ]);
pub(super) static AGE: Definition =
    Definition::new("age", Arity::Between(3, 4), |call| bind(call, Counted::CompleteUnits))
        .case_insensitive();

#[derive(Clone, Copy, PartialEq)]
enum Counted {
    Boundaries,
    CompleteUnits,
}

/// A unit, or a part of a second as a power of ten.
#[derive(Clone, Copy)]
enum Unit {
    Whole(IntervalUnit),
    SecondTo(u8),
}

fn bind(call: &Call<'_>, counted: Counted) -> Result<Bound> {
    let name = constant_text(call.name, &call.args[0], "a unit")?;
    let unit = match fraction_digits(&name) {
        Some(digits) => Unit::SecondTo(digits),
        None => Unit::Whole(parse_unit(call.name, &name)?),
    };
    let from = Source::new(call.name, &call.args[1].ty, call.args.get(3), call.context)?;
    let to = Source::new(call.name, &call.args[2].ty, call.args.get(3), call.context)?;
    Ok(Bound::new(SqlType::Int64, move |operands: &[Operand], rows: usize| {
        let (from_array, to_array) = (operands[1].full(rows)?, operands[2].full(rows)?);
        let unit = match unit {
            Unit::SecondTo(digits) => {
                return Ok(subtract(&ticks(from, &from_array, digits), &ticks(to, &to_array, digits)));
            }
            Unit::Whole(unit) => unit,
        };
        let passed = subtract(&borders(from, &from_array, unit), &borders(to, &to_array, unit));
        if counted == Counted::Boundaries {
            return Ok(passed);
        }
        let from_times = ticks(from, &from_array, FINE_DIGITS);
        let to_times = ticks(to, &to_array, FINE_DIGITS);
        let short = each(&from_times, &to_times, |from_tick, to_tick| {
            missing_unit(unit, (from_tick, from.zone()), (to_tick, to.zone()))
        });
        Ok(each(passed.as_primitive(), short.as_primitive(), |passed, short| passed + short))
    }))
}

fn each(
    from: &PrimitiveArray<Int64Type>,
    to: &PrimitiveArray<Int64Type>,
    f: impl Fn(i64, i64) -> i64,
) -> ArrayRef {
    let pairs = from.values().iter().zip(to.values());
    Arc::new(PrimitiveArray::<Int64Type>::from_iter_values(pairs.map(|(&from, &to)| f(from, to))))
}

fn subtract(from: &PrimitiveArray<Int64Type>, to: &PrimitiveArray<Int64Type>) -> ArrayRef {
    each(from, to, |from, to| to.wrapping_sub(from))
}

/// Instants in units of `10^-digits` seconds.
fn ticks(source: Source, array: &ArrayRef, digits: u8) -> PrimitiveArray<Int64Type> {
    let wanted = ticks_per_second(digits);
    match source {
        Source::DateTime64 { precision, .. } => {
            let given = ticks_per_second(precision);
            array.as_primitive::<Int64Type>().unary(|tick| {
                if wanted >= given {
                    tick.wrapping_mul(wanted / given)
                } else {
                    tick.div_euclid(given / wanted)
                }
            })
        }
        _ => source.map_instants(array, |second, _| second.wrapping_mul(wanted)),
    }
}

/// The number of boundaries of `unit` since a fixed time.
fn borders(source: Source, array: &ArrayRef, unit: IntervalUnit) -> PrimitiveArray<Int64Type> {
    let calendar = Calendar::new();
    let zone = source.zone();
    match unit {
        IntervalUnit::Second => source.map_instants(array, |second, _| second),
        IntervalUnit::Minute => source.map_instants(array, |second, _| second.div_euclid(MINUTE)),
        IntervalUnit::Hour => source.map_instants(array, |second, _| stable_hour(second, zone)),
        IntervalUnit::Day => source.map_days(array, i64::from),
        IntervalUnit::Week => source.map_days(array, |day| i64::from(relative_week(day))),
        IntervalUnit::Month => source.map_days(array, |day| {
            let day = calendar.day(day);
            i64::from(day.year) * 12 + i64::from(day.month)
        }),
        IntervalUnit::Quarter => source.map_days(array, |day| {
            let day = calendar.day(day);
            i64::from(day.year) * 4 + i64::from((day.month - 1) / 3)
        }),
        IntervalUnit::Year => source.map_days(array, |day| i64::from(calendar.day(day).year)),
    }
}

/// The correction from boundaries to complete units: -1 or 1 if the later time is less far into its unit than the
/// earlier one, else 0.
fn missing_unit(unit: IntervalUnit, from: (i64, Zone), to: (i64, Zone)) -> i64 {
    let backwards = from.0 > to.0;
    let (from, to) = (local_ticks(from), local_ticks(to));
    let (earlier, later) = if backwards { (to, from) } else { (from, to) };
    let is_short = match unit {
        // As in ClickHouse, which compares the weekdays in the order of the arguments.
        IntervalUnit::Week => {
            let day_ticks = DAY * ticks_per_second(FINE_DIGITS);
            let of_week = |tick: i64| weekday(tick.div_euclid(day_ticks) as i32);
            (of_week(from), earlier.rem_euclid(day_ticks)) > (of_week(to), later.rem_euclid(day_ticks))
        }
        _ => progress(unit, earlier) > progress(unit, later),
    };
    match (is_short, backwards) {
        (false, _) => 0,
        (true, false) => -1,
        (true, true) => 1,
    }
}

fn local_ticks((tick, zone): (i64, Zone)) -> i64 {
    let ticks = ticks_per_second(FINE_DIGITS);
    tick.saturating_add(i64::from(zone.offset_at(tick.div_euclid(ticks))) * ticks)
}

/// The time since the start of the unit, for a local time in microseconds.
fn progress(unit: IntervalUnit, local: i64) -> i64 {
    const DAYS_PER_MONTH: i64 = 32;
    let ticks = ticks_per_second(FINE_DIGITS);
    let day_ticks = DAY * ticks;
    let months = match unit {
        IntervalUnit::Second => return local.rem_euclid(ticks),
        IntervalUnit::Minute => return local.rem_euclid(MINUTE * ticks),
        IntervalUnit::Hour => return local.rem_euclid(HOUR * ticks),
        IntervalUnit::Day | IntervalUnit::Week => return local.rem_euclid(day_ticks),
        IntervalUnit::Month => 1,
        IntervalUnit::Quarter => 3,
        IntervalUnit::Year => 12,
    };
    let day = Calendar::new().day(local.div_euclid(day_ticks) as i32);
    let days = (i64::from(day.month) - 1) % months * DAYS_PER_MONTH + i64::from(day.day);
    days * day_ticks + local.rem_euclid(day_ticks)
}

#[cfg(test)]
mod tests {
    use basalt_base::civil::days_from_civil;

    use super::*;

    fn at(year: i32, month: u32, day: u32) -> (i64, Zone) {
        (i64::from(days_from_civil(year, month, day)) * DAY * ticks_per_second(FINE_DIGITS), Zone::utc())
    }

    #[test]
    fn a_unit_has_passed_when_its_day_is_reached() {
        let short = |unit, from, to| missing_unit(unit, from, to);
        assert_eq!(short(IntervalUnit::Month, at(2020, 1, 31), at(2020, 2, 29)), -1);
        assert_eq!(short(IntervalUnit::Month, at(2020, 1, 30), at(2020, 3, 30)), 0);
        assert_eq!(short(IntervalUnit::Year, at(2020, 2, 29), at(2021, 2, 28)), -1);
        assert_eq!(short(IntervalUnit::Quarter, at(2020, 2, 1), at(2020, 7, 15)), -1);
        assert_eq!(short(IntervalUnit::Day, at(2020, 2, 1), at(2020, 1, 1)), 0);
    }

    #[test]
    fn weeks_backwards_are_those_of_clickhouse() {
        assert_eq!(missing_unit(IntervalUnit::Week, at(2024, 1, 3), at(2024, 1, 2)), 1);
        assert_eq!(missing_unit(IntervalUnit::Week, at(2024, 1, 8), at(2024, 1, 2)), 0);
    }
}
