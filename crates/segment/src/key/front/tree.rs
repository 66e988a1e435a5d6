//! An open index: its levels, from the separators at the top down to the keys.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::{Error, Result};
use basalt_codec::Tokens;

use super::block::{Block, Coding};
use super::layout::BLOCK_KEYS_MAX;
use super::level::Level;
use crate::file::ComponentReader;
use crate::{Place, ROWS_MAX, Rank};

/// The most levels: the number of keys is divided by at least two from one to the next.
const LEVELS_MAX: u64 = 32;

/// Front-coded keys.
#[derive(Debug)]
pub(in crate::key) struct FrontIndex {
    tokens: Tokens,
    token_bytes: usize,
    /// Keys, then separators of the level before each.
    levels: Vec<Level>,
    pub(super) count: u32,
    pub(super) block_keys: u32,
    pub(super) place: Place,
}

impl FrontIndex {
    pub(in crate::key) fn open(mut component: ComponentReader<'_>) -> Result<FrontIndex> {
        let place = component.place().clone();
        let count = u32::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        let block_keys =
            u32::try_from(component.number_to(BLOCK_KEYS_MAX as u64)?).map_err(Error::logical)?;
        if block_keys < 2 {
            return Err(place.corrupt("blocks have less than two keys"));
        }
        let level_count = component.number_to(LEVELS_MAX)?;
        let written = component.resident()?;
        let tokens = Tokens::read(&written).map_err(|error| place.corrupt(error.to_string()))?;
        let mut levels: Vec<Level> = Vec::new();
        for _ in 0..level_count {
            let strings = levels.last().map_or(count, Level::blocks);
            levels.push(Level::open(&mut component, strings, block_keys)?);
        }
        if levels.last().is_none_or(|top| top.blocks() > 1) {
            return Err(place.corrupt("a level of keys is missing"));
        }
        component.finish()?;
        Ok(FrontIndex { tokens, token_bytes: written.len(), levels, count, block_keys, place })
    }

    pub(super) fn coding(&self) -> Coding<'_> {
        Coding { tokens: &self.tokens, bits: self.tokens.bits() }
    }

    pub(super) fn blocks(&self) -> u32 {
        self.count.div_ceil(self.block_keys)
    }

    /// Block `index` of the keys.
    #[inline(always)]
    pub(super) fn block(&self, index: u32) -> Result<Block<'_>> {
        match self.levels.first() {
            Some(keys) => keys.block(index, self.coding()),
            None => Err(self.place.corrupt("it has no keys")),
        }
    }

    /// The rank of the first key of block `index`.
    pub(super) fn first_rank(&self, index: u32) -> Rank {
        index.saturating_mul(self.block_keys)
    }

    pub(super) fn block_of(&self, rank: Rank) -> u32 {
        rank / self.block_keys
    }

    /// The number of keys less than `key`, and whether the next one is `key`.
    pub(super) fn locate(&self, key: &[u8]) -> Result<(u32, bool)> {
        let Some((keys, separators)) = self.levels.split_first() else { return Ok((0, false)) };
        if self.count == 0 {
            return Ok((0, false));
        }
        let mut block = 0_u32;
        let mut matched = 0;
        for level in separators.iter().rev() {
            // The first separator of the top level is empty. That of another block was found in the level above.
            let found = level.block(block, self.coding())?.locate_after_first(key, matched);
            // The last separator that is not greater. The keys of its block begin with it.
            let child = if found.is_equal { found.less } else { found.less.saturating_sub(1) };
            block = block.saturating_mul(self.block_keys).saturating_add(to_u32(child));
            matched = found.matched;
        }
        let found = keys.block(block, self.coding())?.locate(key, matched);
        Ok((self.first_rank(block).saturating_add(to_u32(found.less)).min(self.count), found.is_equal))
    }

    pub(super) fn check_range(&self, ranks: &Range<Rank>) -> Result<()> {
        match ranks.start <= ranks.end && ranks.end <= self.count {
            true => Ok(()),
            false => Err(self.place.corrupt(format!("key {} of {} was referred to", ranks.end, self.count))),
        }
    }

    /// The bytes of all sections.
    pub(super) fn section_bytes(&self) -> u64 {
        self.token_bytes as u64 + self.levels.iter().map(Level::stored_bytes).sum::<u64>()
    }
}

/// An index in a block.
fn to_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
