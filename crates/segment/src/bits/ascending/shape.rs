//! The bits of a block.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::layout::{BLOCK_NUMBERS, HEADER_BYTES, WORD_BYTES, WORDS_MAX};
use crate::bits::packed::{bits_of, pack, packed_bytes};

/// The words of high bits, and the low bits of each number.
fn shape(count: usize, most: u64) -> (usize, u32) {
    if most == 0 {
        return (0, 0);
    }
    let low = bits_of(most / count.max(1) as u64).saturating_sub(1);
    let steps = usize::try_from(most >> low).unwrap_or(usize::MAX);
    ((count + steps).div_ceil(64), low)
}

/// Adds up the bytes that integers will take.
#[derive(Debug, Default)]
pub(crate) struct SizeEstimate {
    first: u64,
    last: u64,
    /// Integers of the block that is not full.
    count: usize,
    bytes: u64,
}

impl SizeEstimate {
    pub(crate) fn push(&mut self, number: u64) {
        if self.count == BLOCK_NUMBERS {
            self.bytes = self.bytes();
            self.count = 0;
        }
        if self.count == 0 {
            self.first = number;
        }
        self.last = number;
        self.count += 1;
    }

    pub(crate) fn bytes(&self) -> u64 {
        let Some(count) = self.count.checked_sub(1) else { return self.bytes };
        let most = self.last.saturating_sub(self.first).saturating_sub(count as u64);
        let (words, low) = shape(count, most);
        let payload = words * WORD_BYTES + packed_bytes(if words == 0 { 0 } else { count }, low);
        self.bytes + (HEADER_BYTES + payload) as u64
    }
}

/// Appends the payload of a block. Returns its words of high bits, and the low bits of each number.
pub(super) fn encode(block: &[u64], out: &mut Vec<u8>) -> (usize, u32) {
    let [first, rest @ ..] = block else { return (0, 0) };
    let distance = |(index, number): (u64, &u64)| number - first - index;
    let distances: Vec<u64> = (1..).zip(rest).map(distance).collect();
    let (words, low) = shape(distances.len(), distances.last().copied().unwrap_or(0));
    if words == 0 {
        return (0, 0);
    }
    let mut high = [0_u64; WORDS_MAX];
    for (index, distance) in distances.iter().enumerate() {
        let at = index + usize::try_from(distance >> low).unwrap_or(usize::MAX);
        high[at / 64] |= 1 << (at % 64);
    }
    high[..words].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    pack(distances, low, out);
    (words, low)
}
