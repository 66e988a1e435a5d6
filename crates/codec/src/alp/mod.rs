//! `ALP`: stores floats that were decimals as integers, and splits other floats into common and random bits.
//!
//! After Afroozeh, Kuffo and Boncz, "ALP: Adaptive Lossless floating-Point Compression" (SIGMOD 2024): `decimal` is
//! section 3.1, `real` is section 3.4 (ALP-RD). A sample decides which one is shorter.
//!
//! # Layout
//!
//! ```text
//! trailing bytes that are no whole value, unchanged
//! scheme u8        0 decimal, 1 real                   (if there are values)
//! the values in that scheme: see `decimal`, `real`
//! ```
//!
//! Both cut the values into vectors of [`VECTOR_VALUES`]; the last one may be shorter. *Exceptions* are values that
//! the scheme cannot hold; they are stored apart with their positions. The number of values is not stored: it
//! follows from the length of the output.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod decimal;
mod float;
mod real;
mod vector;

pub use self::decimal::DecimalScale;
use self::float::Float;
use self::vector::{VECTOR_VALUES, sample};
use crate::{Codec, CodecError};

const SCHEME_DECIMAL: u8 = 0;
const SCHEME_REAL: u8 = 1;

/// The scheme that the encoder uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlpScheme {
    /// The scheme that makes a sample shorter.
    Shortest,
    /// `ALP(STD)`.
    Decimal,
    /// `ALP(RD)`.
    Real,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Alp {
    pub(crate) scheme: AlpScheme,
    /// Bytes of a value: 4 or 8.
    pub(crate) width: u8,
}

impl Codec for Alp {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.width {
            4 => encode::<f32, 4>(self.scheme, input, out),
            _ => encode::<f64, 8>(self.scheme, input, out),
        }
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        match self.width {
            4 => decode::<f32, 4>(input, out),
            _ => decode::<f64, 8>(input, out),
        }
        .ok_or(CodecError::Truncated { codec: "ALP" })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        let values = input_bytes / usize::from(self.width.max(4));
        let vectors = values.div_ceil(VECTOR_VALUES);
        input_bytes + 1 + decimal::overhead_bytes_max(values, vectors).max(real::overhead_bytes_max(values))
    }
}

fn encode<F: Float<WIDTH>, const WIDTH: usize>(scheme: AlpScheme, input: &[u8], out: &mut Vec<u8>) {
    let (values, tail) = input.as_chunks::<WIDTH>();
    out.extend_from_slice(tail);
    if values.is_empty() {
        return;
    }
    let sample = sample(values);
    let (scales, decimal_bits) = decimal::choose::<F, WIDTH>(&sample);
    let (split, real_bits) = real::choose::<WIDTH>(&sample);
    let is_real = match scheme {
        AlpScheme::Shortest => real_bits < decimal_bits,
        AlpScheme::Decimal => false,
        AlpScheme::Real => true,
    };
    if is_real {
        out.push(SCHEME_REAL);
        real::encode(&split, values, out);
    } else {
        out.push(SCHEME_DECIMAL);
        decimal::encode::<F, WIDTH>(&scales, values, out);
    }
}

/// `None` if the input does not have the length that its headers give, or cannot be the output of `encode`.
fn decode<F: Float<WIDTH>, const WIDTH: usize>(input: &[u8], out: &mut [u8]) -> Option<()> {
    let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
    let (tail, input) = input.split_at_checked(out_tail.len())?;
    out_tail.copy_from_slice(tail);
    if values.is_empty() {
        return input.is_empty().then_some(());
    }
    let (scheme, input) = input.split_first()?;
    match *scheme {
        SCHEME_DECIMAL => decimal::decode::<F, WIDTH>(input, values),
        SCHEME_REAL => real::decode(input, values),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for width in [4, 8] {
            for scheme in [AlpScheme::Shortest, AlpScheme::Decimal, AlpScheme::Real] {
                crate::conformance::check(&Alp { scheme, width });
            }
        }
    }

    fn encoded_bytes(values: impl Iterator<Item = f64>) -> usize {
        let input: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        let codec = Alp { scheme: AlpScheme::Shortest, width: 8 };
        let mut encoded = Vec::new();
        codec.encode(&input, &mut encoded).unwrap();
        let mut decoded = vec![0; input.len()];
        codec.decode(&encoded, &mut decoded).unwrap();
        assert_eq!(decoded, input);
        encoded.len()
    }

    #[test]
    fn decimals_take_the_bits_of_their_digits() {
        let prices = (0..10_240).map(|i| f64::from(i * 7919 % 10_000) / 100.0);
        let bits = 14;
        assert!(encoded_bytes(prices) <= 10_240 * bits / 8 + 10 * 13 + 1);
    }

    #[test]
    fn reals_share_the_bits_of_their_sign_and_exponent() {
        let roots = (0..10_240).map(|i| f64::from(i + 1_000_000).sqrt());
        assert!(encoded_bytes(roots) < 10_240 * 55 / 8);
    }

    #[test]
    fn what_is_no_number_comes_back_too() {
        let odd = [f64::NAN, f64::INFINITY, -f64::INFINITY, -0.0, f64::MIN_POSITIVE, f64::MAX, 1e17, -1e300];
        encoded_bytes((0..3000).map(|i| if i % 10 == 0 { odd[i / 10 % 8] } else { i as f64 / 10.0 }));
        encoded_bytes(odd.into_iter());
    }
}
