//! Finds hashes in the lines of all shards of a table, and the overhangs of payloads behind these lines.
//!
//! The line tells whether a key is in its last cell, and its overhang is asked for only then.

use basalt_base::chunks::Chunks;
use basalt_base::processor::Form;
use basalt_base::words::{Mask, Words};

use super::line_probe::{LineShards, Lines, Looks};
use super::line_shape::{BLOCK_LINES, LINE_BYTES, LineShape};
use super::lines::LineTable;
use super::probe::{Group, Probe, Sight};

/// Bytes of the word that an overhang is the end of.
const WORD_BYTES: usize = size_of::<u64>();

/// All shards of a table whose lines have so many cells, each with a payload of `PAYLOAD` bytes, the last one with an overhang
/// of `OVERHANG` bytes, in blocks of `BLOCK` bytes.
pub(super) struct OverhangProbe<
    'a,
    const CELLS: usize,
    const PAYLOAD: usize,
    const OVERHANG: usize,
    const BLOCK: usize,
> {
    shards: LineShards<'a, BLOCK>,
}

/// The lines of a group of keys, and the words that their overhangs are the ends of.
#[derive(Clone, Copy, Default)]
pub(super) struct Aim<'a> {
    lines: Lines<'a>,
    overhangs: Chunks<'a, WORD_BYTES>,
}

/// Payloads of a group of keys, as far as they are in lines, and where the rest is of those in last cells.
#[derive(Clone, Copy, Default)]
pub(super) struct Places<'a> {
    inner: Group,
    overhangs: Chunks<'a, WORD_BYTES>,
    /// A bit for each key in a last cell.
    last: u8,
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const OVERHANG: usize, const BLOCK: usize>
    OverhangProbe<'a, CELLS, PAYLOAD, OVERHANG, BLOCK>
{
    const SHAPE: LineShape = LineShape { cells: CELLS, payload_bytes: PAYLOAD, overhang: OVERHANG };
    const IS_KNOWN: () = assert!(Self::SHAPE.block_bytes() == BLOCK);

    pub(super) fn new(tables: &'a [LineTable]) -> Self {
        let () = Self::IS_KNOWN;
        OverhangProbe { shards: LineShards::new(tables) }
    }

    /// The words in lines of these numbers, of a shard each, which are asked for.
    #[inline(always)]
    fn ask<F: Form>(&self, aim: &mut Aim<'a>, shards: Words<F>, (lines, words): (Words<F>, Words<F>)) {
        const { assert!(LINE_BYTES == 1 << 6 && BLOCK_LINES == 1 << 6) };
        let blocks = self.shards.chunks.chunks(shards, (lines >> 6).times(Words::splat(BLOCK as u64)));
        let numbers = lines & (BLOCK_LINES as u64 - 1);
        aim.lines.lines = blocks.parts(numbers << 6);
        aim.lines.words = words.numbers();
        aim.lines.lines.prefetch();
        let ends = (Self::SHAPE.overhang_at(0) + OVERHANG) as u64;
        let overhangs = numbers.times_low(Words::splat(OVERHANG as u64)) + (ends - WORD_BYTES as u64);
        aim.overhangs = blocks.parts(overhangs);
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const OVERHANG: usize, const BLOCK: usize> Probe
    for OverhangProbe<'a, CELLS, PAYLOAD, OVERHANG, BLOCK>
{
    type Way = ();
    type Aim = Aim<'a>;
    type Places = Places<'a>;

    const IS_TWOFOLD: bool = true;
    const HANGS_OVER: bool = true;

    #[inline(always)]
    fn approach<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn aim<F: Form>(&self, hashes: &Group, (): &(), aim: &mut Aim<'a>) {
        let (shards, spots) = self.shards.spots::<F>(Self::SHAPE, hashes);
        self.ask(aim, shards, spots.at_home());
    }

    #[inline(always)]
    fn seek<F: Form>(&self, _: &Group, aim: &Aim<'a>, places: &mut Places<'a>) -> Sight {
        let Looks { cells, payloads, sight } = aim.lines.look::<F, CELLS>(Self::SHAPE);
        places.inner = payloads.numbers();
        places.last = cells.equal(Words::splat(CELLS as u64 - 1)).bits() & sight.found;
        // Without one, the line is at hand.
        let at_hand = aim.lines.lines.parts::<F, WORD_BYTES>(Words::splat(0));
        places.overhangs = aim.overhangs.or::<F>(&at_hand, Mask::of(!places.last));
        places.overhangs.prefetch();
        sight
    }

    #[inline(always)]
    fn payloads<F: Form>(&self, places: &Places<'a>) -> Group {
        let words = places.overhangs.words::<F>(Words::splat(0)) & Mask::of(places.last).ones();
        let overhangs = words >> (8 * (WORD_BYTES - OVERHANG)) as u64;
        let overhangs = overhangs << Self::SHAPE.last_payload_bits() as u64;
        (overhangs | Words::of(places.inner)).numbers()
    }

    #[inline(always)]
    fn turn<F: Form>(&self, hashes: &Group, aim: &mut Aim<'a>) {
        let (shards, spots) = self.shards.spots::<F>(Self::SHAPE, hashes);
        self.ask(aim, shards, spots.away());
    }

    #[inline(always)]
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shards.tables.of(hash).find_beside(hash, accept)
    }

    #[inline(always)]
    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shards.tables.of(hash).search(hash, accept)
    }
}
