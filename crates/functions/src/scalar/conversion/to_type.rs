//! `toUInt8` to `toInt64`, `toFloat64`, `toDate`, `toDateTime`, `toDecimal64`, `toString` and the like.
//!
//! Syntax: `toUInt8(x)`, `toDateTime(x [, zone])`, `toDateTime64(x, digits [, zone])`, `toDecimal64(x, scale)`,
//! `toFixedString(x, bytes)`. Like `CAST` to that type, but NULL gives NULL: the result is `Nullable` if the argument
//! is.

use std::sync::Arc;

use basalt_base::types::{IntervalUnit, Wide};
use basalt_base::zone::Zone;
use basalt_base::{Result, SqlType, bail};

use super::cast;
use super::times::keeping_zone;
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound};

/// Declares conversions to types without parameters.
macro_rules! to_type {
    ($($static:ident $name:literal $ty:expr;)+) => { $(
        pub(super) static $static: Definition =
            Definition::new($name, Arity::Exactly(1), |call| bind(call, &$ty));
    )+ };
}

to_type! {
    TO_UINT8 "toUInt8" SqlType::UInt8;
    TO_UINT16 "toUInt16" SqlType::UInt16;
    TO_UINT32 "toUInt32" SqlType::UInt32;
    TO_UINT64 "toUInt64" SqlType::UInt64;
    TO_UINT128 "toUInt128" SqlType::Wide(Wide::UInt128);
    TO_UINT256 "toUInt256" SqlType::Wide(Wide::UInt256);
    TO_INT8 "toInt8" SqlType::Int8;
    TO_INT16 "toInt16" SqlType::Int16;
    TO_INT32 "toInt32" SqlType::Int32;
    TO_INT64 "toInt64" SqlType::Int64;
    TO_INT128 "toInt128" SqlType::Wide(Wide::Int128);
    TO_INT256 "toInt256" SqlType::Wide(Wide::Int256);
    TO_FLOAT32 "toFloat32" SqlType::Float32;
    TO_FLOAT64 "toFloat64" SqlType::Float64;
    TO_BOOL "toBool" SqlType::Bool;
    TO_UUID "toUUID" SqlType::Uuid;
    TO_IPV4 "toIPv4" SqlType::Ipv4;
    TO_IPV6 "toIPv6" SqlType::Ipv6;
    TO_INTERVAL_SECOND "toIntervalSecond" SqlType::Interval(IntervalUnit::Second);
    TO_INTERVAL_MINUTE "toIntervalMinute" SqlType::Interval(IntervalUnit::Minute);
    TO_INTERVAL_HOUR "toIntervalHour" SqlType::Interval(IntervalUnit::Hour);
    TO_INTERVAL_DAY "toIntervalDay" SqlType::Interval(IntervalUnit::Day);
    TO_INTERVAL_WEEK "toIntervalWeek" SqlType::Interval(IntervalUnit::Week);
    TO_INTERVAL_MONTH "toIntervalMonth" SqlType::Interval(IntervalUnit::Month);
    TO_INTERVAL_QUARTER "toIntervalQuarter" SqlType::Interval(IntervalUnit::Quarter);
    TO_INTERVAL_YEAR "toIntervalYear" SqlType::Interval(IntervalUnit::Year);
}

pub(super) static TO_DATE: Definition =
    Definition::new("toDate", Arity::Between(1, 2), |call| bind_date(call, &SqlType::Date))
        .aliases(&["DATE"])
        .case_insensitive();

pub(super) static TO_DATE32: Definition =
    Definition::new("toDate32", Arity::Between(1, 2), |call| bind_date(call, &SqlType::Date32));

pub(super) static TO_DATE_TIME: Definition = Definition::new("toDateTime", Arity::Between(1, 2), |call| {
    bind(call, &SqlType::DateTime(zone_at(call, 1)?))
});

pub(super) static TO_DATE_TIME64: Definition =
    Definition::new("toDateTime64", Arity::Between(2, 3), |call| bind(call, &date_time64(call)?));

macro_rules! to_decimal {
    ($($static:ident $name:literal $precision:literal;)+) => { $(
        pub(super) static $static: Definition =
            Definition::new($name, Arity::Exactly(2), |call| bind(call, &decimal(call, $precision)?));
    )+ };
}

to_decimal! {
    TO_DECIMAL32 "toDecimal32" 9;
    TO_DECIMAL64 "toDecimal64" 18;
    TO_DECIMAL128 "toDecimal128" 38;
    TO_DECIMAL256 "toDecimal256" 76;
}

pub(super) static TO_STRING: Definition = Definition::new("toString", Arity::Between(1, 2), bind_string);

pub(super) static TO_FIXED_STRING: Definition = Definition::new("toFixedString", Arity::Exactly(2), |call| {
    let bytes = call.expect_constant_integer(1)?;
    let Some(bytes) = usize::try_from(bytes).ok().filter(|bytes| (1..=FIXED_STRING_MAX).contains(bytes))
    else {
        bail!(
            ArgumentOutOfBound,
            "`toFixedString` to {bytes} bytes: at least 1 and at most {FIXED_STRING_MAX}"
        );
    };
    bind(call, &SqlType::FixedString(bytes))
});

const FIXED_STRING_MAX: usize = 0xff_ffff;

fn bind(call: &Call<'_>, to: &SqlType) -> Result<Bound> {
    cast::bind(call.ty(0), &keeping_zone(call.ty(0), to), call.context)
}

/// To a date. The zone defines the calendar day of an instant.
fn bind_date(call: &Call<'_>, to: &SqlType) -> Result<Bound> {
    match zone_at(call, 1)? {
        None => bind(call, to),
        Some(zone) => {
            let mut context = call.context.clone();
            context.zone = Zone::parse(&zone)?;
            let unzoned = match call.ty(0) {
                SqlType::DateTime(_) => SqlType::DateTime(None),
                SqlType::DateTime64 { precision, .. } => {
                    SqlType::DateTime64 { precision: *precision, zone: None }
                }
                other => other.clone(),
            };
            cast::bind(&unzoned, to, &context)
        }
    }
}

/// To text; the second argument is the zone of a time.
fn bind_string(call: &Call<'_>) -> Result<Bound> {
    let Some(zone) = zone_at(call, 1)? else { return bind(call, &SqlType::String) };
    let zoned = match call.ty(0) {
        SqlType::DateTime(_) => SqlType::DateTime(Some(zone)),
        SqlType::DateTime64 { precision, .. } => {
            SqlType::DateTime64 { precision: *precision, zone: Some(zone) }
        }
        _ => return Err(call.illegal(0)),
    };
    cast::bind(&zoned, &SqlType::String, call.context)
}

/// The zone in argument `index`, if it is present.
pub(super) fn zone_at(call: &Call<'_>, index: usize) -> Result<Option<Arc<str>>> {
    if call.len() <= index {
        return Ok(None);
    }
    let name = call.expect_text(index)?;
    Zone::parse(name)?;
    Ok(Some(name.into()))
}

pub(super) fn date_time64(call: &Call<'_>) -> Result<SqlType> {
    let digits = if call.len() > 1 { call.expect_constant_integer(1)? } else { 3 };
    let Some(precision) = u8::try_from(digits).ok().filter(|digits| *digits <= 9) else {
        bail!(ArgumentOutOfBound, "DateTime64 with {digits} digits: at most 9 are possible");
    };
    Ok(SqlType::DateTime64 { precision, zone: zone_at(call, 2)? })
}

pub(super) fn decimal(call: &Call<'_>, precision: u8) -> Result<SqlType> {
    let scale = call.expect_constant_integer(1)?;
    match u8::try_from(scale).ok().filter(|scale| *scale <= precision) {
        Some(scale) => Ok(SqlType::Decimal { precision, scale }),
        None => {
            bail!(ArgumentOutOfBound, "scale {scale} of a decimal of {precision} digits: 0 to {precision}")
        }
    }
}
