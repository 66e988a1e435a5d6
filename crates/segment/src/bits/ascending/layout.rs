//! Sizes of blocks.

/// Integers of a block.
pub(super) const BLOCK_NUMBERS: usize = 128;
pub(super) const HEADER_BYTES: usize = 16;
pub(super) const WORD_BYTES: usize = size_of::<u64>();
/// The most words of high bits: a bit for each integer, and at most two steps for each.
pub(super) const WORDS_MAX: usize = (3 * BLOCK_NUMBERS).div_ceil(64);
pub(super) const LOW_BITS_MAX: u64 = 63;
