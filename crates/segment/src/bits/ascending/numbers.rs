//! Reads ascending integers.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::region::Section;
use basalt_base::{Error, Result};

use super::block::Block;
use super::layout::{BLOCK_NUMBERS, HEADER_BYTES, LOW_BITS_MAX, WORD_BYTES, WORDS_MAX};
use crate::bits::packed::{PADDING_BYTES, packed_bytes};
use crate::file::ComponentReader;
use crate::{Place, ROWS_MAX};

/// Integers by index.
#[derive(Debug)]
pub(crate) struct Ascending {
    headers: Section,
    payload: Section,
    count: usize,
}

impl Ascending {
    /// Reads what [`AscendingBuilder::finish`] added.
    pub(crate) fn open(component: &mut ComponentReader<'_>) -> Result<Ascending> {
        let count = usize::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        let (headers, payload) = (component.resident()?, component.resident()?);
        if headers.len() != count.div_ceil(BLOCK_NUMBERS) * HEADER_BYTES {
            return Err(component
                .place()
                .corrupt(format!("{} bytes of headers for {count} numbers", headers.len())));
        }
        let ascending = Ascending { headers, payload, count };
        ascending.check(component.place())?;
        Ok(ascending)
    }

    /// Blocks are inside of the payload and ascend.
    fn check(&self, place: &Place) -> Result<()> {
        let mut last = None;
        for index in 0..self.count.div_ceil(BLOCK_NUMBERS) {
            match self.block(index).map(|block| block.first) {
                Some(first) if last.is_none_or(|last| last < first) => last = Some(first),
                _ => return Err(place.corrupt(format!("block {index} is out of order or of its section"))),
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn stored_bytes(&self) -> u64 {
        (self.headers.len() + self.payload.len()) as u64
    }

    #[inline(always)]
    fn first(&self, block: usize) -> u64 {
        let header = self.headers.as_chunks::<HEADER_BYTES>().0.get(block);
        header.and_then(|header| header.first_chunk()).map_or(u64::MAX, |first| u64::from_le_bytes(*first))
    }

    /// The numbers of block `index`.
    #[inline(always)]
    fn numbers(&self, index: usize) -> usize {
        (self.count - (index * BLOCK_NUMBERS).min(self.count)).min(BLOCK_NUMBERS)
    }

    #[inline(always)]
    fn block(&self, index: usize) -> Option<Block<'_>> {
        let header = self.headers.as_chunks::<HEADER_BYTES>().0.get(index)?;
        let [first, place] = [0, 1].map(|word| {
            header.as_chunks::<WORD_BYTES>().0.get(word).map_or(0, |bytes| u64::from_le_bytes(*bytes))
        });
        let start = usize::try_from(place >> 16).ok()?;
        let words = usize::try_from(place >> 8 & 0xff).ok().filter(|&words| words <= WORDS_MAX)?;
        let width = u32::try_from((place & 0xff).min(LOW_BITS_MAX + 1))
            .ok()
            .filter(|&low| u64::from(low) <= LOW_BITS_MAX)?;
        let (high, low) = self.payload.get(start..)?.split_at_checked(words * WORD_BYTES)?;
        let needed = packed_bytes(self.numbers(index) - 1, width) + PADDING_BYTES;
        (low.len() >= needed).then_some(Block { first, high: high.as_chunks().0, low, width })
    }

    /// Number `index`, which is less than the count.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        let block = self.block(index / BLOCK_NUMBERS);
        block.map_or(0, |block| block.get(index % BLOCK_NUMBERS))
    }

    /// How many numbers are less than `number`, and whether the next one is it.
    pub(crate) fn locate(&self, number: u64) -> (usize, bool) {
        let headers = self.headers.as_chunks::<HEADER_BYTES>().0;
        let after = headers.partition_point(|header| {
            header.first_chunk().is_some_and(|first| u64::from_le_bytes(*first) <= number)
        });
        let Some(index) = after.checked_sub(1) else { return (0, false) };
        let start = index * BLOCK_NUMBERS;
        let Some(block) = self.block(index).filter(|block| block.first != number) else {
            return (start, self.first(index) == number);
        };
        let (mut low, mut high) = (1, self.numbers(index));
        while low < high {
            let middle = low.midpoint(high);
            match block.get(middle) < number {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        (start + low, low < self.numbers(index) && block.get(low) == number)
    }

    /// Calls `take` with the numbers of `range`, as far as they exist.
    pub(crate) fn for_each<E>(
        &self,
        range: Range<usize>,
        mut take: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (mut at, end) = (range.start, range.end.min(self.count));
        while at < end {
            let index = at / BLOCK_NUMBERS;
            let Some(block) = self.block(index) else { return Ok(()) };
            let last = (end - index * BLOCK_NUMBERS).min(BLOCK_NUMBERS);
            block.for_each(at % BLOCK_NUMBERS..last, &mut take)?;
            at = index * BLOCK_NUMBERS + last;
        }
        Ok(())
    }
}
