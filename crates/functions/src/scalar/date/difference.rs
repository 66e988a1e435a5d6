//! `dateDiff(unit, a, b)`: how many borders of a unit lie between two times; `age`: how many whole units.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::Int64Type;
use basalt_base::types::IntervalUnit;
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType};

use super::source::{Calendar, DAY, HOUR, MINUTE, Source, constant_text, ticks_per_second};
use super::unit::parse_unit;
use crate::FunctionContext;
use crate::scalar::{Argument, Arity, Bound, Operand, ScalarFunction};

/// Digits of a second that `age` looks at.
const FINE_DIGITS: u8 = 6;

pub(super) static DATE_DIFF: Difference =
    Difference { name: "dateDiff", aliases: &["date_diff", "timestampDiff", "timestamp_diff"], whole: false };
pub(super) static AGE: Difference = Difference { name: "age", aliases: &[], whole: true };

pub(super) struct Difference {
    name: &'static str,
    aliases: &'static [&'static str],
    /// Whole units that passed, not borders.
    whole: bool,
}

/// A unit, or a part of a second as a power of ten.
#[derive(Clone, Copy)]
enum Unit {
    Whole(IntervalUnit),
    SecondTo(u8),
}

impl ScalarFunction for Difference {
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
        Arity::Between(3, 4)
    }

    fn bind(&self, args: &[Argument], context: &FunctionContext) -> Result<Bound> {
        let name = constant_text(self.name, &args[0], "a unit")?;
        let unit = match name.to_ascii_lowercase().as_str() {
            "millisecond" | "milliseconds" | "ms" => Unit::SecondTo(3),
            "microsecond" | "microseconds" | "us" | "u" => Unit::SecondTo(6),
            "nanosecond" | "nanoseconds" | "ns" => Unit::SecondTo(9),
            _ => Unit::Whole(parse_unit(self.name, &name)?),
        };
        let from = Source::new(self.name, &args[1].ty, args.get(3), context)?;
        let to = Source::new(self.name, &args[2].ty, args.get(3), context)?;
        let (zone, whole) = (context.zone, self.whole);
        Ok(Bound::new(SqlType::Int64, move |operands: &[Operand], rows: usize| {
            let (from_array, to_array) = (operands[1].full(rows)?, operands[2].full(rows)?);
            match unit {
                Unit::SecondTo(digits) => {
                    Ok(subtract(&ticks(from, zone, &from_array, digits), &ticks(to, zone, &to_array, digits)))
                }
                Unit::Whole(unit) if whole => {
                    let clocks = (from.zone_or(zone), to.zone_or(zone));
                    let from = ticks(from, zone, &from_array, FINE_DIGITS);
                    let to = ticks(to, zone, &to_array, FINE_DIGITS);
                    Ok(each(&from, &to, |from, to| whole_units_between(unit, from, to, clocks)))
                }
                Unit::Whole(unit) => {
                    let (from, to) =
                        (borders(from, zone, &from_array, unit), borders(to, zone, &to_array, unit));
                    Ok(subtract(&from, &to))
                }
            }
        }))
    }
}

impl Source {
    fn zone_or(&self, session: Zone) -> Zone {
        match self {
            Source::DateTime(zone) | Source::DateTime64 { zone, .. } => *zone,
            Source::Date | Source::Date32 => session,
        }
    }
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
fn ticks(source: Source, zone: Zone, array: &ArrayRef, digits: u8) -> PrimitiveArray<Int64Type> {
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
        _ => source.map_instants(array, zone, |second, _| second.wrapping_mul(wanted)),
    }
}

/// How many borders of `unit` passed since a fixed time.
fn borders(source: Source, zone: Zone, array: &ArrayRef, unit: IntervalUnit) -> PrimitiveArray<Int64Type> {
    let calendar = Calendar::new();
    match unit {
        IntervalUnit::Second => source.map_instants(array, zone, |second, _| second),
        IntervalUnit::Minute => source.map_instants(array, zone, |second, _| second.div_euclid(MINUTE)),
        IntervalUnit::Hour => source
            .map_instants(array, zone, |second, offset| (second + offset.rem_euclid(HOUR)).div_euclid(HOUR)),
        IntervalUnit::Day => source.map_days(array, i64::from),
        // Weeks begin on Monday; day 0 was a Thursday.
        IntervalUnit::Week => source.map_days(array, |day| (i64::from(day) + 3).div_euclid(7)),
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

/// Whole units between two instants in microseconds; negative if the second is the earlier one.
fn whole_units_between(unit: IntervalUnit, from: i64, to: i64, (from_zone, to_zone): (Zone, Zone)) -> i64 {
    if to < from {
        return -whole_units_between(unit, to, from, (to_zone, from_zone));
    }
    let ticks = ticks_per_second(FINE_DIGITS);
    let second = from.div_euclid(ticks);
    // A second that is not whole does not count.
    whole_units(unit, second, second + to.saturating_sub(from) / ticks, (from_zone, to_zone))
}

/// Whole units from an instant to a later one.
fn whole_units(unit: IntervalUnit, from: i64, to: i64, (from_zone, to_zone): (Zone, Zone)) -> i64 {
    let months = match unit {
        IntervalUnit::Second => return to - from,
        IntervalUnit::Minute => return (to - from) / MINUTE,
        IntervalUnit::Hour => return (to - from) / HOUR,
        IntervalUnit::Day => 0,
        IntervalUnit::Week => 0,
        IntervalUnit::Month => 1,
        IntervalUnit::Quarter => 3,
        IntervalUnit::Year => 12,
    };
    let (from, to) = (from_zone.to_local(from), to_zone.to_local(to));
    if months == 0 {
        let days = (to - from) / DAY;
        return if unit == IntervalUnit::Week { days / 7 } else { days };
    }
    whole_months(from, to) / months
}

fn whole_months(from: i64, to: i64) -> i64 {
    let calendar = Calendar::new();
    let month = |local: i64| {
        let day = calendar.day(local.div_euclid(DAY) as i32);
        (i64::from(day.year) * 12 + i64::from(day.month), day.day)
    };
    let ((from_month, from_day), (to_month, to_day)) = (month(from), month(to));
    let reached = (to_day, to.rem_euclid(DAY)) >= (from_day, from.rem_euclid(DAY));
    to_month - from_month - i64::from(!reached)
}

#[cfg(test)]
mod tests {
    use basalt_base::civil::days_from_civil;

    use super::*;

    fn at(year: i32, month: u32, day: u32) -> i64 {
        i64::from(days_from_civil(year, month, day)) * DAY
    }

    #[test]
    fn a_month_has_passed_when_its_day_is_reached() {
        assert_eq!(whole_months(at(2020, 1, 31), at(2020, 2, 29)), 0);
        assert_eq!(whole_months(at(2020, 1, 30), at(2020, 3, 30)), 2);
        assert_eq!(whole_months(at(2020, 2, 29), at(2021, 2, 28)) / 12, 0);
        assert_eq!(whole_months(at(2020, 1, 15), at(2024, 7, 3)), 53);
    }

    #[test]
    fn whole_days_need_their_hours() {
        let utc = (Zone::utc(), Zone::utc());
        let (noon, morning) = (at(2020, 1, 1) + 12 * HOUR, at(2020, 1, 2) + 11 * HOUR);
        assert_eq!(whole_units(IntervalUnit::Day, noon, morning, utc), 0);
        let second = ticks_per_second(FINE_DIGITS);
        let hours = whole_units_between(IntervalUnit::Hour, morning * second, noon * second, utc);
        assert_eq!(hours, -23);
        assert_eq!(whole_units_between(IntervalUnit::Second, -second / 2, 0, utc), 0);
    }
}
