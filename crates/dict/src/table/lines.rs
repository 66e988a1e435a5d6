//! A hash table of lines: as many cells as fit into one or two cache lines, and two lines in which an entry may be.
//!
//! # Layout
//!
//! ```text
//! line:  low 32 bits of each cell's word    N x 4 bytes, little-endian
//!        the words' high bits               N x 1, 2, 3 or 4 bytes
//!        payloads                           N x P bytes, P of 0 to 8
//!        rest of the line, zeroes           N = 64 / (word + P): eight for a word of six bytes and a UInt16
//! word:  tail                               37, 45, 53 or 61 bits, the lowest ones
//!        filled, away, sign                 a bit each
//! ```
//! Where 64 bytes have room for five cells or fewer, and 128 for more than twice as many, a line has 128: nine cells
//! instead of eight for a word of six bytes and a UInt64.
//!
//! A hash times the number of lines is the number of its *home* line and a fraction; the fraction's first bits are the
//! *tail*. So a cell need not store what its line says (quotienting: Knuth, The Art of Computer Programming 3, 6.4,
//! exercise 13), and in tables of more than half a million lines a word has six bytes. Where the home is full,
//! an entry is *away*, in a line of the same group that home and tail tell (partial-key cuckoo hashing: Fan, Andersen,
//! Kaminsky and Mitzenmacher, CoNEXT 2014, 3.1). A *sign* in one of the home's cells, which one the tail tells, says that: a
//! lookup reads a second line only if it meets one.
//!
//! # Invariants
//!
//! - An entry is in its home, away, or, where both were full and no other made room, *beside* the lines: a
//!   sorted list, empty unless keys were chosen to crowd a line.
//! - One line has no two filled cells with one word but those of keys with one hash.
//!
//! # Cost
//!
//! `64 / N / load factor` bytes a key, or 128. At 0.75 and eight cells, and at 0.8 and nine, 6 % of the entries are away,
//! and of the keys that are not there 4 % read a second line.

use basalt_base::Result;
use basalt_base::region::{Region, Section};

use super::Hits;
use super::line_probe::find;
use super::line_shape::{Homes, LOW_BYTES, LineShape, Spot, state};
use crate::hash::ShardBits;
use crate::image::{ImageReader, ImageWriter};

/// A hash and a payload beside the lines.
pub(super) const BESIDE_BYTES: usize = 2 * size_of::<u64>();

#[derive(Debug)]
pub(crate) struct LineTable {
    pub(super) lines: Section,
    pub(super) shape: LineShape,
    pub(super) homes: Homes,
    pub(super) len: usize,
    /// Entries that no line took, in order of hash.
    pub(super) beside: Section,
}

impl LineTable {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn shape(&self) -> LineShape {
        self.shape
    }

    pub(crate) fn slots(&self) -> u64 {
        self.homes.count * self.shape.cells() as u64
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.lines.resident_bytes() + self.beside.resident_bytes()
    }

    /// Makes sure that what a lookup of `hashes` reads is what was written.
    pub(super) fn check(tables: &[LineTable], hashes: &[u64]) -> Result<()> {
        for &hash in hashes {
            let table = &tables[tables[0].homes.shard_bits.split(hash).0];
            let spot = table.homes.spot(hash);
            table.check_line(spot.home)?;
            let sign = Cell::at(table.line(spot.home), table.shape, table.shape.sign(spot.tail));
            if sign.word(table.shape).1 & state::SIGN != 0 {
                table.check_line(table.homes.other(spot))?;
                table.beside.check(0..table.beside.len())?;
            }
        }
        Ok(())
    }

    fn check_line(&self, line: usize) -> Result<()> {
        let bytes = self.shape.line_bytes();
        self.lines.check(line * bytes..(line + 1) * bytes)
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.homes.count);
        self.shape.save(image);
        image.number(self.len as u64);
        image.section(&self.lines)?;
        image.section(&self.beside)
    }

    pub(super) fn open(shard_bits: ShardBits, image: &mut ImageReader<'_>) -> Result<LineTable> {
        let count = image.number()?;
        let shape = LineShape::open(image)?;
        let len = image.count()?;
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(shape.line_bytes()));
        let lines = image.section_of(bytes.filter(|&bytes| bytes > 0))?;
        let homes = Homes { count, shard_bits, tail_bits: shape.tail_bits() };
        Ok(LineTable { lines, shape, homes, len, beside: image.section()? })
    }

    /// Looks up `hashes` in `tables`, which are all shards; see [`super::probe::find`].
    pub(super) fn find(tables: &[LineTable], hashes: &[u64], accept: impl FnMut(usize, u64) -> bool) -> Hits {
        find(tables, hashes, accept)
    }

    fn line(&self, line: usize) -> &[u8] {
        let bytes = self.shape.line_bytes();
        &self.lines[line * bytes..][..bytes]
    }

    /// The payloads of the entries of `hash` beside the lines.
    pub(super) fn beside(&self, hash: u64) -> impl Iterator<Item = u64> + '_ {
        let entries = self.beside.as_chunks::<BESIDE_BYTES>().0;
        let first = entries.partition_point(|entry| pair(entry).0 < hash);
        entries[first..].iter().map(pair).take_while(move |entry| entry.0 == hash).map(|entry| entry.1)
    }

    /// All entries of this table, which is number `shard`, as (hash, payload).
    pub(crate) fn entries(&self, shard: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let lines =
            self.lines.chunks_exact(self.shape.line_bytes()).take(self.homes.count as usize).enumerate();
        let filled = lines.flat_map(move |(at, line)| {
            (0..self.shape.cells()).filter_map(move |cell| {
                let (tail, state) = Cell::at(line, self.shape, cell).word(self.shape);
                let home = if state & state::AWAY == 0 { at } else { self.homes.home_of_away(at, tail) };
                let hash =
                    (state & state::FILLED != 0).then(|| self.homes.hash(shard, Spot { home, tail }))?;
                Some((hash, Cell::at(line, self.shape, cell).payload))
            })
        });
        filled.chain(self.beside.as_chunks::<BESIDE_BYTES>().0.iter().map(pair))
    }
}

/// What a cell holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The tail, and the state behind it.
    pub(super) word: u64,
    pub(super) payload: u64,
}

impl Cell {
    #[inline(always)]
    pub(super) fn at(line: &[u8], shape: LineShape, cell: usize) -> Cell {
        let (cells, high_bytes) = (shape.cells(), shape.word_bytes - LOW_BYTES);
        let low = number(&line[cell * LOW_BYTES..][..LOW_BYTES]);
        let high = number(&line[cells * LOW_BYTES + cell * high_bytes..][..high_bytes]);
        let payloads = &line[cells * shape.word_bytes..];
        let payload = number(&payloads[cell * shape.payload_bytes..][..shape.payload_bytes]);
        Cell { word: high << u32::BITS | low, payload }
    }

    /// The tail and the state.
    #[inline(always)]
    pub(super) fn word(self, shape: LineShape) -> (u64, u64) {
        (self.word & ((1 << shape.tail_bits()) - 1), self.word >> shape.tail_bits())
    }

    #[inline(always)]
    pub(super) fn put(self, line: &mut [u8], shape: LineShape, cell: usize) {
        let (cells, high_bytes) = (shape.cells(), shape.word_bytes - LOW_BYTES);
        let (low, high) = (self.word as u32, self.word >> u32::BITS);
        line[cell * LOW_BYTES..][..LOW_BYTES].copy_from_slice(&low.to_le_bytes());
        put_number(&mut line[cells * LOW_BYTES + cell * high_bytes..][..high_bytes], high);
        let payloads = &mut line[cells * shape.word_bytes..];
        put_number(&mut payloads[cell * shape.payload_bytes..][..shape.payload_bytes], self.payload);
    }
}

/// At most eight bytes as a number, zeroes above them.
#[inline(always)]
pub(super) fn number(bytes: &[u8]) -> u64 {
    let mut all = [0; size_of::<u64>()];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

#[inline(always)]
fn put_number(bytes: &mut [u8], number: u64) {
    for (to, from) in bytes.iter_mut().zip(number.to_le_bytes()) {
        *to = from;
    }
}

fn pair(entry: &[u8; BESIDE_BYTES]) -> (u64, u64) {
    let (hash, payload) = entry.split_at(size_of::<u64>());
    (number(hash), number(payload))
}

/// Sorted entries as [`LineTable::beside`] reads them.
pub(super) fn beside_section(mut entries: Vec<(u64, u64)>) -> Result<Section> {
    // Stable: entries of one hash stay in their order.
    entries.sort_by_key(|entry| entry.0);
    let mut region = Region::zeroed(entries.len() * BESIDE_BYTES)?;
    for (to, (hash, payload)) in region.as_chunks_mut::<BESIDE_BYTES>().0.iter_mut().zip(entries) {
        *to = (u128::from(payload) << u64::BITS | u128::from(hash)).to_le_bytes();
    }
    Ok(region.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::line_writer::LineTableWriter;
    use super::*;

    /// The entries in `tables`, all shards with words of `word_bytes`.
    fn tables(entries: &[(u64, u64)], load_factor: f64, shape: LineShape, shards: usize) -> Vec<LineTable> {
        let shard_bits = ShardBits::of(shards);
        let of_shard = |shard: usize| {
            let own = || entries.iter().filter(|entry| shard_bits.split(entry.0).0 == shard);
            let writer = LineTableWriter::new(own().count(), load_factor, shape, shard_bits);
            let mut writer = writer.expect("memory");
            own().for_each(|&(hash, payload)| writer.push(hash, payload));
            writer.finish().expect("memory")
        };
        (0..shards).map(of_shard).collect()
    }

    /// Every hash of the model is found and its neighbours are not.
    fn check(model: &BTreeMap<u64, u64>, load_factor: f64, shape: LineShape, shards: usize) {
        let entries: Vec<(u64, u64)> = model.iter().map(|(&hash, &payload)| (hash, payload)).collect();
        let tables = tables(&entries, load_factor, shape, shards);
        let near = model.keys().flat_map(|&hash| [hash.wrapping_sub(1), hash, hash.wrapping_add(1)]);
        let asked: Vec<u64> = near.chain([0, 1, u64::MAX]).collect();
        let hits = LineTable::find(&tables, &asked, |_, _| true);
        for (at, hash) in asked.iter().enumerate() {
            assert_eq!(hits.found[at].then(|| hits.payloads[at]), model.get(hash).copied(), "hash {hash}");
        }
        let all = tables.iter().enumerate().flat_map(|(shard, table)| table.entries(shard));
        assert_eq!(all.collect::<BTreeMap<_, _>>(), *model);
        assert_eq!(tables.iter().map(LineTable::len).sum::<usize>(), model.len());
    }

    fn mask(payload_bytes: usize) -> u64 {
        u64::MAX.checked_shr(64 - 8 * payload_bytes as u32).unwrap_or(0)
    }

    proptest! {
        #[test]
        fn finds_what_was_written(hashes: Vec<u64>, load in 0.5..0.99, word_bytes in 7..=8_usize, payload_bytes in 0..=8_usize) {
            let model = hashes.iter().map(|&hash| (hash, hash & mask(payload_bytes))).collect();
            check(&model, load, LineShape { word_bytes, payload_bytes }, 2);
        }

        /// More hashes than two lines have room for go to others, and in the end beside the lines.
        #[test]
        fn crowded_lines_lose_nothing(low: Vec<u16>, high: Vec<u8>) {
            let hashes = low.iter().map(|&at| u64::from(at)).chain(high.iter().map(|&at| u64::MAX - u64::from(at)));
            check(&hashes.map(|hash| (hash, hash)).collect(), 0.95, LineShape { word_bytes: 8, payload_bytes: 8 }, 2);
        }

        /// Narrow words need many lines; 2^16 shards have them with few rows each.
        #[test]
        fn narrow_words_tell_hashes_apart(low: Vec<(u64, u16)>, payload_bytes in 0..=8_usize) {
            let shard = 0xabcd_0000_0000_0000;
            let hashes = low.iter().flat_map(|&(hash, near)| [hash >> 16, (hash >> 16) ^ u64::from(near)]);
            let entries: BTreeMap<u64, u64> = hashes.map(|rest| (shard | rest, rest & mask(payload_bytes))).collect();
            for word_bytes in [5, 6] {
                let shape = LineShape { word_bytes, payload_bytes };
                let mut writer = LineTableWriter::new(entries.len(), 0.9, shape, ShardBits::of(1 << 16)).expect("memory");
                entries.iter().for_each(|(&hash, &payload)| writer.push(hash, payload));
                let table = writer.finish().expect("memory");
                prop_assert_eq!(table.entries(0xabcd).collect::<BTreeMap<_, _>>(), entries.clone());
            }
        }
    }

    #[test]
    fn lines_are_filled_as_far_as_was_said() {
        let hash = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let model: BTreeMap<u64, u64> = (0..200_000).map(|at| (hash(at), at & 0xffff)).collect();
        for (load_factor, bytes_a_key) in [(0.75, 12.2), (0.95, 9.7)] {
            let shape = LineShape::of(model.len(), Some(load_factor), 2);
            assert_eq!((shape.word_bytes, shape.cells()), (7, 7));
            check(&model, load_factor, shape, 1);
            let entries: Vec<_> = model.iter().map(|(&hash, &payload)| (hash, payload)).collect();
            let table = &tables(&entries, load_factor, shape, 1)[0];
            assert!(table.beside.is_empty(), "{} bytes beside", table.beside.len());
            let bytes = table.heap_bytes() as f64 / model.len() as f64;
            assert!(bytes < bytes_a_key + 0.05, "{bytes} bytes a key");
        }
    }

    #[test]
    fn wide_cells_lie_in_lines_of_two_cache_lines() {
        let hash = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let model: BTreeMap<u64, u64> = (0..100_000).map(|at| (hash(at), at << 30)).collect();
        let shape = LineShape::of(model.len(), None, 7);
        assert_eq!((shape.line_bytes(), shape.cells(), shape.load_factor()), (128, 9, 0.8));
        check(&model, shape.load_factor(), shape, 2);
        // Ten cells are as many as two times five.
        assert_eq!(LineShape { word_bytes: 6, payload_bytes: 6 }.line_bytes(), 64);
    }

    #[test]
    fn entries_of_one_hash_are_all_offered() {
        let entries: Vec<(u64, u64)> =
            (0..60).map(|payload| ((payload / 50 * 3 + 1) << 60, payload)).collect();
        let tables = tables(&entries, 0.75, LineShape { word_bytes: 8, payload_bytes: 2 }, 1);
        let asked: Vec<u64> = entries.iter().map(|entry| entry.0).collect();
        let hits = LineTable::find(&tables, &asked, |index, payload| payload == index as u64);
        assert_eq!(hits.payloads, (0..60).collect::<Vec<u64>>());
        assert!(hits.found.iter().all(|&found| found));
    }
}
