//! `T64`: integers without their common high bits, transposed in blocks of 64 values.
//!
//! The transposition is the 64 x 64 bit matrix of ClickHouse's codec of the same name, done 8 x 8 bits at a time
//! (Warren, "Hacker's Delight", 2nd edition, section 7-3). The frame of reference in front of it is ours, so it
//! never takes more bits a value.
//!
//! # Layout
//!
//! ```text
//! trailing bytes that are no whole value, unchanged
//! bits u8          bits of (greatest value - least value)       (if there are values)
//! base             the least value
//! planes           for every 64 values less the base, missing ones as 0
//! ```
//!
//! The planes of 64 values are `bits` words of 8 bytes. In a bit plane, bit `i` of the word belongs to value `i`,
//! and plane `p` has bit `p` of every value. `T64('bit')` has bit planes only. `T64`, which is `T64('byte')`, has
//! byte planes of 64 bytes first, and bit planes for the remaining bits.
//!
//! `bits` may be rounded up: whole byte planes are longer, but a compressor may make them shorter.
//!
//! The number of values is not stored: it follows from the length of the output.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use crate::packed::bits_of;
use crate::value::{base_and_span, load, store};
use crate::{Codec, CodecError};

/// Values in a matrix.
const LANES: usize = 64;

/// Bytes of a bit plane.
const PLANE_BYTES: usize = LANES / 8;

/// More remaining bits than these are not rounded up to a byte: a following compressor gains little by it.
const ROUNDING_BITS_MAX: usize = 2;

/// One byte of each value of a matrix.
type BytePlane = [u8; LANES];

#[derive(Clone, Copy, Debug)]
pub(crate) struct T64 {
    /// Bytes of a value: 1, 2, 4 or 8.
    pub(crate) width: u8,
    /// The kind of the planes for whole bytes.
    pub(crate) planes: Planes,
}

/// The unit that `T64` transposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Planes {
    Bytes,
    Bits,
}

impl Codec for T64 {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.encode_rounded(1, input, out);
        Ok(())
    }

    /// Byte planes: a byte that is the same in many values becomes a run, which bit planes would cut up.
    fn encode_alternative(&self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, CodecError> {
        let start = out.len();
        if self.planes == Planes::Bytes && self.encode_rounded(8, input, out) {
            return Ok(true);
        }
        out.truncate(start);
        Ok(false)
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        match self.width {
            2 => decode::<2>(self.planes, input, out),
            4 => decode::<4>(self.planes, input, out),
            8 => decode::<8>(self.planes, input, out),
            _ => decode::<1>(self.planes, input, out),
        }
        .ok_or(CodecError::Truncated { codec: "T64" })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        let width = usize::from(self.width.max(1));
        1 + 2 * width + input_bytes.next_multiple_of(LANES * width)
    }
}

impl T64 {
    /// Appends the values in a multiple of `unit` bits each; `false` if that adds no bits, or too many.
    fn encode_rounded(&self, unit: usize, input: &[u8], out: &mut Vec<u8>) -> bool {
        match self.width {
            2 => encode::<2>(self.planes, unit, input, out),
            4 => encode::<4>(self.planes, unit, input, out),
            8 => encode::<8>(self.planes, unit, input, out),
            _ => encode::<1>(self.planes, unit, input, out),
        }
    }
}

fn encode<const WIDTH: usize>(planes: Planes, unit: usize, input: &[u8], out: &mut Vec<u8>) -> bool {
    let (values, tail) = input.as_chunks::<WIDTH>();
    out.extend_from_slice(tail);
    if values.is_empty() {
        return false;
    }
    let (base, span) = base_and_span(values);
    let needed = bits_of(span) as usize;
    let bits = needed.next_multiple_of(unit);
    if unit > 1 && !(1..=ROUNDING_BITS_MAX).contains(&(bits - needed)) {
        return false;
    }
    out.push(u8::try_from(bits).expect("a value has at most 64 bits"));
    out.extend_from_slice(&store::<WIDTH>(base));
    for values in values.chunks(LANES) {
        let mut bytes = [[0; LANES]; WIDTH];
        for (lane, value) in values.iter().enumerate() {
            let offset = store::<WIDTH>(load(value).wrapping_sub(base));
            for (plane, byte) in bytes.iter_mut().zip(offset) {
                plane[lane] = byte;
            }
        }
        for (position, plane) in bytes[..bits.div_ceil(8)].iter().enumerate() {
            match bits_in(position, bits) {
                8 if planes == Planes::Bytes => out.extend_from_slice(plane),
                bits => out.extend_from_slice(&transpose_to_bits(plane)[..bits * PLANE_BYTES]),
            }
        }
    }
    true
}

/// Bits of the byte at `position` that are stored.
fn bits_in(position: usize, bits: usize) -> usize {
    (bits - 8 * position).min(8)
}

/// `None` if the input does not have the length that its header gives.
fn decode<const WIDTH: usize>(planes: Planes, input: &[u8], out: &mut [u8]) -> Option<()> {
    let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
    let (tail, input) = input.split_at_checked(out_tail.len())?;
    out_tail.copy_from_slice(tail);
    if values.is_empty() {
        return input.is_empty().then_some(());
    }
    let ([bits], input) = input.split_first_chunk()?;
    let (base, input) = input.split_first_chunk::<WIDTH>()?;
    let bits = usize::from(*bits);
    if bits > 8 * WIDTH || input.len() != values.len().div_ceil(LANES) * bits * PLANE_BYTES {
        return None;
    }
    if bits == 0 {
        values.fill(*base);
        return Some(());
    }
    let base = load(base);
    for (values, input) in values.chunks_mut(LANES).zip(input.chunks_exact(bits * PLANE_BYTES)) {
        let mut bytes = [[0; LANES]; WIDTH];
        let mut rest = input;
        for (position, plane) in bytes[..bits.div_ceil(8)].iter_mut().enumerate() {
            let bits = bits_in(position, bits);
            let (stored, after) = rest.split_at(bits * PLANE_BYTES);
            rest = after;
            if bits == 8 && planes == Planes::Bytes {
                plane.copy_from_slice(stored);
            } else {
                *plane = transpose_to_bytes(stored);
            }
        }
        interleave(&bytes, base, values);
    }
    Some(())
}

/// Puts the bytes of each value together and adds the base.
fn interleave<const WIDTH: usize>(bytes: &[BytePlane; WIDTH], base: u64, values: &mut [[u8; WIDTH]]) {
    for (lane, value) in values.iter_mut().enumerate().take(LANES) {
        let mut offset = [0; WIDTH];
        for (byte, plane) in offset.iter_mut().zip(bytes) {
            *byte = plane[lane];
        }
        *value = store(load(&offset).wrapping_add(base));
    }
}

/// A byte plane to eight bit planes.
fn transpose_to_bits(bytes: &BytePlane) -> BytePlane {
    let mut words = words_of(bytes);
    for word in &mut words {
        *word = transpose_bits(*word);
    }
    transpose_words(&mut words);
    bytes_of(&words)
}

/// Up to eight bit planes to a byte plane.
fn transpose_to_bytes(planes: &[u8]) -> BytePlane {
    let mut bytes = [0; LANES];
    bytes[..planes.len()].copy_from_slice(planes);
    let mut words = words_of(&bytes);
    transpose_words(&mut words);
    for word in &mut words {
        *word = transpose_bits(*word);
    }
    bytes_of(&words)
}

fn words_of(bytes: &BytePlane) -> [u64; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

fn bytes_of(words: &[u64; 8]) -> BytePlane {
    let mut bytes = [0; LANES];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// Transposes the 8 x 8 bytes of eight words.
#[inline]
fn transpose_words(words: &mut [u64; 8]) {
    for (distance, shift, mask) in
        [(4, 32, 0x0000_0000_ffff_ffff), (2, 16, 0x0000_ffff_0000_ffff), (1, 8, 0x00ff_00ff_00ff_00ff)]
    {
        for row in (0..8).filter(|row| row & distance == 0) {
            let (upper, lower) = (words[row], words[row + distance]);
            let swap = ((upper >> shift) ^ lower) & mask;
            words[row] = upper ^ (swap << shift);
            words[row + distance] = lower ^ swap;
        }
    }
}

/// Transposes the 8 x 8 bits of a word.
#[inline]
fn transpose_bits(word: u64) -> u64 {
    let mut word = word;
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swap = (word ^ (word >> shift)) & mask;
        word ^= swap ^ (swap << shift);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for planes in [Planes::Bytes, Planes::Bits] {
            for width in [1, 2, 4, 8] {
                crate::conformance::check(&T64 { width, planes });
            }
        }
    }

    #[test]
    fn bit_planes_are_the_bits_of_each_value() {
        let bytes: BytePlane = std::array::from_fn(|lane| (lane * lane + 3) as u8);
        let planes = transpose_to_bits(&bytes);
        for (lane, byte) in bytes.iter().enumerate() {
            for plane in 0..8 {
                let bit = planes[plane * PLANE_BYTES + lane / 8] >> (lane % 8) & 1;
                assert_eq!(bit, byte >> plane & 1, "bit {plane} of value {lane}");
            }
        }
        assert_eq!(transpose_to_bytes(&planes), bytes);
    }

    #[test]
    fn nearly_whole_bytes_may_be_filled_up() {
        let bytes_of = |bits: u32| {
            let input: Vec<u8> = (0..64_u32).flat_map(|i| (i << (bits - 6)).to_le_bytes()).collect();
            let mut out = Vec::new();
            let codec = T64 { width: 4, planes: Planes::Bytes };
            codec.encode_alternative(&input, &mut out).unwrap().then(|| out.len() - 1 - 4)
        };
        assert_eq!(bytes_of(13), None);
        assert_eq!(bytes_of(14), Some(2 * LANES));
        assert_eq!(bytes_of(15), Some(2 * LANES));
        assert_eq!(bytes_of(16), None);
    }

    #[test]
    fn negative_numbers_near_zero_need_few_bits() {
        let input: Vec<u8> = (-32_i64..32).flat_map(i64::to_le_bytes).collect();
        let mut out = Vec::new();
        T64 { width: 8, planes: Planes::Bytes }.encode(&input, &mut out).unwrap();
        assert_eq!(out.len(), 1 + 8 + 6 * PLANE_BYTES);
    }
}
