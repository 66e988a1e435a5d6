//! Finds hashes in the lines of all shards of a table.
//!
//! [`InnerProbe`] where payloads are in their cells, [`ApartProbe`] where they are behind the lines.

use basalt_base::lanes::{LANES, equal_lanes};
use basalt_base::prefetch::prefetch_read;
use basalt_base::processor::Form;

use super::Hits;
use super::apart_probe::ApartProbe;
use super::line_shape::{Homes, LINE_BYTES, LineShape, Payloads, Spot, TAG_BYTES};
use super::lines::{Cell, LineTable, Record, RecordPlace};
use super::probe::{self, GROUP, Group, Probe, Sight};
use crate::hash::ShardBits;

/// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
pub(super) fn find(tables: &[LineTable], hashes: &[u64], accept: impl FnMut(usize, u64) -> bool) -> Hits {
    let LineShape { cells, payload_bytes, payloads } = tables[0].shape();
    macro_rules! find {
        (inner: $(($payload:literal, $cells:literal))*
         apart: $(($payload_apart:literal, $cells_apart:literal, $block:literal))*) => {
            match (payload_bytes, cells, payloads) {
                $(($payload, $cells, Payloads::Inner) => {
                    probe::find(&InnerProbe::<$cells, $payload>::new(tables), hashes, accept)
                })*
                $(($payload_apart, $cells_apart, Payloads::Apart) => {
                    probe::find(&ApartProbe::<$cells_apart, $payload_apart, $block>::new(tables), hashes, accept)
                })*
                _ => unreachable!("the shape of a table is a known one"),
            }
        };
    }
    // As `line_shape` knows them.
    find! {
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
        apart:
        (6, 11, 1040) (6, 12, 1088)
        (7, 10, 1072)
        (8, 10, 1152) (8, 11, 1216) (8, 12, 1280)
    }
}

/// All shards of a table whose lines have so many cells, each with a payload of `PAYLOAD` bytes.
struct InnerProbe<'a, const CELLS: usize, const PAYLOAD: usize> {
    shards: Vec<Shard<'a>>,
    shard_bits: ShardBits,
}

#[derive(Clone, Copy)]
struct Shard<'a> {
    lines: &'a [[u8; LINE_BYTES]],
    count: u64,
    table: &'a LineTable,
}

/// A line of a key, and its word there.
#[derive(Clone, Copy)]
struct Aim<'a> {
    line: &'a [u8; LINE_BYTES],
    word: u64,
}

/// What a look at a line saw.
#[derive(Clone, Copy)]
pub(super) struct Look {
    /// Of the key, if it was found.
    pub(super) cell: usize,
    payload: u64,
    pub(super) is_found: bool,
    is_all: bool,
    is_clear: bool,
}

impl Look {
    /// Looks for `word` in `line`.
    #[inline(always)]
    pub(super) fn at<const CELLS: usize>(
        line: &[u8; LINE_BYTES],
        word: u64,
        shape: LineShape,
        records: &[RecordPlace; u32::BITS as usize],
    ) -> Look {
        let equal = equal_cells::<CELLS>(line, word);
        let cell = (equal | 1 << (CELLS - 1)).trailing_zeros() as usize;
        let Record { rest, payload } = Record::read(line, shape, records[cell]);
        Look {
            cell,
            payload,
            is_found: (equal != 0) & (rest == word >> u16::BITS),
            // A tag that is equal by chance may hide the cell.
            is_all: !shape.is_signed(line, word) & (equal == 0),
            is_clear: equal == 0,
        }
    }

    /// Sets the bits of key `at`.
    #[inline(always)]
    pub(super) fn tell(self, at: usize, sight: &mut Sight) {
        sight.found |= u8::from(self.is_found) << at;
        sight.all |= u8::from(self.is_all) << at;
        sight.clear |= u8::from(self.is_clear) << at;
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize> InnerProbe<'a, CELLS, PAYLOAD> {
    const SHAPE: LineShape = LineShape { cells: CELLS, payload_bytes: PAYLOAD, payloads: Payloads::Inner };
    const RECORDS: &'static [RecordPlace; u32::BITS as usize] = &RecordPlace::all(Self::SHAPE);

    fn new(tables: &'a [LineTable]) -> Self {
        let shard = |table: &'a LineTable| Shard {
            lines: table.lines.as_chunks().0,
            count: table.homes.count,
            table,
        };
        InnerProbe { shards: tables.iter().map(shard).collect(), shard_bits: tables[0].homes.shard_bits }
    }

    #[inline(always)]
    fn shard(&self, hash: u64) -> &Shard<'a> {
        &self.shards[self.shard_bits.split(hash).0]
    }

    /// All but the count is known where this is compiled.
    #[inline(always)]
    fn homes(&self, shard: &Shard<'_>) -> Homes {
        Self::SHAPE.homes(shard.count, self.shard_bits)
    }

    /// The first payload that `accept` takes of the cells of `line` that have `word`.
    #[inline(always)]
    fn search_line(line: &[u8; LINE_BYTES], word: u64, accept: &mut impl FnMut(u64) -> bool) -> Option<u64> {
        let mut equal = equal_cells::<CELLS>(line, word);
        while equal != 0 {
            let cell = Cell::in_line(line, Self::SHAPE, equal.trailing_zeros() as usize);
            if cell.word == word && accept(cell.payload) {
                return Some(cell.payload);
            }
            equal &= equal - 1;
        }
        None
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize> Probe for InnerProbe<'a, CELLS, PAYLOAD> {
    type Way = ();
    type Aim = Group<Aim<'a>>;
    type Places = Group;

    const IS_WIDEST: bool = false;
    const IS_TWOFOLD: bool = true;
    const IS_APART: bool = false;
    const NO_WAY: () = ();
    const NO_AIM: Group<Aim<'a>> = [Aim { line: &[0; LINE_BYTES], word: 0 }; GROUP];
    const NO_PLACES: Group = [0; GROUP];

    #[inline(always)]
    fn approach<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn aim<F: Form>(&self, hashes: &Group, (): &(), aims: &mut Group<Aim<'a>>) {
        for (aim, &hash) in aims.iter_mut().zip(hashes) {
            let shard = self.shard(hash);
            let Spot { home, tail } = self.homes(shard).spot(hash);
            *aim = Aim { line: &shard.lines[home], word: Self::SHAPE.word(tail, true) };
        }
        aims.iter().for_each(|aim| prefetch_read(aim.line, 0));
    }

    #[inline(always)]
    fn seek<F: Form>(&self, _: &Group, aims: &Group<Aim<'a>>, payloads: &mut Group) -> Sight {
        let mut sight = Sight::default();
        for (at, Aim { line, word }) in aims.iter().enumerate() {
            let look = Look::at::<CELLS>(line, *word, Self::SHAPE, Self::RECORDS);
            look.tell(at, &mut sight);
            payloads[at] = look.payload;
        }
        sight
    }

    #[inline(always)]
    fn payloads(&self, payloads: &Group) -> Group {
        *payloads
    }

    #[inline(always)]
    fn turn(&self, hashes: &Group, aims: &mut Group<Aim<'a>>) {
        for (aim, &hash) in aims.iter_mut().zip(hashes) {
            let shard = self.shard(hash);
            let homes = self.homes(shard);
            let spot = homes.spot(hash);
            *aim = Aim { line: &shard.lines[homes.other(spot)], word: Self::SHAPE.word_away(spot.tail) };
        }
        aims.iter().for_each(|aim| prefetch_read(aim.line, 0));
    }

    #[inline(always)]
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shard(hash).table.find_beside(hash, accept)
    }

    #[inline(always)]
    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let shard @ &Shard { lines, table, .. } = self.shard(hash);
        let homes = self.homes(shard);
        let spot = homes.spot(hash);
        let home = &lines[spot.home];
        let at_home = Self::search_line(home, Self::SHAPE.word(spot.tail, true), &mut accept);
        if at_home.is_some() || !Self::SHAPE.is_signed(home, spot.tail) {
            return at_home;
        }
        Self::search_line(&lines[homes.other(spot)], Self::SHAPE.word_away(spot.tail), &mut accept)
            .or_else(|| table.find_beside(hash, accept))
    }
}

/// A bit for each cell of `line` that has the tag of `word`.
#[inline(always)]
pub(super) fn equal_cells<const CELLS: usize>(line: &[u8], word: u64) -> u32 {
    let (groups, _) = line.as_chunks::<TAG_BYTES>().0.as_chunks::<LANES>();
    let second = if CELLS > LANES { Some(&groups[1]) } else { None };
    equal_lanes(&groups[0], second, word as u16) & ((1 << CELLS) - 1)
}
