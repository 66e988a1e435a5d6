//! Floats with random digits: their high bits, which have few distinct values, become indexes into a dictionary.
//!
//! # Layout
//!
//! ```text
//! right bits u8              the random low bits of a value
//! entry count u8             1 to 8
//! entries u16                the most frequent left bits of the values
//! for every vector:
//!   exception count u16
//!   the entry of every value, packed
//!   the right bits of every value, packed
//!   position u16 of every exception, whose left bits are no entry
//!   left bits u16 of every exception
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::collections::HashMap;

use super::vector::{VECTOR_VALUES, byte, field};
use crate::packed::{bits_of, pack, packed_bytes, unpack};
use crate::value::{load, store, value_bits};

const ENTRIES_MAX: usize = 8;

/// The left bits must fit in an entry.
const LEFT_BITS_MAX: u32 = u16::BITS;

const FIELD_BYTES: usize = size_of::<u16>();

/// The cut between left and right bits, and the dictionary of left bits.
#[derive(Clone, Debug)]
pub(super) struct Split {
    right_bits: u32,
    entries: Vec<u16>,
}

impl Split {
    fn entry_bits(&self) -> u32 {
        bits_of(self.entries.len() as u64 - 1)
    }

    /// The number of entries, stored in a byte.
    fn entry_count(&self) -> u8 {
        u8::try_from(self.entries.len()).expect("there are at most ENTRIES_MAX entries")
    }
}

pub(super) fn overhead_bytes_max(values: usize) -> usize {
    let vectors = values.div_ceil(VECTOR_VALUES);
    // Packed numbers end at a byte; an exception takes a position and a field besides its entry.
    2 + ENTRIES_MAX * FIELD_BYTES + vectors * (FIELD_BYTES + 2) + values * (2 * FIELD_BYTES + 1)
}

/// The cut with which the vectors of a sample take the fewest bits, and these bits a value.
pub(super) fn choose<const WIDTH: usize>(sample: &[Vec<u64>]) -> (Split, f64) {
    let value_bits = value_bits::<WIDTH>();
    let values = sample.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    let cuts = (value_bits - LEFT_BITS_MAX..value_bits).map(|right_bits| {
        let (split, exceptions) = split_at(right_bits, sample);
        let exception_bits = (exceptions * 8 * 2 * FIELD_BYTES) as f64 / values;
        let bits = f64::from(right_bits + split.entry_bits()) + exception_bits;
        (split, bits)
    });
    cuts.min_by(|left, right| left.1.total_cmp(&right.1)).expect("there is a cut")
}

/// The split with this many right bits, and the number of its exceptions in the sample.
fn split_at(right_bits: u32, sample: &[Vec<u64>]) -> (Split, usize) {
    let mut counts: HashMap<u16, usize> = HashMap::new();
    for value in sample.iter().flatten() {
        *counts.entry(left_bits(*value, right_bits)).or_default() += 1;
    }
    let mut counts: Vec<(u16, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(left, count)| (usize::MAX - count, left));
    let exceptions = counts.iter().skip(ENTRIES_MAX).map(|(_, count)| count).sum();
    let mut entries: Vec<u16> = counts.iter().take(ENTRIES_MAX).map(|(left, _)| *left).collect();
    if entries.is_empty() {
        entries.push(0);
    }
    (Split { right_bits, entries }, exceptions)
}

pub(super) fn encode<const WIDTH: usize>(split: &Split, values: &[[u8; WIDTH]], out: &mut Vec<u8>) {
    out.extend_from_slice(&[byte(split.right_bits), split.entry_count()]);
    out.extend(split.entries.iter().flat_map(|entry| entry.to_le_bytes()));
    for vector in values.chunks(VECTOR_VALUES) {
        let lefts: Vec<u16> = vector.iter().map(|value| left_bits(load(value), split.right_bits)).collect();
        let entry_of = |left: &u16| split.entries.iter().position(|entry| entry == left);
        let entries: Vec<Option<usize>> = lefts.iter().map(entry_of).collect();
        let exceptions = || entries.iter().zip(0_u16..).filter(|(entry, _)| entry.is_none());
        out.extend_from_slice(&field(exceptions().count()).to_le_bytes());
        pack(entries.iter().map(|entry| entry.unwrap_or(0) as u64), split.entry_bits(), out);
        pack(vector.iter().map(load), split.right_bits, out);
        out.extend(exceptions().flat_map(|(_, place)| place.to_le_bytes()));
        out.extend(exceptions().flat_map(|(_, place)| lefts[usize::from(place)].to_le_bytes()));
    }
}

pub(super) fn decode<const WIDTH: usize>(input: &[u8], values: &mut [[u8; WIDTH]]) -> Option<()> {
    let ([right_bits, entry_count], input) = input.split_first_chunk()?;
    let (right_bits, entry_count) = (u32::from(*right_bits), usize::from(*entry_count));
    let value_bits = value_bits::<WIDTH>();
    if !(1..=ENTRIES_MAX).contains(&entry_count)
        || !(value_bits - LEFT_BITS_MAX..value_bits).contains(&right_bits)
    {
        return None;
    }
    let (entries, mut input) = input.split_at_checked(entry_count * FIELD_BYTES)?;
    let entries: Vec<u16> = entries.as_chunks().0.iter().map(|entry| u16::from_le_bytes(*entry)).collect();
    let split = Split { right_bits, entries };
    // Has a slot for every number that fits in an entry's bits, so that no value needs a check.
    let mut lefts = [0; ENTRIES_MAX];
    for (left, entry) in lefts.iter_mut().zip(&split.entries) {
        *left = u64::from(*entry) << right_bits;
    }
    for vector in values.chunks_mut(VECTOR_VALUES) {
        input = decode_vector(&split, &lefts, input, vector)?;
    }
    input.is_empty().then_some(())
}

/// The bits to the left of the cut.
#[expect(clippy::cast_possible_truncation, reason = "at most LEFT_BITS_MAX bits are left of the cut")]
fn left_bits(value: u64, right_bits: u32) -> u16 {
    (value >> right_bits) as u16
}

/// Returns the input after the vector.
#[expect(clippy::cast_possible_truncation, reason = "an entry has at most three bits")]
fn decode_vector<'a, const WIDTH: usize>(
    split: &Split,
    lefts: &[u64; ENTRIES_MAX],
    input: &'a [u8],
    vector: &mut [[u8; WIDTH]],
) -> Option<&'a [u8]> {
    let (count, input) = input.split_first_chunk()?;
    let (packed, input) = input.split_at_checked(packed_bytes(vector.len(), split.entry_bits()))?;
    let mut buffer = [0; VECTOR_VALUES];
    let entries = &mut buffer[..vector.len()];
    unpack(packed, split.entry_bits(), entries);
    let (packed, input) = input.split_at_checked(packed_bytes(vector.len(), split.right_bits))?;
    let mut buffer = [0; VECTOR_VALUES];
    let rights = &mut buffer[..vector.len()];
    unpack(packed, split.right_bits, rights);
    for ((value, entry), right) in vector.iter_mut().zip(&*entries).zip(&*rights) {
        *value = store(lefts[*entry as usize % ENTRIES_MAX] | right);
    }
    let count = usize::from(u16::from_le_bytes(*count));
    let (places, input) = input.split_at_checked(count * FIELD_BYTES)?;
    let (firsts, input) = input.split_at_checked(count * FIELD_BYTES)?;
    for (place, left) in places.as_chunks().0.iter().zip(firsts.as_chunks().0) {
        let place = usize::from(u16::from_le_bytes(*place));
        let value = vector.get_mut(place)?;
        *value = store(u64::from(u16::from_le_bytes(*left)) << split.right_bits | rights[place]);
    }
    Some(input)
}
