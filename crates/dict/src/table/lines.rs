//! A hash table of lines: as many cells as fit into a cache line, and two lines in which an entry may be.
//!
//! # Layout
//!
//! ```text
//! line:  tags                               N x 2 bytes: the low bits of each cell's word
//!        signs                              1 byte, a bit for each eighth of all tails
//!        records                            N x, back to back: the rest of the word, then a payload of 0 to 8 bytes, the
//!                                           last one without its overhang
//!        rest of the line, zeroes
//! word:  tail                               39 to 62 bits, the lowest ones
//!        home                               a bit: the entry is in its home
//! ```
//! Where payloads are wide, their last cell may need more than a line has left. What is missing, bytes of its payload, is the
//! line's *overhang*, behind 64 lines:
//! ```text
//! block: lines                              64 x 64 bytes
//!        overhangs                          64 x 2 to 8 bytes
//! ```
//! So a line has eight cells of a UInt16, or four of a UInt64, or five, the last of which hangs over (see [`LineShape::known`]). A word has
//! the bits that are left. A free cell's word is 0.
//!
//! A hash times the number of lines is the number of its *home* line and a fraction; the fraction's first bits are the
//! *tail*. So a cell need not store what its line says (quotienting: Knuth, The Art of Computer Programming 3, 6.4,
//! exercise 13), and the more lines there are the shorter words are enough. Where the home is full,
//! an entry is *away*, in a line of the same group that home and tail tell (partial-key cuckoo hashing: Fan, Andersen,
//! Kaminsky and Mitzenmacher, CoNEXT 2014, 3.1). A *sign* in its home, which one the tail tells, says that: a
//! lookup reads a second line only if it meets one.
//!
//! # Invariants
//!
//! - An entry is in its home, away, or, where both were full and no other made room, *beside* the lines: a
//!   sorted list, empty unless keys were chosen to crowd a line.
//! - An entry whose tail is 0 is in its home or beside: away it would look like a free cell.
//! - One line has no two filled cells with one word but those of keys with one hash.
//!
//! # Cost
//!
//! `(64 + overhang) / N / load factor` bytes a key. Away are 5 % of the entries with eight cells at 0.75, with four 20 % at 0.9 and with
//! five 19 % at 0.94 and 22 % at 0.965; of the keys that are not there 4, 8, 10 and 12 % read a second line (simulated). So do keys that are found in
//! cells that hang over, up to a fifth.

use basalt_base::Result;
use basalt_base::region::{Region, Section};

use super::bits::{SHORT_BITS_MAX, low_bits};
use super::line_shape::{Homes, LINE_BYTES, LineShape, Spot, TAG_BYTES};
use crate::hash::ShardBits;
use crate::image::{ImageReader, ImageWriter};

/// Bytes that a record is read from, at once: one word or two.
const SHORT: usize = size_of::<u64>();
const LONG: usize = size_of::<u128>();
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
        self.homes.count * self.shape.cells as u64
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
            if table.shape.is_signed(&table.lines[table.shape.line_at(spot.home)..], spot.tail) {
                table.check_line(table.homes.other(spot))?;
                table.beside.check(0..table.beside.len())?;
            }
        }
        Ok(())
    }

    fn check_line(&self, line: usize) -> Result<()> {
        let first = self.shape.line_at(line);
        self.lines.check(first..first + LINE_BYTES)?;
        if self.shape.overhang > 0 {
            let overhang = self.shape.overhang_at(line);
            self.lines.check(overhang..overhang + self.shape.overhang)?;
        }
        Ok(())
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
        let bytes = usize::try_from(count).ok().and_then(|count| shape.checked_bytes(count));
        let lines = image.section_of(bytes.filter(|&bytes| bytes > 0))?;
        let homes = shape.homes(count, shard_bits);
        Ok(LineTable { lines, shape, homes, len, beside: image.section()? })
    }

    /// The payload of the first entry of `hash` that `accept` takes, wherever it is.
    pub(super) fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let (homes, shape) = (&self.homes, self.shape);
        let spot = homes.spot(hash);
        let at_home = self.search_line(spot.home, shape.word(spot.tail, true), &mut accept);
        if at_home.is_some() || !shape.is_signed(&self.lines[shape.line_at(spot.home)..], spot.tail) {
            return at_home;
        }
        self.search_line(homes.other(spot), shape.word_away(spot.tail), &mut accept)
            .or_else(|| self.find_beside(hash, accept))
    }

    /// The first payload that `accept` takes of the cells of a line that have `word`.
    fn search_line(&self, line: usize, word: u64, accept: &mut impl FnMut(u64) -> bool) -> Option<u64> {
        let cells = (0..self.shape.cells).map(|cell| Cell::at(&self.lines, self.shape, line, cell));
        cells.filter(|cell| cell.word == word).map(|cell| cell.payload).find(|&payload| accept(payload))
    }

    /// The payload of the first entry of `hash` beside the lines that `accept` takes.
    #[inline]
    pub(super) fn find_beside(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let entries = self.beside.as_chunks::<BESIDE_BYTES>().0;
        let first = entries.partition_point(|entry| pair(entry).0 < hash);
        let equal = entries[first..].iter().map(pair).take_while(|entry| entry.0 == hash);
        equal.map(|entry| entry.1).find(|&payload| accept(payload))
    }

    /// All entries of this table, which is number `shard`, as (hash, payload).
    pub(crate) fn entries(&self, shard: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = (0..self.homes.count as usize).flat_map(move |at| {
            let cells = (0..self.shape.cells).map(move |cell| Cell::at(&self.lines, self.shape, at, cell));
            cells.filter(|cell| cell.word != 0).map(move |cell| {
                let (tail, is_home) = self.shape.split(cell.word);
                let home = if is_home { at } else { self.homes.home_of_away(at, tail) };
                (self.homes.hash(shard, Spot { home, tail }), cell.payload)
            })
        });
        filled.chain(self.beside.as_chunks::<BESIDE_BYTES>().0.iter().map(pair))
    }
}

/// What a cell holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// See [`LineShape::word`]; 0 in a free cell.
    pub(super) word: u64,
    pub(super) payload: u64,
}

impl Cell {
    #[inline(always)]
    pub(super) fn at(lines: &[u8], shape: LineShape, line: usize, cell: usize) -> Cell {
        let (word, mut payload) = Cell::in_line(lines, shape, line, cell);
        if shape.hangs_over(cell) {
            let overhang = &lines[shape.overhang_at(line)..][..shape.overhang];
            payload |= number(overhang) << shape.last_payload_bits();
        }
        Cell { word, payload }
    }

    /// The word alone.
    #[inline(always)]
    pub(super) fn word_at(lines: &[u8], shape: LineShape, line: usize, cell: usize) -> u64 {
        Cell::in_line(lines, shape, line, cell).0
    }

    /// The word, and what the line has of the payload.
    #[inline(always)]
    fn in_line(lines: &[u8], shape: LineShape, line: usize, cell: usize) -> (u64, u64) {
        let line = &lines[shape.line_at(line)..][..LINE_BYTES];
        let tag = u16::from_le_bytes([line[cell * TAG_BYTES], line[cell * TAG_BYTES + 1]]);
        let Record { rest, payload } = Record::at(line, shape, cell);
        (rest << u16::BITS | u64::from(tag), payload)
    }

    #[inline(always)]
    pub(super) fn put(self, lines: &mut [u8], shape: LineShape, line: usize, cell: usize) {
        let mut record = Record { rest: self.word >> u16::BITS, payload: self.payload };
        if shape.hangs_over(cell) {
            let inner_bits = shape.last_payload_bits();
            let overhang = (self.payload >> inner_bits).to_le_bytes();
            lines[shape.overhang_at(line)..][..shape.overhang].copy_from_slice(&overhang[..shape.overhang]);
            record.payload &= low_bits(inner_bits as u32);
        }
        let line = &mut lines[shape.line_at(line)..][..LINE_BYTES];
        line[cell * TAG_BYTES..][..TAG_BYTES].copy_from_slice(&(self.word as u16).to_le_bytes());
        record.put(line, shape, cell);
    }
}

/// What a cell holds beside its tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) rest: u64,
    pub(super) payload: u64,
}

impl Record {
    #[inline(always)]
    pub(super) fn at(line: &[u8], shape: LineShape, cell: usize) -> Record {
        let RecordPlace { byte, bit } = RecordPlace::of(shape, cell);
        let byte = usize::from(byte);
        let bits = match RecordPlace::len(shape) {
            SHORT => u128::from(number(&line[byte..byte + SHORT]) >> bit),
            _ => wide_number(&line[byte..byte + LONG]) >> bit,
        };
        let payload_mask = low_bits(shape.payload_bits() as u32);
        Record {
            rest: bits as u64 & low_bits(shape.rest_bits()),
            payload: (bits >> shape.rest_bits()) as u64 & payload_mask,
        }
    }

    #[inline(always)]
    fn put(self, line: &mut [u8], shape: LineShape, cell: usize) {
        let RecordPlace { byte, bit } = RecordPlace::of(shape, cell);
        let byte = usize::from(byte);
        let bits = u128::from(self.payload) << shape.rest_bits() | u128::from(self.rest);
        if RecordPlace::len(shape) == SHORT {
            let to = &mut line[byte..byte + SHORT];
            let others = number(to) & !(low_bits(shape.record_bits() as u32) << bit);
            to.copy_from_slice(&(others | (bits as u64) << bit).to_le_bytes());
        } else {
            let to = &mut line[byte..byte + LONG];
            let others = wide_number(to) & !(((1 << shape.record_bits()) - 1) << bit);
            to.copy_from_slice(&(others | bits << bit).to_le_bytes());
        }
    }
}

/// Where in a line a record is: in the bytes from `byte` on, none of them beyond the line, at bit `bit` of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordPlace {
    byte: u8,
    bit: u8,
}

impl RecordPlace {
    #[inline(always)]
    const fn of(shape: LineShape, cell: usize) -> RecordPlace {
        let (bit, last) = (shape.record_at(cell), LINE_BYTES - RecordPlace::len(shape));
        let byte = if bit / 8 < last { bit / 8 } else { last };
        RecordPlace { byte: byte as u8, bit: (bit - 8 * byte) as u8 }
    }

    /// How many bytes are read or written at once.
    #[inline(always)]
    const fn len(shape: LineShape) -> usize {
        if shape.record_bits() <= SHORT_BITS_MAX as usize { SHORT } else { LONG }
    }
}

/// At most eight bytes as a number, zeroes above them.
#[inline(always)]
pub(super) fn number(bytes: &[u8]) -> u64 {
    let mut all = [0; SHORT];
    all[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(all)
}

/// Sixteen bytes as a number.
#[inline(always)]
fn wide_number(bytes: &[u8]) -> u128 {
    let mut all = [0; LONG];
    all.copy_from_slice(bytes);
    u128::from_le_bytes(all)
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

    use super::super::line_find::find_in_all_forms;
    use super::super::line_writer::LineTableWriter;
    use super::*;

    /// The entries in tables of this shape, all shards.
    fn tables(entries: &[(u64, u64)], load_factor: f64, shape: LineShape, shards: usize) -> Vec<LineTable> {
        let shard_bits = ShardBits::of(shards);
        (0..shards).map(|shard| table(entries, load_factor, shape, shard_bits, shard)).collect()
    }

    /// Those of one shard.
    fn table(
        entries: &[(u64, u64)],
        load_factor: f64,
        shape: LineShape,
        shard_bits: ShardBits,
        shard: usize,
    ) -> LineTable {
        let own = || entries.iter().filter(|entry| shard_bits.split(entry.0).0 == shard);
        let writer = LineTableWriter::new(own().count(), load_factor, shape, shard_bits);
        let mut writer = writer.expect("memory");
        own().for_each(|&(hash, payload)| writer.push(hash, payload));
        writer.finish().expect("memory")
    }

    /// The payloads that are found of these hashes are those.
    fn check_in_all_forms(tables: &[LineTable], asked: &[u64], expected: &[Option<u64>]) {
        for hits in find_in_all_forms(tables, asked, None) {
            for (at, hash) in asked.iter().enumerate() {
                let found = hits.found[at].then(|| hits.payloads[at]);
                assert_eq!(found, expected[at], "{:?}, hash {hash}", tables[0].shape);
            }
        }
    }

    /// Every hash of the model is found and its neighbours are not.
    fn check(model: &BTreeMap<u64, u64>, load_factor: f64, shape: LineShape, shards: usize) {
        let entries: Vec<(u64, u64)> = model.iter().map(|(&hash, &payload)| (hash, payload)).collect();
        let tables = tables(&entries, load_factor, shape, shards);
        let near = model.keys().flat_map(|&hash| [hash.wrapping_sub(1), hash, hash.wrapping_add(1)]);
        let asked: Vec<u64> = near.chain([0, 1, u64::MAX]).collect();
        let expected: Vec<Option<u64>> = asked.iter().map(|hash| model.get(hash).copied()).collect();
        check_in_all_forms(&tables, &asked, &expected);
        let all = tables.iter().enumerate().flat_map(|(shard, table)| table.entries(shard));
        assert_eq!(all.collect::<BTreeMap<_, _>>(), *model);
        assert_eq!(tables.iter().map(LineTable::len).sum::<usize>(), model.len());
    }

    fn mask(payload_bytes: usize) -> u64 {
        u64::MAX.checked_shr(64 - 8 * payload_bytes as u32).unwrap_or(0)
    }

    /// The shape that serves tables of any size.
    fn widest(payload_bytes: usize) -> LineShape {
        LineShape::known(payload_bytes).next().expect("payloads of each width have shapes")
    }

    fn hash(at: u64) -> u64 {
        at.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    proptest! {
        #[test]
        fn finds_what_was_written(hashes: Vec<u64>, load in 0.5..0.99, payload_bytes in 0..=8_usize) {
            let model = hashes.iter().map(|&hash| (hash, hash & mask(payload_bytes))).collect();
            check(&model, load, widest(payload_bytes), 2);
        }

        /// More hashes than two lines have room for go to others, and in the end beside the lines.
        #[test]
        fn crowded_lines_lose_nothing(low: Vec<u16>, high: Vec<u8>, payload_bytes in 0..=8_usize) {
            let hashes = low.iter().map(|&at| u64::from(at)).chain(high.iter().map(|&at| u64::MAX - u64::from(at)));
            let model = hashes.map(|hash| (hash, hash & mask(payload_bytes))).collect();
            check(&model, 0.95, widest(payload_bytes), 2);
        }

        /// Narrow words need many lines; of 2^16 shards each has few.
        #[test]
        fn narrow_words_tell_hashes_apart(low: Vec<(u64, u16)>, payload_bytes in 0..=8_usize) {
            let shard = 0xabcd_0000_0000_0000;
            let hashes = low.iter().flat_map(|&(hash, near)| [hash >> 16, (hash >> 16) ^ u64::from(near)]);
            let entries: BTreeMap<u64, u64> = hashes.map(|rest| (shard | rest, rest & mask(payload_bytes))).collect();
            for shape in LineShape::known(payload_bytes) {
                let mut writer = LineTableWriter::new(entries.len(), 0.9, shape, ShardBits::of(1 << 16)).expect("memory");
                entries.iter().for_each(|(&hash, &payload)| writer.push(hash, payload));
                let table = writer.finish().expect("memory");
                prop_assert_eq!(table.entries(0xabcd).collect::<BTreeMap<_, _>>(), entries.clone());
            }
        }
    }

    /// A free cell looks like an entry with the tail 0 that is away.
    #[test]
    fn tails_of_zero_are_found() {
        for shape in LineShape::known(8).chain(LineShape::known(2)) {
            // As many homes as the narrowest words need: the first hash of each has the tail 0.
            let homes = shape.homes_min(ShardBits::default());
            if homes > 1 << 10 {
                continue;
            }
            let firsts = (0..homes).map(|home| (u128::from(home) << 64).div_ceil(u128::from(homes)) as u64);
            let crowd = (0..40).map(|at| at << 8);
            let model: BTreeMap<u64, u64> = firsts.chain(crowd).map(|hash| (hash, hash & 0xffff)).collect();
            check(&model, 0.95, shape, 1);
        }
    }

    /// Every shape, in two shards of so many lines that its words are enough, or nearly as many.
    #[test]
    fn every_shape_is_filled_as_far_as_it_may_be() {
        for (payload_bytes, shape) in
            (0..=8).flat_map(|width| LineShape::known(width).map(move |shape| (width, shape)))
        {
            let shards = 1 << 12;
            let shard_bits = ShardBits::of(shards);
            let load_factor = shape.load_factor(Some(0.99));
            let rows = (shape.homes_min(shard_bits).max(2000) * shape.cells as u64) as f64 * load_factor;
            let entries: BTreeMap<u64, u64> =
                (0..2 * rows as u64).map(|at| (hash(at) >> 11, hash(at) & mask(payload_bytes))).collect();
            let sorted: Vec<(u64, u64)> = entries.clone().into_iter().collect();
            let tables = [0, 1].map(|shard| table(&sorted, load_factor, shape, shard_bits, shard));
            for table in &tables {
                assert!(table.beside.len() <= 64 * BESIDE_BYTES, "{shape:?}: {} beside", table.beside.len());
            }
            let near = entries.keys().flat_map(|&hash| [hash, hash ^ 1]);
            let asked: Vec<u64> = near.collect();
            let expected: Vec<Option<u64>> = asked.iter().map(|hash| entries.get(hash).copied()).collect();
            check_in_all_forms(&tables, &asked, &expected);
        }
    }

    #[test]
    fn lines_are_filled_as_far_as_was_said() {
        let model: BTreeMap<u64, u64> = (0..200_000).map(|at| (hash(at), at & 0xffff)).collect();
        for (load_factor, bytes_a_key) in [(0.75, 12.2), (0.95, 9.7)] {
            let shape = LineShape::of(model.len(), Some(load_factor), 2);
            assert_eq!(shape.cells, 7);
            check(&model, load_factor, shape, 1);
            let entries: Vec<_> = model.iter().map(|(&hash, &payload)| (hash, payload)).collect();
            let table = &tables(&entries, load_factor, shape, 1)[0];
            assert!(table.beside.is_empty(), "{} bytes beside", table.beside.len());
            let bytes = table.heap_bytes() as f64 / model.len() as f64;
            assert!(bytes < bytes_a_key + 0.05, "{bytes} bytes a key");
        }
    }

    #[test]
    fn the_more_lines_the_smaller_are_cells() {
        let of = |load_factor| {
            let shapes = [10_000, 2_000_000, 100_000_000].map(|rows| LineShape::of(rows, load_factor, 8));
            shapes.map(|shape| (shape.cells, shape.word_bits(), shape.load_factor(load_factor)))
        };
        assert_eq!(of(None), [(4, 62, 0.9), (4, 62, 0.9), (5, 41, 0.94)]);
        assert_eq!(of(Some(0.95)), [(4, 62, 0.95), (5, 49, 0.95), (5, 41, 0.95)]);
        assert_eq!(of(Some(0.98))[2], (5, 41, 0.965));
        for shape in (0..=8).flat_map(LineShape::known) {
            let bits = shape.record_at(shape.cells) - 8 * shape.overhang;
            assert!(bits <= 8 * LINE_BYTES, "{shape:?}: {bits} bits");
        }
    }

    #[test]
    fn entries_of_one_hash_are_all_offered() {
        let entries: Vec<(u64, u64)> =
            (0..60).map(|payload| ((payload / 50 * 3 + 1) << 60, payload)).collect();
        let tables = tables(&entries, 0.75, widest(2), 1);
        let asked: Vec<u64> = entries.iter().map(|entry| entry.0).collect();
        let all = find_in_all_forms(&tables, &asked, Some(&|index, payload| payload == index as u64));
        for hits in all {
            assert_eq!(hits.payloads, (0..60).collect::<Vec<u64>>());
            assert!(hits.found.iter().all(|&found| found));
        }
        for hits in find_in_all_forms(&tables, &asked, Some(&|_, _| false)) {
            assert!(hits.found.iter().all(|&found| !found));
        }
    }
}
