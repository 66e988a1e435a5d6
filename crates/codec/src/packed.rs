//! Bit packing: numbers of a fixed number of bits, back to back.
//!
//! # Layout
//!
//! Number `i` of `bits` bits takes the bits `i * bits..(i + 1) * bits`. Bit 0 is the lowest bit of the first byte.
//! The last byte is padded with zeroes.
//!
//! # Cost
//!
//! A number of up to [`NARROW_BITS_MAX`] bits takes one unaligned load, a shift and a mask, which do not depend
//! on the number before it.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

/// The widest number that fits in a loaded word at any position in a byte.
const NARROW_BITS_MAX: u32 = 57;

const WORD_BYTES: usize = size_of::<u64>();

/// Bytes of `count` numbers of `bits` bits.
pub(crate) fn packed_bytes(count: usize, bits: u32) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Bits of the number; 0 for 0.
#[inline]
pub(crate) fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// The lowest `bits` bits, 0 to 64.
#[inline]
fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
}

/// Appends the lowest `bits` bits of each number.
pub(crate) fn pack(numbers: impl IntoIterator<Item = u64>, bits: u32, out: &mut Vec<u8>) {
    if bits == 0 {
        return;
    }
    let mask = mask(bits);
    let (mut word, mut used) = (0_u64, 0);
    for number in numbers {
        let number = number & mask;
        word |= number << used;
        used += bits;
        if used >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            used -= u64::BITS;
            word = if used == 0 { 0 } else { number >> (bits - used) };
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..used.div_ceil(8) as usize]);
}

/// Fills `numbers` from `input`.
///
/// # Panics
///
/// If `input` is not [`packed_bytes`] long.
pub(crate) fn unpack(input: &[u8], bits: u32, numbers: &mut [u64]) {
    assert_eq!(input.len(), packed_bytes(numbers.len(), bits), "packed numbers have a known length");
    match bits {
        0 => numbers.fill(0),
        1..=NARROW_BITS_MAX => unpack_narrow(input, bits, numbers),
        _ => unpack_wide(input, bits, numbers),
    }
}

fn unpack_narrow(input: &[u8], bits: u32, numbers: &mut [u64]) {
    let (bits, mask) = (bits as usize, mask(bits));
    // The count of numbers whose word ends inside the input.
    let whole = match input.len().checked_sub(WORD_BYTES) {
        Some(last) => ((last * 8 + 7) / bits + 1).min(numbers.len()),
        None => 0,
    };
    let (inside, at_end) = numbers.split_at_mut(whole);
    let mut at = 0;
    for number in inside {
        // SAFETY: `at / 8 <= input.len() - WORD_BYTES` for the first `whole` numbers, by the choice of
        // `whole`: their positions are at most `(input.len() - WORD_BYTES) * 8 + 7`.
        let word = unsafe { input.as_ptr().add(at / 8).cast::<[u8; WORD_BYTES]>().read() };
        *number = (u64::from_le_bytes(word) >> (at % 8)) & mask;
        at += bits;
    }
    for number in at_end {
        let rest = &input[at / 8..];
        let mut word = [0; WORD_BYTES];
        let length = rest.len().min(WORD_BYTES);
        word[..length].copy_from_slice(&rest[..length]);
        *number = (u64::from_le_bytes(word) >> (at % 8)) & mask;
        at += bits;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the mask keeps the low 64 bits")]
fn unpack_wide(input: &[u8], bits: u32, numbers: &mut [u64]) {
    let mask = mask(bits);
    let mut at = 0;
    for number in numbers {
        let rest = &input[at / 8..];
        let mut word = [0; 2 * WORD_BYTES];
        let length = rest.len().min(word.len());
        word[..length].copy_from_slice(&rest[..length]);
        *number = (u128::from_le_bytes(word) >> (at % 8)) as u64 & mask;
        at += bits as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        for bits in 0..=64 {
            for count in [0_u64, 1, 2, 7, 8, 9, 63, 64, 128] {
                let numbers: Vec<u64> = (0..count)
                    .map(|i| mask(bits) & i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(i as u32))
                    .collect();
                let mut packed = Vec::new();
                pack(numbers.iter().copied(), bits, &mut packed);
                let mut unpacked = vec![1; numbers.len()];
                unpack(&packed, bits, &mut unpacked);
                assert_eq!(unpacked, numbers, "{bits} bits");
            }
        }
    }
}
