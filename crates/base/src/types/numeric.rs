//! ClickHouse's rules for the type of a sum, a quotient, or a list of mixed values.
//!
//! Arithmetic widens by one step so that one operation cannot overflow: `UInt8 + UInt8` is
//! `UInt16`. A common type holds every value of both sides, or there is none.

use std::sync::Arc;

use super::{DECIMAL128_DIGITS, DECIMAL256_DIGITS, SqlType, Wide};

/// An operation on two numbers whose result type depends on the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Plus,
    Minus,
    Multiply,
    /// `/`: a float, except for decimals.
    Divide,
    IntDiv,
    Modulo,
}

/// The widest native integer.
const NATIVE_BITS: u32 = 64;
/// The widest integer.
const WIDE_BITS: u32 = 256;

/// Signedness and bits of an integer type of up to 64 bits.
pub(super) fn native_integer(ty: &SqlType) -> Option<(bool, u32)> {
    integer(ty).filter(|(_, bits)| *bits <= NATIVE_BITS)
}

/// Signedness and bits of an integer type.
pub(super) fn integer(ty: &SqlType) -> Option<(bool, u32)> {
    Some(match ty {
        SqlType::UInt8 => (false, 8),
        SqlType::UInt16 => (false, 16),
        SqlType::UInt32 => (false, 32),
        SqlType::UInt64 => (false, 64),
        SqlType::Int8 => (true, 8),
        SqlType::Int16 => (true, 16),
        SqlType::Int32 => (true, 32),
        SqlType::Int64 => (true, 64),
        SqlType::Wide(wide) => (wide.is_signed(), wide.bits()),
        _ => return None,
    })
}

/// The integer type with this sign and so many bits.
pub fn integer_of(signed: bool, bits: u32) -> SqlType {
    match (signed, bits) {
        (false, 8) => SqlType::UInt8,
        (false, 16) => SqlType::UInt16,
        (false, 32) => SqlType::UInt32,
        (false, 64) => SqlType::UInt64,
        (true, 8) => SqlType::Int8,
        (true, 16) => SqlType::Int16,
        (true, 32) => SqlType::Int32,
        (true, 64) => SqlType::Int64,
        (signed, bits) => SqlType::Wide(Wide::of(signed, bits)),
    }
}

/// The bits of a type one step wider. Above 32 bits there is none: 64 bits and more wrap.
fn wider(bits: u32) -> u32 {
    if bits < NATIVE_BITS { bits * 2 } else { bits }
}

/// The result type of `left op right` for two numbers (`Bool` counts as `UInt8`), or `None` if one
/// of them is not a number.
pub fn arithmetic_type(op: Arithmetic, left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let (left, right) = (bool_as_number(left), bool_as_number(right));
    if let (Some(left), Some(right)) = (integer(&left), integer(&right)) {
        return Some(integer_arithmetic(op, left, right));
    }
    if matches!(left, SqlType::Decimal { .. }) || matches!(right, SqlType::Decimal { .. }) {
        return decimal_arithmetic(op, &left, &right);
    }
    let numbers = left.is_number() && right.is_number();
    match op {
        _ if !numbers => None,
        // A quotient of floats is truncated to an integer.
        Arithmetic::IntDiv => Some(SqlType::Int64),
        _ => Some(SqlType::Float64),
    }
}

fn bool_as_number(ty: &SqlType) -> SqlType {
    if *ty == SqlType::Bool { SqlType::UInt8 } else { ty.clone() }
}

fn integer_arithmetic(op: Arithmetic, left: (bool, u32), right: (bool, u32)) -> SqlType {
    let ((left_signed, left_bits), (right_signed, right_bits)) = (left, right);
    let widest = left_bits.max(right_bits);
    match op {
        Arithmetic::Plus | Arithmetic::Multiply => integer_of(left_signed || right_signed, wider(widest)),
        Arithmetic::Minus => integer_of(true, wider(widest)),
        Arithmetic::Divide => SqlType::Float64,
        Arithmetic::IntDiv => integer_of(left_signed || right_signed, left_bits),
        // The remainder is smaller than the divisor and has the dividend's sign.
        Arithmetic::Modulo if left_signed => {
            integer_of(true, if right_signed { right_bits } else { wider(right_bits) })
        }
        Arithmetic::Modulo => integer_of(false, right_bits),
    }
}

/// Digits of a decimal in the widths that ClickHouse stores: 9, 18, 38 and 76.
fn storage_digits(precision: u8) -> u8 {
    match precision {
        0..=9 => 9,
        10..=18 => 18,
        19..=DECIMAL128_DIGITS => DECIMAL128_DIGITS,
        _ => DECIMAL256_DIGITS,
    }
}

fn decimal_arithmetic(op: Arithmetic, left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let digits_and_scale = |ty: &SqlType| match ty {
        SqlType::Decimal { precision, scale } => Some((*precision, *scale)),
        other => integer(other).map(|_| (0, 0)),
    };
    let (Some(left), Some(right)) = (digits_and_scale(left), digits_and_scale(right)) else {
        return (left.is_number() && right.is_number()).then_some(SqlType::Float64);
    };
    let precision = storage_digits(left.0.max(right.0));
    let scale = match op {
        Arithmetic::Multiply => left.1 + right.1,
        Arithmetic::Divide | Arithmetic::IntDiv => left.1,
        Arithmetic::Plus | Arithmetic::Minus | Arithmetic::Modulo => left.1.max(right.1),
    };
    Some(SqlType::Decimal { precision, scale })
}

/// The smallest type that holds every value of all `types`: the type of `if`, of an array literal,
/// of a UNION's column. `None` if there is none; for no types at all, `Nothing`.
pub fn common_type<'a>(types: impl IntoIterator<Item = &'a SqlType>) -> Option<SqlType> {
    // A wide integer holds what no native type does: the sum of a UInt64 and an Int64, for example.
    let (wide, others): (Vec<&SqlType>, Vec<&SqlType>) =
        types.into_iter().partition(|ty| ty.stripped().wide().is_some());
    let mut common = SqlType::Nothing;
    for ty in wide.into_iter().chain(others) {
        common = common_of_two(&common, ty)?;
    }
    Some(common)
}

fn common_of_two(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    if left == right {
        return Some(left.clone());
    }
    match (left, right) {
        (SqlType::Nothing, SqlType::Nullable(inner)) | (SqlType::Nullable(inner), SqlType::Nothing) => {
            return Some(SqlType::Nullable(Arc::clone(inner)));
        }
        (SqlType::Nothing, other) | (other, SqlType::Nothing) => return Some(other.clone()),
        (SqlType::LowCardinality(inner), other) | (other, SqlType::LowCardinality(inner)) => {
            return common_of_two(inner, other.full());
        }
        (SqlType::Nullable(inner), other) | (other, SqlType::Nullable(inner)) => {
            return common_of_two(inner, other.stripped()).map(SqlType::into_nullable);
        }
        (SqlType::Array(left), SqlType::Array(right)) => {
            return common_of_two(left, right).map(SqlType::array_of);
        }
        (SqlType::Tuple(left), SqlType::Tuple(right)) if left.len() == right.len() => {
            let elements: Option<Vec<SqlType>> =
                left.iter().zip(right.iter()).map(|(l, r)| common_of_two(&l.ty, &r.ty)).collect();
            return elements.map(SqlType::tuple_of);
        }
        _ => {}
    }
    common_scalar(left, right)
}

fn common_scalar(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    if left.is_string() && right.is_string() {
        return Some(SqlType::String);
    }
    if left.is_date_or_time() && right.is_date_or_time() {
        return common_time(left, right);
    }
    if let (SqlType::Interval(one), SqlType::Interval(other)) = (left, right) {
        let shorter = if one < other { one } else { other };
        let is_made_up = one.max(other).in_units_of(*shorter).is_some();
        return is_made_up.then_some(SqlType::Interval(*shorter));
    }
    let (left, right) = (bool_as_number(left), bool_as_number(right));
    if left.is_whole() && right.is_whole() || left.is_number() && right.is_number() {
        return common_number(&left, &right);
    }
    common_with_enum(&left, &right)
}

/// An enum is its name next to a string, and its number next to a number or an enum with other names.
fn common_with_enum(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let is_plain = |ty: &SqlType| ty.is_integer() || ty.is_float();
    let number = |ty: &SqlType| ty.enum_number().or_else(|| is_plain(ty).then(|| ty.clone()));
    if left.enum_number().is_none() && right.enum_number().is_none() {
        return None;
    }
    if left.is_string() || right.is_string() {
        return Some(SqlType::String);
    }
    common_number(&number(left)?, &number(right)?)
}

fn common_time(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    // Most days of one type are before or after all seconds of the other.
    if let (SqlType::Date32, SqlType::DateTime(_)) | (SqlType::DateTime(_), SqlType::Date32) = (left, right) {
        return Some(SqlType::DateTime64 { precision: 0, zone: None });
    }
    let rank = |ty: &SqlType| match ty {
        SqlType::Date => 0,
        SqlType::Date32 => 1,
        SqlType::DateTime(_) => 2,
        SqlType::DateTime64 { precision, .. } => 3 + i32::from(*precision),
        _ => -1,
    };
    Some(if rank(left) >= rank(right) { left.clone() } else { right.clone() })
}

fn common_number(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    if let (Some((left_signed, left_bits)), Some((right_signed, right_bits))) =
        (integer(left), integer(right))
    {
        if left_signed == right_signed {
            return Some(integer_of(left_signed, left_bits.max(right_bits)));
        }
        let (signed_bits, unsigned_bits) =
            if left_signed { (left_bits, right_bits) } else { (right_bits, left_bits) };
        // The signed type must be one step wider than the unsigned one. Native integers alone do not become wide.
        let bits = signed_bits.max(unsigned_bits * 2);
        let limit = if left_bits.max(right_bits) <= NATIVE_BITS { NATIVE_BITS } else { WIDE_BITS };
        return (bits <= limit).then(|| integer_of(true, bits));
    }
    if let (SqlType::Decimal { .. }, _) | (_, SqlType::Decimal { .. }) = (left, right) {
        return common_decimal(left, right);
    }
    // Float32 holds every 8 and 16-bit integer exactly.
    let small = |ty: &SqlType| *ty == SqlType::Float32 || integer(ty).is_some_and(|(_, bits)| bits <= 16);
    Some(if small(left) && small(right) { SqlType::Float32 } else { SqlType::Float64 })
}

/// A decimal with room for all integer digits of the integer next to it.
fn common_decimal(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let (precision, scale, (is_signed, bits)) = match (left, right) {
        (SqlType::Decimal { precision, scale }, other) | (other, SqlType::Decimal { precision, scale }) => {
            match integer(other) {
                Some(integer) => (*precision, *scale, integer),
                None => return decimal_arithmetic(Arithmetic::Plus, left, right),
            }
        }
        _ => return None,
    };
    let whole = match (bits, is_signed) {
        // As in ClickHouse, integers without a scale are as wide as their decimals.
        (32, true) if scale == 0 => 9,
        (64, true) if scale == 0 => 18,
        (8, _) => 3,
        (16, _) => 5,
        (32, _) => 10,
        (_, true) => 19,
        _ => 20,
    };
    let precision = precision.max(scale + whole);
    (precision <= DECIMAL256_DIGITS).then(|| SqlType::Decimal { precision: storage_digits(precision), scale })
}

#[cfg(test)]
mod tests {
    use super::super::IntervalUnit;
    use super::*;

    #[test]
    fn sums_widen_by_one_step() {
        let sum = |left, right| arithmetic_type(Arithmetic::Plus, &left, &right);
        assert_eq!(sum(SqlType::UInt8, SqlType::UInt8), Some(SqlType::UInt16));
        assert_eq!(sum(SqlType::UInt64, SqlType::Int8), Some(SqlType::Int64));
        assert_eq!(sum(SqlType::Float32, SqlType::UInt8), Some(SqlType::Float64));
        assert_eq!(sum(SqlType::String, SqlType::UInt8), None);
    }

    #[test]
    fn wide_integers_hold_what_no_native_one_does() {
        let [int128, uint128, int256, uint256] = Wide::ALL.map(SqlType::Wide);
        let sum = |left, right| arithmetic_type(Arithmetic::Plus, left, right);
        assert_eq!(sum(&uint128, &SqlType::UInt8).as_ref(), Some(&uint128));
        assert_eq!(sum(&uint128, &SqlType::Int8).as_ref(), Some(&int128));
        assert_eq!(sum(&int128, &SqlType::Float64), None);
        assert_eq!(common_type([&SqlType::UInt64, &SqlType::Int64, &int128]).as_ref(), Some(&int128));
        assert_eq!(common_type([&SqlType::Int8, &uint128]).as_ref(), Some(&int256));
        assert_eq!(common_type([&SqlType::UInt8, &uint256]).as_ref(), Some(&uint256));
        assert_eq!(common_type([&SqlType::Int8, &uint256]), None);
        assert_eq!(common_type([&SqlType::Float64, &int128]), None);
    }

    #[test]
    fn common_type_holds_both_sides() {
        let common = |left: SqlType, right: SqlType| common_type([&left, &right]);
        assert_eq!(common(SqlType::UInt8, SqlType::Int8), Some(SqlType::Int16));
        assert_eq!(common(SqlType::UInt64, SqlType::Int8), None);
        assert_eq!(
            common(SqlType::UInt8, SqlType::Nothing.into_nullable()),
            Some(SqlType::UInt8.into_nullable())
        );
        assert_eq!(common(SqlType::Date, SqlType::DateTime(None)), Some(SqlType::DateTime(None)));
        let decimal = |precision, scale| SqlType::Decimal { precision, scale };
        assert_eq!(common(decimal(9, 2), SqlType::Int16), Some(decimal(9, 2)));
        assert_eq!(common(decimal(9, 2), SqlType::UInt32), Some(decimal(18, 2)));
        assert_eq!(common(SqlType::UInt64, decimal(18, 3)), Some(decimal(38, 3)));
        assert_eq!(common(decimal(9, 0), SqlType::Int64), Some(decimal(18, 0)));
        let seconds = SqlType::DateTime64 { precision: 0, zone: None };
        assert_eq!(common(SqlType::Date32, SqlType::DateTime(None)), Some(seconds));
        let interval = SqlType::Interval;
        let (day, week, month, year) =
            (IntervalUnit::Day, IntervalUnit::Week, IntervalUnit::Month, IntervalUnit::Year);
        assert_eq!(common(interval(week), interval(day)), Some(interval(day)));
        assert_eq!(common(interval(month), interval(year)), Some(interval(month)));
        assert_eq!(common(interval(month), interval(week)), None);
        let names =
            |names: &[&str]| SqlType::Enum8((0..).zip(names).map(|(n, s)| (s.to_string(), n)).collect());
        assert_eq!(common(names(&["a"]), SqlType::FixedString(1)), Some(SqlType::String));
        assert_eq!(common(names(&["a"]), names(&["b"])), Some(SqlType::Int8));
        assert_eq!(common(SqlType::UInt8, names(&["a"])), Some(SqlType::Int16));
        assert_eq!(common(SqlType::Date, names(&["a"])), None);
        assert_eq!(common(SqlType::FixedString(3), SqlType::String), Some(SqlType::String));
    }
}
