//! Floats that came from decimals, stored as integers.
//!
//! A value is `digits * 10^factor * 10^-exponent`, computed in this order, or an exception.
//!
//! # Layout of a vector
//!
//! ```text
//! exponent u8, factor u8, bits u8, exception count u16
//! base i64                    the least integer
//! integers                    (integer - base) of every value, packed
//! positions u16               of every exception
//! exceptions                  of every exception, its unchanged bits
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::float::Float;
use super::vector::{VECTOR_VALUES, byte, field, sample_vector};
use crate::packed::{bits_of, pack, packed_bytes, unpack};
use crate::value::{load, store};

const HEADER_BYTES: usize = 5;
const BASE_BYTES: usize = size_of::<i64>();
const PLACE_BYTES: usize = size_of::<u16>();

/// Scales that the sample leaves as candidates for each vector.
const CHOICES_MAX: usize = 5;

/// 2^52 + 2^51: after adding it to a number below 2^51, the lowest bits hold the rounded number.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

const _: () = assert!(POWERS.len() == DecimalScale::EXPONENT_MAX as usize + 1, "a power for each exponent");

const POWERS: [f64; 19] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18];
const INVERSES: [f64; 19] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15,
    1e-16, 1e-17, 1e-18,
];

/// The decimal digits of a number that its integer holds.
///
/// A float that came from a decimal is the number of its digits again; callers compare the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalScale {
    /// Digits after the point.
    exponent: u8,
    /// Trailing zeroes that are dropped, at most `exponent`.
    factor: u8,
}

impl DecimalScale {
    /// The most digits after the point.
    pub const EXPONENT_MAX: u8 = 18;

    /// `factor` is at most `exponent`, and that at most [`DecimalScale::EXPONENT_MAX`]; else there is none.
    pub fn new(exponent: u8, factor: u8) -> Option<DecimalScale> {
        let is_known = exponent <= Self::EXPONENT_MAX && factor <= exponent;
        is_known.then_some(DecimalScale { exponent, factor })
    }

    /// Digits after the point.
    pub fn exponent(self) -> u8 {
        self.exponent
    }

    /// Trailing zeroes that integers do not have.
    pub fn factor(self) -> u8 {
        self.factor
    }

    /// The integer that decodes to `number`, if there is one.
    #[inline]
    pub fn digits(self, number: f64) -> i64 {
        let scaled = number * POWERS[usize::from(self.exponent)] * INVERSES[usize::from(self.factor)];
        (scaled + ROUNDER).to_bits().cast_signed().wrapping_sub(ROUNDER.to_bits().cast_signed())
    }

    /// The float of an integer.
    #[inline]
    pub fn number(self, digits: i64) -> f64 {
        let rounded =
            f64::from_bits(digits.wrapping_add(ROUNDER.to_bits().cast_signed()).cast_unsigned()) - ROUNDER;
        rounded * POWERS[usize::from(self.factor)] * INVERSES[usize::from(self.exponent)]
    }

    /// Bits that the values take, including exceptions.
    fn cost<F: Float<WIDTH>, const WIDTH: usize>(self, values: &[u64]) -> usize {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        let mut exceptions = 0;
        for &bits in values {
            let digits = self.digits(F::number(bits));
            if F::bits(self.number(digits)) == bits {
                (low, high) = (low.min(digits), high.max(digits));
            } else {
                exceptions += 1;
            }
        }
        let span = if low <= high { high.wrapping_sub(low).cast_unsigned() } else { 0 };
        values.len() * bits_of(span) as usize + exceptions * 8 * (WIDTH + PLACE_BYTES)
    }
}

pub(super) fn overhead_bytes_max(values: usize, vectors: usize) -> usize {
    // The case that every value is an exception: then nothing is packed.
    values * PLACE_BYTES + vectors * (HEADER_BYTES + BASE_BYTES) + values * size_of::<u64>()
}

/// The best scales for the vectors of a sample, and the bits a value with the best of them.
pub(super) fn choose<F: Float<WIDTH>, const WIDTH: usize>(sample: &[Vec<u64>]) -> (Vec<DecimalScale>, f64) {
    let mut scales: Vec<(usize, DecimalScale)> = Vec::new();
    for exponent in 0..=F::EXPONENT_MAX {
        for factor in 0..=exponent {
            let scale = DecimalScale { exponent, factor };
            let cost = sample.iter().map(|vector| scale.cost::<F, WIDTH>(vector)).sum();
            scales.push((cost, scale));
        }
    }
    // Among equal costs the least exponent, which comes first, has the least rounding.
    scales.sort_by_key(|(cost, _)| *cost);
    let values: usize = sample.iter().map(Vec::len).sum();
    let header_bits = (8 * (HEADER_BYTES + BASE_BYTES)) as f64 / VECTOR_VALUES as f64;
    let bits = scales[0].0 as f64 / values as f64 + header_bits;
    (scales.into_iter().take(CHOICES_MAX).map(|(_, scale)| scale).collect(), bits)
}

pub(super) fn encode<F: Float<WIDTH>, const WIDTH: usize>(
    scales: &[DecimalScale],
    values: &[[u8; WIDTH]],
    out: &mut Vec<u8>,
) {
    for vector in values.chunks(VECTOR_VALUES) {
        let sample = sample_vector(vector);
        let best = scales.iter().min_by_key(|scale| scale.cost::<F, WIDTH>(&sample));
        encode_vector::<F, WIDTH>(*best.expect("there is a choice"), vector, out);
    }
}

fn encode_vector<F: Float<WIDTH>, const WIDTH: usize>(
    scale: DecimalScale,
    vector: &[[u8; WIDTH]],
    out: &mut Vec<u8>,
) {
    let mut digits = Vec::with_capacity(vector.len());
    let mut exceptions = Vec::new();
    let mut stand_in = None;
    for (place, value) in vector.iter().enumerate() {
        let bits = load(value);
        let found = scale.digits(F::number(bits));
        if F::bits(scale.number(found)) == bits {
            stand_in.get_or_insert(found);
        } else {
            exceptions.push(place);
        }
        digits.push(found);
    }
    // An exception is packed as a value that needs no extra bits.
    for &place in &exceptions {
        digits[place] = stand_in.unwrap_or(0);
    }
    let base = digits.iter().copied().min().unwrap_or(0);
    let highest = digits.iter().copied().max().unwrap_or(0);
    let bits = bits_of(highest.wrapping_sub(base).cast_unsigned());
    out.extend_from_slice(&[scale.exponent, scale.factor, byte(bits)]);
    out.extend_from_slice(&field(exceptions.len()).to_le_bytes());
    out.extend_from_slice(&base.to_le_bytes());
    pack(digits.iter().map(|digits| digits.wrapping_sub(base).cast_unsigned()), bits, out);
    out.extend(exceptions.iter().flat_map(|&place| field(place).to_le_bytes()));
    out.extend(exceptions.iter().flat_map(|&place| vector[place]));
}

pub(super) fn decode<F: Float<WIDTH>, const WIDTH: usize>(
    mut input: &[u8],
    values: &mut [[u8; WIDTH]],
) -> Option<()> {
    for vector in values.chunks_mut(VECTOR_VALUES) {
        input = decode_vector::<F, WIDTH>(input, vector)?;
    }
    input.is_empty().then_some(())
}

/// Returns the input after the vector.
fn decode_vector<'a, F: Float<WIDTH>, const WIDTH: usize>(
    input: &'a [u8],
    vector: &mut [[u8; WIDTH]],
) -> Option<&'a [u8]> {
    let ([exponent, factor, bits, count @ ..], input) = input.split_first_chunk::<HEADER_BYTES>()?;
    let (base, input) = input.split_first_chunk::<BASE_BYTES>()?;
    let scale = DecimalScale { exponent: *exponent, factor: *factor };
    if scale.exponent > F::EXPONENT_MAX || scale.factor > scale.exponent || u32::from(*bits) > u64::BITS {
        return None;
    }
    let base = i64::from_le_bytes(*base);
    let (packed, input) = input.split_at_checked(packed_bytes(vector.len(), u32::from(*bits)))?;
    let mut buffer = [0; VECTOR_VALUES];
    let numbers = &mut buffer[..vector.len()];
    unpack(packed, u32::from(*bits), numbers);
    for (value, number) in vector.iter_mut().zip(&*numbers) {
        *value = store(F::bits(scale.number(base.wrapping_add(number.cast_signed()))));
    }
    let count = usize::from(u16::from_le_bytes(*count));
    let (places, input) = input.split_at_checked(count * PLACE_BYTES)?;
    let (exceptions, input) = input.split_at_checked(count * WIDTH)?;
    for (place, exception) in places.as_chunks().0.iter().zip(exceptions.as_chunks::<WIDTH>().0) {
        *vector.get_mut(usize::from(u16::from_le_bytes(*place)))? = *exception;
    }
    Some(input)
}
