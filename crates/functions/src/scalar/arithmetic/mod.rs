//! Arithmetic over numbers, dates and times.

mod binary;
mod bit_test;
mod bits;
mod calendar;
mod constant_divisor;
pub(super) mod decimal;
mod division;
mod divisor;
mod extremum;
mod float_class;
mod math;
mod reciprocal;
mod rounding;
mod unary;
mod wide;
mod wide_bits;
mod wide_division;
mod wide_rounding;
mod zero;
pub(super) mod zip;

pub(super) use extremum::nans_of;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &binary::PLUS,
    &binary::MINUS,
    &binary::MULTIPLY,
    &binary::DIVIDE,
    &division::INT_DIV,
    &division::INT_DIV_OR_ZERO,
    &division::MODULO,
    &division::MODULO_OR_ZERO,
    &division::POSITIVE_MODULO,
    &divisor::GCD,
    &divisor::LCM,
    &extremum::GREATEST,
    &extremum::LEAST,
    &extremum::MAX2,
    &extremum::MIN2,
    &unary::NEGATE,
    &unary::ABS,
    &unary::SIGN,
    &bit_test::BIT_TEST,
    &bit_test::BIT_TEST_ALL,
    &bit_test::BIT_TEST_ANY,
    &bits::BIT_AND,
    &bits::BIT_OR,
    &bits::BIT_XOR,
    &bits::BIT_NOT,
    &bits::BIT_SHIFT_LEFT,
    &bits::BIT_SHIFT_RIGHT,
    &bits::BIT_COUNT,
    &rounding::ROUND,
    &rounding::ROUND_BANKERS,
    &rounding::FLOOR,
    &rounding::CEIL,
    &rounding::TRUNC,
    &float_class::IS_NAN,
    &float_class::IS_INFINITE,
    &float_class::IS_FINITE,
    &math::SQRT,
    &math::CBRT,
    &math::EXP,
    &math::EXP2,
    &math::EXP10,
    &math::LOG,
    &math::LOG2,
    &math::LOG10,
    &math::LOG1P,
    &math::SIN,
    &math::COS,
    &math::TAN,
    &math::ASIN,
    &math::ACOS,
    &math::ATAN,
    &math::SINH,
    &math::COSH,
    &math::TANH,
    &math::DEGREES,
    &math::RADIANS,
    &math::POW,
    &math::ATAN2,
    &math::HYPOT,
    &math::PI,
    &math::E,
];
