//! Values of 1, 2, 4 or 8 bytes as 64-bit words.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

/// The value, zero-extended.
#[inline]
pub(crate) fn load<const WIDTH: usize>(bytes: &[u8; WIDTH]) -> u64 {
    let mut word = [0; 8];
    word[..WIDTH].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// The lowest `WIDTH` bytes of the word.
#[inline]
pub(crate) fn store<const WIDTH: usize>(value: u64) -> [u8; WIDTH] {
    let mut bytes = [0; WIDTH];
    bytes.copy_from_slice(&value.to_le_bytes()[..WIDTH]);
    bytes
}

/// Bits of a value.
#[inline]
pub(crate) const fn value_bits<const WIDTH: usize>() -> u32 {
    match WIDTH {
        1 => 8,
        2 => 16,
        4 => 32,
        _ => 64,
    }
}

/// The value, sign-extended.
#[inline]
pub(crate) fn sign_extend<const WIDTH: usize>(value: u64) -> i64 {
    let shift = u64::BITS - value_bits::<WIDTH>();
    (value << shift).cast_signed() >> shift
}

/// Zigzag-codes a difference modulo the width: the sign moves to the lowest bit.
#[inline]
pub(crate) fn zigzag<const WIDTH: usize>(difference: u64) -> u64 {
    let signed = sign_extend::<WIDTH>(difference);
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

#[inline]
pub(crate) fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// The least value and the range of the values. Uses signed or unsigned order, whichever has the smaller range,
/// because the type of the values is not known here.
pub(crate) fn base_and_span<const WIDTH: usize>(values: &[[u8; WIDTH]]) -> (u64, u64) {
    let (mut low, mut high) = (u64::MAX, 0);
    let (mut signed_low, mut signed_high) = (i64::MAX, i64::MIN);
    for value in values {
        let value = load(value);
        let signed = sign_extend::<WIDTH>(value);
        (low, high) = (low.min(value), high.max(value));
        (signed_low, signed_high) = (signed_low.min(signed), signed_high.max(signed));
    }
    if values.is_empty() {
        return (0, 0);
    }
    let (span, signed_span) = (high - low, signed_high.wrapping_sub(signed_low).cast_unsigned());
    if span <= signed_span {
        (low, span)
    } else {
        (load(&store::<WIDTH>(signed_low.cast_unsigned())), signed_span)
    }
}
