//! Conversions between decimals and other numbers; digits beyond the scale are truncated.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, DecimalType, Float64Type, i256};
use basalt_base::types::{DECIMAL128_DIGITS, WideNumber, i256_of};
use basalt_base::{Error, ErrorCode, Result, SqlType, bail};

use super::step::Step;
use crate::scalar::arithmetic::decimal::{Unscaled, unscaled, width_digits};
use crate::scalar::number::{Number, with_integer, wrap_to};

const TWO_TO_255: f64 = (1_u128 << 127) as f64 * 2.0 * (1_u128 << 127) as f64;

/// To `Decimal(precision, scale)` from a number or a `DateTime64`.
pub(super) fn to_decimal(from: &SqlType, precision: u8, scale: u8) -> Option<Step> {
    let source_scale = match from {
        SqlType::Decimal { scale, .. } => *scale,
        SqlType::DateTime64 { precision, .. } => *precision,
        SqlType::Float32 | SqlType::Float64 => {
            return Some(Box::new(move |array| from_floats(array, precision, scale)));
        }
        from if from.is_integer() => 0,
        SqlType::Bool | SqlType::DateTime(_) => 0,
        _ => return None,
    };
    let wide_source = matches!(from.carrier(), DataType::Decimal256(..));
    if precision > DECIMAL128_DIGITS {
        return Some(Box::new(move |array| rescale::<Decimal256Type>(array, source_scale, precision, scale)));
    }
    Some(Box::new(move |array| {
        if wide_source {
            // Too wide for 128 bits: rescaled at full width, then narrowed.
            let wide = rescale::<Decimal256Type>(array, source_scale, 76, scale)?;
            return narrow(&wide, precision, scale);
        }
        rescale::<Decimal128Type>(array, source_scale, precision, scale)
    }))
}

fn rescale<D>(array: &ArrayRef, from_scale: u8, precision: u8, scale: u8) -> Result<ArrayRef>
where
    D: DecimalType,
    D::Native: Unscaled,
{
    let values = unscaled::<D>(array)?;
    let power = D::Native::power_of_ten(scale.abs_diff(from_scale)).ok_or_else(overflow)?;
    let digits = width_digits(precision);
    let mut rescaled = Vec::with_capacity(values.len());
    for (row, value) in values.into_iter().enumerate() {
        let result = if scale >= from_scale { value.mul_checked(power) } else { value.div_checked(power) };
        match result.ok().filter(|value| value.fits(digits)) {
            Some(value) => rescaled.push(value),
            None if array.is_null(row) => rescaled.push(D::Native::default()),
            None => return Err(overflow()),
        }
    }
    finish::<D>(rescaled, precision, scale)
}

/// Whole numbers as decimals.
pub(super) fn of_wholes(
    wholes: &[WideNumber],
    source: &ArrayRef,
    precision: u8,
    scale: u8,
) -> Result<ArrayRef> {
    let power = i256::power_of_ten(scale).ok_or_else(overflow)?;
    let digits = width_digits(precision);
    let is_narrow = precision <= DECIMAL128_DIGITS;
    let mut values = Vec::with_capacity(wholes.len());
    for (row, &whole) in wholes.iter().enumerate() {
        let scaled = i256_of(whole).mul_checked(power).ok();
        let fits = |value: &i256| !is_narrow || value.to_i128().is_some_and(|value| value.fits(digits));
        match scaled.filter(fits) {
            Some(value) => values.push(value),
            None if source.is_null(row) => values.push(i256::ZERO),
            None => return Err(overflow()),
        }
    }
    if is_narrow {
        let values: Vec<i128> = values.into_iter().map(|value| value.as_i128()).collect();
        return finish::<Decimal128Type>(values, precision, scale);
    }
    finish::<Decimal256Type>(values, precision, scale)
}

fn narrow(wide: &ArrayRef, precision: u8, scale: u8) -> Result<ArrayRef> {
    let values = unscaled::<Decimal256Type>(wide)?;
    let digits = width_digits(precision);
    let narrow: Option<Vec<i128>> =
        values.into_iter().map(|value| value.to_i128().filter(|value| value.fits(digits))).collect();
    finish::<Decimal128Type>(narrow.ok_or_else(overflow)?, precision, scale)
}

fn from_floats(array: &ArrayRef, precision: u8, scale: u8) -> Result<ArrayRef> {
    let floats = wrap_to::<Float64Type>(array)?;
    let power = 10_f64.powi(i32::from(scale));
    let digits = width_digits(precision);
    let (least, most) = width_limits(digits);
    let mut values = Vec::with_capacity(floats.len());
    for (row, &float) in floats.values().iter().enumerate() {
        // i256 saturates, so a float beyond its range is detected by its magnitude.
        let scaled = (float * power).trunc();
        if array.is_null(row) {
            values.push(i256::ZERO);
            continue;
        }
        // As in ClickHouse, the least and the greatest number of the width already overflow.
        if !(scaled > least && scaled < most) {
            return Err(overflow());
        }
        values.push(i256::from_f64(scaled).ok_or_else(overflow)?);
    }
    if precision > DECIMAL128_DIGITS {
        return finish::<Decimal256Type>(values, precision, scale);
    }
    let narrow: Option<Vec<i128>> =
        values.into_iter().map(|value| value.to_i128().filter(|value| value.fits(digits))).collect();
    finish::<Decimal128Type>(narrow.ok_or_else(overflow)?, precision, scale)
}

/// The least and the greatest number of the width with this many digits.
fn width_limits(digits: u8) -> (f64, f64) {
    match digits {
        0..=9 => (f64::from(i32::MIN), f64::from(i32::MAX)),
        10..=18 => (i64::MIN as f64, i64::MAX as f64),
        19..=DECIMAL128_DIGITS => (i128::MIN as f64, i128::MAX as f64),
        _ => (-TWO_TO_255, TWO_TO_255),
    }
}

pub(super) fn finish<D: DecimalType>(values: Vec<D::Native>, precision: u8, scale: u8) -> Result<ArrayRef> {
    let array = PrimitiveArray::<D>::new(values.into(), None);
    Ok(Arc::new(array.with_precision_and_scale(precision, scale as i8).map_err(Error::logical)?))
}

/// The integer part of a decimal; DECIMAL_OVERFLOW if the integer type does not hold it.
pub(super) fn to_integer(from: &SqlType, to: &SqlType) -> Option<Step> {
    let SqlType::Decimal { scale, .. } = from else { return None };
    let scale = *scale;
    with_integer!(to.carrier(), T => Some(Box::new(move |array| {
        let values = unscaled::<Decimal256Type>(array)?;
        let power = i256::power_of_ten(scale).ok_or_else(overflow)?;
        let mut whole = Vec::with_capacity(values.len());
        for (row, value) in values.into_iter().enumerate() {
            let value = value.div_checked(power).ok().and_then(|value| value.to_i128());
            match value.map(|value| (value, <T as arrow::array::ArrowPrimitiveType>::Native::from_i64(value as i64))) {
                Some((value, cut)) if cut.to_i128() == value => whole.push(cut),
                _ if array.is_null(row) => whole.push(Default::default()),
                _ => bail!(DecimalOverflow, "a decimal does not fit the integer type"),
            }
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(whole.into(), None)))
    })), None)
}

fn overflow() -> Error {
    Error::new(ErrorCode::DecimalOverflow, "a number does not fit the decimal type")
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Float64Array};

    use super::*;

    #[test]
    fn floats_are_cut_not_rounded() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.239, -1.239]));
        let decimals = from_floats(&floats, 9, 2).unwrap();
        assert_eq!(decimals.as_primitive::<Decimal128Type>().values(), &[123, -123]);
        let large: ArrayRef = Arc::new(Float64Array::from(vec![1e30]));
        assert!(from_floats(&large, 9, 2).is_err());
        for (float, fits) in [(-2_147_483_648.0, false), (-2_147_483_647.0, true), (2_147_483_647.0, false)] {
            let float: ArrayRef = Arc::new(Float64Array::from(vec![float]));
            assert_eq!(from_floats(&float, 9, 0).is_ok(), fits);
        }
    }
}
