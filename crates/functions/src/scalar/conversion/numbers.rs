//! Conversions between integers, floats, `Bool`, enums and the numbers of dates.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int64Type};
use basalt_base::types::IntervalUnit;
use basalt_base::{Result, SqlType, bail};

use super::step::Step;
use crate::scalar::number::{with_number, wrap_to};

/// Whether a type converts by the number in its carrier.
fn is_numeric(ty: &SqlType) -> bool {
    ty.is_number()
        || matches!(
            ty,
            SqlType::Date
                | SqlType::Date32
                | SqlType::DateTime(_)
                | SqlType::Enum8(_)
                | SqlType::Enum16(_)
                | SqlType::Ipv4
                | SqlType::Interval(_)
        )
}

/// To an integer, a float, an IPv4 address or an interval.
pub(super) fn to_number(from: &SqlType, to: &SqlType) -> Option<Step> {
    let reached = to.is_integer() || to.is_float() || matches!(to, SqlType::Interval(_) | SqlType::Ipv4);
    if !is_numeric(from) || !reached || (*to == SqlType::Ipv4 && !from.is_integer()) {
        return None;
    }
    if let (SqlType::Interval(from), SqlType::Interval(to)) = (from, to) {
        return interval(*from, *to);
    }
    let checked = from.is_float() && !to.is_float();
    with_number!(to.carrier(), T => Some(Box::new(move |array| {
        if checked {
            expect_finite(array)?;
        }
        Ok(Arc::new(wrap_to::<T>(array)?))
    })), None)
}

/// An interval in another unit, truncated; `None` between months and days.
fn interval(from: IntervalUnit, to: IntervalUnit) -> Option<Step> {
    let (factor, divisor) = (from.in_units_of(to), to.in_units_of(from));
    let change = move |amount: i64| match (factor, divisor) {
        (Some(factor), _) => amount.wrapping_mul(factor),
        (None, Some(divisor)) => amount / divisor,
        (None, None) => amount,
    };
    (factor.is_some() || divisor.is_some()).then(|| -> Step {
        Box::new(move |array| {
            let amounts = wrap_to::<Int64Type>(array)?;
            Ok(Arc::new(amounts.unary::<_, Int64Type>(change)))
        })
    })
}

/// CANNOT_CONVERT_TYPE if a float is infinite or NaN.
pub(super) fn expect_finite(array: &ArrayRef) -> Result<()> {
    let finite = if let Some(narrow) = array.as_primitive_opt::<Float32Type>() {
        narrow.values().iter().enumerate().all(|(row, x)| x.is_finite() || array.is_null(row))
    } else if let Some(wide) = array.as_primitive_opt::<Float64Type>() {
        wide.values().iter().enumerate().all(|(row, x)| x.is_finite() || array.is_null(row))
    } else {
        true
    };
    if !finite {
        bail!(
            CannotConvertType,
            "an infinite float, or one that is not a number, cannot be converted to an integer"
        );
    }
    Ok(())
}

/// Any number other than zero is true.
pub(super) fn to_bool(from: &SqlType) -> Option<Step> {
    if !is_numeric(from) || from.is_date_or_time() {
        return None;
    }
    Some(Box::new(|array| {
        let numbers = wrap_to::<Float64Type>(array)?;
        let flags: Vec<bool> = numbers.values().iter().map(|&x| x != 0.0).collect();
        Ok(Arc::new(BooleanArray::from(flags)))
    }))
}

/// A number with a label, or a label of another enum.
pub(super) fn to_enum(from: &SqlType, to: &SqlType) -> Option<Step> {
    let labels = labels_of(to);
    let narrow = to.carrier() == DataType::Int8;
    let name = to.to_string();
    let renumber: Option<Vec<(i16, Option<i16>)>> = match from {
        SqlType::Enum8(_) | SqlType::Enum16(_) => Some(
            labels_of(from)
                .into_iter()
                .map(|(label, number)| (number, labels.iter().find(|own| own.0 == label).map(|own| own.1)))
                .collect(),
        ),
        from if from.is_integer() => None,
        _ => return None,
    };
    Some(Box::new(move |array| {
        let numbers = wrap_to::<Int64Type>(array)?;
        let mut values = Vec::with_capacity(numbers.len());
        for (row, &number) in numbers.values().iter().enumerate() {
            let found = match &renumber {
                Some(pairs) => pairs.iter().find(|pair| i64::from(pair.0) == number).and_then(|pair| pair.1),
                None => labels.iter().find(|own| i64::from(own.1) == number).map(|own| own.1),
            };
            match found {
                Some(value) => values.push(value),
                None if array.is_null(row) => values.push(0),
                None => bail!(UnknownElementOfEnum, "{number} has no label in {name}"),
            }
        }
        let wide = PrimitiveArray::<Int16Type>::new(values.into(), None);
        Ok(if narrow { Arc::new(wrap_to::<Int8Type>(&wide)?) as ArrayRef } else { Arc::new(wide) })
    }))
}

fn labels_of(ty: &SqlType) -> Vec<(String, i16)> {
    match ty {
        SqlType::Enum8(values) => {
            values.iter().map(|(label, number)| (label.clone(), i16::from(*number))).collect()
        }
        SqlType::Enum16(values) => values.to_vec(),
        _ => Vec::new(),
    }
}
