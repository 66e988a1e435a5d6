//! Comparisons of a wide integer with any number, by the exact places of both among the whole numbers.

use std::cmp::Ordering;

use arrow::array::ArrayRef;
use arrow::datatypes::{Decimal256Type, Float64Type};
use basalt_base::types::Place;
use basalt_base::{Result, SqlType};

use crate::scalar::arithmetic::decimal::unscaled;
use crate::scalar::number::wrap_to;
use crate::scalar::whole::{any_is_wide, is_whole, wholes_of};

/// Whether the types are a wide integer and a number that a wide integer is not converted to.
pub(super) fn applies(left: &SqlType, right: &SqlType) -> bool {
    let is_number = |ty: &SqlType| is_whole(ty) || ty.is_number();
    any_is_wide([left, right]) && is_number(left) && is_number(right)
}

/// The places of the values of an array of numbers; NaN has none.
pub(super) fn places(ty: &SqlType, array: &ArrayRef) -> Result<Vec<Option<Place>>> {
    if ty.is_float() {
        let floats = wrap_to::<Float64Type>(array)?;
        return Ok(floats.values().iter().map(|&float| Place::of_float(float)).collect());
    }
    if let SqlType::Decimal { scale, .. } = ty {
        let values = unscaled::<Decimal256Type>(array)?;
        return Ok(values.into_iter().map(|value| Some(Place::of_decimal(value, *scale))).collect());
    }
    Ok(wholes_of(ty, array)?.into_iter().map(|number| Some(Place::At(number, false))).collect())
}

/// `None` if one side has no place: NaN is unequal to every number.
pub(super) fn order(left: Option<Place>, right: Option<Place>) -> Option<Ordering> {
    Some(left?.cmp(&right?))
}
