//! A hash table of cache lines: as many cells as fit into 64 bytes, some of them free.
//!
//! # Layout
//!
//! ```text
//! line:  hashes   N x u64 little-endian
//!        payloads N x P bytes, P of 0 to 8
//!        rest of the 64 bytes, zeroes                  N = 64 / (8 + P): six for a UInt16
//! ```
//! A free cell has the hash `FREE`; a hash that happens to be `FREE` is kept beside the lines.
//!
//! # Invariants
//!
//! - **Ordered**: hashes increase over all lines. A cell is in its home line or, where that was full, in
//!   a line behind it with no free cell between.
//! - **Ended**: the last line has a free cell, so every walk ends.
//!
//! # Cost
//!
//! `64 / N / load factor` bytes a key. At 0.6 and six cells a lookup reads 1.06 lines, found or not.

use basalt_base::Result;
use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};

use super::Hits;
use super::probe::{self, Probe, Sight};
use crate::hash::{FREE, ShardBits, split};
use crate::image::{ImageReader, ImageWriter};

const LINE_BYTES: usize = 64;
const HASH_BYTES: usize = size_of::<u64>();

type Line = [u8; LINE_BYTES];

#[derive(Debug)]
pub(crate) struct LineTable {
    lines: Section,
    /// Lines that are the home of a hash; those behind them hold what the last ones pushed out.
    homes: u64,
    payload_bytes: usize,
    shard_bits: ShardBits,
    len: usize,
    /// The payload of the hash `FREE`.
    free_hash: Option<u64>,
}

/// Builds a [`LineTable`] from entries in order of hash.
pub(crate) struct LineTableWriter {
    region: Region,
    table: LineTable,
    line: usize,
    cell: usize,
}

impl LineTable {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    pub(crate) fn slots(&self) -> u64 {
        self.homes * cells_a_line(self.payload_bytes) as u64
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.lines.resident_bytes()
    }

    /// Makes sure that the lines that a lookup of `hashes` walks are what was written.
    pub(super) fn check(tables: &[LineTable], hashes: &[u64]) -> Result<()> {
        for &hash in hashes {
            let (shard, rest) = tables[0].shard_bits.split(hash);
            let table = &tables[shard];
            let last = cells_a_line(table.payload_bytes) - 1;
            let lines = table.lines.as_chunks::<LINE_BYTES>().0.iter().enumerate();
            for (at, line) in lines.skip(split(rest, table.homes).0 as usize) {
                table.lines.check(at * LINE_BYTES..(at + 1) * LINE_BYTES)?;
                if hash_at(line, last) > hash {
                    break;
                }
            }
        }
        Ok(())
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        let numbers = [self.homes, self.payload_bytes as u64, self.len as u64];
        numbers.into_iter().for_each(|number| image.number(number));
        image.flag(self.free_hash.is_some());
        image.number(self.free_hash.unwrap_or_default());
        image.section(&self.lines)
    }

    pub(super) fn open(shard_bits: ShardBits, image: &mut ImageReader<'_>) -> Result<LineTable> {
        let homes = image.number()?;
        let payload_bytes = image.number_below(size_of::<u64>() as u64 + 1)? as usize;
        let len = image.count()?;
        let free_hash = image.flag()?.then_some(image.number()?);
        let bytes = usize::try_from(homes).ok().and_then(|homes| homes.checked_mul(LINE_BYTES));
        let lines = image.section_of(bytes.filter(|&bytes| bytes > 0))?;
        Ok(LineTable { lines, homes, payload_bytes, shard_bits, len, free_hash })
    }

    /// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
    pub(super) fn find(tables: &[LineTable], hashes: &[u64], accept: impl FnMut(usize, u64) -> bool) -> Hits {
        macro_rules! find {
            ($cells:literal, $payload:literal) => {
                probe::find(&LineProbe::<$cells, $payload>::new(tables), hashes, accept)
            };
        }
        match tables[0].payload_bytes {
            0 => find!(8, 0),
            1 => find!(7, 1),
            2 => find!(6, 2),
            3 => find!(5, 3),
            4 => find!(5, 4),
            5 => find!(4, 5),
            6 => find!(4, 6),
            7 => find!(4, 7),
            _ => find!(4, 8),
        }
    }

    /// All entries as (hash, payload), in order of hash.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let cells = cells_a_line(self.payload_bytes);
        let filled = self.lines.as_chunks::<LINE_BYTES>().0.iter().flat_map(move |line| {
            (0..cells).map_while(move |cell| {
                let hash = hash_at(line, cell);
                let at = cells * HASH_BYTES + cell * self.payload_bytes;
                (hash != FREE).then(|| (hash, word(&line[at..at + self.payload_bytes])))
            })
        });
        filled.chain(self.free_hash.map(|payload| (FREE, payload)))
    }
}

/// All shards of a table with lines of `CELLS` cells and payloads of `PAYLOAD` bytes.
struct LineProbe<'a, const CELLS: usize, const PAYLOAD: usize> {
    tables: Vec<(&'a [Line], &'a LineTable)>,
    shard_bits: ShardBits,
}

/// A shard, and a line in it.
type Place = (u32, usize);

impl<'a, const CELLS: usize, const PAYLOAD: usize> LineProbe<'a, CELLS, PAYLOAD> {
    const FITS: () = assert!(CELLS == LINE_BYTES / (HASH_BYTES + PAYLOAD));

    fn new(tables: &'a [LineTable]) -> Self {
        let () = Self::FITS;
        let shard_bits = tables[0].shard_bits;
        let tables = tables.iter().map(|table| (table.lines.as_chunks().0, table)).collect();
        LineProbe { tables, shard_bits }
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> Place {
        let (shard, rest) = self.shard_bits.split(hash);
        (shard as u32, split(rest, self.tables[shard].1.homes).0 as usize)
    }

    /// A bit for each cell that has `hash`.
    #[inline(always)]
    fn equal_cells(line: &Line, hash: u64) -> u32 {
        (0..CELLS).fold(0, |equal, cell| equal | u32::from(hash_at(line, cell) == hash) << cell)
    }

    #[inline(always)]
    fn payload_at(line: &Line, cell: usize) -> u64 {
        let at = CELLS * HASH_BYTES + cell * PAYLOAD;
        word(&line[at..at + PAYLOAD])
    }
}

impl<const CELLS: usize, const PAYLOAD: usize> Probe for LineProbe<'_, CELLS, PAYLOAD> {
    type Aim = Place;

    #[inline(always)]
    fn approach(&self, _: u64) {}

    #[inline(always)]
    fn aim(&self, hash: u64) -> Place {
        let (shard, home) = self.place(hash);
        // So little was done for it that it need not wait for a loop of its own.
        prefetch_read(self.tables[shard as usize].0, home);
        (shard, home)
    }

    #[inline(always)]
    fn fetch(&self, _: Place) {}

    #[inline(always)]
    fn seek(&self, hash: u64, (shard, home): Place) -> Sight {
        let lines = self.tables[shard as usize].0;
        let line = &lines[home];
        let equal = Self::equal_cells(line, hash);
        let cell = (equal.trailing_zeros() as usize).min(CELLS - 1);
        // Never of the hash `FREE`.
        let is_all = hash_at(line, CELLS - 1) > hash;
        if !is_all {
            prefetch_read(lines, home + 1);
        }
        Sight { payload: Self::payload_at(line, cell), is_found: equal != 0 && hash != FREE, is_all }
    }

    fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let (shard, home) = self.place(hash);
        let (lines, table) = self.tables[shard as usize];
        if hash == FREE {
            return table.free_hash.filter(|&payload| accept(payload));
        }
        for line in &lines[home..] {
            let mut equal = Self::equal_cells(line, hash);
            while equal != 0 {
                let payload = Self::payload_at(line, equal.trailing_zeros() as usize);
                if accept(payload) {
                    return Some(payload);
                }
                equal &= equal - 1;
            }
            if hash_at(line, CELLS - 1) > hash {
                return None;
            }
        }
        None
    }
}

impl LineTableWriter {
    /// A table for `len` entries that fills `load_factor` of its cells. The hashes to come are those
    /// of one shard.
    pub(crate) fn new(
        len: usize,
        load_factor: f64,
        payload_bytes: usize,
        shard_bits: ShardBits,
    ) -> Result<LineTableWriter> {
        assert!(payload_bytes <= size_of::<u64>() && load_factor > 0.0 && load_factor < 1.0);
        let cells = cells_a_line(payload_bytes);
        let homes = (len as f64 / load_factor / cells as f64).ceil().max(1.0) as usize;
        // If all hashes are at home in the last line, they all go behind it.
        let lines_max = homes + len / cells + 1;
        let region = Region::zeroed(lines_max * LINE_BYTES)?;
        let lines = Region::zeroed(0)?.into();
        let homes = homes as u64;
        let table = LineTable { lines, homes, payload_bytes, shard_bits, len: 0, free_hash: None };
        Ok(LineTableWriter { region, table, line: 0, cell: 0 })
    }

    /// Adds an entry whose hash is not smaller than the one before.
    pub(crate) fn push(&mut self, hash: u64, payload: u64) {
        self.table.len += 1;
        if hash == FREE {
            self.table.free_hash = Some(payload);
            return;
        }
        let home = split(self.table.shard_bits.split(hash).1, self.table.homes).0 as usize;
        let cells = cells_a_line(self.table.payload_bytes);
        if self.line < home {
            self.free_until(home);
        }
        if self.cell == cells {
            self.line += 1;
            self.cell = 0;
        }
        let line = &mut self.region[self.line * LINE_BYTES..][..LINE_BYTES];
        line[self.cell * HASH_BYTES..][..HASH_BYTES].copy_from_slice(&hash.to_le_bytes());
        let at = cells * HASH_BYTES + self.cell * self.table.payload_bytes;
        let payload = payload.to_le_bytes();
        for (to, from) in line[at..at + self.table.payload_bytes].iter_mut().zip(payload) {
            *to = from;
        }
        self.cell += 1;
    }

    pub(crate) fn finish(mut self) -> LineTable {
        if self.cell == cells_a_line(self.table.payload_bytes) {
            self.line += 1;
            self.cell = 0;
        }
        let end = (self.table.homes as usize).max(self.line + 1);
        self.free_until(end);
        self.region.truncate(end * LINE_BYTES);
        self.table.lines = self.region.into();
        self.table
    }

    /// Frees what was not written before line `end`, which is the next.
    fn free_until(&mut self, end: usize) {
        let cells = cells_a_line(self.table.payload_bytes);
        while self.line < end {
            let line = &mut self.region[self.line * LINE_BYTES..][..cells * HASH_BYTES];
            line[self.cell * HASH_BYTES..].fill(u8::MAX);
            self.line += 1;
            self.cell = 0;
        }
    }
}

fn cells_a_line(payload_bytes: usize) -> usize {
    LINE_BYTES / (HASH_BYTES + payload_bytes)
}

#[inline(always)]
fn hash_at(line: &Line, cell: usize) -> u64 {
    word(&line[cell * HASH_BYTES..(cell + 1) * HASH_BYTES])
}

/// At most eight bytes as a number, zeroes above them.
#[inline(always)]
fn word(value: &[u8]) -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    bytes[..value.len()].copy_from_slice(value);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Every key of the model is found and their neighbours are not.
    fn check(model: &BTreeMap<u64, u64>, load_factor: f64, payload_bytes: usize) {
        let shard_bits = ShardBits::default();
        let mut writer =
            LineTableWriter::new(model.len(), load_factor, payload_bytes, shard_bits).expect("memory");
        for (&hash, &payload) in model {
            writer.push(hash, payload);
        }
        let table = writer.finish();
        let near = model.keys().flat_map(|&hash| [hash.wrapping_sub(1), hash, hash.wrapping_add(1)]);
        let asked: Vec<u64> = near.chain([0, 1, FREE]).collect();
        let hits = LineTable::find(std::slice::from_ref(&table), &asked, |_, _| true);
        for (at, hash) in asked.iter().enumerate() {
            assert_eq!(hits.found[at].then(|| hits.payloads[at]), model.get(hash).copied(), "hash {hash}");
        }
        assert_eq!(table.entries().collect::<BTreeMap<_, _>>(), *model);
        assert_eq!(table.len(), model.len());
    }

    proptest! {
        #[test]
        fn finds_what_was_written(hashes: Vec<u64>, load in 0.5..0.99, payload_bytes in 0..=8_usize) {
            let mask = u64::MAX.checked_shr(64 - 8 * payload_bytes as u32).unwrap_or(0);
            check(&hashes.iter().map(|&hash| (hash, hash & mask)).collect(), load, payload_bytes);
        }

        /// Hashes that crowd the last lines push cells out behind the end.
        #[test]
        fn crowded_ends_spill_over(low: Vec<u8>, high: Vec<u8>) {
            let hashes = low.iter().map(|&at| u64::from(at)).chain(high.iter().map(|&at| FREE - u64::from(at)));
            check(&hashes.map(|hash| (hash, hash)).collect(), 0.98, 8);
        }
    }

    #[test]
    fn six_cells_of_ten_bytes_fill_a_line() {
        let mut writer = LineTableWriter::new(60_000, 0.6, 2, ShardBits::default()).expect("memory");
        for entry in 0..60_000_u64 {
            writer.push(entry * (FREE / 60_000), 7);
        }
        let bytes = writer.finish().heap_bytes();
        assert!(bytes <= 60_000 * 178 / 10 + 8192, "{bytes} bytes");
    }
}
