//! A block to read.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use super::layout::WORD_BYTES;
use crate::bits::packed::{number_in, window};
use crate::bits::select::select_in_word;

/// A block inside of the payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) first: u64,
    pub(super) high: &'a [[u8; WORD_BYTES]],
    /// The low bits, and what follows them.
    pub(super) low: &'a [u8],
    pub(super) width: u32,
}

impl Block<'_> {
    /// Number `index`, below [`BLOCK_NUMBERS`].
    #[inline]
    pub(super) fn get(&self, index: usize) -> u64 {
        let Some(before) = index.checked_sub(1) else { return self.first };
        let steps = if self.high.is_empty() { 0 } else { self.select(before).saturating_sub(before) };
        self.number(index, steps)
    }

    /// Number `index`, which is at least 1, after `steps` of the high part.
    #[inline(always)]
    fn number(&self, index: usize, steps: usize) -> u64 {
        let low = self.low.get(window(index - 1, self.width)).and_then(|window| window.first_chunk());
        let low = low.map_or(0, |low| number_in(low, index - 1, self.width));
        let distance = (steps as u64) << self.width | if self.high.is_empty() { 0 } else { low };
        self.first.wrapping_add(distance).wrapping_add(index as u64)
    }

    /// The position of set bit `index`; the end if there is none.
    #[inline(always)]
    fn select(&self, index: usize) -> usize {
        let mut left = index;
        for (at, word) in self.high.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let ones = word.count_ones() as usize;
            if left < ones {
                // Less than 64.
                return at * 64 + select_in_word(word, u32::try_from(left).unwrap_or(0)) as usize;
            }
            left -= ones;
        }
        self.high.len() * 64
    }

    pub(super) fn for_each<E>(
        &self,
        range: Range<usize>,
        take: &mut impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut range = range;
        if range.start == 0 && !range.is_empty() {
            take(self.first)?;
            range.start = 1;
        }
        if range.is_empty() {
            return Ok(());
        }
        if self.high.is_empty() {
            return range.into_iter().try_for_each(|index| take(self.number(index, 0)));
        }
        let mut at = self.select(range.start - 1);
        for index in range {
            take(self.number(index, at.saturating_sub(index - 1)))?;
            at = self.next(at + 1);
        }
        Ok(())
    }

    /// The position of the first set bit from `at` on; the end if there is none.
    #[inline(always)]
    fn next(&self, at: usize) -> usize {
        let Some(word) = self.high.get(at / 64) else { return self.high.len() * 64 };
        let word = u64::from_le_bytes(*word) >> (at % 64);
        if word != 0 {
            return at + word.trailing_zeros() as usize;
        }
        let rest = self.high.iter().enumerate().skip(at / 64 + 1).find(|(_, word)| **word != [0; WORD_BYTES]);
        rest.map_or(self.high.len() * 64, |(at, word)| {
            at * 64 + u64::from_le_bytes(*word).trailing_zeros() as usize
        })
    }
}
