//! Finds hashes in the lines of all shards of a table, with payloads that are in their cells.

use basalt_base::chunks::{Chunks, Slices};
use basalt_base::lanes::equal_in_chunks;
use basalt_base::processor::Form;
use basalt_base::words::Words;

use super::bits::{SHORT_BITS_MAX, low_bits};
use super::line_shape::{LINE_BYTES, LineShape, Spots};
use super::lines::LineTable;
use super::probe::{Group, Probe, Shards, Sight};

/// The byte of a line at which its last word begins.
const LAST_WORD: u64 = (LINE_BYTES - size_of::<u64>()) as u64;

/// All shards of a table whose lines have so many cells, each with a payload of `PAYLOAD` bytes.
pub(super) struct InnerProbe<'a, const CELLS: usize, const PAYLOAD: usize> {
    shards: LineShards<'a, LINE_BYTES>,
}

/// Shards, and what of each a group of keys needs: how many lines it has, and its bytes in chunks.
pub(super) struct LineShards<'a, const CHUNK: usize> {
    pub(super) tables: Shards<&'a LineTable>,
    counts: Vec<u64>,
    pub(super) chunks: Slices<'a, CHUNK>,
}

/// The lines of a group of keys, and the keys' words there.
#[derive(Clone, Copy, Default)]
pub(super) struct Lines<'a> {
    pub(super) lines: Chunks<'a, LINE_BYTES>,
    pub(super) words: Group,
}

/// What looks at the lines of a group saw.
pub(super) struct Looks<F> {
    /// Of each key, if it was found.
    pub(super) cells: Words<F>,
    /// The same, as far as it is in the line.
    pub(super) payloads: Words<F>,
    pub(super) sight: Sight,
}

impl<'a, const CHUNK: usize> LineShards<'a, CHUNK> {
    pub(super) fn new(tables: &'a [LineTable]) -> Self {
        LineShards {
            tables: Shards::new(tables.iter().collect(), tables[0].homes.shard_bits),
            counts: tables.iter().map(|table| table.homes.count).collect(),
            chunks: Slices::new(tables.iter().map(|table| &*table.lines)),
        }
    }

    /// Which shards `hashes` are of, and where their entries are there.
    #[inline(always)]
    pub(super) fn spots<F: Form>(&self, shape: LineShape, hashes: &Group) -> (Words<F>, Spots<F>) {
        let hashes = Words::of(*hashes);
        let shards = self.tables.numbers(hashes);
        let counts = Words::one_of(&self.counts, shards);
        (shards, Spots::of(shape, hashes, self.tables.bits, counts))
    }
}

impl Lines<'_> {
    /// Looks for the words, and reads payloads that are in the cells.
    #[inline(always)]
    pub(super) fn look<F: Form, const CELLS: usize>(&self, shape: LineShape) -> Looks<F> {
        let words = Words::<F>::of(self.words);
        let equal = equal_in_chunks::<F, CELLS, LINE_BYTES>(&self.lines, words);
        let cells = (equal | Words::splat(1 << (CELLS - 1))).lowest_bit();
        let at = cells.times_low(Words::splat(shape.record_bits() as u64)) + shape.record_at(0) as u64;
        let (rest, payloads) = self.records(at, shape);
        let signs = self.lines.words(Words::splat(shape.signs_at() as u64));
        let sign = signs >> (words & 7) & 1;
        let none = Words::splat(0);
        let clear = equal.equal(none).bits();
        let found = rest.equal(words >> u64::from(u16::BITS)).bits() & !clear;
        // A tag that is equal by chance may hide the cell.
        Looks { cells, payloads, sight: Sight { found, all: clear & sign.equal(none).bits(), clear } }
    }

    /// What the cells have beside their tags, at these bits of each line: the rest of a word, and a payload.
    #[inline(always)]
    fn records<F: Form>(&self, at: Words<F>, shape: LineShape) -> (Words<F>, Words<F>) {
        let (rest_bits, payload_bits) = (shape.rest_bits(), shape.payload_bits() as u32);
        let record = self.short_bits(at);
        let rest = record & low_bits(rest_bits);
        if shape.record_bits() <= SHORT_BITS_MAX as usize {
            return (rest, record >> u64::from(rest_bits) & low_bits(payload_bits));
        }
        let at = at + u64::from(rest_bits);
        let mut payload = self.short_bits(at);
        if payload_bits > SHORT_BITS_MAX {
            // The bits behind its first byte: in the line, or hanging over, and what the line has of them is there already.
            let byte = (at + 7) >> 3;
            let mut behind = self.lines.words(byte) << ((Words::splat(0) - at) & 7);
            if shape.overhang > 0 {
                behind = behind & Words::splat(LAST_WORD + 1).above(byte).ones();
            }
            payload = payload | behind;
        }
        (rest, payload & low_bits(payload_bits))
    }

    /// At least [`SHORT_BITS_MAX`] bits from these on, or as many as a line has.
    #[inline(always)]
    fn short_bits<F: Form>(&self, at: Words<F>) -> Words<F> {
        let byte = (at >> 3).min(Words::splat(LAST_WORD));
        self.lines.words(byte) >> (at - (byte << 3))
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize> InnerProbe<'a, CELLS, PAYLOAD> {
    const SHAPE: LineShape = LineShape { cells: CELLS, payload_bytes: PAYLOAD, overhang: 0 };

    pub(super) fn new(tables: &'a [LineTable]) -> Self {
        InnerProbe { shards: LineShards::new(tables) }
    }

    /// The words in lines of these numbers, of a shard each, which are asked for.
    #[inline(always)]
    fn ask<F: Form>(&self, aim: &mut Lines<'a>, shards: Words<F>, (lines, words): (Words<F>, Words<F>)) {
        const { assert!(LINE_BYTES == 1 << 6) };
        aim.lines = self.shards.chunks.chunks(shards, lines << 6);
        aim.words = words.numbers();
        aim.lines.prefetch();
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize> Probe for InnerProbe<'a, CELLS, PAYLOAD> {
    type Way = ();
    type Aim = Lines<'a>;
    type Places = Group;

    const IS_TWOFOLD: bool = true;
    const HANGS_OVER: bool = false;

    #[inline(always)]
    fn approach<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn aim<F: Form>(&self, hashes: &Group, (): &(), aim: &mut Lines<'a>) {
        let (shards, spots) = self.shards.spots::<F>(Self::SHAPE, hashes);
        self.ask(aim, shards, spots.at_home());
    }

    #[inline(always)]
    fn seek<F: Form>(&self, _: &Group, aim: &Lines<'a>, payloads: &mut Group) -> Sight {
        let looks = aim.look::<F, CELLS>(Self::SHAPE);
        *payloads = looks.payloads.numbers();
        looks.sight
    }

    #[inline(always)]
    fn payloads<F: Form>(&self, payloads: &Group) -> Group {
        *payloads
    }

    #[inline(always)]
    fn turn<F: Form>(&self, hashes: &Group, aim: &mut Lines<'a>) {
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
