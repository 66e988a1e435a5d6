//! Conversions to dates and times, from numbers and from each other.
//!
//! A number below 65,536 converts to `Date` as days, a larger one as seconds; for a time it is seconds. Values out of
//! range become the nearest value, except between dates and times, where they wrap as in ClickHouse.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType, bail};

use super::step::Step;
use crate::FunctionContext;
use crate::scalar::number::{with_number, wrap_to};

const SECONDS_PER_DAY: i64 = 86_400;
/// Numbers up to this are days, larger ones seconds.
const DAYS_MAX: i64 = 65_535;
/// The first and last day of `Date32` and `DateTime64`: 0000-01-01 to 9999-12-31.
const FIRST_DAY: i64 = -719_528;
const LAST_DAY: i64 = 2_932_896;

/// The zone of a type, or the session's.
pub(super) fn zone_of(ty: &SqlType, context: &FunctionContext) -> Result<Zone> {
    match ty {
        SqlType::DateTime(Some(name)) | SqlType::DateTime64 { zone: Some(name), .. } => Zone::parse(name),
        _ => Ok(context.zone),
    }
}

fn digits_of(ty: &SqlType) -> u8 {
    if let SqlType::DateTime64 { precision, .. } = ty { *precision } else { 0 }
}

fn power_of(digits: u8) -> i64 {
    10_i64.pow(u32::from(digits.min(18)))
}

/// To a date or a time.
pub(super) fn to_time(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Option<Step>> {
    if from.is_date_or_time() {
        return between(from, to, context).map(Some);
    }
    if !from.is_number() {
        return Ok(None);
    }
    let zone = zone_of(to, context)?;
    let is_float = from.is_float() || matches!(from, SqlType::Decimal { .. });
    Ok(Some(match to {
        SqlType::Date => {
            Box::new(move |array| from_whole::<UInt16Type>(array, |number| day_of(number, zone) as u16))
        }
        SqlType::Date32 => {
            Box::new(move |array| from_whole::<Int32Type>(array, |number| day32_of(number, zone)))
        }
        SqlType::DateTime(_) => Box::new(|array| {
            from_whole::<UInt32Type>(array, |number| number.clamp(0, i64::from(u32::MAX)) as u32)
        }),
        SqlType::DateTime64 { precision, .. } if is_float => {
            let power = power_of(*precision);
            Box::new(move |array| float_ticks(array, power))
        }
        _ => {
            let power = power_of(digits_of(to));
            Box::new(move |array| {
                from_whole::<Int64Type>(array, |number| in_range(number.saturating_mul(power), power))
            })
        }
    }))
}

/// Applies `f` to the integer part of every number; numbers beyond an `i64` saturate.
fn from_whole<T: arrow::array::ArrowPrimitiveType>(
    array: &ArrayRef,
    f: impl Fn(i64) -> T::Native,
) -> Result<ArrayRef> {
    let values: Vec<T::Native> = match array.data_type() {
        DataType::UInt64 => {
            let numbers = array.as_primitive::<UInt64Type>();
            numbers.values().iter().map(|&number| f(i64::try_from(number).unwrap_or(i64::MAX))).collect()
        }
        DataType::Float32 | DataType::Float64 => {
            let numbers = wrap_to::<Float64Type>(array)?;
            numbers.values().iter().map(|&number| f(number as i64)).collect()
        }
        _ => wrap_to::<Int64Type>(array)?.values().iter().map(|&number| f(number)).collect(),
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
}

/// The `Date` for a number.
fn day_of(number: i64, zone: Zone) -> i64 {
    match number {
        ..0 => 0,
        0..=DAYS_MAX => number,
        _ => zone.to_local(number.min(i64::from(u32::MAX))).div_euclid(SECONDS_PER_DAY).clamp(0, DAYS_MAX),
    }
}

/// The `Date32` for a number.
fn day32_of(number: i64, zone: Zone) -> i32 {
    let day = match number {
        ..=LAST_DAY => number,
        _ => zone.to_local(number).div_euclid(SECONDS_PER_DAY),
    };
    day.clamp(FIRST_DAY, LAST_DAY) as i32
}

/// Ticks clamped to the years of `DateTime64`, with `per_second` ticks a second.
fn in_range(ticks: i64, per_second: i64) -> i64 {
    let first = (FIRST_DAY * SECONDS_PER_DAY).saturating_mul(per_second);
    let end = ((LAST_DAY + 1) * SECONDS_PER_DAY).saturating_mul(per_second);
    ticks.clamp(first, if end == i64::MAX { end } else { end - 1 })
}

/// Ticks from fractional seconds. As in ClickHouse, the product is computed in the width of the seconds.
fn float_ticks(array: &ArrayRef, per_second: i64) -> Result<ArrayRef> {
    let seconds = wrap_to::<Float64Type>(array)?;
    let is_narrow = *array.data_type() == DataType::Float32;
    let mut ticks = Vec::with_capacity(array.len());
    for (row, &second) in seconds.values().iter().enumerate() {
        let product =
            if is_narrow { f64::from(second as f32 * per_second as f32) } else { second * per_second as f64 };
        if !second.is_finite() && array.is_valid(row) {
            bail!(DecimalOverflow, "{second} is no time: a DateTime64 has neither infinity nor NaN");
        }
        ticks.push(in_range(product as i64, per_second));
    }
    Ok(Arc::new(PrimitiveArray::<Int64Type>::new(ticks.into(), None)))
}

/// The result type of a conversion to `to`: a time without a zone takes the zone of its source.
pub(super) fn keeping_zone(from: &SqlType, to: &SqlType) -> SqlType {
    let named = match from.stripped() {
        SqlType::DateTime(zone) | SqlType::DateTime64 { zone, .. } => zone.clone(),
        _ => None,
    };
    match to {
        SqlType::DateTime(None) => SqlType::DateTime(named),
        SqlType::DateTime64 { precision, zone: None } => {
            SqlType::DateTime64 { precision: *precision, zone: named }
        }
        SqlType::Nullable(inner) if named.is_some() => keeping_zone(from, inner).into_nullable(),
        _ => to.clone(),
    }
}

/// Converts between dates and times, through an instant or a day, depending on the target.
fn between(from: &SqlType, to: &SqlType, context: &FunctionContext) -> Result<Step> {
    let (from_zone, to_zone) = (zone_of(from, context)?, zone_of(to, context)?);
    let from_digits = digits_of(from);
    let from_power = power_of(from_digits);
    let is_day = matches!(from, SqlType::Date | SqlType::Date32);
    if let SqlType::Date | SqlType::Date32 = to {
        let narrow = *to == SqlType::Date;
        return Ok(Box::new(move |array| {
            let day = |value: i64| {
                if is_day {
                    value
                } else {
                    // For a Date, ClickHouse truncates the fraction of a second toward zero, which moves times before
                    // 1970 forward.
                    let second = if narrow { value / from_power } else { value.div_euclid(from_power) };
                    from_zone.to_local(second).div_euclid(SECONDS_PER_DAY)
                }
            };
            if narrow {
                from_whole::<UInt16Type>(array, |value| day(value) as u16)
            } else {
                from_whole::<Int32Type>(array, |value| day(value).clamp(FIRST_DAY, LAST_DAY) as i32)
            }
        }));
    }
    let midnight = move |day: i64| to_zone.from_local(day.saturating_mul(SECONDS_PER_DAY));
    if let SqlType::DateTime(_) = to {
        let seconds = move |value: i64| if is_day { midnight(value) } else { value.div_euclid(from_power) };
        return Ok(Box::new(move |array| from_whole::<UInt32Type>(array, |value| seconds(value) as u32)));
    }
    let to_digits = digits_of(to);
    let factor = power_of(to_digits.abs_diff(from_digits));
    let ticks = move |value: i64| match to_digits.cmp(&from_digits) {
        _ if is_day => midnight(value).saturating_mul(factor),
        std::cmp::Ordering::Less => value / factor,
        _ => value.saturating_mul(factor),
    };
    Ok(Box::new(move |array| from_whole::<Int64Type>(array, ticks)))
}

/// A `DateTime64` as a number: integer seconds, or a float with the fraction.
pub(super) fn ticks_to_number(digits: u8, to: &SqlType) -> Option<Step> {
    let power = power_of(digits);
    if to.is_float() {
        let divisor = power as f64;
        return with_number!(to.carrier(), T => Some(Box::new(move |array| {
            let ticks = wrap_to::<Int64Type>(array)?;
            let seconds = ticks.values().iter().map(|&tick| tick as f64 / divisor);
            let floats = PrimitiveArray::<Float64Type>::from_iter_values(seconds);
            Ok(Arc::new(wrap_to::<T>(&floats)?))
        })), None);
    }
    if !to.is_integer() {
        return None;
    }
    with_number!(to.carrier(), T => Some(Box::new(move |array| {
        let ticks = wrap_to::<Int64Type>(array)?;
        let seconds = PrimitiveArray::<Int64Type>::from_iter_values(ticks.values().iter().map(|&tick| tick / power));
        Ok(Arc::new(wrap_to::<T>(&seconds)?))
    })), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stay_in_the_calendar() {
        let utc = Zone::utc();
        assert_eq!((day32_of(-719_529, utc), day32_of(i64::MAX, utc)), (-719_528, 2_932_896));
        assert_eq!((in_range(i64::MAX, 1), in_range(i64::MAX, 1_000_000_000)), (253_402_300_799, i64::MAX));
        assert_eq!(in_range(i64::MIN, 1_000), -62_167_219_200_000);
    }

    #[test]
    fn a_number_is_a_day_or_a_second() {
        let utc = Zone::utc();
        assert_eq!(day_of(18_262, utc), 18_262);
        assert_eq!(day_of(1_577_836_800, utc), 18_262);
        assert_eq!((day_of(-1, utc), day_of(65_536, utc)), (0, 0));
        assert_eq!((day32_of(-1, utc), day32_of(1_577_836_800, utc)), (-1, 18_262));
    }
}
