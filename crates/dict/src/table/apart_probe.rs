//! Finds hashes in the lines of all shards of a table, and payloads behind these lines.
//!
//! The line tells whether a key is there, and its payload is asked for only then.

use std::hint::select_unpredictable;

use basalt_base::prefetch::prefetch_read;

use super::line_probe::equal_cells;
use super::line_shape::{BLOCK_LINES, Homes, LINE_BYTES, LineShape, Payloads, Spot};
use super::lines::{Cell, LineTable, Record, number};
use super::probe::{Probe, Sight};
use crate::hash::ShardBits;

/// All shards of a table whose payloads are apart from their lines, in blocks of `BLOCK` bytes.
pub(super) struct ApartProbe<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> {
    shards: Vec<Shard<'a, BLOCK>>,
    shard_bits: ShardBits,
}

#[derive(Clone, Copy)]
struct Shard<'a, const BLOCK: usize> {
    blocks: &'a [[u8; BLOCK]],
    homes: Homes,
    table: &'a LineTable,
}

/// A line of a key, by the number of it in its block, and its word there.
#[derive(Clone, Copy)]
pub(super) struct Aim<'a, const BLOCK: usize> {
    block: &'a [u8; BLOCK],
    line: usize,
    word: u64,
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> ApartProbe<'a, CELLS, PAYLOAD, BLOCK> {
    const SHAPE: LineShape = LineShape { cells: CELLS, payload_bytes: PAYLOAD, payloads: Payloads::Apart };
    const IS_KNOWN: () = assert!(Self::SHAPE.block_bytes() == BLOCK);

    pub(super) fn new(tables: &'a [LineTable]) -> Self {
        let () = Self::IS_KNOWN;
        let shard = |table: &'a LineTable| Shard {
            blocks: table.lines.as_chunks().0,
            homes: Self::SHAPE.homes(table.homes.count, table.homes.shard_bits),
            table,
        };
        ApartProbe { shards: tables.iter().map(shard).collect(), shard_bits: tables[0].homes.shard_bits }
    }

    #[inline(always)]
    fn shard(&self, hash: u64) -> &Shard<'a, BLOCK> {
        &self.shards[self.shard_bits.split(hash).0]
    }

    #[inline(always)]
    fn line(block: &[u8; BLOCK], line: usize) -> &[u8; LINE_BYTES] {
        &block.as_chunks().0[line]
    }

    /// The first payload that `accept` takes of the cells of line `line` that have `word`.
    fn search_line(
        lines: &[u8],
        line: usize,
        word: u64,
        accept: &mut impl FnMut(u64) -> bool,
    ) -> Option<u64> {
        let equal = equal_cells::<CELLS>(&lines[Self::SHAPE.line_at(line)..], word);
        let cells = (0..CELLS).filter(|cell| equal >> cell & 1 != 0);
        let cells = cells.map(|cell| Cell::at(lines, Self::SHAPE, line, cell));
        cells.filter(|cell| cell.word == word).map(|cell| cell.payload).find(|&payload| accept(payload))
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> Probe
    for ApartProbe<'a, CELLS, PAYLOAD, BLOCK>
{
    type Aim = Aim<'a, BLOCK>;
    type Place = &'a [u8; PAYLOAD];

    const OVERLAPS: bool = true;
    const IS_TWOFOLD: bool = true;
    const IS_APART: bool = true;

    #[inline(always)]
    fn approach(&self, _: u64) {}

    #[inline(always)]
    fn aim(&self, hash: u64) -> Aim<'a, BLOCK> {
        let shard = self.shard(hash);
        let Spot { home, tail } = shard.homes.spot(hash);
        Aim {
            block: &shard.blocks[home / BLOCK_LINES],
            line: home % BLOCK_LINES,
            word: Self::SHAPE.word(tail, true),
        }
    }

    #[inline(always)]
    fn fetch(&self, Aim { block, line, .. }: Aim<'a, BLOCK>) {
        prefetch_read(block, line * LINE_BYTES);
    }

    #[inline(always)]
    fn seek(&self, _: u64, Aim { block, line, word }: Aim<'a, BLOCK>) -> Sight<&'a [u8; PAYLOAD]> {
        let bytes = Self::line(block, line);
        let equal = equal_cells::<CELLS>(bytes, word);
        let cell = (equal | 1 << (CELLS - 1)).trailing_zeros() as usize;
        let is_found = (equal != 0) & (Record::at(bytes, Self::SHAPE, cell).rest == word >> u16::BITS);
        // Without one, the line is at hand.
        let (near, far) = (line * LINE_BYTES, Self::SHAPE.payload_in_block(line, cell));
        let place = select_unpredictable(is_found, far, near);
        Sight {
            place: block[place..].first_chunk().unwrap_or(&[0; PAYLOAD]),
            is_found,
            // A tag that is equal by chance may hide the cell.
            is_all: !Self::SHAPE.is_signed(bytes, word) & (equal == 0),
            is_clear: equal == 0,
        }
    }

    #[inline(always)]
    fn fetch_payload(&self, place: &'a [u8; PAYLOAD]) {
        prefetch_read(place, 0);
    }

    #[inline(always)]
    fn payload(&self, place: &'a [u8; PAYLOAD]) -> u64 {
        number(place)
    }

    #[inline(always)]
    fn turn(&self, hash: u64) -> Aim<'a, BLOCK> {
        let shard = self.shard(hash);
        let spot = shard.homes.spot(hash);
        let line = shard.homes.other(spot);
        Aim {
            block: &shard.blocks[line / BLOCK_LINES],
            line: line % BLOCK_LINES,
            word: Self::SHAPE.word_away(spot.tail),
        }
    }

    #[inline(always)]
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shard(hash).table.find_beside(hash, accept)
    }

    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let &Shard { blocks, homes, table } = self.shard(hash);
        let spot = homes.spot(hash);
        let lines = blocks.as_flattened();
        let at_home = Self::search_line(lines, spot.home, Self::SHAPE.word(spot.tail, true), &mut accept);
        let home = Self::line(&blocks[spot.home / BLOCK_LINES], spot.home % BLOCK_LINES);
        if at_home.is_some() || !Self::SHAPE.is_signed(home, spot.tail) {
            return at_home;
        }
        Self::search_line(lines, homes.other(spot), Self::SHAPE.word_away(spot.tail), &mut accept)
            .or_else(|| table.find_beside(hash, accept))
    }
}
