//! A hash table without free cells, which stores only the bits of a hash that its bucket does not imply.
//!
//! # Layout
//!
//! ```text
//! hash:   shard bits | bucket bits | remainder          64 bits
//! cell:   remainder, payload                            bits, without padding between cells
//! cells:  in order of hash; padding of 16 bytes
//! index:  where the cells of each bucket are            see `bucket_index`
//! ```
//!
//! # Invariants
//!
//! - **Ordered**: hashes increase from cell to cell. The remainders of a bucket are spread evenly, so a lookup
//!   compares the cells around the place where its remainder is expected. Other cells of large buckets are found by
//!   binary search, so keys made to collide are not slow.
//!
//! # Cost
//!
//! `(64 - shard bits - bucket bits + payload bits) / 8` bytes a key and 0.3 to 0.6 for the index. With a
//! `UInt16` payload that is 7.3 bytes a key at 100 million keys
//! and two to four keys a bucket. A lookup reads a line of the index and 1.4 lines of cells.

use std::ops::Range;

use basalt_base::region::{RecyclingRegion, Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::bits::{BitWriter, PADDING_BYTES, SHORT_BITS_MAX, get, get_short, low_bits, packed_bytes};
use super::bucket_index::{BUCKET_BITS_END, BucketIndex, BucketIndexWriter, Buckets};
use crate::hash::ShardBits;
use crate::image::{ImageReader, ImageWriter};

/// The least average number of keys in a bucket. With twice as many, the index has half the size and each key one bit
/// more, which is as much memory. But one key in sixteen, not one in seventy, would be outside of the window of a
/// lookup.
const BUCKET_KEYS: usize = 2;
/// The kinds of [`CellPayload`] in a file.
const PAYLOAD_BITS: u64 = 0;
const PAYLOAD_POSITION: u64 = 1;

#[derive(Debug)]
pub(crate) struct QuotientTable {
    cells: Section,
    index: BucketIndex,
    shape: CellShape,
    len: usize,
}

/// Which bits of a hash a cell holds, and the width of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellShape {
    shard_bits: ShardBits,
    bucket_bits: u32,
    payload: CellPayload,
}

/// The kind of a cell's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellPayload {
    /// A number of this many bits.
    Bits(u32),
    /// The cell's own number among those of all shards, which is not stored. The first cell of this shard has the
    /// number `first`.
    Position { first: u64 },
}

/// The cells of a shard, and where those of each bucket are.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) buckets: Buckets<'a>,
    shape: CellShape,
}

/// Builds a [`QuotientTable`] from entries in order of hash.
pub(crate) struct QuotientTableWriter {
    cells: RecyclingRegion,
    bits: BitWriter,
    index: BucketIndexWriter,
    shape: CellShape,
    len: usize,
    pushed: usize,
}

impl CellShape {
    /// Buckets of [`BUCKET_KEYS`] keys on average, or up to twice as many.
    pub(crate) fn new(len: usize, payload: CellPayload, shard_bits: ShardBits) -> CellShape {
        // A remainder must be read as one word.
        let bucket_bits_min = (64 - SHORT_BITS_MAX).saturating_sub(shard_bits.count()).max(1);
        let bucket_bits = (len / BUCKET_KEYS).checked_ilog2().unwrap_or(0).max(bucket_bits_min);
        let bucket_bits = bucket_bits.min(BUCKET_BITS_END - 1);
        CellShape { shard_bits, bucket_bits, payload }
    }

    /// Whether both are equal apart from positions.
    pub(super) fn is_like(self, other: CellShape) -> bool {
        let kind =
            |shape: CellShape| (shape.shard_bits, shape.bucket_bits, std::mem::discriminant(&shape.payload));
        kind(self) == kind(other) && self.payload_bits() == other.payload_bits()
    }

    pub(super) fn shard_bits(self) -> ShardBits {
        self.shard_bits
    }

    pub(super) fn payload(self) -> CellPayload {
        self.payload
    }

    pub(super) fn bucket_bits(self) -> u32 {
        self.bucket_bits
    }

    pub(super) fn remainder_bits(self) -> u32 {
        64 - self.shard_bits.count() - self.bucket_bits
    }

    pub(super) fn cell_bits(self) -> u32 {
        self.remainder_bits() + self.payload_bits()
    }

    pub(super) fn payload_bits(self) -> u32 {
        match self.payload {
            CellPayload::Bits(bits) => bits,
            CellPayload::Position { .. } => 0,
        }
    }

    fn buckets(self) -> usize {
        1 << self.bucket_bits
    }

    /// Shard, bucket, and the remainder as a fraction of 2^64.
    #[inline(always)]
    pub(super) fn split(self, hash: u64) -> (usize, usize, u64) {
        let (shard, rest) = self.shard_bits.split(hash);
        (shard, (rest >> (64 - self.bucket_bits)) as usize, rest << self.bucket_bits)
    }
}

impl QuotientTable {
    pub(super) fn shape(&self) -> CellShape {
        self.shape
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.cells.resident_bytes() + self.index.section().resident_bytes()
    }

    /// Compares the checksums of the buckets of `hashes`.
    pub(super) fn check(tables: &[QuotientTable], hashes: &[u64]) -> Result<()> {
        for &hash in hashes {
            let table = &tables[tables[0].shape.shard_bits.split(hash).0];
            let bucket = table.shape.split(hash).1;
            table.index.check(bucket)?;
            let cells = table.index.buckets().cells_of(bucket);
            let byte = |cell: u64| (cell.saturating_mul(u64::from(table.shape.cell_bits())) >> 3) as usize;
            table.cells.check(byte(cells.start)..byte(cells.end).saturating_add(PADDING_BYTES))?;
        }
        Ok(())
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        let (kind, number) = match self.shape.payload {
            CellPayload::Bits(bits) => (PAYLOAD_BITS, u64::from(bits)),
            CellPayload::Position { first } => (PAYLOAD_POSITION, first),
        };
        let numbers = [self.len as u64, u64::from(self.shape.bucket_bits), kind, number];
        numbers.into_iter().for_each(|number| image.number(number));
        self.index.save(image)?;
        image.section(&self.cells)
    }

    pub(super) fn open(shard_bits: ShardBits, image: &mut ImageReader<'_>) -> Result<QuotientTable> {
        let len = image.count()?;
        let bucket_bits = image.number_below(u64::from(BUCKET_BITS_END))? as u32;
        let payload = match (image.number()?, image.number()?) {
            (PAYLOAD_BITS, bits @ 0..=64) => CellPayload::Bits(bits as u32),
            (PAYLOAD_POSITION, first) => CellPayload::Position { first },
            _ => return Err(ImageReader::unfit()),
        };
        if bucket_bits == 0 || shard_bits.count() + bucket_bits < 64 - SHORT_BITS_MAX {
            return Err(ImageReader::unfit());
        }
        let shape = CellShape { shard_bits, bucket_bits, payload };
        let index = BucketIndex::open(shape.buckets(), image)?;
        let cells = image.section_of(packed_bytes(len, shape.cell_bits()))?;
        Ok(QuotientTable { cells, index, shape, len })
    }

    /// All entries of shard `shard` as (hash, payload), in order of hash.
    pub(crate) fn entries(&self, shard: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let shape = self.shape;
        let cells = Cells::of(self);
        (0..shape.buckets()).flat_map(move |bucket| {
            let high = ((shard as u64) << shape.bucket_bits | bucket as u64) << shape.remainder_bits();
            cells.bucket(bucket).map(move |cell| (high | cells.remainder(cell), cells.payload(cell)))
        })
    }
}

impl<'a> Cells<'a> {
    pub(super) fn of(table: &'a QuotientTable) -> Cells<'a> {
        Cells { bytes: &table.cells, buckets: table.index.buckets(), shape: table.shape }
    }

    #[inline(always)]
    pub(super) fn bucket(&self, bucket: usize) -> Range<u64> {
        self.buckets.cells_of(bucket)
    }

    pub(super) fn remainder(&self, cell: u64) -> u64 {
        let at = cell.wrapping_mul(u64::from(self.shape.cell_bits()));
        get_short(self.bytes, at, low_bits(self.shape.remainder_bits()))
    }

    pub(super) fn payload(&self, cell: u64) -> u64 {
        match self.shape.payload() {
            CellPayload::Bits(bits) => {
                let at = cell.wrapping_mul(u64::from(self.shape.cell_bits()));
                get(self.bytes, at.wrapping_add(u64::from(self.shape.remainder_bits())), low_bits(bits))
            }
            CellPayload::Position { first } => first.wrapping_add(cell),
        }
    }

    /// The payload of the first entry of `hash` that `accept` takes, wherever in its bucket it is.
    pub(super) fn search(
        &self,
        bucket: usize,
        hash: u64,
        mut accept: impl FnMut(u64) -> bool,
    ) -> Option<u64> {
        let remainder = hash & low_bits(self.shape.remainder_bits());
        let bucket = self.bucket(bucket);
        let (mut first, mut end) = (bucket.start, bucket.end);
        while first < end {
            let middle = first.midpoint(end);
            if self.remainder(middle) < remainder {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        let equal = (first..bucket.end).take_while(|&cell| self.remainder(cell) == remainder);
        equal.map(|cell| self.payload(cell)).find(|&payload| accept(payload))
    }
}

impl QuotientTableWriter {
    /// A table of `len` entries of one shard.
    pub(crate) fn new(len: usize, shape: CellShape) -> Result<QuotientTableWriter> {
        let Some(bytes) = packed_bytes(len, shape.cell_bits()) else {
            return Err(Error::new(ErrorCode::CannotAllocateMemory, "a dictionary with this many keys"));
        };
        Ok(QuotientTableWriter {
            cells: RecyclingRegion::new(bytes)?,
            bits: BitWriter::default(),
            index: BucketIndexWriter::new(shape.buckets(), len)?,
            shape,
            len,
            pushed: 0,
        })
    }

    /// Adds entries, whose hashes are not smaller than those before.
    #[inline(always)]
    pub(crate) fn extend(&mut self, entries: impl IntoIterator<Item = (u64, u64)>) -> Result<()> {
        let (remainder_bits, payload_bits) = (self.shape.remainder_bits(), self.shape.payload_bits());
        let mask = low_bits(remainder_bits);
        // Locals stay in registers; the compiler must assume that each written cell changes the fields of `self`. The
        // index stays there, because it would be copied with a line of its buckets.
        let (mut bits, mut pushed) = (std::mem::take(&mut self.bits), self.pushed);
        for (hash, payload) in entries {
            assert!(pushed < self.len, "no more entries than were announced");
            pushed += 1;
            self.index.note(self.shape.split(hash).1, pushed as u64)?;
            self.cells.ready(bits.end());
            if remainder_bits + payload_bits <= u64::BITS {
                let payload = if payload_bits == 0 { 0 } else { payload << remainder_bits };
                bits.push(&mut self.cells, hash & mask | payload, remainder_bits + payload_bits);
            } else {
                bits.push(&mut self.cells, hash & mask, remainder_bits);
                bits.push(&mut self.cells, payload, payload_bits);
            }
        }
        (self.bits, self.pushed) = (bits, pushed);
        Ok(())
    }

    /// Reuses memory that is not needed elsewhere any more.
    pub(super) fn give(&mut self, memory: Region) {
        self.cells.give(memory);
    }

    pub(crate) fn finish(self) -> Result<QuotientTable> {
        assert_eq!(self.pushed, self.len, "as many entries as were announced");
        let QuotientTableWriter { cells, bits, index, shape, len, .. } = self;
        let mut cells = cells.finish();
        bits.finish(&mut cells);
        Ok(QuotientTable { cells: cells.into(), index: index.finish()?, shape, len })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::quotient_probe::find_in_all_forms;
    use super::*;

    /// Looks up in each form that this processor has.
    fn check_lookups(tables: &[QuotientTable], asked: &[u64], expected: impl Fn(u64) -> Option<u64>) {
        for hits in find_in_all_forms(tables, asked) {
            assert_eq!(hits.found.len(), asked.len());
            assert_eq!(hits.payloads.len(), asked.len());
            for (at, &hash) in asked.iter().enumerate() {
                assert_eq!(hits.found[at].then(|| hits.payloads[at]), expected(hash), "hash {hash}");
            }
        }
    }

    /// Every key of the model is found and their neighbours are not.
    fn check(model: &BTreeMap<u64, u64>, payload_bits: u32) {
        let shape = CellShape::new(model.len(), CellPayload::Bits(payload_bits), ShardBits::default());
        let mut writer = QuotientTableWriter::new(model.len(), shape).expect("memory");
        writer.extend(model.iter().map(|(&hash, &payload)| (hash, payload))).expect("few keys");
        let table = writer.finish().expect("few keys");
        let near = model.keys().flat_map(|&hash| [hash.wrapping_sub(1), hash, hash.wrapping_add(1)]);
        let asked: Vec<u64> = near.chain([0, 1, u64::MAX]).collect();
        check_lookups(std::slice::from_ref(&table), &asked, |hash| model.get(&hash).copied());
        assert_eq!(table.entries(0).collect::<BTreeMap<_, _>>(), *model);
        assert_eq!(table.len(), model.len());
    }

    proptest! {
        #[test]
        fn finds_what_was_written(hashes: Vec<u64>, payload_bits in 0..=64_u32) {
            check(&hashes.iter().map(|&hash| (hash, hash & low_bits(payload_bits))).collect(), payload_bits);
        }

        #[test]
        fn crowded_buckets_are_searched_too(low: Vec<u16>, high: Vec<u8>) {
            let hashes = low.iter().map(|&at| u64::from(at)).chain(high.iter().map(|&at| u64::MAX - u64::from(at)));
            check(&hashes.map(|hash| (hash, hash)).collect(), 64);
        }
    }

    #[test]
    fn payloads_are_positions_and_indexes_wide() {
        let spread = (0..3000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for crowd in [0, 1000] {
            let mut hashes: Vec<u64> = spread.clone().chain((0..crowd).map(|at| (1 << 62) + at)).collect();
            hashes.sort_unstable();
            let shape =
                CellShape::new(hashes.len(), CellPayload::Position { first: 7 }, ShardBits::default());
            let mut writer = QuotientTableWriter::new(hashes.len(), shape).expect("memory");
            writer.extend(hashes.iter().map(|&hash| (hash, 0))).expect("few keys");
            let table = writer.finish().expect("few keys");
            assert_eq!(table.index.buckets().is_wide(), crowd > 0);
            let asked: Vec<u64> = hashes.iter().flat_map(|&hash| [hash, hash + 1]).collect();
            check_lookups(std::slice::from_ref(&table), &asked, |hash| {
                hashes.binary_search(&hash).ok().map(|at| 7 + at as u64)
            });
        }
    }

    /// Shards that were loaded one by one may have different bucket bits.
    #[test]
    fn shards_of_different_shapes_answer_as_one() {
        let shard_bits = ShardBits::of(2);
        let hashes: Vec<u64> = (0..5000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).collect();
        let of_shard = |shard: u64, len: usize| {
            let mut hashes: Vec<u64> = hashes[..len].iter().map(|hash| shard << 63 | hash).collect();
            hashes.sort_unstable();
            let shape = CellShape::new(len, CellPayload::Bits(64), shard_bits);
            let mut writer = QuotientTableWriter::new(len, shape).expect("memory");
            writer.extend(hashes.iter().map(|&hash| (hash, !hash))).expect("few keys");
            writer.finish().expect("few keys")
        };
        let tables = [of_shard(0, 5000), of_shard(1, 700)];
        assert!(!tables[0].shape.is_like(tables[1].shape));
        let asked: Vec<u64> =
            (0..2).flat_map(|shard| hashes.iter().map(move |hash| shard << 63 | hash)).collect();
        let there: BTreeMap<u64, u64> = asked[..5700].iter().map(|&hash| (hash, !hash)).collect();
        check_lookups(&tables, &asked, |hash| there.get(&hash).copied());
    }

    /// Every set of four hashes among those at the ends of buckets.
    #[test]
    fn small_domains_are_exhausted() {
        let domain: Vec<u64> =
            (0..4_u64).flat_map(|at| [at << 57, (at << 57) + 1, (at << 57).wrapping_sub(1)]).collect();
        for set in 0..1_u32 << domain.len() {
            let chosen = domain.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            check(&chosen.map(|(at, &hash)| (hash, at as u64)).collect(), 4);
        }
    }
}
