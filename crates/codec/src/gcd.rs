//! `GCD`: subtracts the least integer, and divides by the greatest common divisor of the differences.
//!
//! The output is a little longer than the input; a following compressor or `T64` profits from the small numbers.
//! Euclid's algorithm stops at a divisor of 1. The divisions have no remainder, so they are multiplications by the
//! inverse modulo a power of two (Warren, "Hacker's Delight", 2nd edition, section 10-16).
//!
//! # Layout
//!
//! ```text
//! trailing bytes that are no whole value, unchanged
//! base, divisor    each of their bytes as a value of its own    (if there are values)
//! quotients        (value - base) / divisor, for every value
//! ```
//!
//! The bytes of base and divisor are values of their own so that the next codec sees no value larger than the
//! quotients.
//!
//! A divisor of 0 means that all values are equal. For values of 32 bytes, base and divisor are stored as they are;
//! if their differences from the base take more than 16 bytes, the base is 0 and the divisor 1.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::{Codec, CodecError};

/// Bytes of a value of the widest type.
const WIDTH_MAX: usize = 32;

/// Most bytes of base and divisor: each of their bytes is stored as a value of 16 bytes.
const HEADER_BYTES_MAX: usize = 2 * 16 * 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Gcd {
    /// Bytes of a value: 1, 2, 4, 8, 16 or 32.
    pub(crate) width: u8,
}

impl Codec for Gcd {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.width {
            2 => encode_u16(input, out),
            4 => encode_u32(input, out),
            8 => encode_u64(input, out),
            16 => encode_u128(input, out),
            32 => encode_wide(input, out),
            _ => encode_u8(input, out),
        }
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        match self.width {
            2 => decode_u16(input, out),
            4 => decode_u32(input, out),
            8 => decode_u64(input, out),
            16 => decode_u128(input, out),
            32 => decode_wide(input, out),
            _ => decode_u8(input, out),
        }
        .ok_or(CodecError::Truncated { codec: "GCD" })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        input_bytes + HEADER_BYTES_MAX
    }
}

/// Defines the kernels of one width.
macro_rules! kernels {
    ($encode:ident, $decode:ident, $divisor:ident, $base:ident, $inverse:ident, $int:ty, $signed:ty) => {
        fn $encode(input: &[u8], out: &mut Vec<u8>) {
            let (values, tail) = input.as_chunks::<{ size_of::<$int>() }>();
            out.extend_from_slice(tail);
            if values.is_empty() {
                return;
            }
            let base = $base(values);
            let divisor = $divisor(values, base);
            let header = base.to_le_bytes().into_iter().chain(divisor.to_le_bytes());
            out.extend(header.flat_map(|byte| <$int>::from(byte).to_le_bytes()));
            // A divisor of 0 has only differences of 0.
            let shift = divisor.trailing_zeros() % <$int>::BITS;
            let inverse = $inverse((divisor >> shift) | 1);
            out.extend(values.iter().flat_map(|value| {
                let difference = <$int>::from_le_bytes(*value).wrapping_sub(base);
                (difference >> shift).wrapping_mul(inverse).to_le_bytes()
            }));
        }

        /// The least value in the order, signed or unsigned, in which the range of values is smaller.
        fn $base(values: &[[u8; size_of::<$int>()]]) -> $int {
            let (mut low, mut high) = (<$int>::MAX, 0);
            let (mut signed_low, mut signed_high) = (<$signed>::MAX, <$signed>::MIN);
            for value in values {
                let value = <$int>::from_le_bytes(*value);
                (low, high) = (low.min(value), high.max(value));
                signed_low = signed_low.min(value.cast_signed());
                signed_high = signed_high.max(value.cast_signed());
            }
            let signed_span = signed_high.wrapping_sub(signed_low).cast_unsigned();
            if high - low <= signed_span { low } else { signed_low.cast_unsigned() }
        }

        fn $divisor(values: &[[u8; size_of::<$int>()]], base: $int) -> $int {
            let mut divisor: $int = 0;
            for value in values {
                let mut difference = <$int>::from_le_bytes(*value).wrapping_sub(base);
                while difference != 0 {
                    (divisor, difference) = (difference, divisor % difference);
                }
                if divisor == 1 {
                    break;
                }
            }
            divisor
        }

        /// The inverse of an odd number modulo a power of two, by Newton's iteration: each round doubles the
        /// correct bits, and the number itself has three.
        fn $inverse(odd: $int) -> $int {
            let mut inverse = odd;
            for _ in 0..6 {
                let error = odd.wrapping_mul(inverse).wrapping_sub(2).wrapping_neg();
                inverse = inverse.wrapping_mul(error);
            }
            inverse
        }

        fn $decode(input: &[u8], out: &mut [u8]) -> Option<()> {
            const WIDTH: usize = size_of::<$int>();
            let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
            let (tail, input) = input.split_at_checked(out_tail.len())?;
            out_tail.copy_from_slice(tail);
            if values.is_empty() {
                return input.is_empty().then_some(());
            }
            let (numbers, rest) = input.as_chunks::<WIDTH>();
            let (base, numbers) = numbers.split_first_chunk::<WIDTH>()?;
            let (divisor, quotients) = numbers.split_first_chunk::<WIDTH>()?;
            let base = <$int>::from_le_bytes(base.map(|byte| byte[0]));
            let divisor = <$int>::from_le_bytes(divisor.map(|byte| byte[0]));
            if quotients.len() != values.len() || !rest.is_empty() {
                return None;
            }
            for (value, quotient) in values.iter_mut().zip(quotients) {
                let quotient = <$int>::from_le_bytes(*quotient);
                *value = quotient.wrapping_mul(divisor).wrapping_add(base).to_le_bytes();
            }
            Some(())
        }
    };
}

kernels!(encode_u8, decode_u8, divisor_u8, base_u8, inverse_u8, u8, i8);
kernels!(encode_u16, decode_u16, divisor_u16, base_u16, inverse_u16, u16, i16);
kernels!(encode_u32, decode_u32, divisor_u32, base_u32, inverse_u32, u32, i32);
kernels!(encode_u64, decode_u64, divisor_u64, base_u64, inverse_u64, u64, i64);
kernels!(encode_u128, decode_u128, divisor_u128, base_u128, inverse_u128, u128, i128);

/// A value of 32 bytes as its two halves, the higher first, so that tuples compare like values.
type Wide = (u128, u128);

fn wide(bytes: &[u8; WIDTH_MAX]) -> Wide {
    let (halves, _) = bytes.as_chunks::<16>();
    (u128::from_le_bytes(halves[1]), u128::from_le_bytes(halves[0]))
}

fn wide_bytes((high, low): Wide) -> [u8; WIDTH_MAX] {
    let mut bytes = [0; WIDTH_MAX];
    bytes[..16].copy_from_slice(&low.to_le_bytes());
    bytes[16..].copy_from_slice(&high.to_le_bytes());
    bytes
}

fn wide_sub(left: Wide, right: Wide) -> Wide {
    let (low, borrow) = left.1.overflowing_sub(right.1);
    (left.0.wrapping_sub(right.0).wrapping_sub(u128::from(borrow)), low)
}

fn encode_wide(input: &[u8], out: &mut Vec<u8>) {
    let (values, tail) = input.as_chunks::<WIDTH_MAX>();
    out.extend_from_slice(tail);
    if values.is_empty() {
        return;
    }
    // All types of this width are signed: with the sign bit flipped they compare as unsigned.
    let flipped = |(high, low): Wide| (high ^ (1 << 127), low);
    let base = values.iter().map(|value| flipped(wide(value))).min().map(flipped).unwrap_or_default();
    let differences = values.iter().map(|value| wide_sub(wide(value), base));
    if differences.clone().any(|(high, _)| high != 0) {
        out.extend_from_slice(&wide_bytes((0, 0)));
        out.extend_from_slice(&wide_bytes((0, 1)));
        out.extend_from_slice(input[..input.len() - tail.len()].as_ref());
        return;
    }
    let differences: Vec<[u8; 16]> = differences.map(|(_, low)| low.to_le_bytes()).collect();
    let divisor = divisor_u128(&differences, 0);
    out.extend_from_slice(&wide_bytes(base));
    out.extend_from_slice(&wide_bytes((0, divisor)));
    for difference in &differences {
        let quotient = u128::from_le_bytes(*difference).checked_div(divisor).unwrap_or(0);
        out.extend_from_slice(&wide_bytes((0, quotient)));
    }
}

fn decode_wide(input: &[u8], out: &mut [u8]) -> Option<()> {
    let (values, out_tail) = out.as_chunks_mut::<WIDTH_MAX>();
    let (tail, input) = input.split_at_checked(out_tail.len())?;
    out_tail.copy_from_slice(tail);
    if values.is_empty() {
        return input.is_empty().then_some(());
    }
    let (base, input) = input.split_first_chunk::<WIDTH_MAX>()?;
    let (divisor, input) = input.split_first_chunk::<WIDTH_MAX>()?;
    let (base, (_, divisor)) = (wide(base), wide(divisor));
    let (quotients, rest) = input.as_chunks::<WIDTH_MAX>();
    if quotients.len() != values.len() || !rest.is_empty() {
        return None;
    }
    for (value, quotient) in values.iter_mut().zip(quotients) {
        let (high, low) = wide(quotient);
        let (low, carry) = low.wrapping_mul(divisor).overflowing_add(base.1);
        *value = wide_bytes((high.wrapping_add(base.0).wrapping_add(u128::from(carry)), low));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for width in [1, 2, 4, 8, 16, 32] {
            crate::conformance::check(&Gcd { width });
        }
    }

    fn quotients(values: impl Iterator<Item = i64>) -> Vec<u64> {
        let input: Vec<u8> = values.flat_map(i64::to_le_bytes).collect();
        let mut out = Vec::new();
        Gcd { width: 8 }.encode(&input, &mut out).unwrap();
        out.as_chunks::<8>().0[16..].iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
    }

    #[test]
    fn multiples_become_small_numbers() {
        let expected: Vec<u64> = (0..100).collect();
        assert_eq!(quotients((0..100).map(|i| i * 86_400_000)), expected);
        assert_eq!(quotients((0..100).map(|i| (i - 50) * 1000 + 7)), expected);
        assert_eq!(quotients([5_i64; 3].into_iter()), [0; 3]);
    }

    #[test]
    fn wide_numbers_are_divided_too() {
        let input: Vec<u8> = (0..4_u128)
            .flat_map(|i| wide_bytes(wide_sub((0, i * 5 * 10_u128.pow(30)), (0, 10_u128.pow(31)))))
            .collect();
        let mut out = Vec::new();
        Gcd { width: 32 }.encode(&input, &mut out).unwrap();
        assert_eq!(wide(&out.as_chunks::<32>().0[5]), (0, 3));
        let mut decoded = vec![0; input.len()];
        Gcd { width: 32 }.decode(&out, &mut decoded).unwrap();
        assert_eq!(decoded, input);
    }
}
