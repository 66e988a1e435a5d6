//! A hash table without free cells that stores of a hash only what its bucket does not say.
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
//! - **Ordered**: hashes increase from cell to cell. In a bucket, remainders are spread evenly, so a
//!   lookup compares the cells around the one where the remainder would be if they were spread exactly;
//!   what is left of large buckets is searched by halves, so keys made to collide are not slow.
//!
//! # Cost
//!
//! `(64 - shard bits - bucket bits + payload bits) / 8` bytes a key and 0.3 to 0.6 for the index. With a
//! `UInt16` payload that is 7.4 bytes a key at 100 million keys
//! and four to eight keys a bucket. A lookup reads a line of the index and 1.4 lines of cells.

use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};
use basalt_base::{Error, ErrorCode, Result};

use super::Hits;
use super::bits::{
    PADDING_BYTES, SHORT_BITS_MAX, get, get_short, get_short_last, low_bits, packed_bytes, put,
};
use super::bucket_index::{self, BucketIndex, BucketIndexWriter};
use super::probe::{self, Probe, Sight};
use crate::hash::{ShardBits, split};
use crate::image::{ImageReader, ImageWriter};

/// Cells that are compared at once, without asking which of them comes first.
const WINDOW: u64 = 4;
/// Tables have fewer bits of buckets: shards and buckets together leave something of a hash.
const BUCKET_BITS_END: u64 = 48;
/// How a file names the kinds of [`CellPayload`].
const PAYLOAD_BITS: u64 = 0;
const PAYLOAD_POSITION: u64 = 1;

#[derive(Debug)]
pub(crate) struct QuotientTable {
    cells: Section,
    index: BucketIndex,
    shape: CellShape,
    len: usize,
}

/// Which bits of a hash a cell holds, and how many its payload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellShape {
    shard_bits: ShardBits,
    bucket_bits: u32,
    payload: CellPayload,
}

/// What a cell's payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellPayload {
    /// A number of that many bits.
    Bits(u32),
    /// Nothing that is stored: the cell's own number among those of all shards, which begin here.
    Position { first: u64 },
}

/// Builds a [`QuotientTable`] from entries in order of hash.
pub(crate) struct QuotientTableWriter {
    cells: Region,
    index: BucketIndexWriter,
    shape: CellShape,
    len: usize,
    pushed: usize,
    bucket: u64,
}

impl CellShape {
    /// Buckets of `bucket_keys` keys on average, or up to twice as many.
    pub(crate) fn new(
        len: usize,
        bucket_keys: usize,
        payload: CellPayload,
        shard_bits: ShardBits,
    ) -> CellShape {
        // A remainder must be read as one word.
        let bucket_bits_min = (64 - SHORT_BITS_MAX).saturating_sub(shard_bits.count()).max(1);
        let bucket_bits = (len / bucket_keys).checked_ilog2().unwrap_or(0).max(bucket_bits_min);
        CellShape { shard_bits, bucket_bits, payload }
    }

    fn remainder_bits(self) -> u32 {
        64 - self.shard_bits.count() - self.bucket_bits
    }

    fn cell_bits(self) -> u32 {
        self.remainder_bits() + self.payload_bits()
    }

    fn payload_bits(self) -> u32 {
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
    fn split(self, hash: u64) -> (usize, usize, u64) {
        let (shard, rest) = self.shard_bits.split(hash);
        (shard, (rest >> (64 - self.bucket_bits)) as usize, rest << self.bucket_bits)
    }
}

impl QuotientTable {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.cells.resident_bytes() + self.index.section().resident_bytes()
    }

    /// Makes sure that the buckets of `hashes` are what was written.
    pub(super) fn check(tables: &[QuotientTable], hashes: &[u64]) -> Result<()> {
        for &hash in hashes {
            let table = &tables[tables[0].shape.shard_bits.split(hash).0];
            let bucket = table.shape.split(hash).1;
            table.index.check(bucket)?;
            let cells = bucket_index::cells_of(table.index.lines(), table.index.is_wide(), bucket);
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
        let bucket_bits = image.number_below(BUCKET_BITS_END)? as u32;
        let payload = match (image.number()?, image.number()?) {
            (PAYLOAD_BITS, bits @ 0..=64) => CellPayload::Bits(bits as u32),
            (PAYLOAD_POSITION, first) => CellPayload::Position { first },
            _ => return Err(ImageReader::unfit()),
        };
        if shard_bits.count() + bucket_bits < 64 - SHORT_BITS_MAX {
            return Err(ImageReader::unfit());
        }
        let shape = CellShape { shard_bits, bucket_bits, payload };
        let index = BucketIndex::open(shape.buckets(), image)?;
        let cells = image.section_of(packed_bytes(len, shape.cell_bits()))?;
        Ok(QuotientTable { cells, index, shape, len })
    }

    /// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
    pub(super) fn find(
        tables: &[QuotientTable],
        hashes: &[u64],
        accept: impl FnMut(usize, u64) -> bool,
    ) -> Hits {
        probe::find(&QuotientProbe::new(tables), hashes, accept)
    }

    /// All entries of shard `shard` as (hash, payload), in order of hash.
    pub(crate) fn entries(&self, shard: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (bucket_bits, remainder_bits) = (self.shape.bucket_bits, self.shape.remainder_bits());
        let reader = Shard::of(self);
        (0..self.shape.buckets()).flat_map(move |bucket| {
            let high = ((shard as u64) << bucket_bits | bucket as u64) << remainder_bits;
            bucket_index::cells_of(self.index.lines(), self.index.is_wide(), bucket)
                .map(move |cell| (high | reader.remainder(cell), reader.payload(cell)))
        })
    }
}

/// All shards of a table.
struct QuotientProbe<'a> {
    tables: Vec<Shard<'a>>,
    shard_bits: ShardBits,
}

#[derive(Clone, Copy)]
struct Shard<'a> {
    cells: &'a [u8],
    index: &'a [[u8; 64]],
    is_wide: bool,
    shape: CellShape,
    remainder_bits: u32,
    cell_bits: u64,
}

/// The cells of a key's bucket.
#[derive(Clone, Copy, Default)]
struct Bucket {
    shard: u32,
    count: u32,
    first: u64,
}

impl<'a> QuotientProbe<'a> {
    fn new(tables: &'a [QuotientTable]) -> QuotientProbe<'a> {
        QuotientProbe {
            tables: tables.iter().map(Shard::of).collect(),
            shard_bits: tables[0].shape.shard_bits,
        }
    }

    /// Where the cells of the bucket of `hash` are.
    #[inline(always)]
    fn bucket(&self, hash: u64) -> Bucket {
        let at = self.shard_bits.split(hash).0;
        let shard = &self.tables[at];
        let cells = bucket_index::cells_of(shard.index, shard.is_wide, shard.shape.split(hash).1);
        let count = cells.end.saturating_sub(cells.start) as u32;
        Bucket { shard: at as u32, count, first: cells.start }
    }
}

impl<'a> Shard<'a> {
    fn of(table: &'a QuotientTable) -> Shard<'a> {
        Shard {
            cells: &table.cells,
            index: table.index.lines(),
            is_wide: table.index.is_wide(),
            shape: table.shape,
            remainder_bits: table.shape.remainder_bits(),
            cell_bits: u64::from(table.shape.cell_bits()),
        }
    }

    #[inline(always)]
    fn remainder(&self, cell: u64) -> u64 {
        get_short(self.cells, cell.wrapping_mul(self.cell_bits), low_bits(self.remainder_bits))
    }

    #[inline(always)]
    fn payload(&self, cell: u64) -> u64 {
        match self.shape.payload {
            CellPayload::Bits(bits) => {
                let at = cell.wrapping_mul(self.cell_bits).wrapping_add(u64::from(self.remainder_bits));
                if bits <= SHORT_BITS_MAX {
                    get_short_last(self.cells, at, bits)
                } else {
                    get(self.cells, at, low_bits(bits))
                }
            }
            CellPayload::Position { first } => first + cell,
        }
    }

    /// Where the cells begin among which the remainder `fraction` probably is.
    #[inline(always)]
    fn window(&self, bucket: Bucket, fraction: u64) -> u64 {
        let count = u64::from(bucket.count);
        let guess = split(fraction, count).0;
        bucket.first.wrapping_add(guess.saturating_sub(1).min(count.saturating_sub(WINDOW)))
    }

    /// The first cell of the bucket whose remainder is not less.
    #[cold]
    fn lower_bound(&self, bucket: Bucket, remainder: u64) -> u64 {
        let (mut first, mut end) = (bucket.first, bucket.first + u64::from(bucket.count));
        while first < end {
            let middle = first.midpoint(end);
            if self.remainder(middle) < remainder {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first
    }

    /// The first entry of the bucket with this remainder that `accept` takes.
    fn search(&self, bucket: Bucket, remainder: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let end = bucket.first.wrapping_add(u64::from(bucket.count));
        let cells = self.lower_bound(bucket, remainder)..end;
        let equal = cells.take_while(|&cell| self.remainder(cell) == remainder);
        equal.map(|cell| self.payload(cell)).find(|&payload| accept(payload))
    }
}

impl Probe for QuotientProbe<'_> {
    type Aim = Bucket;

    #[inline(always)]
    fn approach(&self, hash: u64) {
        let shard = &self.tables[self.shard_bits.split(hash).0];
        bucket_index::approach(shard.index, shard.is_wide, shard.shape.split(hash).1);
    }

    #[inline(always)]
    fn aim(&self, hash: u64) -> Bucket {
        let bucket = self.bucket(hash);
        let shard = &self.tables[bucket.shard as usize];
        let bit = shard.window(bucket, shard.shape.split(hash).2).wrapping_mul(shard.cell_bits);
        prefetch_read(shard.cells, (bit >> 3) as usize);
        prefetch_read(shard.cells, (bit.wrapping_add(WINDOW * shard.cell_bits) >> 3) as usize);
        bucket
    }

    #[inline(always)]
    fn seek(&self, hash: u64, bucket: Bucket) -> Sight {
        let shard = &self.tables[bucket.shard as usize];
        let window = shard.window(bucket, shard.shape.split(hash).2);
        let remainder = hash & low_bits(shard.remainder_bits);
        let there = u64::from(bucket.count).min(WINDOW) as u32;
        let cells: [u64; WINDOW as usize] =
            std::array::from_fn(|at| shard.remainder(window.wrapping_add(at as u64)));
        let equal =
            cells.iter().enumerate().fold(0, |equal, (at, &cell)| equal | u32::from(cell == remainder) << at);
        let equal = equal & ((1 << there) - 1);
        let last = window.wrapping_add(WINDOW - 1);
        let is_first = (window == bucket.first) | (cells[0] < remainder);
        let is_last = (last + 1 == bucket.first.wrapping_add(u64::from(bucket.count)))
            | (cells[WINDOW as usize - 1] > remainder);
        let seen = window.wrapping_add(u64::from(equal.trailing_zeros() % WINDOW as u32));
        Sight {
            payload: shard.payload(seen),
            is_found: equal != 0,
            is_all: (u64::from(bucket.count) <= WINDOW) | is_first & is_last,
        }
    }

    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let bucket = self.bucket(hash);
        let shard = &self.tables[bucket.shard as usize];
        shard.search(bucket, hash & low_bits(shard.remainder_bits), accept)
    }
}

impl QuotientTableWriter {
    /// A table of `len` entries of one shard.
    pub(crate) fn new(len: usize, shape: CellShape) -> Result<QuotientTableWriter> {
        let Some(bytes) = packed_bytes(len, shape.cell_bits()) else {
            return Err(Error::new(ErrorCode::CannotAllocateMemory, "a dictionary of so many keys"));
        };
        Ok(QuotientTableWriter {
            cells: Region::zeroed(bytes)?,
            index: BucketIndexWriter::new(shape.buckets())?,
            shape,
            len,
            pushed: 0,
            bucket: 0,
        })
    }

    /// Adds an entry whose hash is not smaller than the one before.
    pub(crate) fn push(&mut self, hash: u64, payload: u64) -> Result<()> {
        let bucket = self.shape.split(hash).1 as u64;
        self.end_buckets(bucket)?;
        let remainder_bits = self.shape.remainder_bits();
        let at = self.pushed as u64 * u64::from(self.shape.cell_bits());
        put(&mut self.cells, at, hash & low_bits(remainder_bits));
        if let CellPayload::Bits(bits) = self.shape.payload {
            debug_assert!(payload <= low_bits(bits), "the payload fits");
            put(&mut self.cells, at + u64::from(remainder_bits), payload);
        }
        self.pushed += 1;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<QuotientTable> {
        assert_eq!(self.pushed, self.len, "as many entries as were announced");
        self.end_buckets(self.shape.buckets() as u64)?;
        let QuotientTableWriter { cells, index, shape, len, .. } = self;
        Ok(QuotientTable { cells: cells.into(), index: index.finish(), shape, len })
    }

    /// Ends the buckets before `bucket`.
    fn end_buckets(&mut self, bucket: u64) -> Result<()> {
        while self.bucket < bucket {
            self.index.push(self.pushed as u64)?;
            self.bucket += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Every key of the model is found and their neighbours are not.
    fn check(model: &BTreeMap<u64, u64>, payload_bits: u32) {
        let shape = CellShape::new(model.len(), 4, CellPayload::Bits(payload_bits), ShardBits::default());
        let mut writer = QuotientTableWriter::new(model.len(), shape).expect("memory");
        for (&hash, &payload) in model {
            writer.push(hash, payload).expect("few keys");
        }
        let table = writer.finish().expect("few keys");
        let near = model.keys().flat_map(|&hash| [hash.wrapping_sub(1), hash, hash.wrapping_add(1)]);
        let asked: Vec<u64> = near.chain([0, 1, u64::MAX]).collect();
        let hits = QuotientTable::find(std::slice::from_ref(&table), &asked, |_, _| true);
        for (at, hash) in asked.iter().enumerate() {
            assert_eq!(hits.found[at].then(|| hits.payloads[at]), model.get(hash).copied(), "hash {hash}");
        }
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
