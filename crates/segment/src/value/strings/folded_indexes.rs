//! The indexes of [`super::folding`]: which of the distinct strings each rank has.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::{ControlFlow, Range};

use basalt_base::query::checkpoint;
use basalt_base::{Error, Result};

use crate::bits::blocks::Headers;
use crate::file::{Bytes, ComponentReader};
use crate::{Place, ROWS_MAX, Rank};

/// Ranks whose indexes are packed together.
pub(super) const BLOCK_RANKS: usize = 512;

/// The index of each rank.
#[derive(Debug)]
pub(super) struct FoldedIndexes {
    headers: Headers,
    payload: Bytes,
    count: u32,
    place: Place,
}

impl FoldedIndexes {
    pub(super) fn open(mut component: ComponentReader<'_>) -> Result<FoldedIndexes> {
        let place = component.place().clone();
        let count = u32::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        let (headers, payload) = (component.resident()?, component.bytes()?);
        component.finish()?;
        let headers = Headers::open(headers, count as usize, BLOCK_RANKS, payload.len(), &place)?;
        Ok(FoldedIndexes { headers, payload, count, place })
    }

    pub(super) fn len(&self) -> u32 {
        self.count
    }

    /// The index of `rank`. `buffer` is for bytes that are read.
    pub(super) fn get(&self, rank: Rank, buffer: &mut Vec<u8>) -> Result<Rank> {
        let (block, index) = (rank as usize / BLOCK_RANKS, rank as usize % BLOCK_RANKS);
        let Some(header) = self.headers.get(block).filter(|_| rank < self.count) else {
            return Err(self.no_value(rank));
        };
        let number = header.number(index, self.payload.read(header.window(index), buffer)?);
        Rank::try_from(number).map_err(|_| self.no_value(rank))
    }

    /// Calls `take` with the indexes of `ranks`, block by block, until it breaks.
    pub(super) fn each_block(
        &self,
        ranks: Range<Rank>,
        mut take: impl FnMut(Rank, &[u64]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut numbers, mut buffer) = ([0; BLOCK_RANKS], Vec::new());
        let mut rank = ranks.start;
        while rank < ranks.end {
            checkpoint()?;
            let (block, first) = (rank as usize / BLOCK_RANKS, rank as usize % BLOCK_RANKS);
            let end = BLOCK_RANKS.min(ranks.end as usize - block * BLOCK_RANKS);
            let is_there = ranks.end <= self.count;
            let Some(header) = self.headers.get(block).filter(|_| is_there) else {
                return Err(self.no_value(ranks.end));
            };
            let numbers = &mut numbers[..end - first];
            header.unpack(self.payload.read(header.bytes(end), &mut buffer)?, first, numbers);
            if take(rank, numbers)?.is_break() {
                break;
            }
            rank = rank.saturating_add(u32::try_from(numbers.len()).map_err(Error::logical)?);
        }
        Ok(())
    }

    #[cold]
    pub(super) fn no_value(&self, rank: Rank) -> Error {
        self.place.corrupt(format!("value {rank} of {} was referred to", self.count))
    }
}
