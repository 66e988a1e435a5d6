//! Values as integers of 128 bits, which zone maps compare.
//!
//! A *bound* is in the order of values: the image of a number in the high half, a decimal with its sign bit flipped (of
//! 256 bits, the high half), the first sixteen bytes of a string. Different values may have the same bound.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type};
use basalt_base::Result;

use super::image::{append_images, float_zeroes, has_images};

pub(super) const BOUND_BYTES: usize = size_of::<u128>();

const HALF_BITS: u32 = u64::BITS;
const SIGN: u128 = 1 << 127;

/// A value as the zone maps compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ZoneBound(pub(super) u128);

impl ZoneBound {
    /// The bound of value `row`; `None` for NULL, and for types whose values have no bound.
    pub fn of(values: &ArrayRef, row: usize) -> Result<Option<ZoneBound>> {
        let mut bounds = Vec::new();
        match has_bounds(values.data_type()) && row < values.len() {
            true => append_bounds(&values.slice(row, 1), &mut bounds)?,
            false => return Ok(None),
        }
        Ok(bounds.first().copied().flatten().map(ZoneBound))
    }
}

/// Whether values of this type have bounds.
pub(super) fn has_bounds(data_type: &DataType) -> bool {
    has_images(data_type) || matches!(data_type, DataType::BinaryView | DataType::FixedSizeBinary(_))
}

/// Whether the low half of every bound of this type is zero.
pub(super) fn short_bounds(data_type: &DataType) -> bool {
    !matches!(
        data_type,
        DataType::BinaryView
            | DataType::FixedSizeBinary(_)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..)
    )
}

/// Appends the bound of each value; `None` for NULL.
pub(super) fn append_bounds(values: &ArrayRef, out: &mut Vec<Option<u128>>) -> Result<()> {
    match values.data_type() {
        DataType::BinaryView => {
            out.extend(values.as_binary_view().iter().map(|string| string.map(bound_of_bytes)));
        }
        DataType::FixedSizeBinary(_) => {
            out.extend(values.as_fixed_size_binary().iter().map(|string| string.map(bound_of_bytes)));
        }
        DataType::Decimal128(..) => {
            let decimals = values.as_primitive::<Decimal128Type>();
            out.extend(decimals.iter().map(|decimal| decimal.map(|decimal| decimal.cast_unsigned() ^ SIGN)));
        }
        DataType::Decimal256(..) => {
            let decimals = values.as_primitive::<Decimal256Type>();
            let high = decimals.iter().map(|decimal| decimal.map(|decimal| decimal.to_parts().1));
            out.extend(high.map(|high| high.map(|high| high.cast_unsigned() ^ SIGN)));
        }
        data_type => {
            let mut images = Vec::with_capacity(values.len());
            append_images(values, 0, &mut images)?;
            // The zeroes of both signs are equal, but their images are not.
            let zeroes = float_zeroes(data_type);
            let bounds = images.into_iter().enumerate().map(|(row, image)| {
                let image = zeroes.filter(|zeroes| image == zeroes.0).map_or(image, |zeroes| zeroes.1);
                values.is_valid(row).then_some(u128::from(image) << HALF_BITS)
            });
            out.extend(bounds);
        }
    }
    Ok(())
}

/// The first bytes as a number; a short string is padded with zeroes.
fn bound_of_bytes(string: &[u8]) -> u128 {
    let mut bytes = [0; BOUND_BYTES];
    let length = string.len().min(BOUND_BYTES);
    bytes[..length].copy_from_slice(&string[..length]);
    u128::from_be_bytes(bytes)
}
