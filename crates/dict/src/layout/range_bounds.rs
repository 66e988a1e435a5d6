//! The bounds of ranges as integers in the order of their type.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use basalt_base::{Error, Result, SqlType};

use super::intervals::Bound;

const SIGN: u64 = 1 << 63;

/// A value of 64 bits or fewer, and its place in the order of its type.
trait Ordered: Copy {
    fn place(self) -> i64;
    /// The value at a place, or the nearest one if there is none, as for an open bound.
    fn at(place: i64) -> Self;
}

macro_rules! ordered_integers {
    ($($ty:ty),+) => {
        $(impl Ordered for $ty {
            fn place(self) -> i64 {
                i64::from(self)
            }

            fn at(place: i64) -> $ty {
                place.clamp(<$ty>::MIN.into(), <$ty>::MAX.into()) as $ty
            }
        })+
    };
}

ordered_integers!(i8, i16, i32, i64, u8, u16, u32);

impl Ordered for u64 {
    fn place(self) -> i64 {
        (self ^ SIGN) as i64
    }

    fn at(place: i64) -> u64 {
        place as u64 ^ SIGN
    }
}

impl Ordered for f64 {
    /// The order of `total_cmp`, except that both zeroes are equal.
    fn place(self) -> i64 {
        let bits = (self + 0.0).to_bits() as i64;
        if bits < 0 { bits ^ i64::MAX } else { bits }
    }

    fn at(place: i64) -> f64 {
        let place = place.clamp(f64::NEG_INFINITY.place(), f64::INFINITY.place());
        let bits = if place < 0 { place ^ i64::MAX } else { place };
        f64::from_bits(bits as u64)
    }
}

impl Ordered for f32 {
    fn place(self) -> i64 {
        f64::from(self).place()
    }

    fn at(place: i64) -> f32 {
        f64::at(place) as f32
    }
}

/// Whether the value is NaN, which no range contains.
pub(super) fn is_nan(array: &ArrayRef, row: usize) -> bool {
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).is_nan(),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).is_nan(),
        _ => false,
    }
}

/// A bound, to which values of the range's type are converted.
pub(super) trait RangeBound: Bound {
    fn of(array: &ArrayRef) -> Result<Vec<Self>>;
    fn array(ty: &SqlType, bounds: &[Self]) -> Result<ArrayRef>;
}

impl RangeBound for i64 {
    fn of(array: &ArrayRef) -> Result<Vec<i64>> {
        to_bounds(array)
    }

    fn array(ty: &SqlType, bounds: &[i64]) -> Result<ArrayRef> {
        from_bounds(&ty.carrier(), bounds)
    }
}

impl RangeBound for i128 {
    fn of(array: &ArrayRef) -> Result<Vec<i128>> {
        match array.as_primitive_opt::<Decimal128Type>() {
            Some(decimals) => Ok(decimals.values().to_vec()),
            None => Err(unknown(array.data_type())),
        }
    }

    fn array(ty: &SqlType, bounds: &[i128]) -> Result<ArrayRef> {
        let decimals = Decimal128Array::from_iter_values(bounds.iter().copied());
        Ok(Arc::new(decimals.with_data_type(ty.carrier())))
    }
}

/// The places of an array's values; any place for a NULL.
fn to_bounds(array: &ArrayRef) -> Result<Vec<i64>> {
    fn of<P: ArrowPrimitiveType<Native: Ordered>>(array: &ArrayRef) -> Result<Vec<i64>> {
        Ok(array.as_primitive::<P>().values().iter().map(|value| value.place()).collect())
    }
    match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array),
        DataType::Int16 => of::<Int16Type>(array),
        DataType::Int32 => of::<Int32Type>(array),
        DataType::Int64 => of::<Int64Type>(array),
        DataType::UInt8 => of::<UInt8Type>(array),
        DataType::UInt16 => of::<UInt16Type>(array),
        DataType::UInt32 => of::<UInt32Type>(array),
        DataType::UInt64 => of::<UInt64Type>(array),
        DataType::Float32 => of::<Float32Type>(array),
        DataType::Float64 => of::<Float64Type>(array),
        other => Err(unknown(other)),
    }
}

/// The values at these places, as an array of `carrier`.
fn from_bounds(carrier: &DataType, bounds: &[i64]) -> Result<ArrayRef> {
    fn of<P: ArrowPrimitiveType<Native: Ordered>>(bounds: &[i64]) -> Result<ArrayRef> {
        Ok(Arc::new(PrimitiveArray::<P>::from_iter_values(bounds.iter().map(|&place| P::Native::at(place)))))
    }
    match carrier {
        DataType::Int8 => of::<Int8Type>(bounds),
        DataType::Int16 => of::<Int16Type>(bounds),
        DataType::Int32 => of::<Int32Type>(bounds),
        DataType::Int64 => of::<Int64Type>(bounds),
        DataType::UInt8 => of::<UInt8Type>(bounds),
        DataType::UInt16 => of::<UInt16Type>(bounds),
        DataType::UInt32 => of::<UInt32Type>(bounds),
        DataType::UInt64 => of::<UInt64Type>(bounds),
        DataType::Float32 => of::<Float32Type>(bounds),
        DataType::Float64 => of::<Float64Type>(bounds),
        other => Err(unknown(other)),
    }
}

fn unknown(carrier: &DataType) -> Error {
    Error::not_implemented(format!("a range with bounds of {carrier}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_in_the_order_of_values(left: f64, right: f64, big: u64, small: u64) {
            prop_assert_eq!(left.place().cmp(&right.place()), left.partial_cmp(&right).expect("numbers"));
            prop_assert_eq!(f64::at(left.place()), left);
            prop_assert_eq!(big.place().cmp(&small.place()), big.cmp(&small));
            prop_assert_eq!(u64::at(big.place()), big);
        }
    }

    #[test]
    fn open_ends_are_the_ends_of_the_type() {
        assert_eq!((u16::at(i64::MIN), u16::at(i64::MAX)), (0, u16::MAX));
        assert_eq!((f64::at(i64::MIN), f64::at(i64::MAX)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((-0.0_f64).place(), 0.0_f64.place());
    }
}
