//! A level of an index: sorted strings in blocks.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::Result;
use basalt_base::region::Section;
use basalt_codec::TokenMatcher;

use super::block::{Block, Coding, PendingBlock};
use crate::Place;
use crate::bits::packed::PADDING_BYTES;
use crate::bits::{Offsets, OffsetsBuilder};
use crate::file::{ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::key::limits::common_prefix;

/// Takes the strings of a level in order.
#[derive(Debug)]
pub(super) struct LevelBuilder {
    blocks: Spool,
    ends: OffsetsBuilder,
    last: Vec<u8>,
    block: PendingBlock,
    encoded: Vec<u8>,
    keys: usize,
}

impl LevelBuilder {
    pub(super) fn new(place: &SpoolPlace, keys: usize) -> LevelBuilder {
        LevelBuilder {
            blocks: place.spool(),
            ends: OffsetsBuilder::new(place),
            last: Vec::new(),
            block: PendingBlock::default(),
            encoded: Vec::new(),
            keys,
        }
    }

    /// Appends `key`. Returns the bytes of it that separate it from the key before, if it begins another block than the
    /// first.
    pub(super) fn push(&mut self, key: &[u8], matcher: &TokenMatcher, bits: u32) -> Result<Option<usize>> {
        let common = common_prefix(&self.last, key);
        let mut separator = None;
        if self.block.prefixes.len() == self.keys {
            self.flush(bits)?;
            separator = Some(common + 1);
        }
        let prefix = if self.block.prefixes.is_empty() { 0 } else { common };
        // A prefix is shorter than a key, whose length was compared with the limit.
        self.block.prefixes.push(u16::try_from(prefix).unwrap_or(u16::MAX));
        let before = self.block.codes.len();
        matcher.encode(key, prefix..key.len(), |code| self.block.codes.push(code));
        self.block.counts.push(u32::try_from(self.block.codes.len() - before).unwrap_or(u32::MAX));
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(separator)
    }

    fn flush(&mut self, bits: u32) -> Result<()> {
        self.encoded.clear();
        self.block.encode(bits, &mut self.encoded);
        self.blocks.write(&self.encoded)?;
        self.ends.push(self.blocks.len())
    }

    pub(super) fn finish(mut self, bits: u32, component: &mut PendingComponent) -> Result<()> {
        if !self.block.prefixes.is_empty() {
            self.flush(bits)?;
        }
        self.blocks.write(&[0; PADDING_BYTES])?;
        component.section(self.blocks);
        self.ends.finish(component)
    }
}

/// A level to read.
#[derive(Debug)]
pub(super) struct Level {
    bytes: Section,
    ends: Offsets,
    count: u32,
    keys: u32,
    place: Place,
}

impl Level {
    /// Opens a level of `count` strings.
    pub(super) fn open(component: &mut ComponentReader<'_>, count: u32, keys: u32) -> Result<Level> {
        let place = component.place().clone();
        let bytes = component.resident()?;
        let ends = Offsets::open(component)?;
        if ends.len() != count.div_ceil(keys) {
            return Err(place.corrupt(format!("{} blocks for {count} keys", ends.len())));
        }
        if bytes.len().checked_sub(PADDING_BYTES).map(|bytes| bytes as u64) != Some(ends.end()) {
            return Err(place.corrupt("the blocks of keys do not fill their section"));
        }
        Ok(Level { bytes, ends, count, keys, place })
    }

    pub(super) fn blocks(&self) -> u32 {
        self.ends.len()
    }

    /// Block `index`; an error if there is none.
    #[inline(always)]
    pub(super) fn block<'a>(&'a self, index: u32, coding: Coding<'a>) -> Result<Block<'a>> {
        let range = self.ends.range(index)?;
        let before = index.saturating_mul(self.keys);
        let keys = self.count.saturating_sub(before).min(self.keys) as usize;
        let start = usize::try_from(range.start).unwrap_or(usize::MAX);
        Block::open(self.bytes.get(start..).unwrap_or_default(), keys, coding, &self.place)
    }

    pub(super) fn stored_bytes(&self) -> u64 {
        self.bytes.len() as u64 + self.ends.stored_bytes()
    }
}
