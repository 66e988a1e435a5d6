//! The changes of a step in blocks, each with as many bits a number as most of its numbers need.
//!
//! Patched frames of reference, after Zukowski et al., "Super-Scalar RAM-CPU Cache Compression" (ICDE 2006, section
//! 3). The position of a number does not depend on the length of another, so a block decodes without data-dependent
//! branches.
//!
//! # Layout of a block
//!
//! [`BLOCK_NUMBERS`] numbers, fewer in the last one:
//!
//! ```text
//! low bits u8       0 to 64; plus 128 if there are exceptions
//! count u8          the exceptions: numbers with more bits           (if there are any)
//! high bits u8      the bits of the longest exception above the low bits   (if there are any)
//! positions         of the exceptions: a byte each, or a bit a number if that is shorter
//! the lowest `low bits` of every number, packed
//! the `high bits` above them of every exception, packed
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::series::Series;
use crate::packed::{bits_of, pack, packed_bytes, unpack};
use crate::value::{store, unzigzag};

pub(super) const BLOCK_NUMBERS: usize = 128;

const HAS_EXCEPTIONS: u8 = 0x80;
const HEADER_BYTES_MAX: usize = 3;

pub(super) fn encoded_bytes_max(changes: usize) -> usize {
    changes * size_of::<u64>() + changes.div_ceil(BLOCK_NUMBERS) * HEADER_BYTES_MAX
}

pub(super) fn encode(changes: &[u64], out: &mut Vec<u8>) {
    for numbers in changes.chunks(BLOCK_NUMBERS) {
        encode_block(numbers, out);
    }
}

fn encode_block(numbers: &[u64], out: &mut Vec<u8>) {
    let (low_bits, high_bits, count) = choose_bits(numbers);
    if count == 0 {
        out.push(byte(low_bits));
        pack(numbers.iter().copied(), low_bits, out);
        return;
    }
    out.extend_from_slice(&[byte(low_bits) | HAS_EXCEPTIONS, position(count), byte(high_bits)]);
    let exceptions = || numbers.iter().enumerate().filter(|(_, number)| bits_of(**number) > low_bits);
    if count < places_bytes(numbers.len()) {
        out.extend(exceptions().map(|(place, _)| position(place)));
    } else {
        let places = exceptions().fold(0_u128, |places, (place, _)| places | (1 << place));
        out.extend_from_slice(&places.to_le_bytes()[..places_bytes(numbers.len())]);
    }
    pack(numbers.iter().copied(), low_bits, out);
    pack(exceptions().map(|(_, number)| number >> low_bits), high_bits, out);
}

fn byte(bits: u32) -> u8 {
    u8::try_from(bits).expect("a number has at most 64 bits")
}

fn position(place: usize) -> u8 {
    u8::try_from(place).expect("a block has at most BLOCK_NUMBERS numbers")
}

/// Bytes of a bitmap of the exceptions' positions.
fn places_bytes(numbers: usize) -> usize {
    numbers.div_ceil(8)
}

/// The low bits, the high bits and the number of exceptions that make the block the shortest.
fn choose_bits(numbers: &[u64]) -> (u32, u32, usize) {
    let mut counts = [0_usize; u64::BITS as usize + 1];
    for &number in numbers {
        counts[bits_of(number) as usize] += 1;
    }
    let longest =
        (0_u32..).zip(&counts).filter(|(_, count)| **count > 0).map(|(bits, _)| bits).last().unwrap_or(0);
    let mut best = (longest, 0, 0);
    let mut best_bytes = packed_bytes(numbers.len(), longest);
    let mut exceptions = 0;
    for low_bits in (0..longest).rev() {
        exceptions += counts[low_bits as usize + 1];
        let high_bits = longest - low_bits;
        let places = exceptions.min(places_bytes(numbers.len()));
        let bytes = HEADER_BYTES_MAX - 1
            + places
            + packed_bytes(numbers.len(), low_bits)
            + packed_bytes(exceptions, high_bits);
        if bytes < best_bytes {
            best = (low_bits, high_bits, exceptions);
            best_bytes = bytes;
        }
    }
    best
}

/// `None` if the input ends early, continues after the last block, or cannot be the output of `encode`.
pub(super) fn decode<const WIDTH: usize>(mut input: &[u8], series: Series<'_, WIDTH>) -> Option<()> {
    let Series { mut value, mut step, values } = series;
    let mut buffer = [0; BLOCK_NUMBERS];
    for values in values.chunks_mut(BLOCK_NUMBERS) {
        let (header, rest) = input.split_first()?;
        input = rest;
        if *header == 0 {
            for (slot, count) in values.iter_mut().zip(1_u64..) {
                *slot = store(value.wrapping_add(step.wrapping_mul(count)));
            }
            value = value.wrapping_add(step.wrapping_mul(values.len() as u64));
            continue;
        }
        let numbers = &mut buffer[..values.len()];
        input = decode_block(*header, input, numbers)?;
        for (slot, &number) in values.iter_mut().zip(&*numbers) {
            step = step.wrapping_add(unzigzag(number));
            value = value.wrapping_add(step);
            *slot = store(value);
        }
    }
    input.is_empty().then_some(())
}

/// Fills `numbers`; returns the input after the block.
fn decode_block<'a>(header: u8, input: &'a [u8], numbers: &mut [u64]) -> Option<&'a [u8]> {
    let low_bits = u32::from(header & !HAS_EXCEPTIONS);
    if low_bits > u64::BITS {
        return None;
    }
    let low_bytes = packed_bytes(numbers.len(), low_bits);
    if header & HAS_EXCEPTIONS == 0 {
        let (low, input) = input.split_at_checked(low_bytes)?;
        unpack(low, low_bits, numbers);
        return Some(input);
    }
    let ([count, high_bits], input) = input.split_first_chunk()?;
    let (count, high_bits) = (usize::from(*count), u32::from(*high_bits));
    if low_bits + high_bits > u64::BITS || low_bits == u64::BITS || count > numbers.len() {
        return None;
    }
    let (places, input) = input.split_at_checked(count.min(places_bytes(numbers.len())))?;
    let (low, input) = input.split_at_checked(low_bytes)?;
    let (high, input) = input.split_at_checked(packed_bytes(count, high_bits))?;
    unpack(low, low_bits, numbers);
    let mut buffer = [0; BLOCK_NUMBERS];
    let highs = &mut buffer[..count];
    unpack(high, high_bits, highs);
    if count < places_bytes(numbers.len()) {
        for (&place, high) in places.iter().zip(&*highs) {
            *numbers.get_mut(usize::from(place))? |= high << low_bits;
        }
        return Some(input);
    }
    let mut bytes = [0; size_of::<u128>()];
    bytes[..places.len()].copy_from_slice(places);
    let mut places = u128::from_le_bytes(bytes);
    for high in highs {
        *numbers.get_mut(places.trailing_zeros() as usize)? |= *high << low_bits;
        places &= places.wrapping_sub(1);
    }
    (places == 0).then_some(input)
}
