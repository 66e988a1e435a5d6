//! Finds hashes in the lines of all shards of a table.

use basalt_base::lanes::{LANES, equal_lanes};
use basalt_base::prefetch::prefetch_read;

use super::Hits;
use super::line_shape::{Homes, LineShape, Spot, TAG_BYTES, sign};
use super::lines::{Cell, LineTable, Record};
use super::probe::{self, Probe, Sight};
use crate::hash::ShardBits;

const CACHE_LINE_BYTES: usize = 64;
/// Above all bits of words.
const NO_WORD: u64 = 1 << 63;

/// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
pub(super) fn find(tables: &[LineTable], hashes: &[u64], accept: impl FnMut(usize, u64) -> bool) -> Hits {
    let LineShape { line_bytes, cells, payload_bytes } = tables[0].shape();
    macro_rules! find {
        ($(($payload:literal, $line:literal, $cells:literal))*) => {
            match (payload_bytes, line_bytes, cells) {
                $(($payload, $line, $cells) => {
                    probe::find(&LineProbe::<$cells, $payload, $line>::new(tables), hashes, accept)
                })*
                _ => unreachable!("the shape of a table is a known one"),
            }
        };
    }
    // As `line_shape` knows them.
    find! {
        (0, 64, 8) (0, 64, 10) (0, 64, 12)
        (1, 64, 7) (1, 64, 8) (1, 64, 10)
        (2, 64, 6) (2, 64, 7) (2, 64, 8) (2, 64, 9)
        (3, 64, 5) (3, 64, 6) (3, 64, 7)
        (4, 64, 5) (4, 64, 6) (4, 64, 7)
        (5, 64, 5) (5, 64, 6) (5, 128, 11)
        (6, 64, 4) (6, 64, 5) (6, 128, 11)
        (7, 64, 4) (7, 64, 5) (7, 128, 9)
        (8, 64, 4) (8, 128, 9) (8, 256, 19)
    }
}

/// All shards of a table whose lines have `LINE` bytes, for so many cells with payloads of `PAYLOAD` bytes.
struct LineProbe<'a, const CELLS: usize, const PAYLOAD: usize, const LINE: usize> {
    shards: Vec<Shard<'a, LINE>>,
    shard_bits: ShardBits,
}

#[derive(Clone, Copy)]
struct Shard<'a, const LINE: usize> {
    lines: &'a [[u8; LINE]],
    homes: Homes,
    table: &'a LineTable,
}

/// A line of a key, and its word there.
#[derive(Clone, Copy)]
struct Aim<'a, const LINE: usize> {
    line: &'a [u8; LINE],
    word: u64,
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const LINE: usize> LineProbe<'a, CELLS, PAYLOAD, LINE> {
    const SHAPE: LineShape = LineShape { line_bytes: LINE, cells: CELLS, payload_bytes: PAYLOAD };
    fn new(tables: &'a [LineTable]) -> Self {
        let shard = |table: &'a LineTable| Shard {
            lines: table.lines.as_chunks().0,
            // All but the count is known where this is compiled.
            homes: Self::SHAPE.homes(table.homes.count, table.homes.shard_bits),
            table,
        };
        LineProbe { shards: tables.iter().map(shard).collect(), shard_bits: tables[0].homes.shard_bits }
    }

    #[inline(always)]
    fn shard(&self, hash: u64) -> &Shard<'a, LINE> {
        &self.shards[self.shard_bits.split(hash).0]
    }

    /// A bit for each cell that has the tag of `word`.
    #[inline(always)]
    fn equal_cells(line: &[u8; LINE], word: u64) -> u32 {
        let (groups, _) = line.as_chunks::<TAG_BYTES>().0.as_chunks::<LANES>();
        let equal = (0..CELLS.div_ceil(LANES))
            .fold(0, |equal, at| equal | equal_lanes(&groups[at], word as u16) << (at * LANES));
        equal & ((1 << CELLS) - 1)
    }

    /// Whether an entry with this tail may be away from `line`, its home.
    #[inline(always)]
    fn is_signed(line: &[u8; LINE], tail: u64) -> bool {
        line[Self::SHAPE.signs_at()] & sign(tail) != 0
    }

    /// The first payload that `accept` takes of the cells of `line` that have `word`.
    #[inline(always)]
    fn search_line(line: &[u8; LINE], word: u64, accept: &mut impl FnMut(u64) -> bool) -> Option<u64> {
        let mut equal = Self::equal_cells(line, word);
        while equal != 0 {
            let cell = Cell::at(line, Self::SHAPE, equal.trailing_zeros() as usize);
            if cell.word == word && accept(cell.payload) {
                return Some(cell.payload);
            }
            equal &= equal - 1;
        }
        None
    }

    /// The word of an entry that is away.
    #[inline(always)]
    fn word_away(tail: u64) -> u64 {
        // Nothing with the tail 0 is away, and a free cell looks as if it were.
        Self::SHAPE.word(tail, false) | if tail == 0 { NO_WORD } else { 0 }
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const LINE: usize> Probe
    for LineProbe<'a, CELLS, PAYLOAD, LINE>
{
    type Aim = Aim<'a, LINE>;

    const OVERLAPS: bool = true;
    const IS_TWOFOLD: bool = true;

    #[inline(always)]
    fn approach(&self, _: u64) {}

    #[inline(always)]
    fn aim(&self, hash: u64) -> Aim<'a, LINE> {
        let shard = self.shard(hash);
        let Spot { home, tail } = shard.homes.spot(hash);
        Aim { line: &shard.lines[home], word: Self::SHAPE.word(tail, true) }
    }

    #[inline(always)]
    fn fetch(&self, Aim { line, .. }: Aim<'a, LINE>) {
        for at in (0..LINE).step_by(CACHE_LINE_BYTES) {
            prefetch_read(line, at);
        }
    }

    #[inline(always)]
    fn seek(&self, _: u64, Aim { line, word }: Aim<'a, LINE>) -> Sight {
        let equal = Self::equal_cells(line, word);
        let cell = (equal | 1 << (CELLS - 1)).trailing_zeros() as usize;
        let Record { rest, payload } = Record::at(line, Self::SHAPE, cell);
        Sight {
            payload,
            is_found: (equal != 0) & (rest == word >> u16::BITS),
            // A tag that is equal by chance may hide the cell.
            is_all: !Self::is_signed(line, word) & (equal == 0),
        }
    }

    #[inline(always)]
    fn turn(&self, hash: u64) -> Aim<'a, LINE> {
        let shard = self.shard(hash);
        let spot = shard.homes.spot(hash);
        Aim { line: &shard.lines[shard.homes.other(spot)], word: Self::word_away(spot.tail) }
    }

    #[inline(always)]
    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let &Shard { lines, homes, table } = self.shard(hash);
        let spot = homes.spot(hash);
        let home = &lines[spot.home];
        let at_home = Self::search_line(home, Self::SHAPE.word(spot.tail, true), &mut accept);
        if at_home.is_some() || !Self::is_signed(home, spot.tail) {
            return at_home;
        }
        Self::search_line(&lines[homes.other(spot)], Self::word_away(spot.tail), &mut accept)
            .or_else(|| table.beside(hash).find(|&payload| accept(payload)))
    }
}
