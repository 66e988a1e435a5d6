//! Integers of any width as numbers of 256 bits, for kernels that meet a wide one.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, PrimitiveArray,
};
use arrow::datatypes::{DataType, Float64Type, i256};
use basalt_base::types::{U256, Wide, WideNumber, i256_of};
use basalt_base::{Error, ErrorCode, Result, SqlType};

use super::Operand;
use super::number::{Number, with_integer, wrap_to};

/// Whether one of the types is an integer of more than 64 bits.
pub(super) fn any_is_wide<'a>(types: impl IntoIterator<Item = &'a SqlType>) -> bool {
    types.into_iter().any(|ty| ty.stripped().wide().is_some())
}

/// Whether a value counts as a whole number: an integer of any width or a `Bool`.
pub(super) fn is_whole(ty: &SqlType) -> bool {
    ty.is_whole() || *ty == SqlType::Bool
}

/// The numbers of an operand, by row.
pub(super) struct Wholes {
    values: Vec<WideNumber>,
    mask: usize,
}

impl Wholes {
    pub(super) fn of(ty: &SqlType, operand: &Operand) -> Result<Wholes> {
        let mask = if operand.constant { 0 } else { usize::MAX };
        Ok(Wholes { values: wholes_of(ty, &operand.array)?, mask })
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> WideNumber {
        self.values[row & self.mask]
    }
}

/// The numbers of an array, which carries integers of any width, or numbers as dates and enums are.
pub(crate) fn wholes_of(ty: &SqlType, array: &ArrayRef) -> Result<Vec<WideNumber>> {
    if let Some(wide) = ty.stripped().wide() {
        let values = array.as_fixed_size_binary();
        return Ok((0..values.len()).map(|row| wide.decode(values.value(row))).collect());
    }
    if let Some(flags) = array.as_boolean_opt() {
        return Ok(flags.values().iter().map(|flag| WideNumber::from(i128::from(flag))).collect());
    }
    with_integer!(array.data_type(), T => {
        let values = array.as_primitive::<T>().values();
        Ok(values.iter().map(|value| WideNumber::from(value.to_i128())).collect())
    }, Err(Error::logical(format!("{} is not the carrier of an integer", array.data_type()))))
}

/// The nearest floats of the numbers of an array.
pub(crate) fn floats_of(ty: &SqlType, array: &ArrayRef) -> Result<Float64Array> {
    match ty.stripped().wide() {
        Some(_) => {
            let floats: Vec<f64> = wholes_of(ty, array)?.into_iter().map(WideNumber::to_f64).collect();
            Ok(Float64Array::new(floats.into(), array.nulls().cloned()))
        }
        None => wrap_to::<Float64Type>(array),
    }
}

/// Like [`floats_of`], in the narrower type.
pub(super) fn singles_of(ty: &SqlType, array: &ArrayRef) -> Result<Float32Array> {
    let floats: Vec<f32> = wholes_of(ty, array)?.into_iter().map(WideNumber::to_f32).collect();
    Ok(Float32Array::new(floats.into(), array.nulls().cloned()))
}

/// An operand of numbers as floats.
pub(super) fn as_floats(ty: &SqlType, operand: &Operand) -> Result<Operand> {
    Ok(Operand { array: Arc::new(floats_of(ty, &operand.array)?), constant: operand.constant })
}

/// An array of wide integers with the low bits of `values`.
pub(crate) fn collect_wide(wide: Wide, values: impl ExactSizeIterator<Item = U256>) -> Result<ArrayRef> {
    let mut bytes = Vec::with_capacity(values.len() * wide.bytes());
    values.for_each(|bits| wide.encode(bits, &mut bytes));
    let array = FixedSizeBinaryArray::try_new(wide.bytes() as i32, bytes.into(), None);
    Ok(Arc::new(array.map_err(Error::of_arrow)?))
}

/// An array of an integer type of any width with the low bits of `values`.
pub(super) fn collect_whole(ty: &SqlType, values: impl ExactSizeIterator<Item = U256>) -> Result<ArrayRef> {
    if let Some(wide) = ty.wide() {
        return collect_wide(wide, values);
    }
    with_integer!(ty.carrier(), T => {
        type Native = <T as arrow::array::ArrowPrimitiveType>::Native;
        let values: Vec<Native> = values.map(|bits| Native::from_u64(*bits.low() as u64)).collect();
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), None)) as ArrayRef)
    }, Err(Error::logical(format!("{ty} is not an integer type"))))
}

/// Wide numbers as the unscaled numbers of decimals with scale 0. One of 256 bits without a sign wraps, as in
/// ClickHouse.
pub(super) fn as_unscaled(ty: &SqlType, array: &ArrayRef, carrier: &DataType) -> Result<ArrayRef> {
    let wholes = wholes_of(ty, array)?;
    let nulls = array.nulls().cloned();
    if let DataType::Decimal256(..) = carrier {
        let values: Vec<i256> = wholes.into_iter().map(i256_of).collect();
        return Ok(Arc::new(Decimal256Array::new(values.into(), nulls)));
    }
    let overflow = || Error::new(ErrorCode::DecimalOverflow, "a number does not fit the decimal type");
    let mut values = Vec::with_capacity(wholes.len());
    for (row, number) in wholes.into_iter().enumerate() {
        let narrow = if array.is_null(row) { Some(0) } else { number.to_i128() };
        values.push(narrow.ok_or_else(overflow)?);
    }
    Ok(Arc::new(Decimal128Array::new(values.into(), nulls)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_every_type() {
        let numbers = [-1_i128, 0, 127].map(WideNumber::from);
        for ty in [SqlType::Int8, SqlType::Int64, SqlType::Wide(Wide::Int128), SqlType::Wide(Wide::Int256)] {
            let array = collect_whole(&ty, numbers.iter().map(|number| number.bits())).unwrap();
            assert_eq!(*array.data_type(), ty.carrier());
            assert_eq!(wholes_of(&ty, &array).unwrap(), numbers);
        }
    }
}
