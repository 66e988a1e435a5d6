//! `FPC(level)`: predicts each float, and stores the XOR with the better of two predictions without its leading
//! zero bytes.
//!
//! After Burtscher and Ratanaworabhan, "FPC: A High-Speed Compressor for Double-Precision Floating-Point Data"
//! (IEEE Transactions on Computers 58(1), 2009, section 3). One table predicts a value from those before it (FCM),
//! the other its difference from the last value (DFCM). Encoder and decoder fill them in the same way.
//!
//! # Layout
//!
//! ```text
//! trailing bytes that are no whole value, unchanged
//! heads       four bits a value, the lower half of a byte first: 8 if the DFCM prediction was used, plus the
//!             code of the count of leading zero bytes
//! residuals   for every value: its XOR with the prediction, without the leading zero bytes, little-endian
//! ```
//!
//! There are eight codes for counts of leading zero bytes. For values of 8 bytes, a count of 4 is stored as 3, as
//! in the paper. The number of values is not stored: it follows from the length of the output.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::{Codec, CodecError};

pub(crate) const LEVEL_MIN: u8 = 1;
/// Higher levels would need tables of gigabytes.
pub(crate) const LEVEL_MAX: u8 = 28;
pub(crate) const LEVEL_DEFAULT: u8 = 12;

const STEP_PREDICTED: u8 = 8;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fpc {
    /// A table has 2 to the power of this many entries, or fewer if there are fewer values.
    pub(crate) level: u8,
    /// Bytes of a value: 4 or 8.
    pub(crate) width: u8,
}

impl Codec for Fpc {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.width {
            4 => encode::<u32, 4>(self.level, input, out),
            _ => encode::<u64, 8>(self.level, input, out),
        }
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        match self.width {
            4 => decode::<u32, 4>(self.level, input, out),
            _ => decode::<u64, 8>(self.level, input, out),
        }
        .ok_or(CodecError::Truncated { codec: "FPC" })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        input_bytes + (input_bytes / usize::from(self.width.max(4))).div_ceil(2)
    }
}

/// The bits of a float of one width, and the constants of its hashes.
trait Bits<const WIDTH: usize>: Copy + Default {
    /// The shift of the hash for each value, and which bits of the value go into it.
    const VALUE_HASH: (u32, u32);
    const STEP_HASH: (u32, u32);

    fn from_word(word: u64) -> Self;
    fn word(self) -> u64;
    /// The code of the largest count that is not above `zero_bytes`.
    fn code(zero_bytes: usize) -> u8;
    fn zero_bytes(code: u8) -> usize;
}

impl Bits<8> for u64 {
    const VALUE_HASH: (u32, u32) = (6, 48);
    const STEP_HASH: (u32, u32) = (2, 40);

    fn from_word(word: u64) -> u64 {
        word
    }

    fn word(self) -> u64 {
        self
    }

    fn code(zero_bytes: usize) -> u8 {
        [0, 1, 2, 3, 3, 4, 5, 6, 7][zero_bytes]
    }

    fn zero_bytes(code: u8) -> usize {
        [0, 1, 2, 3, 5, 6, 7, 8][usize::from(code & 7)]
    }
}

impl Bits<4> for u32 {
    const VALUE_HASH: (u32, u32) = (4, 20);
    const STEP_HASH: (u32, u32) = (2, 18);

    #[expect(clippy::cast_possible_truncation, reason = "the value has four bytes")]
    fn from_word(word: u64) -> u32 {
        word as u32
    }

    fn word(self) -> u64 {
        u64::from(self)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a value has at most eight bytes")]
    fn code(zero_bytes: usize) -> u8 {
        zero_bytes as u8
    }

    fn zero_bytes(code: u8) -> usize {
        usize::from(code & 7).min(4)
    }
}

/// Both tables and the last value.
struct Predictor<B> {
    values: Vec<B>,
    steps: Vec<B>,
    value_hash: usize,
    step_hash: usize,
    before: u64,
}

impl<B> Predictor<B> {
    fn new<const WIDTH: usize>(level: u8, value_count: usize) -> Predictor<B>
    where
        B: Bits<WIDTH>,
    {
        let needed = value_count.next_power_of_two() * 2;
        let entries = needed.min(1 << level.min(LEVEL_MAX));
        Predictor {
            values: vec![B::default(); entries],
            steps: vec![B::default(); entries],
            value_hash: 0,
            step_hash: 0,
            before: 0,
        }
    }

    /// The predictions of both tables.
    #[inline]
    fn predict<const WIDTH: usize>(&self) -> (u64, u64)
    where
        B: Bits<WIDTH>,
    {
        let step = self.steps[self.step_hash].word();
        (self.values[self.value_hash].word(), B::from_word(self.before.wrapping_add(step)).word())
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the mask keeps the low bits of a hash")]
    fn update<const WIDTH: usize>(&mut self, value: u64)
    where
        B: Bits<WIDTH>,
    {
        let mask = self.values.len() - 1;
        let next = |hash: usize, (left, right): (u32, u32), word: u64| {
            ((hash << left) ^ (word >> right) as usize) & mask
        };
        let step = B::from_word(value.wrapping_sub(self.before));
        self.values[self.value_hash] = B::from_word(value);
        self.value_hash = next(self.value_hash, B::VALUE_HASH, value);
        self.steps[self.step_hash] = step;
        self.step_hash = next(self.step_hash, B::STEP_HASH, step.word());
        self.before = value;
    }
}

fn encode<B: Bits<WIDTH>, const WIDTH: usize>(level: u8, input: &[u8], out: &mut Vec<u8>) {
    let (values, tail) = input.as_chunks::<WIDTH>();
    out.extend_from_slice(tail);
    let heads_at = out.len();
    out.resize(heads_at + values.len().div_ceil(2), 0);
    let mut predictor = Predictor::<B>::new(level, values.len());
    for (index, bytes) in values.iter().enumerate() {
        let value = crate::value::load(bytes);
        let (by_value, by_step) = predictor.predict();
        predictor.update(value);
        let (by_value, by_step) = (value ^ by_value, value ^ by_step);
        let (head, residual) = if by_step < by_value { (STEP_PREDICTED, by_step) } else { (0, by_value) };
        let code = B::code(residual.leading_zeros() as usize / 8 - (8 - WIDTH));
        out[heads_at + index / 2] |= (head | code) << (index % 2 * 4);
        out.extend_from_slice(&residual.to_le_bytes()[..WIDTH - B::zero_bytes(code)]);
    }
}

/// `None` if the residuals do not have the length that the heads give.
#[expect(clippy::cast_possible_truncation, reason = "a word has at most 64 bits")]
fn decode<B: Bits<WIDTH>, const WIDTH: usize>(level: u8, input: &[u8], out: &mut [u8]) -> Option<()> {
    let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
    let (tail, input) = input.split_at_checked(out_tail.len())?;
    out_tail.copy_from_slice(tail);
    let (heads, mut residuals) = input.split_at_checked(values.len().div_ceil(2))?;
    let mut predictor = Predictor::<B>::new(level, values.len());
    for (index, slot) in values.iter_mut().enumerate() {
        let head = heads[index / 2] >> (index % 2 * 4);
        let length = WIDTH - B::zero_bytes(head);
        let residual = match residuals.first_chunk::<8>() {
            // A shift by 64 bits is not defined, so the upper bytes go in two steps.
            Some(bytes) => {
                let unused = 8 * (8 - length) as u32;
                (u64::from_le_bytes(*bytes) << (unused / 2) << (unused / 2)) >> (unused / 2) >> (unused / 2)
            }
            None => {
                let mut word = [0; 8];
                word[..length].copy_from_slice(residuals.get(..length)?);
                u64::from_le_bytes(word)
            }
        };
        residuals = residuals.get(length..)?;
        let (by_value, by_step) = predictor.predict();
        let value = residual ^ if head & STEP_PREDICTED == 0 { by_value } else { by_step };
        predictor.update(value);
        *slot = crate::value::store(value);
    }
    residuals.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for width in [4, 8] {
            for level in [LEVEL_MIN, LEVEL_DEFAULT, LEVEL_MAX] {
                crate::conformance::check(&Fpc { level, width });
            }
        }
    }

    #[test]
    fn repeating_values_are_predicted() {
        let input: Vec<u8> = (0..8000).flat_map(|i| f64::from(i % 5).sqrt().to_le_bytes()).collect();
        let mut out = Vec::new();
        Fpc { level: 12, width: 8 }.encode(&input, &mut out).unwrap();
        assert!(out.len() < 4200, "four bits a value and little more, found {} bytes", out.len());
    }
}
