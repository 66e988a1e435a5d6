//! `toUInt8OrZero`, `toUInt8OrNull`, `toUInt8OrDefault` and the like: conversions without errors.
//!
//! Syntax: `toUInt8OrNull(s)`, `toUInt8OrDefault(x [, default])`. Text that is invalid or out of range becomes zero,
//! NULL, or the default. `OrZero` and `OrNull` take strings only. NULL gives NULL, but the default in the `OrDefault`
//! forms.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Datum};
use arrow::compute::{is_not_null, kernels::zip::zip};
use basalt_base::types::Wide;
use basalt_base::{Error, Result, SqlType};

use super::exact::{Exact, Inexact};
use super::times::keeping_zone;
use super::to_type::{date_time64, decimal, zone_at};
use super::type_name::default_of;
use super::{Converter, OnError};
use crate::scalar::definition::{Call, Definition};
use crate::scalar::{Arity, Bound, Operand};

/// Declares the three forms of one conversion.
macro_rules! lenient {
    ($($zero:ident $zero_name:literal $null:ident $null_name:literal $least:literal $most:literal $ty:expr;)+) => { $(
        pub(super) static $zero: Definition =
            Definition::new($zero_name, Arity::Between($least, $most), |call| bind_or_zero(call, $ty));
        pub(super) static $null: Definition =
            Definition::new($null_name, Arity::Between($least, $most), |call| bind_or_null(call, $ty)).sees_null();
    )+ };
}

lenient! {
    TO_UINT8_OR_ZERO "toUInt8OrZero" TO_UINT8_OR_NULL "toUInt8OrNull" 1 1 |_| Ok(SqlType::UInt8);
    TO_UINT16_OR_ZERO "toUInt16OrZero" TO_UINT16_OR_NULL "toUInt16OrNull" 1 1 |_| Ok(SqlType::UInt16);
    TO_UINT32_OR_ZERO "toUInt32OrZero" TO_UINT32_OR_NULL "toUInt32OrNull" 1 1 |_| Ok(SqlType::UInt32);
    TO_UINT64_OR_ZERO "toUInt64OrZero" TO_UINT64_OR_NULL "toUInt64OrNull" 1 1 |_| Ok(SqlType::UInt64);
    TO_UINT128_OR_ZERO "toUInt128OrZero" TO_UINT128_OR_NULL "toUInt128OrNull" 1 1 |_| Ok(SqlType::Wide(Wide::UInt128));
    TO_UINT256_OR_ZERO "toUInt256OrZero" TO_UINT256_OR_NULL "toUInt256OrNull" 1 1 |_| Ok(SqlType::Wide(Wide::UInt256));
    TO_INT8_OR_ZERO "toInt8OrZero" TO_INT8_OR_NULL "toInt8OrNull" 1 1 |_| Ok(SqlType::Int8);
    TO_INT16_OR_ZERO "toInt16OrZero" TO_INT16_OR_NULL "toInt16OrNull" 1 1 |_| Ok(SqlType::Int16);
    TO_INT32_OR_ZERO "toInt32OrZero" TO_INT32_OR_NULL "toInt32OrNull" 1 1 |_| Ok(SqlType::Int32);
    TO_INT64_OR_ZERO "toInt64OrZero" TO_INT64_OR_NULL "toInt64OrNull" 1 1 |_| Ok(SqlType::Int64);
    TO_INT128_OR_ZERO "toInt128OrZero" TO_INT128_OR_NULL "toInt128OrNull" 1 1 |_| Ok(SqlType::Wide(Wide::Int128));
    TO_INT256_OR_ZERO "toInt256OrZero" TO_INT256_OR_NULL "toInt256OrNull" 1 1 |_| Ok(SqlType::Wide(Wide::Int256));
    TO_FLOAT32_OR_ZERO "toFloat32OrZero" TO_FLOAT32_OR_NULL "toFloat32OrNull" 1 1 |_| Ok(SqlType::Float32);
    TO_FLOAT64_OR_ZERO "toFloat64OrZero" TO_FLOAT64_OR_NULL "toFloat64OrNull" 1 1 |_| Ok(SqlType::Float64);
    TO_UUID_OR_ZERO "toUUIDOrZero" TO_UUID_OR_NULL "toUUIDOrNull" 1 1 |_| Ok(SqlType::Uuid);
    TO_IPV4_OR_ZERO "toIPv4OrZero" TO_IPV4_OR_NULL "toIPv4OrNull" 1 1 |_| Ok(SqlType::Ipv4);
    TO_IPV6_OR_ZERO "toIPv6OrZero" TO_IPV6_OR_NULL "toIPv6OrNull" 1 1 |_| Ok(SqlType::Ipv6);
    TO_DATE_OR_ZERO "toDateOrZero" TO_DATE_OR_NULL "toDateOrNull" 1 1 |_| Ok(SqlType::Date);
    TO_DATE32_OR_ZERO "toDate32OrZero" TO_DATE32_OR_NULL "toDate32OrNull" 1 1 |_| Ok(SqlType::Date32);
    TO_DATE_TIME_OR_ZERO "toDateTimeOrZero" TO_DATE_TIME_OR_NULL "toDateTimeOrNull" 1 2
        |call| Ok(SqlType::DateTime(zone_at(call, 1)?));
    TO_DATE_TIME64_OR_ZERO "toDateTime64OrZero" TO_DATE_TIME64_OR_NULL "toDateTime64OrNull" 1 3 date_time64;
    TO_DECIMAL32_OR_ZERO "toDecimal32OrZero" TO_DECIMAL32_OR_NULL "toDecimal32OrNull" 2 2 |call| decimal(call, 9);
    TO_DECIMAL64_OR_ZERO "toDecimal64OrZero" TO_DECIMAL64_OR_NULL "toDecimal64OrNull" 2 2 |call| decimal(call, 18);
    TO_DECIMAL128_OR_ZERO "toDecimal128OrZero" TO_DECIMAL128_OR_NULL "toDecimal128OrNull" 2 2 |call| decimal(call, 38);
    TO_DECIMAL256_OR_ZERO "toDecimal256OrZero" TO_DECIMAL256_OR_NULL "toDecimal256OrNull" 2 2 |call| decimal(call, 76);
}

macro_rules! or_default {
    ($($static:ident $name:literal $ty:expr;)+) => { $(
        pub(super) static $static: Definition =
            Definition::new($name, Arity::Between(1, 2), |call| bind_or_default(call, &$ty)).sees_null();
    )+ };
}

or_default! {
    TO_UINT8_OR_DEFAULT "toUInt8OrDefault" SqlType::UInt8;
    TO_UINT16_OR_DEFAULT "toUInt16OrDefault" SqlType::UInt16;
    TO_UINT32_OR_DEFAULT "toUInt32OrDefault" SqlType::UInt32;
    TO_UINT64_OR_DEFAULT "toUInt64OrDefault" SqlType::UInt64;
    TO_UINT128_OR_DEFAULT "toUInt128OrDefault" SqlType::Wide(Wide::UInt128);
    TO_UINT256_OR_DEFAULT "toUInt256OrDefault" SqlType::Wide(Wide::UInt256);
    TO_INT8_OR_DEFAULT "toInt8OrDefault" SqlType::Int8;
    TO_INT16_OR_DEFAULT "toInt16OrDefault" SqlType::Int16;
    TO_INT32_OR_DEFAULT "toInt32OrDefault" SqlType::Int32;
    TO_INT64_OR_DEFAULT "toInt64OrDefault" SqlType::Int64;
    TO_INT128_OR_DEFAULT "toInt128OrDefault" SqlType::Wide(Wide::Int128);
    TO_INT256_OR_DEFAULT "toInt256OrDefault" SqlType::Wide(Wide::Int256);
    TO_FLOAT32_OR_DEFAULT "toFloat32OrDefault" SqlType::Float32;
    TO_FLOAT64_OR_DEFAULT "toFloat64OrDefault" SqlType::Float64;
    TO_DATE_OR_DEFAULT "toDateOrDefault" SqlType::Date;
    TO_DATE32_OR_DEFAULT "toDate32OrDefault" SqlType::Date32;
    TO_DATE_TIME_OR_DEFAULT "toDateTimeOrDefault" SqlType::DateTime(None);
    TO_UUID_OR_DEFAULT "toUUIDOrDefault" SqlType::Uuid;
    TO_IPV4_OR_DEFAULT "toIPv4OrDefault" SqlType::Ipv4;
    TO_IPV6_OR_DEFAULT "toIPv6OrDefault" SqlType::Ipv6;
}

fn bind_or_zero(call: &Call<'_>, ty: fn(&Call<'_>) -> Result<SqlType>) -> Result<Bound> {
    call.expect_string(0)?;
    let to = ty(call)?;
    let converter = Converter::with_errors(call.ty(0), &to, call.context, OnError::GivesDefault)?;
    Ok(Bound::new(to, move |args: &[Operand], _| converter.convert(&args[0].array)))
}

fn bind_or_null(call: &Call<'_>, ty: fn(&Call<'_>) -> Result<SqlType>) -> Result<Bound> {
    let from = call.ty(0);
    if !from.stripped().is_string() && from.stripped() != &SqlType::Nothing {
        return Err(call.illegal(0));
    }
    let to = match from.stripped() {
        SqlType::Nothing => SqlType::Nothing.into_nullable(),
        _ => ty(call)?.into_nullable(),
    };
    let converter = Converter::with_errors(from, &to, call.context, OnError::GivesNull)?;
    Ok(Bound::new(to, move |args: &[Operand], _| converter.convert(&args[0].array)))
}

fn bind_or_default(call: &Call<'_>, to: &SqlType) -> Result<Bound> {
    let to = &keeping_zone(call.ty(0), to);
    let default = match call.args.get(1) {
        None => default_of(to, 1),
        Some(arg) => {
            let value = call.constant(1).ok_or_else(|| call.illegal(1))?;
            Converter::new(&arg.ty, to, call.context)?.convert(value)?
        }
    };
    bind_or(call, to.clone(), default)
}

/// Converts the first argument to `to`. Values that cannot be converted become `default`, an array of one row.
pub(super) fn bind_or(call: &Call<'_>, to: SqlType, default: ArrayRef) -> Result<Bound> {
    let converter = Exact::new(call.ty(0), &to, call.context, Inexact::GivesNull)?;
    let back = to.clone();
    Ok(Bound::new(to, move |args: &[Operand], _| {
        fill_nulls(&converter.convert(&args[0].array)?, &default, &back)
    }))
}

/// Replaces NULL in `array` by the value of `default`, an array of one row.
fn fill_nulls(array: &ArrayRef, default: &ArrayRef, ty: &SqlType) -> Result<ArrayRef> {
    if array.null_count() == 0 {
        return Ok(Arc::clone(array));
    }
    if *array.data_type() != ty.carrier() {
        return Err(Error::logical("a conversion gave another carrier than its type's"));
    }
    let valid = is_not_null(array).map_err(Error::logical)?;
    let default = arrow::array::Scalar::new(Arc::clone(default));
    zip(&valid, array, &default as &dyn Datum).map_err(Error::of_arrow)
}
