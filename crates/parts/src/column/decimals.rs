//! Stores decimals of few digits in 4 or 8 bytes, as ClickHouse does; in memory they take 16.
//!
//! A block with a value beyond its type's precision is stored as in memory, with 16 bytes a value; the length of
//! the section distinguishes the two. So every array reads back, and so do blocks from before the short form
//! existed.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type};

/// Digits that fit in 4 bytes.
const DIGITS_4: u8 = 9;
const DIGITS_8: u8 = 18;

/// Bytes of a value in memory.
pub(super) const WIDE: usize = size_of::<i128>();

/// Bytes of a stored value, if it is shorter than in memory.
pub(super) fn short_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Decimal128(..=DIGITS_4, _) => Some(4),
        DataType::Decimal128(..=DIGITS_8, _) => Some(8),
        _ => None,
    }
}

/// The decimals of a block that is not written yet.
#[derive(Debug)]
pub(super) struct ShortDecimals {
    /// Values of `short_width` bytes, until a value does not fit.
    bytes: Vec<u8>,
    short_width: usize,
    is_wide: bool,
}

impl ShortDecimals {
    pub(super) fn new(short_width: usize) -> ShortDecimals {
        ShortDecimals { bytes: Vec::new(), short_width, is_wide: false }
    }

    /// Bytes of each stored value.
    pub(super) fn width(&self) -> usize {
        if self.is_wide { WIDE } else { self.short_width }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the decimals of `array`; a NULL becomes 0.
    pub(super) fn append(&mut self, array: &dyn Array) {
        let array = array.as_primitive::<Decimal128Type>();
        // The value under a NULL is undefined and need not fit.
        let Some(nulls) = array.nulls() else { return self.append_values(array.values().iter().copied()) };
        let valid = |(&value, is_valid): (&i128, bool)| if is_valid { value } else { 0 };
        self.append_values(array.values().iter().zip(nulls).map(valid));
    }

    fn append_values(&mut self, values: impl ExactSizeIterator<Item = i128> + Clone) {
        if !self.is_wide {
            let start = self.bytes.len();
            let fits = match self.short_width {
                4 => append_low::<4>(values.clone(), &mut self.bytes),
                _ => append_low::<8>(values.clone(), &mut self.bytes),
            };
            if fits {
                return;
            }
            self.bytes.truncate(start);
            let mut wide: Vec<i128> = Vec::with_capacity(start / self.short_width);
            extend_wide(&self.bytes, self.short_width, &mut wide);
            self.bytes = wide.into_iter().flat_map(i128::to_le_bytes).collect();
            self.is_wide = true;
        }
        append_low::<WIDE>(values, &mut self.bytes);
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.is_wide = false;
    }
}

/// Appends the lowest `WIDTH` bytes of each value; `false` if a value does not fit.
fn append_low<const WIDTH: usize>(values: impl ExactSizeIterator<Item = i128>, bytes: &mut Vec<u8>) -> bool {
    bytes.reserve(values.len() * WIDTH);
    let shift = 8 * (WIDE - WIDTH);
    let mut fits = true;
    for value in values {
        fits &= (value << shift) >> shift == value;
        bytes.extend_from_slice(&value.to_le_bytes()[..WIDTH]);
    }
    fits
}

/// Appends values of `width` bytes in the form that they have in memory.
pub(super) fn extend_wide(short: &[u8], width: usize, wide: &mut impl Extend<i128>) {
    match width {
        4 => wide.extend(short.as_chunks().0.iter().map(|value| i128::from(i32::from_le_bytes(*value)))),
        _ => wide.extend(short.as_chunks().0.iter().map(|value| i128::from(i64::from_le_bytes(*value)))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Decimal128Array};
    use arrow::buffer::NullBuffer;
    use arrow::compute::concat;
    use arrow::datatypes::Field;
    use basalt_codec::{CodecChain, Scratch};

    use super::super::decoder::decode_array;
    use super::super::encoder::{BlockEncoder, fixed_width};
    use super::super::section::{Kind, SectionWriter};
    use super::*;

    fn decimals(precision: u8, values: &[Option<i128>]) -> ArrayRef {
        let array = Decimal128Array::from_iter(values.iter().copied());
        Arc::new(array.with_data_type(DataType::Decimal128(precision, 2)))
    }

    /// Writes the arrays as one block and reads them back; returns the width of a stored value.
    fn check(precision: u8, arrays: &[ArrayRef]) -> usize {
        let field = Field::new("d", DataType::Decimal128(precision, 2), false);
        let mut block = BlockEncoder::new(&field);
        arrays.iter().for_each(|array| block.append(array));
        let (chain, mut out, mut scratch) = (CodecChain::default(), Vec::new(), Scratch::default());
        let mut sections =
            SectionWriter { chain: &chain, out: &mut out, scratch: &mut scratch, decoded_bytes: 0 };
        block.write(&mut sections).unwrap();
        let decoded_bytes = sections.decoded_bytes as usize;
        let all = concat(&arrays.iter().map(|array| &**array).collect::<Vec<_>>()).unwrap();
        assert_eq!(&decode_array(&field, &chain, &out, all.len()).unwrap(), &all);
        decoded_bytes / all.len()
    }

    #[test]
    fn values_of_the_digits_are_short_and_others_make_a_block_wide() {
        for (width, digits) in [(4, DIGITS_4), (8, DIGITS_8)] {
            let largest = 10_i128.pow(u32::from(digits)) - 1;
            let edge = 1_i128 << (8 * width - 1);
            let short =
                decimals(digits, &[Some(largest), Some(-largest), Some(0), Some(edge - 1), Some(-edge)]);
            assert_eq!(check(digits, std::slice::from_ref(&short)), width);
            for beyond in [edge, -edge - 1] {
                let wide = decimals(digits, &[Some(1), Some(beyond)]);
                assert_eq!(check(digits, &[Arc::clone(&short), wide, Arc::clone(&short)]), WIDE);
            }
        }
        assert_eq!(check(DIGITS_8 + 1, &[decimals(DIGITS_8 + 1, &[Some(1)])]), WIDE);
    }

    #[test]
    fn what_stands_under_a_null_need_not_fit() {
        let mut block = ShortDecimals::new(4);
        let nulls = NullBuffer::from(vec![false, true]);
        block.append(&Decimal128Array::new(vec![i128::MAX, 5].into(), Some(nulls)));
        assert_eq!(block.bytes(), [0, 0, 0, 0, 5, 0, 0, 0]);
    }

    #[test]
    fn blocks_from_before_there_was_a_short_form_are_read() {
        let field = Field::new("d", DataType::Decimal128(DIGITS_4, 2), false);
        let array = decimals(DIGITS_4, &[Some(-5), Some(70)]);
        let (chain, mut out, mut scratch) = (CodecChain::default(), Vec::new(), Scratch::default());
        let mut sections =
            SectionWriter { chain: &chain, out: &mut out, scratch: &mut scratch, decoded_bytes: 0 };
        let values = array.to_data().buffers()[0].clone();
        sections.write(Kind::Values(fixed_width(field.data_type())), &values).unwrap();
        assert_eq!(&decode_array(&field, &chain, &out, 2).unwrap(), &array);
    }
}
