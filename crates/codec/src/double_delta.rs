//! `DoubleDelta`: every value replaced by the change of its step, in as few bits as that takes.
//!
//! After Gorilla (Pelkonen et al., VLDB 2015, section 4.1.1) with the bit widths that ClickHouse
//! documents for its codec of the same name. A steady series costs one bit a value.
//!
//! # Layout
//!
//! ```text
//! the bytes that do not fill a value, as they are
//! first value                                 (if there is one)
//! second value - first value                  (if there are two)
//! a bit string, most significant bit first, padded with 0 to whole bytes, for every further value
//! ```
//!
//! The change of the step, taken modulo the width and zigzag-coded so that small changes of either
//! sign are small numbers:
//!
//! | prefix | bits of the number |
//! |---|---|
//! | `0` | none: no change |
//! | `10` | 7 |
//! | `110` | 9 |
//! | `1110` | 12 |
//! | `11110` | 32 |
//! | `11111` | 64 |
//!
//! The count of values is not stored: it follows from the length of the output.

use crate::{Codec, CodecError};

const NAME: &str = "DoubleDelta";

/// Bits of the number behind a prefix of that many ones (none of them for no ones at all).
const NUMBER_BITS: [u32; 6] = [0, 7, 9, 12, 32, 64];
/// The longest prefix has no zero at its end.
const PREFIX_ONES_MAX: u32 = 5;

#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleDelta {
    /// Bytes of a value: 1, 2, 4 or 8.
    pub(crate) width: u8,
}

impl Codec for DoubleDelta {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        match self.width {
            2 => encode::<2>(input, out),
            4 => encode::<4>(input, out),
            8 => encode::<8>(input, out),
            _ => encode::<1>(input, out),
        }
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        match self.width {
            2 => decode::<2>(input, out),
            4 => decode::<4>(input, out),
            8 => decode::<8>(input, out),
            _ => decode::<1>(input, out),
        }
        .ok_or(CodecError::Truncated { codec: NAME })
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        let bits_max = (PREFIX_ONES_MAX + NUMBER_BITS[PREFIX_ONES_MAX as usize]) as usize;
        let width = usize::from(self.width.max(1));
        input_bytes + (input_bytes / width * bits_max).div_ceil(8)
    }
}

fn encode<const WIDTH: usize>(input: &[u8], out: &mut Vec<u8>) {
    let (values, tail) = input.as_chunks::<WIDTH>();
    out.extend_from_slice(tail);
    let mut values = values.iter().map(load);
    let Some(mut before) = values.next() else { return };
    out.extend_from_slice(&before.to_le_bytes()[..WIDTH]);
    let Some(second) = values.next() else { return };
    let mut step = second.wrapping_sub(before);
    out.extend_from_slice(&step.to_le_bytes()[..WIDTH]);
    before = second;
    let mut bits = BitWriter { out, word: 0, used: 0 };
    for value in values {
        let new_step = value.wrapping_sub(before);
        write_change(&mut bits, zigzag::<WIDTH>(new_step.wrapping_sub(step)));
        (before, step) = (value, new_step);
    }
    bits.finish();
}

fn write_change(bits: &mut BitWriter<'_>, number: u64) {
    let number_bits = u64::BITS - number.leading_zeros();
    let ones = NUMBER_BITS.partition_point(|&bits| bits < number_bits) as u32;
    if ones == PREFIX_ONES_MAX {
        bits.push((1 << ones) - 1, ones);
    } else {
        bits.push((1 << (ones + 1)) - 2, ones + 1);
    }
    bits.push(number, NUMBER_BITS[ones as usize]);
}

/// `None` if the input ends early or goes on behind the last value.
fn decode<const WIDTH: usize>(input: &[u8], out: &mut [u8]) -> Option<()> {
    let (values, out_tail) = out.as_chunks_mut::<WIDTH>();
    let (tail, input) = input.split_at_checked(out_tail.len())?;
    out_tail.copy_from_slice(tail);
    let [first, values @ ..] = values else { return input.is_empty().then_some(()) };
    let (stored, input) = input.split_first_chunk::<WIDTH>()?;
    *first = *stored;
    let [second, values @ ..] = values else { return input.is_empty().then_some(()) };
    let (stored, input) = input.split_first_chunk::<WIDTH>()?;
    let step = load(stored);
    let value = load(first).wrapping_add(step);
    *second = store(value);
    decode_changes(input, value, step, values)
}

fn decode_changes<const WIDTH: usize>(
    input: &[u8],
    mut value: u64,
    mut step: u64,
    values: &mut [[u8; WIDTH]],
) -> Option<()> {
    let mut bits = BitReader { input, at: 0 };
    let mut done = 0;
    while done < values.len() {
        let word = bits.peek();
        let unchanged = (word.leading_zeros().min(PEEK_BITS) as usize).min(values.len() - done);
        if unchanged > 0 {
            for slot in &mut values[done..done + unchanged] {
                value = value.wrapping_add(step);
                *slot = store(value);
            }
            bits.at += unchanged;
            done += unchanged;
            continue;
        }
        step = step.wrapping_add(unzigzag(bits.read_number(word)));
        value = value.wrapping_add(step);
        values[done] = store(value);
        done += 1;
    }
    (bits.at.div_ceil(8) == input.len()).then_some(())
}

fn load<const WIDTH: usize>(bytes: &[u8; WIDTH]) -> u64 {
    let mut word = [0; 8];
    word[..WIDTH].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn store<const WIDTH: usize>(value: u64) -> [u8; WIDTH] {
    let mut bytes = [0; WIDTH];
    bytes.copy_from_slice(&value.to_le_bytes()[..WIDTH]);
    bytes
}

/// The difference as a signed number of `WIDTH` bytes, with its sign in the lowest bit.
fn zigzag<const WIDTH: usize>(difference: u64) -> u64 {
    let shift = u64::BITS - 8 * WIDTH as u32;
    let signed = ((difference << shift) as i64) >> shift;
    ((signed << 1) ^ (signed >> 63)) as u64
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Appends bits, most significant first.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The bits not yet written, at the top.
    word: u64,
    used: u32,
}

impl BitWriter<'_> {
    /// Appends the lowest `count` bits of `number`, whose other bits are 0.
    fn push(&mut self, number: u64, count: u32) {
        if count == 0 {
            return;
        }
        let free = u64::BITS - self.used;
        if count < free {
            self.word |= number << (free - count);
            self.used += count;
            return;
        }
        let rest = count - free;
        self.out.extend_from_slice(&(self.word | (number >> rest)).to_be_bytes());
        self.word = if rest == 0 { 0 } else { number << (u64::BITS - rest) };
        self.used = rest;
    }

    fn finish(self) {
        let bytes = self.used.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_be_bytes()[..bytes]);
    }
}

/// Bits of a peeked word that are certainly there: up to 7 are lost to the position in a byte.
const PEEK_BITS: u32 = 57;

struct BitReader<'a> {
    input: &'a [u8],
    /// The position in bits; it may run over the end, which the caller checks once.
    at: usize,
}

impl BitReader<'_> {
    /// At least [`PEEK_BITS`] bits from the position on, at the top of the word; zeroes behind the end.
    fn peek(&self) -> u64 {
        let rest = self.input.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => {
                let mut padded = [0; 8];
                padded[..rest.len()].copy_from_slice(rest);
                u64::from_be_bytes(padded)
            }
        };
        word << (self.at % 8)
    }

    /// The number whose prefix starts `word`, which was peeked here.
    fn read_number(&mut self, word: u64) -> u64 {
        let ones = word.leading_ones().min(PREFIX_ONES_MAX);
        let prefix_bits = (ones + 1).min(PREFIX_ONES_MAX);
        self.at += prefix_bits as usize;
        if ones == PREFIX_ONES_MAX {
            return (self.read_u32() << 32) | self.read_u32();
        }
        let number_bits = NUMBER_BITS[ones as usize];
        self.at += number_bits as usize;
        (word << prefix_bits) >> (u64::BITS - number_bits)
    }

    fn read_u32(&mut self) -> u64 {
        let word = self.peek();
        self.at += 32;
        word >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conforms() {
        for width in [1, 2, 4, 8] {
            crate::conformance::check(&DoubleDelta { width });
        }
    }

    #[test]
    fn steady_series_costs_one_bit_a_value() {
        let input: Vec<u8> = (0..8194_u32).flat_map(|i| (1_600_000_000 + i * 10).to_le_bytes()).collect();
        let mut out = Vec::new();
        DoubleDelta { width: 4 }.encode(&input, &mut out).unwrap();
        assert_eq!(out.len(), 4 + 4 + 8192 / 8);
    }

    /// Every prefix, at the edges of its range, for both signs.
    #[test]
    fn numbers_of_every_size_come_back() {
        let mut values = vec![0_u64];
        for shift in [0, 6, 7, 8, 9, 11, 12, 31, 32, 62, 63] {
            let edge = 1_u64 << shift;
            for change in [edge - 1, edge, edge + 1, edge.wrapping_neg()] {
                values.push(values[values.len() - 1].wrapping_add(change));
            }
        }
        let input: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut encoded = Vec::new();
        DoubleDelta { width: 8 }.encode(&input, &mut encoded).unwrap();
        let mut decoded = vec![0; input.len()];
        DoubleDelta { width: 8 }.decode(&encoded, &mut decoded).unwrap();
        assert_eq!(decoded, input);
    }
}
