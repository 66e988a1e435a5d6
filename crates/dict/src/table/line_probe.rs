//! Finds hashes in the lines of all shards of a table.

use basalt_base::lanes::{LANES, equal_lanes};
use basalt_base::prefetch::prefetch_read;

use super::Hits;
use super::line_shape::{Homes, LOW_BYTES, LineShape, Spot, state};
use super::lines::{Cell, LineTable, number};
use super::probe::{self, Probe, Sight};
use crate::hash::ShardBits;

const CACHE_LINE_BYTES: usize = 64;

/// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
pub(super) fn find(tables: &[LineTable], hashes: &[u64], accept: impl FnMut(usize, u64) -> bool) -> Hits {
    match tables[0].shape().word_bytes {
        5 => find_words::<5>(tables, hashes, accept),
        6 => find_words::<6>(tables, hashes, accept),
        7 => find_words::<7>(tables, hashes, accept),
        _ => find_words::<8>(tables, hashes, accept),
    }
}

fn find_words<const WORD: usize>(
    tables: &[LineTable],
    hashes: &[u64],
    accept: impl FnMut(usize, u64) -> bool,
) -> Hits {
    let shape = tables[0].shape();
    macro_rules! find {
        ($payload:literal, $line:literal) => {
            probe::find(&LineProbe::<WORD, $payload, $line>::new(tables), hashes, accept)
        };
    }
    match (shape.payload_bytes, shape.line_bytes()) {
        (0, _) => find!(0, 64),
        (1, _) => find!(1, 64),
        (2, _) => find!(2, 64),
        (3, 64) => find!(3, 64),
        (3, _) => find!(3, 128),
        (4, 64) => find!(4, 64),
        (4, _) => find!(4, 128),
        (5, 64) => find!(5, 64),
        (5, _) => find!(5, 128),
        (6, 64) => find!(6, 64),
        (6, _) => find!(6, 128),
        (7, 64) => find!(7, 64),
        (7, _) => find!(7, 128),
        (_, 64) => find!(8, 64),
        (_, _) => find!(8, 128),
    }
}

/// All shards of a table whose cells have words of `WORD` bytes and payloads of `PAYLOAD`, in lines of `LINE`.
struct LineProbe<'a, const WORD: usize, const PAYLOAD: usize, const LINE: usize> {
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

impl<'a, const WORD: usize, const PAYLOAD: usize, const LINE: usize> LineProbe<'a, WORD, PAYLOAD, LINE> {
    const SHAPE: LineShape = LineShape { word_bytes: WORD, payload_bytes: PAYLOAD };
    const HIGH_BYTES: usize = WORD - LOW_BYTES;
    /// Where the high bits of a word have the state.
    const HIGH_TAIL_BITS: u32 = Self::SHAPE.tail_bits() - u32::BITS;
    const SIGN: u64 = state::SIGN << Self::HIGH_TAIL_BITS;

    fn new(tables: &'a [LineTable]) -> Self {
        let shard = |table: &'a LineTable| Shard {
            lines: table.lines.as_chunks().0,
            homes: Homes { tail_bits: Self::SHAPE.tail_bits(), ..table.homes },
            table,
        };
        LineProbe { shards: tables.iter().map(shard).collect(), shard_bits: tables[0].homes.shard_bits }
    }

    #[inline(always)]
    fn shard(&self, hash: u64) -> (usize, &Shard<'a, LINE>) {
        let shard = self.shard_bits.split(hash).0;
        (shard, &self.shards[shard])
    }

    /// A bit for each cell whose word has these low bits.
    #[inline(always)]
    fn equal_cells(line: &[u8; LINE], low: u32) -> u32 {
        let (groups, _) = line.as_chunks::<LOW_BYTES>().0.as_chunks::<LANES>();
        let equal = (0..Self::SHAPE.cells().div_ceil(LANES))
            .fold(0, |equal, at| equal | equal_lanes(&groups[at], low) << (at * LANES));
        equal & ((1 << Self::SHAPE.cells()) - 1)
    }

    /// The high bits of a word.
    #[inline(always)]
    fn high_at(line: &[u8; LINE], cell: usize) -> u64 {
        let at = Self::SHAPE.cells() * LOW_BYTES + cell * Self::HIGH_BYTES;
        number(&line[at..at + Self::HIGH_BYTES])
    }

    #[inline(always)]
    fn payload_at(line: &[u8; LINE], cell: usize) -> u64 {
        let at = Self::SHAPE.cells() * WORD + cell * PAYLOAD;
        number(&line[at..at + PAYLOAD])
    }

    /// The first payload that `accept` takes of the cells of `line` that have `tail`.
    #[inline(always)]
    fn search_line(
        line: &[u8; LINE],
        (tail, state): (u64, u64),
        accept: &mut impl FnMut(u64) -> bool,
    ) -> Option<u64> {
        let mut equal = Self::equal_cells(line, tail as u32);
        while equal != 0 {
            let Cell { word, payload } = Cell::at(line, Self::SHAPE, equal.trailing_zeros() as usize);
            let sign = state::SIGN << Self::SHAPE.tail_bits();
            if word & !sign == tail | state << Self::SHAPE.tail_bits() && accept(payload) {
                return Some(payload);
            }
            equal &= equal - 1;
        }
        None
    }
}

impl<'a, const WORD: usize, const PAYLOAD: usize, const LINE: usize> Probe
    for LineProbe<'a, WORD, PAYLOAD, LINE>
{
    type Aim = Aim<'a, LINE>;

    const OVERLAPS: bool = true;
    const IS_TWOFOLD: bool = true;

    #[inline(always)]
    fn approach(&self, _: u64) {}

    #[inline(always)]
    fn aim(&self, hash: u64) -> Aim<'a, LINE> {
        let (_, shard) = self.shard(hash);
        let Spot { home, tail } = shard.homes.spot(hash);
        Aim { line: &shard.lines[home], word: tail | state::FILLED << Self::SHAPE.tail_bits() }
    }

    #[inline(always)]
    fn fetch(&self, Aim { line, .. }: Aim<'a, LINE>) {
        for at in (0..LINE).step_by(CACHE_LINE_BYTES) {
            prefetch_read(line, at);
        }
    }

    #[inline(always)]
    fn seek(&self, _: u64, Aim { line, word }: Aim<'a, LINE>) -> Sight {
        let equal = Self::equal_cells(line, word as u32);
        let cell = (equal | 1 << (Self::SHAPE.cells() - 1)).trailing_zeros() as usize;
        let is_found = (equal != 0) & (Self::high_at(line, cell) & !Self::SIGN == word >> u32::BITS);
        let is_signed = Self::high_at(line, Self::SHAPE.sign(word)) & Self::SIGN != 0;
        // Low bits that are equal by chance may hide the cell.
        Sight { payload: Self::payload_at(line, cell), is_found, is_all: !is_signed & (equal == 0) }
    }

    #[inline(always)]
    fn turn(&self, hash: u64) -> Aim<'a, LINE> {
        let (_, shard) = self.shard(hash);
        let spot = shard.homes.spot(hash);
        Aim {
            line: &shard.lines[shard.homes.other(spot)],
            word: spot.tail | (state::FILLED | state::AWAY) << Self::SHAPE.tail_bits(),
        }
    }

    #[inline(always)]
    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let (_, &Shard { lines, homes, table }) = self.shard(hash);
        let spot = homes.spot(hash);
        let at_home = Self::search_line(&lines[spot.home], (spot.tail, state::FILLED), &mut accept);
        if at_home.is_some()
            || Self::high_at(&lines[spot.home], Self::SHAPE.sign(spot.tail)) & Self::SIGN == 0
        {
            return at_home;
        }
        let away = (spot.tail, state::FILLED | state::AWAY);
        Self::search_line(&lines[homes.other(spot)], away, &mut accept)
            .or_else(|| table.beside(hash).find(|&payload| accept(payload)))
    }
}
