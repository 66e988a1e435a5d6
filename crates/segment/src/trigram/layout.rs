//! The sizes in the component of posting lists, which the builder and the reader share.

use super::chunk::CHUNK_BLOCKS;

pub(super) const ENCODING: &str = "trigram";
/// The sizes of a block in rows, as powers of two.
pub(super) const BLOCK_BITS_MIN: u32 = 6;
pub(super) const BLOCK_BITS_MAX: u32 = 12;
/// The bytes of the end of a list.
pub(super) const END_BYTES: usize = 5;

/// The blocks in a chunk of a segment of `blocks`.
pub(super) fn chunk_blocks(chunk: u16, blocks: u32) -> u32 {
    blocks.saturating_sub(u32::from(chunk) * CHUNK_BLOCKS).min(CHUNK_BLOCKS)
}
