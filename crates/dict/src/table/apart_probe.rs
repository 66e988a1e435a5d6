//! Finds hashes in the lines of all shards of a table, and payloads behind these lines.
//!
//! The line tells whether a key is there, and its payload is asked for only then.

use basalt_base::chunks::Chunks;
use basalt_base::processor::Form;
use basalt_base::words::{Mask, Words};

use super::line_probe::{LineShards, Lines, Looks, equal_cells};
use super::line_shape::{BLOCK_LINES, LINE_BYTES, LineShape, Payloads};
use super::lines::{Cell, LineTable, number};
use super::probe::{Group, Probe, Sight};

/// Bytes of the word that a payload is the end of.
const WORD_BYTES: usize = size_of::<u64>();

/// All shards of a table whose payloads are apart from their lines, in blocks of `BLOCK` bytes.
pub(super) struct ApartProbe<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> {
    shards: LineShards<'a, BLOCK>,
}

/// The lines of a group of keys, and the blocks that they are in.
#[derive(Clone, Copy, Default)]
pub(super) struct Aim<'a, const BLOCK: usize> {
    blocks: Chunks<'a, BLOCK>,
    lines: Lines<'a>,
    /// The numbers of the lines in their blocks.
    numbers: Group,
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> ApartProbe<'a, CELLS, PAYLOAD, BLOCK> {
    const SHAPE: LineShape = LineShape { cells: CELLS, payload_bytes: PAYLOAD, payloads: Payloads::Apart };
    const IS_KNOWN: () = assert!(Self::SHAPE.block_bytes() == BLOCK);

    pub(super) fn new(tables: &'a [LineTable]) -> Self {
        let () = Self::IS_KNOWN;
        ApartProbe { shards: LineShards::new(tables) }
    }

    /// A line, and the payloads of its cells.
    #[inline(always)]
    fn line(table: &'a LineTable, line: usize) -> (&'a [u8; LINE_BYTES], &'a [[u8; PAYLOAD]; CELLS]) {
        let blocks: &[[u8; BLOCK]] = table.lines.as_chunks().0;
        let (lines, payloads) = blocks[line / BLOCK_LINES].split_at(BLOCK_LINES * LINE_BYTES);
        (&lines.as_chunks().0[line % BLOCK_LINES], &payloads.as_chunks().0.as_chunks().0[line % BLOCK_LINES])
    }

    /// The words in lines of these numbers, of a shard each, which are asked for.
    #[inline(always)]
    fn ask<F: Form>(&self, aim: &mut Aim<'a, BLOCK>, shards: Words<F>, (lines, words): (Words<F>, Words<F>)) {
        const { assert!(LINE_BYTES == 1 << 6 && BLOCK_LINES == 1 << 3) };
        let numbers = lines & (BLOCK_LINES as u64 - 1);
        aim.blocks = self.shards.chunks.chunks(shards, (lines >> 3).times(Words::splat(BLOCK as u64)));
        aim.lines.lines = aim.blocks.parts(numbers << 6);
        aim.lines.words = words.numbers();
        aim.numbers = numbers.numbers();
        aim.lines.lines.prefetch();
    }

    /// The first payload that `accept` takes of the cells of a line that have the word.
    fn search_line(
        (line, payloads): (&[u8; LINE_BYTES], &[[u8; PAYLOAD]; CELLS]),
        word: u64,
        accept: &mut impl FnMut(u64) -> bool,
    ) -> Option<u64> {
        let equal = equal_cells::<CELLS>(line, word);
        let cells = (0..CELLS).filter(|cell| equal >> cell & 1 != 0);
        let cells = cells.filter(|&cell| Cell::in_line(line, Self::SHAPE, cell).word == word);
        cells.map(|cell| number(&payloads[cell])).find(|&payload| accept(payload))
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> Probe
    for ApartProbe<'a, CELLS, PAYLOAD, BLOCK>
{
    type Way = ();
    type Aim = Aim<'a, BLOCK>;
    /// The words that payloads are the ends of.
    type Places = Chunks<'a, WORD_BYTES>;

    const IS_TWOFOLD: bool = true;
    const IS_APART: bool = true;

    #[inline(always)]
    fn approach<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn aim<F: Form>(&self, hashes: &Group, (): &(), aim: &mut Aim<'a, BLOCK>) {
        let (shards, spots) = self.shards.spots::<F>(Self::SHAPE, hashes);
        self.ask(aim, shards, spots.at_home());
    }

    #[inline(always)]
    fn seek<F: Form>(&self, _: &Group, aim: &Aim<'a, BLOCK>, places: &mut Chunks<'a, WORD_BYTES>) -> Sight {
        let Looks { cells, sight, .. } = aim.lines.look::<F, CELLS>(Self::SHAPE);
        let numbers = Words::<F>::of(aim.numbers);
        let cells = numbers.times_low(Words::splat(CELLS as u64)) + cells;
        let ends = Self::SHAPE.payload_in_block(0, 1) as u64;
        let payloads = cells.times_low(Words::splat(PAYLOAD as u64)) + (ends - WORD_BYTES as u64);
        // Without one, the line is at hand.
        *places = aim.blocks.parts(Mask::of(sight.found).select(payloads, numbers << 6));
        places.prefetch();
        sight
    }

    #[inline(always)]
    fn payloads<F: Form>(&self, places: &Chunks<'a, WORD_BYTES>) -> Group {
        let words = places.words::<F>(Words::splat(0));
        (words >> (8 * (WORD_BYTES - PAYLOAD)) as u64).numbers()
    }

    #[inline(always)]
    fn turn<F: Form>(&self, hashes: &Group, aim: &mut Aim<'a, BLOCK>) {
        let (shards, spots) = self.shards.spots::<F>(Self::SHAPE, hashes);
        self.ask(aim, shards, spots.away());
    }

    #[inline(always)]
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shards.tables.of(hash).find_beside(hash, accept)
    }

    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let table = self.shards.tables.of(hash);
        let homes = &table.homes;
        let spot = homes.spot(hash);
        let home = Self::line(table, spot.home);
        let at_home = Self::search_line(home, Self::SHAPE.word(spot.tail, true), &mut accept);
        if at_home.is_some() || !Self::SHAPE.is_signed(home.0, spot.tail) {
            return at_home;
        }
        let away = Self::line(table, homes.other(spot));
        Self::search_line(away, Self::SHAPE.word_away(spot.tail), &mut accept)
            .or_else(|| table.find_beside(hash, accept))
    }
}
