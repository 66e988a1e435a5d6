//! A bucketized cuckoo hash table: as many cells as fit into a cache line, and two buckets that may hold an entry.
//!
//! # Layout
//!
//! ```text
//! bucket:  tags               N x 2 bytes: the low bits of each cell's word
//!          overflow bits      1 byte: a bit for each eighth of all fingerprints
//!          records            N x, without padding: the rest of the word, then a payload of 0 to 8 bytes
//!          zeroes to the end of the cache line
//! word:    fingerprint        39 to 62 bits, the lowest ones
//!          primary            a bit: the entry is in its primary bucket
//! ```
//! Payloads of eight bytes leave most of a fifth cell unused. In large tables the fifth cell is there, and the last
//! bytes of its payload are spilled: they follow each block of buckets.
//! ```text
//! block:   buckets            64 x 64 bytes
//!          spilled bytes      64 x 3 bytes
//! ```
//! So a bucket has eight cells of a UInt16, or four or five of a UInt64 (see [`BucketShape::known`]). A word has the
//! bits that are left. The word of a free cell is 0.
//!
//! The product of a hash and the number of buckets is the number of its *primary bucket* and a fraction. The first bits
//! of the fraction are the *fingerprint*. So a cell need not store the bits that its bucket implies (quotienting:
//! Knuth, The Art of Computer Programming 3, 6.4, exercise 13), and tables with more buckets have shorter words. An
//! entry whose primary bucket is full goes into its *alternate bucket*. It is in the same group, and follows from
//! primary bucket and fingerprint (partial-key cuckoo hashing: Fan, Andersen, Kaminsky and Mitzenmacher, CoNEXT 2014,
//! 3.1). An *overflow bit* of the primary bucket records that, so a lookup reads a second bucket only if the bit of its
//! fingerprint is set.
//!
//! # Invariants
//!
//! - An entry is in its primary bucket, in its alternate bucket, or in the *stash*: a sorted list, empty unless keys
//!   were chosen to crowd some buckets.
//! - An entry whose fingerprint is 0 is not in its alternate bucket, where it would look like a free cell.
//! - Two filled cells of a bucket have the same word only if their keys have the same hash.
//!
//! # Cost
//!
//! `(64 + spilled bytes) / N / load factor` bytes a key. Entries in their alternate bucket are 5 % with eight cells at
//! load factor 0.75, 20 % with four cells at 0.9, and with five cells 19 % at 0.94 or 22 % at 0.965. In these four
//! cases, 4, 8, 10 and 12 % of the lookups of missing keys read a second bucket (simulated). With spilled payloads, a
//! fifth of the keys that are found read spilled bytes.

use basalt_base::Result;
use basalt_base::region::{Region, Section};

use super::bits::{SHORT_BITS_MAX, low_bits};
use super::bucket_shape::{Address, Addressing, BUCKET_BYTES, BucketShape, TAG_BYTES};
use crate::hash::ShardBits;
use crate::image::{ImageReader, ImageWriter};

/// A record is read at once, as one word or two.
const SHORT: usize = size_of::<u64>();
const LONG: usize = size_of::<u128>();
/// A hash and a payload.
pub(super) const STASH_ENTRY_BYTES: usize = 2 * size_of::<u64>();

#[derive(Debug)]
pub(crate) struct CuckooTable {
    pub(super) buckets: Section,
    pub(super) shape: BucketShape,
    pub(super) addressing: Addressing,
    pub(super) len: usize,
    /// Entries that no bucket took, in order of hash. See [`STASH_ENTRY_BYTES`].
    pub(super) stash: Section,
}

impl CuckooTable {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn shape(&self) -> BucketShape {
        self.shape
    }

    pub(crate) fn slots(&self) -> u64 {
        self.addressing.count * self.shape.cells as u64
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.buckets.resident_bytes() + self.stash.resident_bytes()
    }

    /// Compares the checksums of all that a lookup of `hashes` reads.
    pub(super) fn check(tables: &[CuckooTable], hashes: &[u64]) -> Result<()> {
        for &hash in hashes {
            let table = &tables[tables[0].addressing.shard_bits.split(hash).0];
            let address = table.addressing.address(hash);
            table.check_bucket(address.bucket)?;
            if table
                .shape
                .has_overflowed(&table.buckets[table.shape.bucket_at(address.bucket)..], address.fingerprint)
            {
                table.check_bucket(table.addressing.alternate(address))?;
                table.stash.check(0..table.stash.len())?;
            }
        }
        Ok(())
    }

    fn check_bucket(&self, bucket: usize) -> Result<()> {
        let first = self.shape.bucket_at(bucket);
        self.buckets.check(first..first + BUCKET_BYTES)?;
        if self.shape.spills() {
            let spilled = self.shape.spilled_at(bucket);
            self.buckets.check(spilled..spilled + self.shape.spilled_bytes())?;
        }
        Ok(())
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.addressing.count);
        self.shape.save(image);
        image.number(self.len as u64);
        image.section(&self.buckets)?;
        image.section(&self.stash)
    }

    pub(super) fn open(shard_bits: ShardBits, image: &mut ImageReader<'_>) -> Result<CuckooTable> {
        let count = image.number()?;
        let shape = BucketShape::open(image)?;
        let len = image.count()?;
        let bytes = usize::try_from(count).ok().and_then(|count| shape.checked_bytes(count));
        let buckets = image.section_of(bytes.filter(|&bytes| bytes > 0))?;
        let addressing = shape.addressing(count, shard_bits);
        Ok(CuckooTable { buckets, shape, addressing, len, stash: image.section()? })
    }

    /// The payload of the first entry of `hash` that `accept` takes, wherever it is.
    pub(super) fn search(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let (addressing, shape) = (&self.addressing, self.shape);
        let address = addressing.address(hash);
        let in_primary =
            self.search_bucket(address.bucket, shape.word(address.fingerprint, true), &mut accept);
        if in_primary.is_some()
            || !shape.has_overflowed(&self.buckets[shape.bucket_at(address.bucket)..], address.fingerprint)
        {
            return in_primary;
        }
        self.search_bucket(
            addressing.alternate(address),
            shape.alternate_word(address.fingerprint),
            &mut accept,
        )
        .or_else(|| self.find_in_stash(hash, accept))
    }

    /// The payload of the first cell in a bucket that has this `word` and that `accept` takes.
    fn search_bucket(&self, bucket: usize, word: u64, accept: &mut impl FnMut(u64) -> bool) -> Option<u64> {
        let cells = (0..self.shape.cells).map(|cell| Cell::at(&self.buckets, self.shape, bucket, cell));
        cells.filter(|cell| cell.word == word).map(|cell| cell.payload).find(|&payload| accept(payload))
    }

    /// The payload of the first entry of `hash` in the stash that `accept` takes.
    #[inline]
    pub(super) fn find_in_stash(&self, hash: u64, mut accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let entries = self.stash.as_chunks::<STASH_ENTRY_BYTES>().0;
        let first = entries.partition_point(|entry| pair(entry).0 < hash);
        let equal = entries[first..].iter().map(pair).take_while(|entry| entry.0 == hash);
        equal.map(|entry| entry.1).find(|&payload| accept(payload))
    }

    /// All entries of this table, which is number `shard`, as (hash, payload).
    pub(crate) fn entries(&self, shard: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = (0..self.addressing.count as usize).flat_map(move |at| {
            let cells = (0..self.shape.cells).map(move |cell| Cell::at(&self.buckets, self.shape, at, cell));
            cells.filter(|cell| cell.word != 0).map(move |cell| {
                let (fingerprint, is_primary) = self.shape.split(cell.word);
                let bucket = if is_primary { at } else { self.addressing.primary_of(at, fingerprint) };
                (self.addressing.hash(shard, Address { bucket, fingerprint }), cell.payload)
            })
        });
        filled.chain(self.stash.as_chunks::<STASH_ENTRY_BYTES>().0.iter().map(pair))
    }
}

/// The contents of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// See [`BucketShape::word`]; 0 in a free cell.
    pub(super) word: u64,
    pub(super) payload: u64,
}

impl Cell {
    #[inline(always)]
    pub(super) fn at(buckets: &[u8], shape: BucketShape, bucket: usize, cell: usize) -> Cell {
        let (word, mut payload) = Cell::in_bucket(buckets, shape, bucket, cell);
        if shape.is_spilled(cell) {
            let spilled = &buckets[shape.spilled_at(bucket)..][..shape.spilled_bytes()];
            payload |= number(spilled) << shape.last_payload_bits();
        }
        Cell { word, payload }
    }

    /// The word alone.
    #[inline(always)]
    pub(super) fn word_at(buckets: &[u8], shape: BucketShape, bucket: usize, cell: usize) -> u64 {
        Cell::in_bucket(buckets, shape, bucket, cell).0
    }

    /// The word, and the payload without spilled bytes.
    #[inline(always)]
    fn in_bucket(buckets: &[u8], shape: BucketShape, bucket: usize, cell: usize) -> (u64, u64) {
        let bucket = &buckets[shape.bucket_at(bucket)..][..BUCKET_BYTES];
        let tag = u16::from_le_bytes([bucket[cell * TAG_BYTES], bucket[cell * TAG_BYTES + 1]]);
        let Record { rest, payload } = Record::at(bucket, shape, cell);
        (rest << u16::BITS | u64::from(tag), payload)
    }

    #[inline(always)]
    pub(super) fn put(self, buckets: &mut [u8], shape: BucketShape, bucket: usize, cell: usize) {
        let mut record = Record { rest: self.word >> u16::BITS, payload: self.payload };
        if shape.is_spilled(cell) {
            let inner_bits = shape.last_payload_bits();
            let spilled = (self.payload >> inner_bits).to_le_bytes();
            buckets[shape.spilled_at(bucket)..][..shape.spilled_bytes()]
                .copy_from_slice(&spilled[..shape.spilled_bytes()]);
            record.payload &= low_bits(inner_bits as u32);
        }
        let bucket = &mut buckets[shape.bucket_at(bucket)..][..BUCKET_BYTES];
        bucket[cell * TAG_BYTES..][..TAG_BYTES].copy_from_slice(&(self.word as u16).to_le_bytes());
        record.put(bucket, shape, cell);
    }
}

/// A cell without its tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) rest: u64,
    pub(super) payload: u64,
}

impl Record {
    #[inline(always)]
    pub(super) fn at(bucket: &[u8], shape: BucketShape, cell: usize) -> Record {
        let RecordPlace { byte, bit } = RecordPlace::of(shape, cell);
        let byte = usize::from(byte);
        let bits = match RecordPlace::len(shape) {
            SHORT => u128::from(number(&bucket[byte..byte + SHORT]) >> bit),
            _ => wide_number(&bucket[byte..byte + LONG]) >> bit,
        };
        let payload_mask = low_bits(shape.payload_bits() as u32);
        Record {
            rest: bits as u64 & low_bits(shape.rest_bits()),
            payload: (bits >> shape.rest_bits()) as u64 & payload_mask,
        }
    }

    #[inline(always)]
    fn put(self, bucket: &mut [u8], shape: BucketShape, cell: usize) {
        let RecordPlace { byte, bit } = RecordPlace::of(shape, cell);
        let byte = usize::from(byte);
        let bits = u128::from(self.payload) << shape.rest_bits() | u128::from(self.rest);
        if RecordPlace::len(shape) == SHORT {
            let to = &mut bucket[byte..byte + SHORT];
            let others = number(to) & !(low_bits(shape.record_bits() as u32) << bit);
            to.copy_from_slice(&(others | (bits as u64) << bit).to_le_bytes());
        } else {
            let to = &mut bucket[byte..byte + LONG];
            let others = wide_number(to) & !(((1 << shape.record_bits()) - 1) << bit);
            to.copy_from_slice(&(others | bits << bit).to_le_bytes());
        }
    }
}

/// Where in a bucket a record is: `bit` bits after `byte`. What is read from there does not exceed the bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordPlace {
    byte: u8,
    bit: u8,
}

impl RecordPlace {
    #[inline(always)]
    const fn of(shape: BucketShape, cell: usize) -> RecordPlace {
        let (bit, last) = (shape.record_at(cell), BUCKET_BYTES - RecordPlace::len(shape));
        let byte = if bit / 8 < last { bit / 8 } else { last };
        RecordPlace { byte: byte as u8, bit: (bit - 8 * byte) as u8 }
    }

    /// The bytes that are read or written at once.
    #[inline(always)]
    const fn len(shape: BucketShape) -> usize {
        if shape.record_bits() <= SHORT_BITS_MAX as usize { SHORT } else { LONG }
    }
}

/// At most eight bytes as a number.
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

fn pair(entry: &[u8; STASH_ENTRY_BYTES]) -> (u64, u64) {
    let (hash, payload) = entry.split_at(size_of::<u64>());
    (number(hash), number(payload))
}

/// The stash of these entries, sorted.
pub(super) fn stash_section(mut entries: Vec<(u64, u64)>) -> Result<Section> {
    // Stable: entries of one hash stay in their order.
    entries.sort_by_key(|entry| entry.0);
    let mut region = Region::zeroed(entries.len() * STASH_ENTRY_BYTES)?;
    for (to, (hash, payload)) in region.as_chunks_mut::<STASH_ENTRY_BYTES>().0.iter_mut().zip(entries) {
        *to = (u128::from(payload) << u64::BITS | u128::from(hash)).to_le_bytes();
    }
    Ok(region.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use basalt_base::fs::{FaultyStorage, Storage};
    use basalt_base::region::CHECK_BLOCK_BYTES;
    use proptest::prelude::*;

    use super::super::cuckoo_find::find_in_all_forms;
    use super::super::cuckoo_writer::CuckooTableWriter;
    use super::*;
    use crate::image::{open_parts, write_parts};

    /// The entries in tables of this shape, all shards.
    fn tables(
        entries: &[(u64, u64)],
        load_factor: f64,
        shape: BucketShape,
        shards: usize,
    ) -> Vec<CuckooTable> {
        let shard_bits = ShardBits::of(shards);
        (0..shards).map(|shard| table(entries, load_factor, shape, shard_bits, shard)).collect()
    }

    /// The table of one shard.
    fn table(
        entries: &[(u64, u64)],
        load_factor: f64,
        shape: BucketShape,
        shard_bits: ShardBits,
        shard: usize,
    ) -> CuckooTable {
        let own = || entries.iter().filter(|entry| shard_bits.split(entry.0).0 == shard);
        let writer = CuckooTableWriter::new(own().count(), load_factor, shape, shard_bits);
        let mut writer = writer.expect("memory");
        own().for_each(|&(hash, payload)| writer.push(hash, payload));
        writer.finish().expect("memory")
    }

    /// Lookups find these payloads.
    fn check_in_all_forms(tables: &[CuckooTable], asked: &[u64], expected: &[Option<u64>]) {
        for hits in find_in_all_forms(tables, asked, None) {
            for (at, hash) in asked.iter().enumerate() {
                let found = hits.found[at].then(|| hits.payloads[at]);
                assert_eq!(found, expected[at], "{:?}, hash {hash}", tables[0].shape);
            }
        }
    }

    /// Every hash of the model is found and its neighbours are not.
    fn check(model: &BTreeMap<u64, u64>, load_factor: f64, shape: BucketShape, shards: usize) {
        let entries: Vec<(u64, u64)> = model.iter().map(|(&hash, &payload)| (hash, payload)).collect();
        let tables = tables(&entries, load_factor, shape, shards);
        let near = model.keys().flat_map(|&hash| [hash.wrapping_sub(1), hash, hash.wrapping_add(1)]);
        let asked: Vec<u64> = near.chain([0, 1, u64::MAX]).collect();
        let expected: Vec<Option<u64>> = asked.iter().map(|hash| model.get(hash).copied()).collect();
        check_in_all_forms(&tables, &asked, &expected);
        let all = tables.iter().enumerate().flat_map(|(shard, table)| table.entries(shard));
        assert_eq!(all.collect::<BTreeMap<_, _>>(), *model);
        assert_eq!(tables.iter().map(CuckooTable::len).sum::<usize>(), model.len());
    }

    fn mask(payload_bytes: usize) -> u64 {
        u64::MAX.checked_shr(64 - 8 * payload_bytes as u32).unwrap_or(0)
    }

    /// The shape for tables of any size.
    fn widest(payload_bytes: usize) -> BucketShape {
        BucketShape::known(payload_bytes).next().expect("payloads of each width have shapes")
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

        /// More hashes than two buckets can hold are displaced, and in the end go into the stash.
        #[test]
        fn crowded_buckets_lose_nothing(low: Vec<u16>, high: Vec<u8>, payload_bytes in 0..=8_usize) {
            let hashes = low.iter().map(|&at| u64::from(at)).chain(high.iter().map(|&at| u64::MAX - u64::from(at)));
            let model = hashes.map(|hash| (hash, hash & mask(payload_bytes))).collect();
            check(&model, 0.95, widest(payload_bytes), 2);
        }

        /// Narrow words need many buckets; with 2^16 shards, each has few.
        #[test]
        fn narrow_words_tell_hashes_apart(low: Vec<(u64, u16)>, payload_bytes in 0..=8_usize) {
            let shard = 0xabcd_0000_0000_0000;
            let hashes = low.iter().flat_map(|&(hash, near)| [hash >> 16, (hash >> 16) ^ u64::from(near)]);
            let entries: BTreeMap<u64, u64> = hashes.map(|rest| (shard | rest, rest & mask(payload_bytes))).collect();
            for shape in BucketShape::known(payload_bytes) {
                let mut writer = CuckooTableWriter::new(entries.len(), 0.9, shape, ShardBits::of(1 << 16)).expect("memory");
                entries.iter().for_each(|(&hash, &payload)| writer.push(hash, payload));
                let table = writer.finish().expect("memory");
                prop_assert_eq!(table.entries(0xabcd).collect::<BTreeMap<_, _>>(), entries.clone());
            }
        }
    }

    /// A free cell looks like an entry with the fingerprint 0 in its alternate bucket.
    #[test]
    fn fingerprints_of_zero_are_found() {
        for shape in BucketShape::known(8).chain(BucketShape::known(2)) {
            // As many buckets as the narrowest words need: the first hash of each has the fingerprint 0.
            let buckets = shape.buckets_min(ShardBits::default());
            if buckets > 1 << 10 {
                continue;
            }
            let firsts =
                (0..buckets).map(|bucket| (u128::from(bucket) << 64).div_ceil(u128::from(buckets)) as u64);
            let crowd = (0..40).map(|at| at << 8);
            let model: BTreeMap<u64, u64> = firsts.chain(crowd).map(|hash| (hash, hash & 0xffff)).collect();
            check(&model, 0.95, shape, 1);
        }
    }

    /// Every shape, in two shards with hardly more buckets than its words need.
    #[test]
    fn every_shape_is_filled_as_far_as_it_may_be() {
        for (payload_bytes, shape) in
            (0..=8).flat_map(|width| BucketShape::known(width).map(move |shape| (width, shape)))
        {
            let shards = 1 << 12;
            let shard_bits = ShardBits::of(shards);
            let load_factor = shape.load_factor(Some(0.99));
            let rows = (shape.buckets_min(shard_bits).max(2000) * shape.cells as u64) as f64 * load_factor;
            let entries: BTreeMap<u64, u64> =
                (0..2 * rows as u64).map(|at| (hash(at) >> 11, hash(at) & mask(payload_bytes))).collect();
            let sorted: Vec<(u64, u64)> = entries.clone().into_iter().collect();
            let tables = [0, 1].map(|shard| table(&sorted, load_factor, shape, shard_bits, shard));
            for table in &tables {
                assert!(
                    table.stash.len() <= 64 * STASH_ENTRY_BYTES,
                    "{shape:?}: {} in the stash",
                    table.stash.len()
                );
            }
            let near = entries.keys().flat_map(|&hash| [hash, hash ^ 1]);
            let asked: Vec<u64> = near.collect();
            let expected: Vec<Option<u64>> = asked.iter().map(|hash| entries.get(hash).copied()).collect();
            check_in_all_forms(&tables, &asked, &expected);
        }
    }

    #[test]
    fn buckets_are_filled_as_far_as_was_said() {
        let model: BTreeMap<u64, u64> = (0..200_000).map(|at| (hash(at), at & 0xffff)).collect();
        for (load_factor, bytes_a_key) in [(0.75, 12.2), (0.95, 9.7)] {
            let shape = BucketShape::of(model.len(), Some(load_factor), 2);
            assert_eq!(shape.cells, 7);
            check(&model, load_factor, shape, 1);
            let entries: Vec<_> = model.iter().map(|(&hash, &payload)| (hash, payload)).collect();
            let table = &tables(&entries, load_factor, shape, 1)[0];
            assert!(table.stash.is_empty(), "{} bytes in the stash", table.stash.len());
            let bytes = table.heap_bytes() as f64 / model.len() as f64;
            assert!(bytes < bytes_a_key + 0.05, "{bytes} bytes a key");
        }
    }

    #[test]
    fn more_buckets_have_smaller_cells() {
        let of = |load_factor| {
            let shapes = [10_000, 2_000_000, 100_000_000].map(|rows| BucketShape::of(rows, load_factor, 8));
            shapes.map(|shape| (shape.cells, shape.word_bits(), shape.load_factor(load_factor)))
        };
        assert_eq!(of(None), [(4, 62, 0.9), (4, 62, 0.9), (5, 41, 0.94)]);
        assert_eq!(of(Some(0.95)), [(4, 62, 0.95), (4, 62, 0.95), (5, 41, 0.95)]);
        assert_eq!(of(Some(0.98))[2], (5, 41, 0.965));
        for shape in (0..=8).flat_map(BucketShape::known) {
            let bits = shape.record_at(shape.cells) - 8 * shape.spilled_bytes();
            assert!(bits <= 8 * BUCKET_BYTES, "{shape:?}: {bits} bits");
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

    /// Damage to a bucket, or to the bytes that its last payload spilled, is found before a lookup reads them.
    #[test]
    fn buckets_and_spilled_bytes_are_checked() {
        let shape = BucketShape::known(8).find(|shape| shape.spills()).expect("one shape spills");
        let shard_bits = ShardBits::of(1 << 12);
        let entries: Vec<(u64, u64)> = (0..20_000).map(|at| (hash(at) >> 12, !at)).collect();
        let entries: BTreeMap<u64, u64> = entries.into_iter().collect();
        let mut writer = CuckooTableWriter::new(entries.len(), 0.9, shape, shard_bits).expect("memory");
        entries.iter().for_each(|(&hash, &payload)| writer.push(hash, payload));
        let table = writer.finish().expect("memory");
        let (storage, path) = (FaultyStorage::new(), Path::new("/table"));
        let mut file = storage.create(path).expect("a disk");
        write_parts(file.as_mut(), |image| table.save(image)).expect("a disk");
        drop(file);
        let open =
            || open_parts(&storage, path, |image| CuckooTable::open(shard_bits, image)).expect("a file");
        let asked: Vec<u64> = entries.keys().copied().collect();
        let check = || CuckooTable::check(&[open()], &asked);
        check().expect("a whole file");
        let bytes = table.buckets.len();
        assert!(bytes > 4 * CHECK_BLOCK_BYTES, "{bytes} bytes");
        // The first byte is in a bucket, the last one was spilled.
        for byte in (0..bytes).step_by(CHECK_BLOCK_BYTES - 1).chain([bytes - 1]) {
            storage.damage(path, |file| file[byte] ^= 4);
            assert!(check().is_err(), "byte {byte}");
            storage.damage(path, |file| file[byte] ^= 4);
        }
    }
}
