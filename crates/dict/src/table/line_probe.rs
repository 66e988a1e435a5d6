//! Finds hashes in the lines of all shards of a table.
//!
//! [`InnerProbe`] where payloads are in their cells, [`OverhangProbe`] where that of the last cell hangs over.

use basalt_base::chunks::{Chunks, Slices};
use basalt_base::lanes::equal_in_chunks;
use basalt_base::processor::Form;
use basalt_base::words::Words;

use super::Hits;
use super::bits::{SHORT_BITS_MAX, low_bits};
use super::line_shape::{LINE_BYTES, LineShape, Spots};
use super::lines::LineTable;
use super::overhang_probe::OverhangProbe;
use super::probe::{self, Accept, Group, Probe, Shards, Sight};

/// Runs `$find` with `$probe`, which is made for the shape of `$tables`.
macro_rules! with_probe {
    ($tables:ident, $probe:ident => $find:expr) => {
        // As `line_shape` knows them.
        with_probe! {
            $tables, $probe => $find;
            inner:
            (0, 8) (0, 10) (0, 12)
            (1, 7) (1, 8) (1, 10)
            (2, 6) (2, 7) (2, 8) (2, 9)
            (3, 5) (3, 6) (3, 7)
            (4, 5) (4, 6) (4, 7)
            (5, 5) (5, 6)
            (6, 4) (6, 5)
            (7, 4) (7, 5)
            (8, 4)
            overhang:
            (6, 6, 6, 4480) (6, 6, 4, 4352)
            (7, 5, 2, 4224)
            (8, 5, 8, 4608) (8, 5, 6, 4480) (8, 5, 4, 4352) (8, 5, 3, 4288)
        }
    };
    ($tables:ident, $probe:ident => $find:expr;
     inner: $(($payload:literal, $cells:literal))*
     overhang: $(($hanging:literal, $over:literal, $overhang:literal, $block:literal))*) => {{
        let LineShape { cells, payload_bytes, overhang } = $tables[0].shape();
        match (payload_bytes, cells, overhang) {
            $(($payload, $cells, 0) => {
                let $probe = &InnerProbe::<$cells, $payload>::new($tables);
                $find
            })*
            $(($hanging, $over, $overhang) => {
                let $probe = &OverhangProbe::<$over, $hanging, $overhang, $block>::new($tables);
                $find
            })*
            _ => unreachable!("the shape of a table is a known one"),
        }
    }};
}

/// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
pub(super) fn find(tables: &[LineTable], hashes: &[u64], accept: Accept<'_>) -> Hits {
    with_probe!(tables, probe => probe::find(probe, hashes, accept))
}

/// The same in each form that this processor has.
#[cfg(test)]
pub(super) fn find_in_all_forms(
    tables: &[LineTable],
    hashes: &[u64],
    accept: probe::TestAccept<'_>,
) -> Vec<Hits> {
    with_probe!(tables, probe => probe::find_in_all_forms(probe, hashes, accept))
}

/// The byte of a line at which its last word begins.
const LAST_WORD: u64 = (LINE_BYTES - size_of::<u64>()) as u64;

/// All shards of a table whose lines have so many cells, each with a payload of `PAYLOAD` bytes.
struct InnerProbe<'a, const CELLS: usize, const PAYLOAD: usize> {
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

    fn new(tables: &'a [LineTable]) -> Self {
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
