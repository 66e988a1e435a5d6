//! The changes of a step as a bit string, each after a prefix that gives its length.
//!
//! After Gorilla (Pelkonen et al., VLDB 2015, section 4.1.1) with the lengths that ClickHouse documents for its
//! codec of the same name. A steady series costs one bit a value.
//!
//! # Layout
//!
//! Most significant bit first, padded with 0 to whole bytes:
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
//! A number is the sign of the change, then its magnitude less 1, so that changes of the same size share their
//! bytes and a following compressor finds them. In the first version it was the zigzag-coded change.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::series::Series;
use crate::bits::{BitReader, BitWriter, PEEK_BITS};
use crate::packed::bits_of;
use crate::value::{store, unzigzag};

/// Bits of the number after a prefix of that many ones.
const NUMBER_BITS: [u32; 6] = [0, 7, 9, 12, 32, 64];
/// The longest prefix has no terminating zero.
const PREFIX_ONES_MAX: u32 = 5;

/// The mapping of a nonzero, zigzag-coded change to a number.
pub(super) trait Number {
    /// Bits of the number.
    fn bits(change: u64) -> u32;
    /// The number in `bits` bits, which must be enough.
    fn of(change: u64, bits: u32) -> u64;
    /// The change as a difference modulo 2^64.
    fn difference(number: u64, bits: u32) -> u64;
}

/// The zigzag-coded change.
pub(super) struct Zigzag;

/// The sign, then the magnitude less 1.
pub(super) struct Signed;

impl Number for Zigzag {
    fn bits(change: u64) -> u32 {
        bits_of(change)
    }

    fn of(change: u64, _bits: u32) -> u64 {
        change
    }

    #[inline]
    fn difference(number: u64, _bits: u32) -> u64 {
        unzigzag(number)
    }
}

impl Number for Signed {
    fn bits(change: u64) -> u32 {
        bits_of((change - 1) >> 1) + 1
    }

    fn of(change: u64, bits: u32) -> u64 {
        ((change & 1) << (bits - 1)) | ((change - 1) >> 1)
    }

    #[inline]
    fn difference(number: u64, bits: u32) -> u64 {
        let sign = (number >> (bits - 1)).wrapping_neg();
        let size = (number & ((1 << (bits - 1)) - 1)) + 1;
        (size ^ sign).wrapping_sub(sign)
    }
}

/// Number of ones in the prefix of `change`.
#[expect(clippy::cast_possible_truncation, reason = "there are six prefixes")]
fn prefix_ones<N: Number>(change: u64) -> u32 {
    let number_bits = if change == 0 { 0 } else { N::bits(change) };
    NUMBER_BITS.partition_point(|&bits| bits < number_bits) as u32
}

fn prefix_bits(ones: u32) -> u32 {
    (ones + 1).min(PREFIX_ONES_MAX)
}

/// Bytes that `encode` appends.
pub(super) fn encoded_bytes<N: Number>(changes: &[u64]) -> usize {
    let bits = changes.iter().map(|&change| {
        let ones = prefix_ones::<N>(change);
        (prefix_bits(ones) + NUMBER_BITS[ones as usize]) as usize
    });
    bits.sum::<usize>().div_ceil(8)
}

pub(super) fn encoded_bytes_max(changes: usize) -> usize {
    (changes * (PREFIX_ONES_MAX + NUMBER_BITS[PREFIX_ONES_MAX as usize]) as usize).div_ceil(8)
}

pub(super) fn encode<N: Number>(changes: &[u64], out: &mut Vec<u8>) {
    let mut bits = BitWriter::new(out);
    for &change in changes {
        let ones = prefix_ones::<N>(change);
        let zero_bits = prefix_bits(ones) - ones;
        bits.push(((1 << ones) - 1) << zero_bits, ones + zero_bits);
        if ones > 0 {
            let number_bits = NUMBER_BITS[ones as usize];
            bits.push(N::of(change, number_bits), number_bits);
        }
    }
    bits.finish();
}

/// `None` if the input ends early or continues after the last value.
#[expect(clippy::cast_possible_truncation, reason = "at most PEEK_BITS values are skipped at once")]
pub(super) fn decode<N: Number, const WIDTH: usize>(input: &[u8], series: Series<'_, WIDTH>) -> Option<()> {
    let Series { mut value, mut step, values } = series;
    let mut bits = BitReader::new(input);
    let mut done = 0;
    while done < values.len() {
        let word = bits.peek();
        let unchanged = (word.leading_zeros().min(PEEK_BITS) as usize).min(values.len() - done);
        if unchanged > 0 {
            for slot in &mut values[done..done + unchanged] {
                value = value.wrapping_add(step);
                *slot = store(value);
            }
            bits.skip(unchanged as u32);
            done += unchanged;
            continue;
        }
        step = step.wrapping_add(read_difference::<N>(&mut bits, word));
        value = value.wrapping_add(step);
        values[done] = store(value);
        done += 1;
    }
    bits.is_at_end().then_some(())
}

/// Reads the change whose prefix starts `word`, which was peeked at this position.
#[inline]
fn read_difference<N: Number>(bits: &mut BitReader<'_>, word: u64) -> u64 {
    let ones = word.leading_ones().min(PREFIX_ONES_MAX);
    let prefix_bits = prefix_bits(ones);
    let number_bits = NUMBER_BITS[ones as usize];
    if ones == PREFIX_ONES_MAX {
        bits.skip(prefix_bits);
        return N::difference(bits.read(number_bits), number_bits);
    }
    bits.skip(prefix_bits + number_bits);
    N::difference((word << prefix_bits) >> (u64::BITS - number_bits), number_bits)
}
