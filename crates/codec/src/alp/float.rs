//! Floats of both widths, as their bits and as the `f64` in which the arithmetic is done.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

/// A float of one width.
pub(super) trait Float<const WIDTH: usize> {
    /// The most fractional digits that are tried.
    const EXPONENT_MAX: u8;

    fn number(bits: u64) -> f64;
    fn bits(number: f64) -> u64;
}

impl Float<8> for f64 {
    const EXPONENT_MAX: u8 = 18;

    #[inline]
    fn number(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline]
    fn bits(number: f64) -> u64 {
        number.to_bits()
    }
}

impl Float<4> for f32 {
    const EXPONENT_MAX: u8 = 10;

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the value has four bytes")]
    fn number(bits: u64) -> f64 {
        f64::from(f32::from_bits(bits as u32))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the value is rounded to four bytes")]
    fn bits(number: f64) -> u64 {
        u64::from((number as f32).to_bits())
    }
}
