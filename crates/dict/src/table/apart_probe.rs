//! Finds hashes in the lines of all shards of a table, and payloads behind these lines.
//!
//! The line tells whether a key is there, and its payload is asked for only then.

use std::hint::select_unpredictable;

use basalt_base::prefetch::prefetch_read;
use basalt_base::processor::Form;

use super::line_probe::{Lines, Looks, equal_cells};
use super::line_shape::{BLOCK_LINES, Homes, LINE_BYTES, LineShape, Payloads, Spots};
use super::lines::{Cell, LineTable, number};
use super::probe::{GROUP, Group, Probe, Shards, Sight};

/// All shards of a table whose payloads are apart from their lines, in blocks of `BLOCK` bytes.
pub(super) struct ApartProbe<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> {
    shards: Shards<Shard<'a, BLOCK>>,
}

#[derive(Clone, Copy)]
struct Shard<'a, const BLOCK: usize> {
    blocks: &'a [[u8; BLOCK]],
    count: u64,
    table: &'a LineTable,
}

/// The lines of a group of keys, and the payloads of their cells.
#[derive(Clone, Copy)]
pub(super) struct Aim<'a, const CELLS: usize, const PAYLOAD: usize> {
    lines: Lines<'a>,
    payloads: Group<&'a [[u8; PAYLOAD]; CELLS]>,
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> ApartProbe<'a, CELLS, PAYLOAD, BLOCK> {
    const SHAPE: LineShape = LineShape { cells: CELLS, payload_bytes: PAYLOAD, payloads: Payloads::Apart };
    const IS_KNOWN: () = assert!(Self::SHAPE.block_bytes() == BLOCK);

    pub(super) fn new(tables: &'a [LineTable]) -> Self {
        let () = Self::IS_KNOWN;
        let shard = |table: &'a LineTable| Shard {
            blocks: table.lines.as_chunks().0,
            count: table.homes.count,
            table,
        };
        ApartProbe { shards: Shards::new(tables.iter().map(shard).collect(), tables[0].homes.shard_bits) }
    }

    /// All but the count is known where this is compiled.
    #[inline(always)]
    fn homes(&self, shard: &Shard<'_, BLOCK>) -> Homes {
        Self::SHAPE.homes(shard.count, self.shards.bits)
    }

    #[inline(always)]
    fn spots<F: Form>(&self, hashes: &Group, shards: &Group<&Shard<'a, BLOCK>>) -> Spots<F> {
        Spots::of(Self::SHAPE, hashes, self.shards.bits, shards.map(|shard| shard.count))
    }

    /// A line, and the payloads of its cells.
    #[inline(always)]
    fn line(shard: &Shard<'a, BLOCK>, line: usize) -> (&'a [u8; LINE_BYTES], &'a [[u8; PAYLOAD]; CELLS]) {
        let (lines, payloads) = shard.blocks[line / BLOCK_LINES].split_at(BLOCK_LINES * LINE_BYTES);
        (&lines.as_chunks().0[line % BLOCK_LINES], &payloads.as_chunks().0.as_chunks().0[line % BLOCK_LINES])
    }

    /// The words in lines of these numbers, of a shard each, which are asked for.
    #[inline(always)]
    fn ask(
        aim: &mut Aim<'a, CELLS, PAYLOAD>,
        shards: &Group<&Shard<'a, BLOCK>>,
        (numbers, words): (Group, Group),
    ) {
        aim.lines.words = words;
        for (at, shard) in shards.iter().enumerate() {
            (aim.lines.lines[at], aim.payloads[at]) = Self::line(shard, numbers[at] as usize);
        }
        aim.lines.lines.iter().for_each(|line| prefetch_read(*line, 0));
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
    type Aim = Aim<'a, CELLS, PAYLOAD>;
    type Places = Group<&'a [u8; PAYLOAD]>;

    const IS_TWOFOLD: bool = true;
    const IS_APART: bool = true;
    const NO_WAY: () = ();
    const NO_AIM: Aim<'a, CELLS, PAYLOAD> =
        Aim { lines: Lines::NONE, payloads: [&[[0; PAYLOAD]; CELLS]; GROUP] };
    const NO_PLACES: Group<&'a [u8; PAYLOAD]> = [&[0; PAYLOAD]; GROUP];

    #[inline(always)]
    fn approach<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn aim<F: Form>(&self, hashes: &Group, (): &(), aim: &mut Aim<'a, CELLS, PAYLOAD>) {
        let shards = self.shards.of_each(hashes);
        Self::ask(aim, &shards, self.spots::<F>(hashes, &shards).at_home());
    }

    #[inline(always)]
    fn seek<F: Form>(
        &self,
        _: &Group,
        aim: &Aim<'a, CELLS, PAYLOAD>,
        places: &mut Group<&'a [u8; PAYLOAD]>,
    ) -> Sight {
        let Looks { cells, sight, .. } = aim.lines.look::<F, CELLS>(Self::SHAPE);
        for (at, place) in places.iter_mut().enumerate() {
            // Without one, the line is at hand.
            let (line, payloads) = (&aim.lines.lines[at].as_chunks().0[0], aim.payloads[at]);
            *place = select_unpredictable(sight.found >> at & 1 != 0, &payloads[cells[at] as usize], line);
        }
        places.iter().for_each(|place| prefetch_read(*place, 0));
        sight
    }

    #[inline(always)]
    fn payloads(&self, places: &Group<&'a [u8; PAYLOAD]>) -> Group {
        let mut payloads = [0; GROUP];
        payloads.iter_mut().zip(places).for_each(|(payload, place)| *payload = number(*place));
        payloads
    }

    #[inline(always)]
    fn turn<F: Form>(&self, hashes: &Group, aim: &mut Aim<'a, CELLS, PAYLOAD>) {
        let shards = self.shards.of_each(hashes);
        Self::ask(aim, &shards, self.spots::<F>(hashes, &shards).away());
    }

    #[inline(always)]
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shards.of(hash).table.find_beside(hash, accept)
    }

    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let shard = self.shards.of(hash);
        let homes = self.homes(shard);
        let spot = homes.spot(hash);
        let home = Self::line(shard, spot.home);
        let at_home = Self::search_line(home, Self::SHAPE.word(spot.tail, true), &mut accept);
        if at_home.is_some() || !Self::SHAPE.is_signed(home.0, spot.tail) {
            return at_home;
        }
        let away = Self::line(shard, homes.other(spot));
        Self::search_line(away, Self::SHAPE.word_away(spot.tail), &mut accept)
            .or_else(|| shard.table.find_beside(hash, accept))
    }
}
