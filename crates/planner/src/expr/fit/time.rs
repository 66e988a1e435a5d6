//! Dates and times among the values of another date or time type.
//!
//! A day is the instant at which it begins in the zone of the common type.

use arrow::datatypes::i256;
use basalt_base::types::common_type;
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType};
use datafusion::common::ScalarValue;

use super::Fitted;
use super::number::value_of;

const SECONDS_PER_DAY: i64 = 86_400;
/// Instants are counted in nanoseconds, the finest unit.
const TICKS_PER_SECOND: i128 = 1_000_000_000;

/// The date or time among the values of `to`, another such type.
pub(super) fn fit(
    value: &ScalarValue,
    from: &SqlType,
    to: &SqlType,
    session: Zone,
) -> Result<Option<Fitted>> {
    let Some(number) = number_of(value) else { return Ok(None) };
    let zone = match common_type([from, to]) {
        Some(SqlType::DateTime(Some(name)) | SqlType::DateTime64 { zone: Some(name), .. }) => {
            Zone::parse(&name)?
        }
        _ => session,
    };
    let midnight =
        |day: i64| i128::from(zone.from_local(day.saturating_mul(SECONDS_PER_DAY))) * TICKS_PER_SECOND;
    let (floor, same) = match (ticks(from), ticks(to)) {
        (None, None) => (i128::from(number), true),
        (None, Some(unit)) => floor_of(midnight(number), unit),
        (Some(own), Some(unit)) => floor_of(i128::from(number) * own, unit),
        (Some(own), None) => {
            let instant = i128::from(number) * own;
            let seconds = instant.div_euclid(TICKS_PER_SECOND) as i64;
            let day = zone.to_local(seconds).div_euclid(SECONDS_PER_DAY);
            // Where the clock jumps over midnight, a day begins later.
            let day = if midnight(day) > instant { day - 1 } else { day };
            (i128::from(day), midnight(day) == instant)
        }
    };
    let (least, most) = domain(to);
    let value = |number: i128| value_of(i256::from_i128(number), to);
    Ok(match floor {
        floor if floor < least => Some(Fitted::Beyond(false)),
        floor if floor > most || floor == most && !same => Some(Fitted::Beyond(true)),
        floor if same => value(floor).map(Fitted::Exact),
        floor => value(floor).map(Fitted::Above),
    })
}

fn floor_of(instant: i128, unit: i128) -> (i128, bool) {
    (instant.div_euclid(unit), instant.rem_euclid(unit) == 0)
}

fn number_of(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::UInt16(Some(days)) => Some(i64::from(*days)),
        ScalarValue::Int32(Some(days)) => Some(i64::from(*days)),
        ScalarValue::UInt32(Some(seconds)) => Some(i64::from(*seconds)),
        ScalarValue::Int64(Some(ticks)) => Some(*ticks),
        _ => None,
    }
}

/// The nanoseconds between two neighbouring values of a type of instants; `None` for days.
fn ticks(ty: &SqlType) -> Option<i128> {
    match ty {
        SqlType::DateTime(_) => Some(TICKS_PER_SECOND),
        SqlType::DateTime64 { precision, .. } => {
            Some(TICKS_PER_SECOND / 10_i128.pow(u32::from((*precision).min(9))))
        }
        _ => None,
    }
}

/// The least and the greatest number that carries a date or time.
fn domain(ty: &SqlType) -> (i128, i128) {
    match ty {
        SqlType::Date => (0, u16::MAX.into()),
        SqlType::Date32 => (i32::MIN.into(), i32::MAX.into()),
        SqlType::DateTime(_) => (0, u32::MAX.into()),
        _ => (i64::MIN.into(), i64::MAX.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u32 = 3600;

    fn check(value: ScalarValue, from: &SqlType, to: &SqlType, expected: Fitted) {
        assert_eq!(fit(&value, from, to, Zone::utc()).unwrap(), Some(expected), "{value} in {to}");
    }

    #[test]
    fn days_and_instants_meet_at_midnight() {
        let second = |number| ScalarValue::UInt32(Some(number));
        let day = |number| ScalarValue::UInt16(Some(number));
        let time = SqlType::DateTime(None);
        check(day(1), &SqlType::Date, &time, Fitted::Exact(second(24 * HOUR)));
        check(day(u16::MAX), &SqlType::Date, &time, Fitted::Beyond(true));
        check(second(24 * HOUR), &time, &SqlType::Date, Fitted::Exact(day(1)));
        check(second(34 * HOUR), &time, &SqlType::Date, Fitted::Above(day(1)));
        check(ScalarValue::Int32(Some(-1)), &SqlType::Date32, &time, Fitted::Beyond(false));
        let berlin = SqlType::DateTime(Some("Europe/Berlin".into()));
        check(day(1), &SqlType::Date, &berlin, Fitted::Exact(second(23 * HOUR)));
    }

    #[test]
    fn finer_times_lie_between_coarser_ones() {
        let fine = |precision| SqlType::DateTime64 { precision, zone: None };
        let tick = |number| ScalarValue::Int64(Some(number));
        let second = |number| ScalarValue::UInt32(Some(number));
        let time = SqlType::DateTime(None);
        check(tick(1500), &fine(3), &time, Fitted::Above(second(1)));
        check(tick(1000), &fine(3), &time, Fitted::Exact(second(1)));
        check(tick(-1), &fine(3), &time, Fitted::Beyond(false));
        check(tick(10_001), &fine(4), &fine(3), Fitted::Above(tick(1000)));
        check(second(2), &time, &fine(9), Fitted::Exact(tick(2_000_000_000)));
        check(tick(i64::MAX), &fine(0), &fine(9), Fitted::Beyond(true));
    }
}
