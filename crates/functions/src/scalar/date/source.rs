//! The time argument of a function: one of four types, and its zone.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use basalt_base::civil::{civil_from_days, days_from_civil};
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result, SqlType};

use crate::FunctionContext;
use crate::scalar::{Argument, Operand};

pub(super) const DAY: i64 = 86_400;
pub(super) const HOUR: i64 = 3_600;
pub(super) const MINUTE: i64 = 60;
/// The first and last day of a `Date32`: 0000-01-01 to 9999-12-31.
pub(in crate::scalar) const FIRST_DAY: i32 = -719_528;
pub(in crate::scalar) const LAST_DAY: i32 = 2_932_896;

/// The type of a time column. For a date, the zone decides at which midnight the day begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Date(Zone),
    Date32(Zone),
    DateTime(Zone),
    DateTime64 { precision: u8, zone: Zone },
}

impl Source {
    /// The source for type `ty`; `zone` is an explicit zone argument. ILLEGAL_TYPE_OF_ARGUMENT for other types.
    pub(super) fn new(
        function: &str,
        ty: &SqlType,
        zone: Option<&Argument>,
        context: &FunctionContext,
    ) -> Result<Source> {
        let explicit = zone.map(|zone| constant_zone(function, zone)).transpose()?;
        let zone_of = |named: &Option<Arc<str>>| match (explicit, named) {
            (Some(zone), _) => Ok(zone),
            (None, Some(name)) => Zone::parse(name),
            (None, None) => Ok(context.zone),
        };
        Ok(match ty {
            SqlType::Date => Source::Date(zone_of(&None)?),
            SqlType::Date32 => Source::Date32(zone_of(&None)?),
            SqlType::DateTime(zone) => Source::DateTime(zone_of(zone)?),
            SqlType::DateTime64 { precision, zone } => {
                Source::DateTime64 { precision: *precision, zone: zone_of(zone)? }
            }
            other => return Err(illegal_time(function, other)),
        })
    }

    pub(super) fn has_time(&self) -> bool {
        matches!(self, Source::DateTime(_) | Source::DateTime64 { .. })
    }

    /// The zone of the local time.
    pub(super) fn zone(&self) -> Zone {
        match self {
            Source::Date(zone) | Source::Date32(zone) => *zone,
            Source::DateTime(zone) | Source::DateTime64 { zone, .. } => *zone,
        }
    }

    /// `f(day)` for each row, with days since 1970-01-01 in the zone's calendar.
    #[inline]
    pub(super) fn map_days<O: ArrowPrimitiveType>(
        &self,
        array: &ArrayRef,
        f: impl Fn(i32) -> O::Native,
    ) -> PrimitiveArray<O> {
        match *self {
            Source::Date(_) => array.as_primitive::<UInt16Type>().unary(|day| f(i32::from(day))),
            Source::Date32(_) => array.as_primitive::<Int32Type>().unary(f),
            _ => self.map_local(array, |local| f(local.div_euclid(DAY) as i32)),
        }
    }

    /// `f(second)` for each row, with seconds since 1970-01-01 00:00:00 in local time.
    #[inline]
    pub(super) fn map_local<O: ArrowPrimitiveType>(
        &self,
        array: &ArrayRef,
        f: impl Fn(i64) -> O::Native,
    ) -> PrimitiveArray<O> {
        match *self {
            Source::Date(_) => array.as_primitive::<UInt16Type>().unary(|day| f(i64::from(day) * DAY)),
            Source::Date32(_) => array.as_primitive::<Int32Type>().unary(|day| f(i64::from(day) * DAY)),
            Source::DateTime(zone) if zone.is_utc() => {
                array.as_primitive::<UInt32Type>().unary(|second| f(i64::from(second)))
            }
            Source::DateTime(zone) => {
                array.as_primitive::<UInt32Type>().unary(|second| f(zone.to_local(i64::from(second))))
            }
            Source::DateTime64 { precision, zone } => {
                let ticks = ticks_per_second(precision);
                array.as_primitive::<Int64Type>().unary(|tick| f(zone.to_local(tick.div_euclid(ticks))))
            }
        }
    }

    /// `f(second, offset)` for each row: seconds since 1970-01-01 00:00:00 UTC, and the zone's offset from UTC. Dates
    /// are converted at local midnight.
    #[inline]
    pub(super) fn map_instants<O: ArrowPrimitiveType>(
        &self,
        array: &ArrayRef,
        f: impl Fn(i64, i64) -> O::Native,
    ) -> PrimitiveArray<O> {
        let of_day = |day: i64, zone: Zone| {
            let second = zone.from_local(day * DAY);
            f(second, i64::from(zone.offset_at(second)))
        };
        match *self {
            Source::Date(zone) => {
                array.as_primitive::<UInt16Type>().unary(|day| of_day(i64::from(day), zone))
            }
            Source::Date32(zone) => {
                array.as_primitive::<Int32Type>().unary(|day| of_day(i64::from(day), zone))
            }
            Source::DateTime(zone) if zone.is_utc() => {
                array.as_primitive::<UInt32Type>().unary(|second| f(i64::from(second), 0))
            }
            Source::DateTime(zone) => array.as_primitive::<UInt32Type>().unary(|second| {
                let second = i64::from(second);
                f(second, i64::from(zone.offset_at(second)))
            }),
            Source::DateTime64 { precision, zone } => {
                let ticks = ticks_per_second(precision);
                array.as_primitive::<Int64Type>().unary(|tick| {
                    let second = tick.div_euclid(ticks);
                    f(second, i64::from(zone.offset_at(second)))
                })
            }
        }
    }
}

pub(super) fn illegal_time(function: &str, ty: &SqlType) -> Error {
    Error::new(
        ErrorCode::IllegalTypeOfArgument,
        format!("function `{function}` takes a Date, Date32, DateTime or DateTime64, got {ty}"),
    )
}

/// The zone in a constant argument.
pub(super) fn constant_zone(function: &str, arg: &Argument) -> Result<Zone> {
    let name = constant_text(function, arg, "a time zone")?;
    Zone::parse(&name)
}

/// The text of a constant argument; `what` names its purpose in errors.
pub(super) fn constant_text(function: &str, arg: &Argument, what: &str) -> Result<String> {
    match &arg.constant {
        Some(value) if arg.ty.stripped() == &SqlType::String && !value.is_null(0) => {
            Ok(String::from_utf8_lossy(value.as_binary_view().value(0)).into_owned())
        }
        _ => Err(Error::new(
            ErrorCode::IllegalColumn,
            format!("function `{function}` takes {what} as a constant string"),
        )),
    }
}

/// The zone name of a result type: the explicit zone if there is one, else the argument's.
pub(super) fn zone_name(ty: &SqlType, zone: Option<&Argument>, function: &str) -> Result<Option<Arc<str>>> {
    if let Some(zone) = zone {
        return Ok(Some(constant_zone(function, zone)?.name().into()));
    }
    Ok(match ty {
        SqlType::DateTime(zone) | SqlType::DateTime64 { zone, .. } => zone.clone(),
        _ => None,
    })
}

/// The values of the first operand; the result has the same number of rows.
pub(super) fn first(operands: &[Operand]) -> &ArrayRef {
    &operands[0].array
}

pub(super) const fn ticks_per_second(precision: u8) -> i64 {
    10_i64.pow(if precision > 9 { 9 } else { precision as u32 })
}

/// A calendar day in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CivilDay {
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
}

/// Every day in the range of `Date`: a lookup is half the cost of computing it.
static DAYS: LazyLock<Vec<CivilDay>> = LazyLock::new(|| (0..=i32::from(u16::MAX)).map(compute_day).collect());

fn compute_day(days: i32) -> CivilDay {
    let (year, month, day) = civil_from_days(days);
    CivilDay { year: year.clamp(0, i32::from(u16::MAX)) as u16, month: month as u8, day: day as u8 }
}

/// The table of [`civil_day`], to be fetched once per block.
#[derive(Clone, Copy)]
pub(super) struct Calendar {
    days: &'static [CivilDay],
}

impl Calendar {
    pub(super) fn new() -> Calendar {
        Calendar { days: &DAYS }
    }

    /// Year, month and day of a number of days since 1970-01-01.
    #[inline]
    pub(super) fn day(&self, days: i32) -> CivilDay {
        match self.days.get(days as u32 as usize) {
            Some(day) => *day,
            None => compute_day(days),
        }
    }

    /// The first day of the month.
    #[inline]
    pub(super) fn month_start(&self, days: i32) -> i32 {
        days - i32::from(self.day(days).day) + 1
    }

    #[inline]
    pub(super) fn quarter_start(&self, days: i32) -> i32 {
        let day = self.day(days);
        days_from_civil(i32::from(day.year), u32::from((day.month - 1) / 3 * 3 + 1), 1)
    }

    #[inline]
    pub(super) fn year_start(&self, days: i32) -> i32 {
        days_from_civil(i32::from(self.day(days).year), 1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_agrees_with_the_algorithm() {
        let calendar = Calendar::new();
        for days in (-30_000..150_000).step_by(13) {
            assert_eq!(calendar.day(days), compute_day(days));
            let (year, month, _) = civil_from_days(days);
            assert_eq!(calendar.month_start(days), days_from_civil(year, month, 1));
            assert_eq!(calendar.year_start(days), days_from_civil(year, 1, 1));
        }
    }
}
