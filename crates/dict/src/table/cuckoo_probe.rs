//! Finds hashes in the buckets of all shards of a table whose payloads do not spill.

use basalt_base::chunks::{Chunks, Slices};
use basalt_base::lanes::equal_in_chunks;
use basalt_base::processor::Form;
use basalt_base::words::Words;

use super::bits::{SHORT_BITS_MAX, low_bits};
use super::bucket_shape::{Addresses, BUCKET_BYTES, BucketShape};
use super::cuckoo::CuckooTable;
use super::probe::{Group, MatchMask, Probe, Shards};

/// The byte of a bucket at which its last word begins.
const LAST_WORD: u64 = (BUCKET_BYTES - size_of::<u64>()) as u64;

/// All shards of a table with buckets of `CELLS` cells, whose payloads have `PAYLOAD` bytes.
pub(super) struct CuckooProbe<'a, const CELLS: usize, const PAYLOAD: usize> {
    shards: CuckooShards<'a, BUCKET_BYTES>,
}

/// The shards of a table, as lookups of a group of keys need them.
pub(super) struct CuckooShards<'a, const CHUNK: usize> {
    pub(super) tables: Shards<&'a CuckooTable>,
    /// The number of buckets of each shard.
    counts: Vec<u64>,
    /// The bytes of each shard.
    pub(super) chunks: Slices<'a, CHUNK>,
}

/// The buckets of a group of keys, and the keys' words there.
#[derive(Clone, Copy, Default)]
pub(super) struct ProbedBuckets<'a> {
    pub(super) buckets: Chunks<'a, BUCKET_BYTES>,
    pub(super) words: Group,
}

/// The keys of a group that its buckets have.
pub(super) struct BucketMatches<F> {
    /// The cell of each key that was found.
    pub(super) cells: Words<F>,
    /// The payload of each key that was found, without spilled bytes.
    pub(super) payloads: Words<F>,
    pub(super) mask: MatchMask,
}

impl<'a, const CHUNK: usize> CuckooShards<'a, CHUNK> {
    pub(super) fn new(tables: &'a [CuckooTable]) -> Self {
        CuckooShards {
            tables: Shards::new(tables.iter().collect(), tables[0].addressing.shard_bits),
            counts: tables.iter().map(|table| table.addressing.count).collect(),
            chunks: Slices::new(tables.iter().map(|table| &*table.buckets)),
        }
    }

    /// The shard of each hash, and its address there.
    #[inline(always)]
    pub(super) fn addresses<F: Form>(&self, shape: BucketShape, hashes: &Group) -> (Words<F>, Addresses<F>) {
        let hashes = Words::of(*hashes);
        let shards = self.tables.numbers(hashes);
        let counts = Words::one_of(&self.counts, shards);
        (shards, Addresses::of(shape, hashes, self.tables.bits, counts))
    }
}

impl ProbedBuckets<'_> {
    /// Compares all cells with the words, and reads the payloads of those that match.
    #[inline(always)]
    pub(super) fn compare<F: Form, const CELLS: usize>(&self, shape: BucketShape) -> BucketMatches<F> {
        let words = Words::<F>::of(self.words);
        let equal = equal_in_chunks::<F, CELLS, BUCKET_BYTES>(&self.buckets, words);
        let cells = (equal | Words::splat(1 << (CELLS - 1))).lowest_bit();
        let at = cells.times_low(Words::splat(shape.record_bits() as u64)) + shape.record_at(0) as u64;
        let (rest, payloads) = self.records(at, shape);
        let overflow_bits = self.buckets.words(Words::splat(shape.overflow_at() as u64));
        let has_overflowed = overflow_bits >> (words & 7) & 1;
        let none = Words::splat(0);
        let no_tag = equal.equal(none).bits();
        let found = rest.equal(words >> u64::from(u16::BITS)).bits() & !no_tag;
        // A tag that is equal by chance may hide the cell.
        let conclusive = no_tag & has_overflowed.equal(none).bits();
        BucketMatches { cells, payloads, mask: MatchMask { found, conclusive, no_tag } }
    }

    /// The records at these bits of the buckets: the rest of a word, and a payload.
    #[inline(always)]
    fn records<F: Form>(&self, at: Words<F>, shape: BucketShape) -> (Words<F>, Words<F>) {
        let (rest_bits, payload_bits) = (shape.rest_bits(), shape.payload_bits() as u32);
        let record = self.short_bits(at);
        let rest = record & low_bits(rest_bits);
        if shape.record_bits() <= SHORT_BITS_MAX as usize {
            return (rest, record >> u64::from(rest_bits) & low_bits(payload_bits));
        }
        let at = at + u64::from(rest_bits);
        let mut payload = self.short_bits(at);
        if payload_bits > SHORT_BITS_MAX {
            // The bits after its first byte. If they were spilled, the bucket's own bits of them are there already.
            let byte = (at + 7) >> 3;
            let mut rest = self.buckets.words(byte) << ((Words::splat(0) - at) & 7);
            if shape.spills() {
                rest = rest & Words::splat(LAST_WORD + 1).above(byte).ones();
            }
            payload = payload | rest;
        }
        (rest, payload & low_bits(payload_bits))
    }

    /// At least [`SHORT_BITS_MAX`] bits from the bits `at` on, or as many as the bucket has.
    #[inline(always)]
    fn short_bits<F: Form>(&self, at: Words<F>) -> Words<F> {
        let byte = (at >> 3).min(Words::splat(LAST_WORD));
        self.buckets.words(byte) >> (at - (byte << 3))
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize> CuckooProbe<'a, CELLS, PAYLOAD> {
    const SHAPE: BucketShape = BucketShape { cells: CELLS, payload_bytes: PAYLOAD };

    pub(super) fn new(tables: &'a [CuckooTable]) -> Self {
        CuckooProbe { shards: CuckooShards::new(tables) }
    }

    /// Prefetches buckets of these shards, in which the words will be looked for.
    #[inline(always)]
    fn prefetch<F: Form>(
        &self,
        probed: &mut ProbedBuckets<'a>,
        shards: Words<F>,
        (buckets, words): (Words<F>, Words<F>),
    ) {
        const { assert!(BUCKET_BYTES == 1 << 6) };
        probed.buckets = self.shards.chunks.chunks(shards, buckets << 6);
        probed.words = words.numbers();
        probed.buckets.prefetch();
    }
}

impl<'a, const CELLS: usize, const PAYLOAD: usize> Probe for CuckooProbe<'a, CELLS, PAYLOAD> {
    type IndexRef = ();
    type BucketRef = ProbedBuckets<'a>;
    type Matches = Group;

    const HAS_ALTERNATE: bool = true;
    const SPILLS_PAYLOADS: bool = false;

    #[inline(always)]
    fn prefetch_index<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn locate<F: Form>(&self, hashes: &Group, (): &(), probed: &mut ProbedBuckets<'a>) {
        let (shards, addresses) = self.shards.addresses::<F>(Self::SHAPE, hashes);
        self.prefetch(probed, shards, addresses.primary());
    }

    #[inline(always)]
    fn compare<F: Form>(&self, _: &Group, probed: &ProbedBuckets<'a>, payloads: &mut Group) -> MatchMask {
        let matches = probed.compare::<F, CELLS>(Self::SHAPE);
        *payloads = matches.payloads.numbers();
        matches.mask
    }

    #[inline(always)]
    fn payloads<F: Form>(&self, payloads: &Group) -> Group {
        *payloads
    }

    #[inline(always)]
    fn retry_alternate<F: Form>(&self, hashes: &Group, probed: &mut ProbedBuckets<'a>) {
        let (shards, addresses) = self.shards.addresses::<F>(Self::SHAPE, hashes);
        self.prefetch(probed, shards, addresses.alternate());
    }

    #[inline(always)]
    fn find_in_stash(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shards.tables.of(hash).find_in_stash(hash, accept)
    }

    #[inline(always)]
    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.shards.tables.of(hash).search(hash, accept)
    }
}
