//! Finds hashes in the lines of all shards of a table, and payloads behind these lines.
//!
//! The line tells whether a key is there, and its payload is asked for only then.

use std::hint::select_unpredictable;

use basalt_base::prefetch::prefetch_read;
use basalt_base::processor::Form;

use super::line_probe::{Look, equal_cells};
use super::line_shape::{BLOCK_LINES, Homes, LINE_BYTES, LineShape, Payloads, Spot};
use super::lines::{Cell, LineTable, RecordPlace, number};
use super::probe::{GROUP, Group, Probe, Sight};
use crate::hash::ShardBits;

/// All shards of a table whose payloads are apart from their lines, in blocks of `BLOCK` bytes.
pub(super) struct ApartProbe<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> {
    shards: Vec<Shard<'a, BLOCK>>,
    shard_bits: ShardBits,
}

#[derive(Clone, Copy)]
struct Shard<'a, const BLOCK: usize> {
    blocks: &'a [[u8; BLOCK]],
    count: u64,
    table: &'a LineTable,
}

/// A line of a key, the payloads of its cells, and the key's word there.
#[derive(Clone, Copy)]
pub(super) struct Aim<'a, const CELLS: usize, const PAYLOAD: usize> {
    line: &'a [u8; LINE_BYTES],
    payloads: &'a [[u8; PAYLOAD]; CELLS],
    word: u64,
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> ApartProbe<'a, CELLS, PAYLOAD, BLOCK> {
    const SHAPE: LineShape = LineShape { cells: CELLS, payload_bytes: PAYLOAD, payloads: Payloads::Apart };
    const IS_KNOWN: () = assert!(Self::SHAPE.block_bytes() == BLOCK);
    const RECORDS: &'static [RecordPlace; u32::BITS as usize] = &RecordPlace::all(Self::SHAPE);

    pub(super) fn new(tables: &'a [LineTable]) -> Self {
        let () = Self::IS_KNOWN;
        let shard = |table: &'a LineTable| Shard {
            blocks: table.lines.as_chunks().0,
            count: table.homes.count,
            table,
        };
        ApartProbe { shards: tables.iter().map(shard).collect(), shard_bits: tables[0].homes.shard_bits }
    }

    #[inline(always)]
    fn shard(&self, hash: u64) -> &Shard<'a, BLOCK> {
        &self.shards[self.shard_bits.split(hash).0]
    }

    /// All but the count is known where this is compiled.
    #[inline(always)]
    fn homes(&self, shard: &Shard<'_, BLOCK>) -> Homes {
        Self::SHAPE.homes(shard.count, self.shard_bits)
    }

    #[inline(always)]
    fn aim_at(shard: &Shard<'a, BLOCK>, line: usize, word: u64) -> Aim<'a, CELLS, PAYLOAD> {
        let (lines, payloads) = shard.blocks[line / BLOCK_LINES].split_at(BLOCK_LINES * LINE_BYTES);
        Aim {
            line: &lines.as_chunks().0[line % BLOCK_LINES],
            payloads: &payloads.as_chunks().0.as_chunks().0[line % BLOCK_LINES],
            word,
        }
    }

    /// The first payload that `accept` takes of the cells of a line that have the word.
    fn search_line(aim: Aim<'a, CELLS, PAYLOAD>, accept: &mut impl FnMut(u64) -> bool) -> Option<u64> {
        let equal = equal_cells::<CELLS>(aim.line, aim.word);
        let cells = (0..CELLS).filter(|cell| equal >> cell & 1 != 0);
        let cells = cells.filter(|&cell| Cell::in_line(aim.line, Self::SHAPE, cell).word == aim.word);
        cells.map(|cell| number(&aim.payloads[cell])).find(|&payload| accept(payload))
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize, const BLOCK: usize> Probe
    for ApartProbe<'a, CELLS, PAYLOAD, BLOCK>
{
    type Way = ();
    type Aim = Group<Aim<'a, CELLS, PAYLOAD>>;
    type Places = Group<&'a [u8; PAYLOAD]>;

    const IS_WIDEST: bool = false;
    const IS_TWOFOLD: bool = true;
    const IS_APART: bool = true;
    const NO_WAY: () = ();
    const NO_AIM: Group<Aim<'a, CELLS, PAYLOAD>> =
        [Aim { line: &[0; LINE_BYTES], payloads: &[[0; PAYLOAD]; CELLS], word: 0 }; GROUP];
    const NO_PLACES: Group<&'a [u8; PAYLOAD]> = [&[0; PAYLOAD]; GROUP];

    #[inline(always)]
    fn approach<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn aim<F: Form>(&self, hashes: &Group, (): &(), aims: &mut Group<Aim<'a, CELLS, PAYLOAD>>) {
        for (aim, &hash) in aims.iter_mut().zip(hashes) {
            let shard = self.shard(hash);
            let Spot { home, tail } = self.homes(shard).spot(hash);
            *aim = Self::aim_at(shard, home, Self::SHAPE.word(tail, true));
        }
        aims.iter().for_each(|aim| prefetch_read(aim.line, 0));
    }

    #[inline(always)]
    fn seek<F: Form>(
        &self,
        _: &Group,
        aims: &Group<Aim<'a, CELLS, PAYLOAD>>,
        places: &mut Group<&'a [u8; PAYLOAD]>,
    ) -> Sight {
        let mut sight = Sight::default();
        for (at, Aim { line, payloads, word }) in aims.iter().enumerate() {
            let look = Look::at::<CELLS>(line, *word, Self::SHAPE, Self::RECORDS);
            look.tell(at, &mut sight);
            // Without one, the line is at hand.
            places[at] = select_unpredictable(look.is_found, &payloads[look.cell], &line.as_chunks().0[0]);
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
    fn turn(&self, hashes: &Group, aims: &mut Group<Aim<'a, CELLS, PAYLOAD>>) {
        for (aim, &hash) in aims.iter_mut().zip(hashes) {
            let shard = self.shard(hash);
            let homes = self.homes(shard);
            let spot = homes.spot(hash);
            *aim = Self::aim_at(shard, homes.other(spot), Self::SHAPE.word_away(spot.tail));
        }
        aims.iter().for_each(|aim| prefetch_read(aim.line, 0));
    }

    #[inline(always)]
    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shard(hash).table.find_beside(hash, accept)
    }

    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let shard = self.shard(hash);
        let homes = self.homes(shard);
        let spot = homes.spot(hash);
        let home = Self::aim_at(shard, spot.home, Self::SHAPE.word(spot.tail, true));
        let at_home = Self::search_line(home, &mut accept);
        if at_home.is_some() || !Self::SHAPE.is_signed(home.line, spot.tail) {
            return at_home;
        }
        let away = Self::aim_at(shard, homes.other(spot), Self::SHAPE.word_away(spot.tail));
        Self::search_line(away, &mut accept).or_else(|| shard.table.find_beside(hash, accept))
    }
}
