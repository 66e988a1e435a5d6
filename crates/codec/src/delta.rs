//! `Delta(bytes)`: replaces every value by its difference from the one before.
//!
//! The output is as long as the input; a following compressor profits from small differences.
//!
//! # Layout
//!
//! ```text
//! first value, then differences modulo 2^(8 * bytes); all little-endian
//! trailing bytes that are no whole value, unchanged
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::{Codec, CodecError};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    /// Bytes of a value: 1, 2, 4 or 8.
    pub(crate) width: u8,
}

impl Codec for Delta {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let start = out.len();
        out.extend_from_slice(input);
        let out = &mut out[start..];
        match self.width {
            2 => subtract_u16(input, out),
            4 => subtract_u32(input, out),
            8 => subtract_u64(input, out),
            _ => subtract_u8(input, out),
        }
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        if input.len() != out.len() {
            return Err(CodecError::Length { codec: "Delta", expected: out.len(), found: input.len() });
        }
        match self.width {
            2 => sum_u16(input, out),
            4 => sum_u32(input, out),
            8 => sum_u64(input, out),
            _ => sum_u8(input, out),
        }
        Ok(())
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        input_bytes
    }
}

/// The two kernels of one width: differences (no value depends on a result, so the loop vectorises), and running
/// sums (one addition per value is the critical path).
macro_rules! kernels {
    ($subtract:ident, $sum:ident, $int:ty) => {
        fn $subtract(input: &[u8], out: &mut [u8]) {
            const WIDTH: usize = size_of::<$int>();
            let Some((_, later)) = out.split_at_mut_checked(WIDTH) else { return };
            let (values, _) = input.as_chunks::<WIDTH>();
            let (later, _) = later.as_chunks_mut::<WIDTH>();
            for (pair, difference) in values.windows(2).zip(later) {
                let (before, value) = (<$int>::from_le_bytes(pair[0]), <$int>::from_le_bytes(pair[1]));
                *difference = value.wrapping_sub(before).to_le_bytes();
            }
        }

        fn $sum(input: &[u8], out: &mut [u8]) {
            const WIDTH: usize = size_of::<$int>();
            let (differences, tail) = input.as_chunks::<WIDTH>();
            let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
            let mut sum: $int = 0;
            for (difference, value) in differences.iter().zip(values) {
                sum = sum.wrapping_add(<$int>::from_le_bytes(*difference));
                *value = sum.to_le_bytes();
            }
            out_tail.copy_from_slice(tail);
        }
    };
}

kernels!(subtract_u8, sum_u8, u8);
kernels!(subtract_u16, sum_u16, u16);
kernels!(subtract_u32, sum_u32, u32);
kernels!(subtract_u64, sum_u64, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for width in [1, 2, 4, 8] {
            crate::conformance::check(&Delta { width });
        }
    }

    #[test]
    fn steady_steps_become_equal_values() {
        let input: Vec<u8> = [10_u16, 13, 16, 12].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut out = Vec::new();
        Delta { width: 2 }.encode(&input, &mut out).unwrap();
        let expected: Vec<u8> = [10_i16, 3, 3, -4].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(out, expected);
    }
}
