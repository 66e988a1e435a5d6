//! Numbers among the values of a number type, exactly and for all widths.
//!
//! As in ClickHouse, a float compares with a decimal by the decimal's value as a float.

use arrow::datatypes::i256;
use basalt_base::SqlType;
use basalt_base::types::{DECIMAL128_DIGITS, decimal_as_float};
use datafusion::common::ScalarValue;

use super::Fitted;

/// A constant as a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Quantity {
    Whole(i128),
    Float(f64),
    /// A whole number, divided by ten to the power of the scale.
    Decimal(i256, u8),
}

impl Quantity {
    /// `None` if the two types do not compare as numbers.
    pub(super) fn of(value: &ScalarValue, from: &SqlType, to: &SqlType) -> Option<Quantity> {
        if meet(from, to) { Quantity::of_value(value, from) } else { None }
    }

    /// `None` if the value is not a number.
    pub(super) fn of_value(value: &ScalarValue, from: &SqlType) -> Option<Quantity> {
        Some(match (value, from) {
            (ScalarValue::Int64(Some(ticks)), SqlType::DateTime64 { precision, .. }) => {
                Quantity::Decimal(i256::from(*ticks), *precision)
            }
            (ScalarValue::Float64(Some(number)), _) => Quantity::Float(*number),
            (ScalarValue::Float32(Some(number)), _) => Quantity::Float(f64::from(*number)),
            (ScalarValue::Decimal128(Some(unscaled), ..), SqlType::Decimal { scale, .. }) => {
                Quantity::Decimal(i256::from_i128(*unscaled), *scale)
            }
            (ScalarValue::Decimal256(Some(unscaled), ..), SqlType::Decimal { scale, .. }) => {
                Quantity::Decimal(*unscaled, *scale)
            }
            (whole, _) => Quantity::Whole(whole_value(whole)?),
        })
    }

    /// The largest whole multiple of `10^-scale` that is not above the number, and whether it is equal. `None` if
    /// that is too large, or not a number.
    fn floor_at(self, scale: u8) -> Option<(i256, bool)> {
        let power = |exponent: u8| i256::from_i128(10).checked_pow(u32::from(exponent));
        match self {
            Quantity::Whole(number) => Some((i256::from_i128(number).checked_mul(power(scale)?)?, true)),
            Quantity::Decimal(unscaled, own) if own <= scale => {
                Some((unscaled.checked_mul(power(scale - own)?)?, true))
            }
            Quantity::Decimal(unscaled, own) => {
                let divisor = power(own - scale)?;
                let (quotient, rest) = (unscaled.checked_div(divisor)?, unscaled.checked_rem(divisor)?);
                let below = i256::from_i128(i128::from(rest.is_negative()));
                Some((quotient.checked_sub(below)?, rest == i256::ZERO))
            }
            Quantity::Float(number) if scale == 0 && number.abs() < 1e38 => {
                Some((i256::from_i128(number.floor() as i128), number.fract() == 0.0))
            }
            Quantity::Float(_) => None,
        }
    }

    fn is_positive(self) -> bool {
        match self {
            Quantity::Whole(number) => number > 0,
            Quantity::Float(number) => number > 0.0,
            Quantity::Decimal(unscaled, _) => unscaled.is_positive(),
        }
    }

    fn is_nan(self) -> bool {
        matches!(self, Quantity::Float(number) if number.is_nan())
    }
}

/// Whether values of the two types compare as numbers: a time by its seconds, an enum by its number, an address as a
/// whole number.
fn meet(from: &SqlType, to: &SqlType) -> bool {
    let is_plain = |ty: &SqlType| ty.is_number() && !matches!(ty, SqlType::Decimal { .. });
    let is_enum = |ty: &SqlType| ty.enum_number().is_some();
    let pair = |one: &SqlType, other: &SqlType| match one {
        SqlType::DateTime(_) => is_plain(other),
        SqlType::DateTime64 { .. } => other.is_number(),
        SqlType::Ipv4 => other.is_integer(),
        SqlType::Interval(_) => is_plain(other),
        one if is_enum(one) => is_plain(other) || is_enum(other),
        one => one.is_number() && other.is_number(),
    };
    let differ = from != to || !is_enum(from);
    differ && (pair(from, to) || pair(to, from))
}

fn whole_value(value: &ScalarValue) -> Option<i128> {
    Some(match value {
        ScalarValue::UInt8(Some(value)) => i128::from(*value),
        ScalarValue::UInt16(Some(value)) => i128::from(*value),
        ScalarValue::UInt32(Some(value)) => i128::from(*value),
        ScalarValue::UInt64(Some(value)) => i128::from(*value),
        ScalarValue::Int8(Some(value)) => i128::from(*value),
        ScalarValue::Int16(Some(value)) => i128::from(*value),
        ScalarValue::Int32(Some(value)) => i128::from(*value),
        ScalarValue::Int64(Some(value)) => i128::from(*value),
        ScalarValue::Boolean(Some(value)) => i128::from(*value),
        _ => return None,
    })
}

/// The number among the values of `to`; `None` if the type has no numbers.
pub(super) fn fit(quantity: Quantity, to: &SqlType) -> Option<Fitted> {
    match (to, quantity) {
        (SqlType::Float64, _) => return fit_double(quantity),
        (SqlType::Float32, _) => return fit_single(quantity),
        _ if quantity.is_nan() => return Some(Fitted::Unordered),
        (SqlType::Decimal { scale, .. }, Quantity::Float(number)) => {
            return Some(fit_float(number, *scale, to, decimals(to)));
        }
        (SqlType::DateTime64 { precision, .. }, Quantity::Float(number)) => {
            let ticks = (i256::from(i64::MIN), i256::from(i64::MAX));
            return Some(fit_float(number, *precision, to, ticks));
        }
        _ => {}
    }
    let (scale, (least, most)) = match to {
        SqlType::Decimal { scale, .. } => (*scale, decimals(to)),
        SqlType::DateTime64 { precision, .. } => (*precision, (i256::from(i64::MIN), i256::from(i64::MAX))),
        other => (0, whole_numbers(other)?),
    };
    let Some((floor, same)) = quantity.floor_at(scale) else {
        return Some(Fitted::Beyond(quantity.is_positive()));
    };
    Some(match floor {
        floor if floor < least => Fitted::Beyond(false),
        floor if floor > most || floor == most && !same => Fitted::Beyond(true),
        floor if same => Fitted::Exact(value_of(floor, to)?),
        floor => Fitted::Above(value_of(floor, to)?),
    })
}

/// The least and the greatest unscaled number that the carrier of a decimal holds.
fn decimals(ty: &SqlType) -> (i256, i256) {
    match ty {
        SqlType::Decimal { precision, .. } if *precision <= DECIMAL128_DIGITS => {
            (i256::from_i128(i128::MIN), i256::from_i128(i128::MAX))
        }
        _ => (i256::MIN, i256::MAX),
    }
}

/// The least and the greatest value of a type of whole numbers.
fn whole_numbers(ty: &SqlType) -> Option<(i256, i256)> {
    let integer = match ty {
        SqlType::Bool => return Some((i256::ZERO, i256::ONE)),
        SqlType::DateTime(_) | SqlType::Ipv4 => SqlType::UInt32,
        SqlType::Interval(_) => SqlType::Int64,
        other => other.enum_number().unwrap_or_else(|| other.clone()),
    };
    if !integer.is_integer() {
        return None;
    }
    let bits = integer.fixed_bytes()? as u32 * 8;
    let (least, most) = if integer.is_unsigned() {
        (0, (1_i128 << bits) - 1)
    } else {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    };
    Some((i256::from_i128(least), i256::from_i128(most)))
}

/// The value of type `ty` for this (unscaled) number, which must be in range.
pub(super) fn value_of(number: i256, ty: &SqlType) -> Option<ScalarValue> {
    let whole = number.as_i128();
    Some(match ty {
        SqlType::UInt8 => ScalarValue::UInt8(Some(whole as u8)),
        SqlType::UInt16 | SqlType::Date => ScalarValue::UInt16(Some(whole as u16)),
        SqlType::UInt32 | SqlType::DateTime(_) | SqlType::Ipv4 => ScalarValue::UInt32(Some(whole as u32)),
        SqlType::UInt64 => ScalarValue::UInt64(Some(whole as u64)),
        SqlType::Int8 | SqlType::Enum8(_) => ScalarValue::Int8(Some(whole as i8)),
        SqlType::Int16 | SqlType::Enum16(_) => ScalarValue::Int16(Some(whole as i16)),
        SqlType::Int32 | SqlType::Date32 => ScalarValue::Int32(Some(whole as i32)),
        SqlType::Int64 | SqlType::DateTime64 { .. } | SqlType::Interval(_) => {
            ScalarValue::Int64(Some(whole as i64))
        }
        SqlType::Bool => ScalarValue::Boolean(Some(whole != 0)),
        SqlType::Decimal { precision, scale } if *precision <= DECIMAL128_DIGITS => {
            ScalarValue::Decimal128(Some(whole), *precision, *scale as i8)
        }
        SqlType::Decimal { precision, scale } => {
            ScalarValue::Decimal256(Some(number), *precision, *scale as i8)
        }
        _ => return None,
    })
}

/// A float among decimals, which compare by their values as floats.
fn fit_float(number: f64, scale: u8, to: &SqlType, domain: (i256, i256)) -> Fitted {
    let first = first_where(domain, |unscaled| decimal_as_float(unscaled, scale) >= number);
    let above = first_where(domain, |unscaled| decimal_as_float(unscaled, scale) > number);
    let value = |unscaled: i256| value_of(unscaled, to);
    let one_below = |unscaled: i256| unscaled.wrapping_sub(i256::ONE);
    let last = match above {
        Some(above) if above == domain.0 => return Fitted::Beyond(false),
        Some(above) => one_below(above),
        None => domain.1,
    };
    let Some(first) = first else { return Fitted::Beyond(true) };
    let fitted = if first > last {
        value(last).map(Fitted::Above)
    } else if first == last {
        value(first).map(Fitted::Exact)
    } else {
        let alike = as_written(number, scale).filter(|alike| (first..=last).contains(alike)).and_then(value);
        value(first).zip(value(last)).map(|(first, last)| Fitted::Several { first, last, alike })
    };
    fitted.unwrap_or(Fitted::Unordered)
}

/// The smallest number in `domain` that satisfies `holds`, which is monotonic.
fn first_where((least, most): (i256, i256), holds: impl Fn(i256) -> bool) -> Option<i256> {
    if !holds(most) {
        return None;
    }
    let (mut low, mut high) = (least, most);
    while low < high {
        // Halves are added, because the sum could overflow.
        let both_odd = low & high & i256::ONE;
        let middle = (low >> 1_u8).wrapping_add(high >> 1_u8).wrapping_add(both_odd);
        if holds(middle) {
            high = middle;
        } else {
            low = middle.wrapping_add(i256::ONE);
        }
    }
    Some(low)
}

/// The float's shortest text as a decimal, if no digit is lost.
fn as_written(number: f64, scale: u8) -> Option<i256> {
    let text = number.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let zeroes = usize::from(scale).checked_sub(fraction.len())?;
    i256::from_string(&format!("{whole}{fraction}{}", "0".repeat(zeroes)))
}

fn fit_double(quantity: Quantity) -> Option<Fitted> {
    let number = match quantity {
        Quantity::Float(number) => number,
        Quantity::Decimal(unscaled, scale) => decimal_as_float(unscaled, scale),
        Quantity::Whole(whole) => {
            let nearest = whole as f64;
            let float = |number: f64| ScalarValue::Float64(Some(number));
            return Some(match (nearest as i128).cmp(&whole) {
                std::cmp::Ordering::Equal => Fitted::Exact(float(nearest)),
                std::cmp::Ordering::Less => Fitted::Above(float(nearest)),
                std::cmp::Ordering::Greater => Fitted::Above(float(nearest.next_down())),
            });
        }
    };
    Some(Fitted::Exact(ScalarValue::Float64(Some(number))))
}

fn fit_single(quantity: Quantity) -> Option<Fitted> {
    let float = |number: f32| ScalarValue::Float32(Some(number));
    let (nearest, order) = match quantity {
        Quantity::Whole(whole) => (whole as f32, (whole as f32 as i128).cmp(&whole)),
        Quantity::Float(wide) => (wide as f32, order_of(wide)),
        Quantity::Decimal(unscaled, scale) => {
            let wide = decimal_as_float(unscaled, scale);
            (wide as f32, order_of(wide))
        }
    };
    Some(match order {
        std::cmp::Ordering::Equal => Fitted::Exact(float(nearest)),
        std::cmp::Ordering::Less => Fitted::Above(float(nearest)),
        std::cmp::Ordering::Greater => Fitted::Above(float(nearest.next_down())),
    })
}

/// How the `Float32` nearest to `wide` compares with it; NaN compares as equal.
fn order_of(wide: f64) -> std::cmp::Ordering {
    f64::from(wide as f32).partial_cmp(&wide).unwrap_or(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(scale: u8) -> SqlType {
        SqlType::Decimal { precision: 18, scale }
    }

    fn tenths(unscaled: i128) -> ScalarValue {
        ScalarValue::Decimal128(Some(unscaled), 18, 1)
    }

    fn check(quantity: Quantity, to: &SqlType, expected: Fitted) {
        assert_eq!(fit(quantity, to), Some(expected), "{quantity:?} in {to}");
    }

    #[test]
    fn what_a_type_does_not_have_has_a_place_between_its_values() {
        let byte = |number| ScalarValue::UInt8(Some(number));
        check(Quantity::Whole(255), &SqlType::UInt8, Fitted::Exact(byte(255)));
        check(Quantity::Whole(256), &SqlType::UInt8, Fitted::Beyond(true));
        check(Quantity::Whole(-1), &SqlType::UInt8, Fitted::Beyond(false));
        check(Quantity::Float(1.5), &SqlType::UInt8, Fitted::Above(byte(1)));
        check(Quantity::Float(255.5), &SqlType::UInt8, Fitted::Beyond(true));
        check(Quantity::Float(-0.5), &SqlType::UInt8, Fitted::Beyond(false));
        check(Quantity::Float(f64::NAN), &SqlType::UInt8, Fitted::Unordered);
        let hundredths = |unscaled| Quantity::Decimal(i256::from_i128(unscaled), 2);
        check(hundredths(3333), &decimal(1), Fitted::Above(tenths(333)));
        check(hundredths(-3333), &decimal(1), Fitted::Above(tenths(-334)));
        check(hundredths(-150), &SqlType::Int8, Fitted::Above(ScalarValue::Int8(Some(-2))));
    }

    #[test]
    fn floats_meet_decimals_as_floats() {
        check(Quantity::Float(33.3), &decimal(1), Fitted::Exact(tenths(333)));
        check(Quantity::Float(33.33), &decimal(1), Fitted::Above(tenths(333)));
        check(Quantity::Float(f64::INFINITY), &decimal(1), Fitted::Beyond(true));
        let found = fit(Quantity::Float(0.1), &decimal(17));
        let Some(Fitted::Several { first, last, alike }) = found else { panic!("{found:?}") };
        let at = |unscaled| ScalarValue::Decimal128(Some(unscaled), 18, 17);
        assert_eq!(alike, Some(at(10_000_000_000_000_000)));
        assert!(first <= at(9_999_999_999_999_999) && last >= at(10_000_000_000_000_001));
    }

    #[test]
    fn large_whole_numbers_lie_between_floats() {
        let double = |number| ScalarValue::Float64(Some(number));
        check(
            Quantity::Whole((1 << 53) + 1),
            &SqlType::Float64,
            Fitted::Above(double(9_007_199_254_740_992.0)),
        );
        let above = Fitted::Above(double(18_446_744_073_709_549_568.0));
        check(Quantity::Whole(u64::MAX.into()), &SqlType::Float64, above);
        let single = |number| ScalarValue::Float32(Some(number));
        check(Quantity::Float(1e300), &SqlType::Float32, Fitted::Above(single(f32::MAX)));
        check(Quantity::Float(-1e300), &SqlType::Float32, Fitted::Above(single(f32::NEG_INFINITY)));
        check(Quantity::Float(1.5), &SqlType::Float32, Fitted::Exact(single(1.5)));
    }
}
