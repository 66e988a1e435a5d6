//! Values of up to eight bytes as unsigned integers in the same order, and back.
//!
//! The *image* of a value is its integer: an unsigned integer is its own image, a signed one has its sign bit flipped,
//! a float too, and all its other bits if it is negative. Decimals have the image of a 64-bit integer if they fit.
//! Encodings work on images, so they need no code for each type.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, ToByteSlice, UInt8Type, UInt16Type, UInt32Type, UInt64Type, i256,
};
use basalt_base::{Error, Result};

const SIGN: u64 = 1 << 63;

/// A type whose values have images.
trait Image: ArrowPrimitiveType {
    /// `None` if the value is too large.
    fn image(value: Self::Native) -> Option<u64>;

    /// The value of an image; some value if no value has it.
    fn value(image: u64) -> Self::Native;
}

macro_rules! unsigned {
    ($($ty:ty),*) => {$(
        impl Image for $ty {
            #[inline(always)]
            fn image(value: Self::Native) -> Option<u64> {
                Some(u64::from(value))
            }

            #[inline(always)]
            #[expect(clippy::allow_attributes, reason = "the widest type needs no cast")]
            #[allow(clippy::cast_possible_truncation, reason = "an image of this type is small")]
            fn value(image: u64) -> Self::Native {
                image as Self::Native
            }
        }
    )*};
}

macro_rules! signed {
    ($($ty:ty),*) => {$(
        impl Image for $ty {
            #[inline(always)]
            fn image(value: Self::Native) -> Option<u64> {
                Some(image_of_signed(i64::from(value)))
            }

            #[inline(always)]
            #[expect(clippy::allow_attributes, reason = "the widest type needs no cast")]
            #[allow(clippy::cast_possible_truncation, reason = "an image of this type is small")]
            fn value(image: u64) -> Self::Native {
                signed_of_image(image) as Self::Native
            }
        }
    )*};
}

unsigned!(UInt8Type, UInt16Type, UInt32Type, UInt64Type);
signed!(Int8Type, Int16Type, Int32Type, Int64Type);

impl Image for Float64Type {
    #[inline(always)]
    fn image(value: f64) -> Option<u64> {
        let bits = value.to_bits();
        Some(if bits & SIGN == 0 { bits | SIGN } else { !bits })
    }

    #[inline(always)]
    fn value(image: u64) -> f64 {
        f64::from_bits(if image & SIGN == 0 { !image } else { image & !SIGN })
    }
}

impl Image for Float32Type {
    #[inline(always)]
    fn image(value: f32) -> Option<u64> {
        const SIGN: u32 = 1 << 31;
        let bits = value.to_bits();
        Some(u64::from(if bits & SIGN == 0 { bits | SIGN } else { !bits }))
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "an image of this type is small")]
    fn value(image: u64) -> f32 {
        const SIGN: u32 = 1 << 31;
        let image = image as u32;
        f32::from_bits(if image & SIGN == 0 { !image } else { image & !SIGN })
    }
}

impl Image for Decimal128Type {
    #[inline(always)]
    fn image(value: i128) -> Option<u64> {
        i64::try_from(value).ok().map(image_of_signed)
    }

    #[inline(always)]
    fn value(image: u64) -> i128 {
        i128::from(signed_of_image(image))
    }
}

impl Image for Decimal256Type {
    #[inline(always)]
    fn image(value: i256) -> Option<u64> {
        value.to_i128().and_then(Decimal128Type::image)
    }

    #[inline(always)]
    fn value(image: u64) -> i256 {
        i256::from_i128(i128::from(signed_of_image(image)))
    }
}

#[inline(always)]
pub(super) fn image_of_signed(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

#[inline(always)]
pub(super) fn signed_of_image(image: u64) -> i64 {
    (image ^ SIGN).cast_signed()
}

/// A width of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FloatWidth {
    Single,
    Double,
}

impl FloatWidth {
    /// `None` for a type that is no float.
    pub(super) fn of(data_type: &DataType) -> Option<FloatWidth> {
        match data_type {
            DataType::Float32 => Some(FloatWidth::Single),
            DataType::Float64 => Some(FloatWidth::Double),
            _ => None,
        }
    }

    /// The float that has this image.
    #[inline(always)]
    pub(super) fn number(self, image: u64) -> f64 {
        match self {
            FloatWidth::Single => f64::from(Float32Type::value(image)),
            FloatWidth::Double => Float64Type::value(image),
        }
    }

    /// The image of the nearest float of this width.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the float is rounded")]
    pub(super) fn image(self, number: f64) -> u64 {
        match self {
            FloatWidth::Single => Float32Type::image(number as f32),
            FloatWidth::Double => Float64Type::image(number),
        }
        .unwrap_or(0)
    }
}

/// The images of the negative zero and of the positive one; `None` for a type that is no float.
pub(super) fn float_zeroes(data_type: &DataType) -> Option<(u64, u64)> {
    let width = FloatWidth::of(data_type)?;
    Some((width.image(-0.0), width.image(0.0)))
}

/// Runs `$body` with `$ty` as the Arrow type that `$data_type` names; `$otherwise` if it has no images.
macro_rules! with_image_type {
    ($data_type:expr, $ty:ident => $body:expr, $otherwise:expr) => {
        match $data_type {
            DataType::UInt8 => with_image_type!(@ $ty, UInt8Type, $body),
            DataType::UInt16 => with_image_type!(@ $ty, UInt16Type, $body),
            DataType::UInt32 => with_image_type!(@ $ty, UInt32Type, $body),
            DataType::UInt64 => with_image_type!(@ $ty, UInt64Type, $body),
            DataType::Int8 => with_image_type!(@ $ty, Int8Type, $body),
            DataType::Int16 => with_image_type!(@ $ty, Int16Type, $body),
            DataType::Int32 => with_image_type!(@ $ty, Int32Type, $body),
            DataType::Int64 => with_image_type!(@ $ty, Int64Type, $body),
            DataType::Float32 => with_image_type!(@ $ty, Float32Type, $body),
            DataType::Float64 => with_image_type!(@ $ty, Float64Type, $body),
            DataType::Decimal128(..) => with_image_type!(@ $ty, Decimal128Type, $body),
            DataType::Decimal256(..) => with_image_type!(@ $ty, Decimal256Type, $body),
            _ => $otherwise,
        }
    };
    (@ $ty:ident, $arrow:ty, $body:expr) => {{
        type $ty = $arrow;
        $body
    }};
}

/// Whether values of the type have images: all of them, or those that are not too large.
pub(super) fn has_images(data_type: &DataType) -> bool {
    with_image_type!(data_type, T => size_of::<<T as ArrowPrimitiveType>::Native>() > 0, *data_type == DataType::Boolean)
}

/// Appends the image of each value; for NULL, that of the value before it, or `before`. `false`, after any images, if
/// a value has none.
pub(super) fn append_images(array: &dyn Array, before: u64, out: &mut Vec<u64>) -> Result<bool> {
    if let Some(flags) = array.as_boolean_opt() {
        append_each(flags.values().iter().map(|flag| Some(u64::from(flag))), flags, before, out);
        return Ok(true);
    }
    with_image_type!(array.data_type(), T => {
        let array = array.as_primitive::<T>();
        Ok(append_each(array.values().iter().map(|&value| T::image(value)), array, before, out))
    }, Err(no_images(array.data_type())))
}

fn append_each(
    mut images: impl Iterator<Item = Option<u64>>,
    array: &dyn Array,
    before: u64,
    out: &mut Vec<u64>,
) -> bool {
    let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return images.all(|image| image.inspect(|&image| out.push(image)).is_some());
    };
    let mut last = before;
    images.zip(nulls.iter()).all(|(image, is_valid)| {
        let image = if is_valid { image } else { Some(last) };
        image
            .inspect(|&image| {
                last = image;
                out.push(image);
            })
            .is_some()
    })
}

/// Makes an array of images that come piece by piece.
pub(super) trait ImageArray {
    fn push(&mut self, images: &[u64]);

    fn finish(self: Box<Self>, data_type: &DataType) -> ArrayRef;
}

/// An empty array with room for `count` values.
pub(super) fn image_array(data_type: &DataType, count: usize) -> Result<Box<dyn ImageArray>> {
    if *data_type == DataType::Boolean {
        return Ok(Box::new(Flags(Vec::with_capacity(count))));
    }
    with_image_type!(data_type, T => Ok(Box::new(Numbers::<T>(Vec::with_capacity(count)))), Err(no_images(data_type)))
}

struct Numbers<T: ArrowPrimitiveType>(Vec<T::Native>);

impl<T: Image> ImageArray for Numbers<T> {
    fn push(&mut self, images: &[u64]) {
        self.0.extend(images.iter().map(|&image| T::value(image)));
    }

    fn finish(self: Box<Self>, data_type: &DataType) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(self.0.into(), None).with_data_type(data_type.clone()))
    }
}

struct Flags(Vec<bool>);

impl ImageArray for Flags {
    fn push(&mut self, images: &[u64]) {
        self.0.extend(images.iter().map(|&image| image != 0));
    }

    fn finish(self: Box<Self>, _: &DataType) -> ArrayRef {
        Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(self.0.len(), |at| self.0[at]), None))
    }
}

/// Appends the value of `image` to `out`, in little-endian order.
pub(super) fn append_image(data_type: &DataType, image: u64, out: &mut Vec<u8>) -> Result<()> {
    if *data_type == DataType::Boolean {
        out.push(u8::from(image != 0));
        return Ok(());
    }
    with_image_type!(data_type, T => {
        out.extend_from_slice(T::value(image).to_byte_slice());
        Ok(())
    }, Err(no_images(data_type)))
}

/// The array of all `images`.
pub(super) fn array_of_images(data_type: &DataType, images: &[u64]) -> Result<ArrayRef> {
    let mut array = image_array(data_type, images.len())?;
    array.push(images);
    Ok(array.finish(data_type))
}

#[cold]
fn no_images(data_type: &DataType) -> Error {
    Error::not_implemented(format!("a store of numbers for the type {data_type}"))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, Float32Array, Float64Array, Int8Array, Int64Array, UInt16Array};

    use super::*;

    fn check(array: &ArrayRef) {
        let mut images = Vec::new();
        assert!(append_images(array, 0, &mut images).expect("numbers"));
        assert!(images.is_sorted(), "{array:?}");
        assert_eq!(&array_of_images(array.data_type(), &images).expect("numbers"), array);
    }

    #[test]
    fn images_are_in_the_order_of_values_and_give_them_back() {
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        check(&(Arc::new(Float64Array::from(floats.to_vec())) as ArrayRef));
        check(&(Arc::new(Float32Array::from_iter_values(floats.map(|float| float as f32))) as ArrayRef));
        check(&(Arc::new(Int8Array::from(vec![-128, -1, 0, 1, 127])) as ArrayRef));
        check(&(Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX])) as ArrayRef));
        check(&(Arc::new(UInt16Array::from(vec![0, 1, 65_535])) as ArrayRef));
        check(&(Arc::new(BooleanArray::from(vec![false, false, true])) as ArrayRef));
        let decimals = Decimal128Array::from(vec![-5_000_000, 0, 7]).with_precision_and_scale(20, 3);
        check(&(Arc::new(decimals.expect("they fit")) as ArrayRef));
    }

    #[test]
    fn nulls_repeat_the_value_before_and_large_decimals_have_no_image() {
        let mut images = Vec::new();
        let array = UInt16Array::from(vec![None, Some(3), None, Some(5), None]);
        append_images(&array, 9, &mut images).expect("numbers");
        assert_eq!(images, [9, 3, 3, 5, 5]);
        let array = Decimal128Array::from(vec![0, 1 << 100]);
        assert!(!append_images(&array, 0, &mut images).expect("numbers"));
    }
}
