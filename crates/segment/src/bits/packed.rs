//! Bit packing: integers of a fixed number of bits, 0 to 64, back to back.
//!
//! # Layout
//!
//! Number `i` of `width` bits takes the bits `i * width..(i + 1) * width`. Bit 0 is the lowest bit of the first byte.
//! The last byte is padded with zeroes. A section of packed numbers ends with [`PADDING_BYTES`] zeroes, so that every
//! number can be read as a [`Window`].
//!
//! # Cost
//!
//! A number takes one or two unaligned loads, a shift and a mask. No branch depends on the number.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

/// The bytes from the first byte of a number on.
pub(crate) type Window = [u8; WINDOW_BYTES];

/// Zeroes at the end of a section.
pub(crate) const PADDING_BYTES: usize = WINDOW_BYTES;

pub(crate) const WIDTH_MAX: u32 = u64::BITS;

const WINDOW_BYTES: usize = 2 * WORD_BYTES;
const WORD_BYTES: usize = size_of::<u64>();

/// The widest number that fits in a loaded word at any position in a byte.
const NARROW_BITS_MAX: u32 = 57;

/// The low `width` bits; `width` is at most 64.
#[inline(always)]
pub(crate) fn low_bits(width: u32) -> u64 {
    u64::MAX.checked_shr(WIDTH_MAX.saturating_sub(width)).unwrap_or(0)
}

/// The number of bits of `number`; 0 for 0.
#[inline(always)]
pub(crate) fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// The bytes of `count` numbers, without padding.
#[inline(always)]
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    count.saturating_mul(width as usize).div_ceil(8)
}

/// Appends the low `width` bits of each number, and fills up the last byte.
pub(crate) fn pack(numbers: impl IntoIterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let mut packer = Packer::new(width);
    numbers.into_iter().for_each(|number| packer.push(number, out));
    packer.finish(out);
}

/// Packs numbers that come one at a time.
#[derive(Debug)]
pub(crate) struct Packer {
    width: u32,
    /// Bits that were not written yet, less than a word; zeroes above them.
    word: u64,
    used: u32,
}

impl Packer {
    pub(crate) fn new(width: u32) -> Packer {
        Packer { width, word: 0, used: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, number: u64, out: &mut Vec<u8>) {
        let number = number & low_bits(self.width);
        self.word |= number << self.used;
        self.used += self.width;
        if self.used >= u64::BITS {
            out.extend_from_slice(&self.word.to_le_bytes());
            self.used -= u64::BITS;
            self.word = number.checked_shr(self.width - self.used).unwrap_or(0);
        }
    }

    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        let bytes = self.used.div_ceil(8) as usize;
        out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
    }
}

/// The bytes that hold number `index`, and some after them.
#[inline(always)]
pub(crate) fn window(index: usize, width: u32) -> Range<usize> {
    let at = index.saturating_mul(width as usize) / 8;
    at..at.saturating_add(WINDOW_BYTES)
}

/// Number `index`, whose [`window`] is given.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the mask keeps at most 64 bits")]
pub(crate) fn number_in(window: &Window, index: usize, width: u32) -> u64 {
    let shift = index.wrapping_mul(width as usize) % 8;
    (u128::from_le_bytes(*window) >> shift) as u64 & low_bits(width)
}

/// Fills `out` with the numbers from `first` on. `bytes` begins with number 0, and ends with the window of the last
/// one; numbers after it are any numbers.
pub(crate) fn unpack(bytes: &[u8], first: usize, width: u32, out: &mut [u64]) {
    match width {
        0 => out.fill(0),
        8 => unpack_bytes(bytes, first, out, |&[byte]: &[u8; 1]| u64::from(byte)),
        16 => unpack_bytes(bytes, first, out, |bytes: &[u8; 2]| u64::from(u16::from_le_bytes(*bytes))),
        32 => unpack_bytes(bytes, first, out, |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes))),
        64 => unpack_bytes(bytes, first, out, |bytes: &[u8; 8]| u64::from_le_bytes(*bytes)),
        1..=NARROW_BITS_MAX => unpack_narrow(bytes, first, width, out),
        _ => unpack_wide(bytes, first, width, out),
    }
}

fn unpack_bytes<const BYTES: usize>(
    bytes: &[u8],
    first: usize,
    out: &mut [u64],
    number: impl Fn(&[u8; BYTES]) -> u64,
) {
    let numbers = bytes.as_chunks::<BYTES>().0.get(first..).unwrap_or_default();
    out.iter_mut().zip(numbers).for_each(|(out, bytes)| *out = number(bytes));
}

fn unpack_narrow(bytes: &[u8], first: usize, width: u32, out: &mut [u64]) {
    let (mask, width) = (low_bits(width), width as usize);
    let mut at = first.saturating_mul(width);
    for out in out {
        let word = bytes.get(at / 8..).and_then(|rest| rest.first_chunk());
        *out = (word.map_or(0, |word| u64::from_le_bytes(*word)) >> (at % 8)) & mask;
        at += width;
    }
}

fn unpack_wide(bytes: &[u8], first: usize, width: u32, out: &mut [u64]) {
    for (index, out) in out.iter_mut().enumerate() {
        let index = first.saturating_add(index);
        let window = bytes.get(window(index, width)).and_then(|bytes| bytes.first_chunk());
        *out = window.map_or(0, |window| number_in(window, index, width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back_from_any_place() {
        for width in 0..=WIDTH_MAX {
            for count in [0_u64, 1, 2, 7, 8, 9, 63, 64, 129] {
                let number = |at: u64| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & low_bits(width);
                let numbers: Vec<u64> = (0..count).map(number).collect();
                let mut packed = Vec::new();
                pack(numbers.iter().copied(), width, &mut packed);
                assert_eq!(packed.len(), packed_bytes(numbers.len(), width), "{width} bits");
                packed.extend([0; PADDING_BYTES]);
                for (index, &number) in numbers.iter().enumerate() {
                    let window = packed[window(index, width)].first_chunk().expect("padding");
                    assert_eq!(number_in(window, index, width), number, "{width} bits");
                    let mut out = vec![1; numbers.len() - index];
                    unpack(&packed, index, width, &mut out);
                    assert_eq!(out, numbers[index..], "{width} bits");
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_not_there_give_some_numbers() {
        for width in 0..=WIDTH_MAX {
            for bytes in 0..40 {
                unpack(&vec![0xa5; bytes], 3, width, &mut [0; 30]);
                unpack(&vec![0xa5; bytes], usize::MAX, width, &mut [0; 3]);
            }
        }
    }
}
