//! Conversions between types.
//!
//! [`Converter`] is the one engine for every pair of types; `CAST` and the `toX` functions call it.

mod addresses;
mod cast;
mod convert;
mod decimals;
mod exact;
mod lenient;
mod nested;
mod numbers;
mod parse;
mod print;
mod reinterpret;
mod step;
mod times;
mod to_type;
mod type_name;

pub use cast::Cast;
pub use convert::Converter;

pub(super) use exact::{Exact, Inexact};
pub(super) use step::{OnError, with_nulls};

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &to_type::TO_UINT8,
    &to_type::TO_UINT16,
    &to_type::TO_UINT32,
    &to_type::TO_UINT64,
    &to_type::TO_INT8,
    &to_type::TO_INT16,
    &to_type::TO_INT32,
    &to_type::TO_INT64,
    &to_type::TO_FLOAT32,
    &to_type::TO_FLOAT64,
    &to_type::TO_BOOL,
    &to_type::TO_UUID,
    &to_type::TO_IPV4,
    &to_type::TO_IPV6,
    &to_type::TO_INTERVAL_SECOND,
    &to_type::TO_INTERVAL_MINUTE,
    &to_type::TO_INTERVAL_HOUR,
    &to_type::TO_INTERVAL_DAY,
    &to_type::TO_INTERVAL_WEEK,
    &to_type::TO_INTERVAL_MONTH,
    &to_type::TO_INTERVAL_QUARTER,
    &to_type::TO_INTERVAL_YEAR,
    &to_type::TO_DATE,
    &to_type::TO_DATE32,
    &to_type::TO_DATE_TIME,
    &to_type::TO_DATE_TIME64,
    &to_type::TO_DECIMAL32,
    &to_type::TO_DECIMAL64,
    &to_type::TO_DECIMAL128,
    &to_type::TO_DECIMAL256,
    &to_type::TO_STRING,
    &to_type::TO_FIXED_STRING,
    &lenient::TO_UINT8_OR_ZERO,
    &lenient::TO_UINT16_OR_ZERO,
    &lenient::TO_UINT32_OR_ZERO,
    &lenient::TO_UINT64_OR_ZERO,
    &lenient::TO_INT8_OR_ZERO,
    &lenient::TO_INT16_OR_ZERO,
    &lenient::TO_INT32_OR_ZERO,
    &lenient::TO_INT64_OR_ZERO,
    &lenient::TO_FLOAT32_OR_ZERO,
    &lenient::TO_FLOAT64_OR_ZERO,
    &lenient::TO_DATE_OR_ZERO,
    &lenient::TO_DATE32_OR_ZERO,
    &lenient::TO_DATE_TIME_OR_ZERO,
    &lenient::TO_DATE_TIME64_OR_ZERO,
    &lenient::TO_UUID_OR_ZERO,
    &lenient::TO_IPV4_OR_ZERO,
    &lenient::TO_IPV6_OR_ZERO,
    &lenient::TO_DECIMAL32_OR_ZERO,
    &lenient::TO_DECIMAL64_OR_ZERO,
    &lenient::TO_DECIMAL128_OR_ZERO,
    &lenient::TO_DECIMAL256_OR_ZERO,
    &lenient::TO_UINT8_OR_NULL,
    &lenient::TO_UINT16_OR_NULL,
    &lenient::TO_UINT32_OR_NULL,
    &lenient::TO_UINT64_OR_NULL,
    &lenient::TO_INT8_OR_NULL,
    &lenient::TO_INT16_OR_NULL,
    &lenient::TO_INT32_OR_NULL,
    &lenient::TO_INT64_OR_NULL,
    &lenient::TO_FLOAT32_OR_NULL,
    &lenient::TO_FLOAT64_OR_NULL,
    &lenient::TO_DATE_OR_NULL,
    &lenient::TO_DATE32_OR_NULL,
    &lenient::TO_DATE_TIME_OR_NULL,
    &lenient::TO_DATE_TIME64_OR_NULL,
    &lenient::TO_UUID_OR_NULL,
    &lenient::TO_IPV4_OR_NULL,
    &lenient::TO_IPV6_OR_NULL,
    &lenient::TO_DECIMAL32_OR_NULL,
    &lenient::TO_DECIMAL64_OR_NULL,
    &lenient::TO_DECIMAL128_OR_NULL,
    &lenient::TO_DECIMAL256_OR_NULL,
    &lenient::TO_UINT8_OR_DEFAULT,
    &lenient::TO_UINT16_OR_DEFAULT,
    &lenient::TO_UINT32_OR_DEFAULT,
    &lenient::TO_UINT64_OR_DEFAULT,
    &lenient::TO_INT8_OR_DEFAULT,
    &lenient::TO_INT16_OR_DEFAULT,
    &lenient::TO_INT32_OR_DEFAULT,
    &lenient::TO_INT64_OR_DEFAULT,
    &lenient::TO_FLOAT32_OR_DEFAULT,
    &lenient::TO_FLOAT64_OR_DEFAULT,
    &lenient::TO_DATE_OR_DEFAULT,
    &lenient::TO_DATE32_OR_DEFAULT,
    &lenient::TO_DATE_TIME_OR_DEFAULT,
    &lenient::TO_UUID_OR_DEFAULT,
    &lenient::TO_IPV4_OR_DEFAULT,
    &lenient::TO_IPV6_OR_DEFAULT,
    &reinterpret::AS_UINT8,
    &reinterpret::AS_UINT16,
    &reinterpret::AS_UINT32,
    &reinterpret::AS_UINT64,
    &reinterpret::AS_INT8,
    &reinterpret::AS_INT16,
    &reinterpret::AS_INT32,
    &reinterpret::AS_INT64,
    &reinterpret::AS_FLOAT32,
    &reinterpret::AS_FLOAT64,
    &reinterpret::AS_DATE,
    &reinterpret::AS_DATE_TIME,
    &reinterpret::AS_UUID,
    &reinterpret::AS_STRING,
    &reinterpret::AS_FIXED_STRING,
    &cast::CAST,
    &cast::INTERNAL_CAST,
    &cast::ACCURATE_CAST,
    &cast::INTERNAL_ACCURATE_CAST,
    &cast::ACCURATE_CAST_OR_NULL,
    &cast::ACCURATE_CAST_OR_DEFAULT,
    &type_name::TO_TYPE_NAME,
    &type_name::TO_COLUMN_TYPE_NAME,
    &type_name::TO_LOW_CARDINALITY,
    &type_name::MATERIALIZE,
    &type_name::IDENTITY,
    &type_name::DEFAULT_VALUE_OF_ARGUMENT_TYPE,
];
