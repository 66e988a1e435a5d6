//! Finds hashes in the buckets of all shards of a table whose last cells spill payload bytes.
//!
//! The bucket says whether a key is in its last cell. Only then the lookup reads the spilled bytes.

use basalt_base::chunks::Chunks;
use basalt_base::processor::Form;
use basalt_base::words::{Mask, Words};

use super::bucket_shape::{BLOCK_BUCKETS, BUCKET_BYTES, BucketShape, SPILLING_CELLS, SPILLING_PAYLOAD_BYTES};
use super::cuckoo::CuckooTable;
use super::cuckoo_probe::{BucketMatches, CuckooShards, ProbedBuckets};
use super::probe::{Group, MatchMask, Probe};

/// A whole word that ends with the spilled bytes of a bucket.
const WORD_BYTES: usize = size_of::<u64>();
const SHAPE: BucketShape = BucketShape { cells: SPILLING_CELLS, payload_bytes: SPILLING_PAYLOAD_BYTES };
const SPILLED: usize = SHAPE.spilled_bytes();
const BLOCK: usize = SHAPE.block_bytes();

/// All shards of a table whose shape spills.
pub(super) struct SpilledProbe<'a> {
    shards: CuckooShards<'a, BLOCK>,
}

/// The buckets of a group of keys, and the words that end with their spilled bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct SpillingBuckets<'a> {
    probed: ProbedBuckets<'a>,
    spilled: Chunks<'a, WORD_BYTES>,
}

/// The payloads of a group of keys, without spilled bytes, and where these are.
#[derive(Clone, Copy, Default)]
pub(super) struct SpilledPayloads<'a> {
    inner: Group,
    spilled: Chunks<'a, WORD_BYTES>,
    /// A bit for each key that is in a last cell.
    last: u8,
}

impl<'a> SpilledProbe<'a> {
    pub(super) fn new(tables: &'a [CuckooTable]) -> Self {
        SpilledProbe { shards: CuckooShards::new(tables) }
    }

    /// Prefetches buckets of these shards, in which the words will be looked for.
    #[inline(always)]
    fn prefetch<F: Form>(
        &self,
        probed: &mut SpillingBuckets<'a>,
        shards: Words<F>,
        (buckets, words): (Words<F>, Words<F>),
    ) {
        const { assert!(BUCKET_BYTES == 1 << 6 && BLOCK_BUCKETS == 1 << 6) };
        let blocks = self.shards.chunks.chunks(shards, (buckets >> 6).times(Words::splat(BLOCK as u64)));
        let numbers = buckets & (BLOCK_BUCKETS as u64 - 1);
        probed.probed.buckets = blocks.parts(numbers << 6);
        probed.probed.words = words.numbers();
        probed.probed.buckets.prefetch();
        let ends = (SHAPE.spilled_at(0) + SPILLED) as u64;
        let spilled = numbers.times_low(Words::splat(SPILLED as u64)) + (ends - WORD_BYTES as u64);
        probed.spilled = blocks.parts(spilled);
    }
}

impl<'a> Probe for SpilledProbe<'a> {
    type IndexRef = ();
    type BucketRef = SpillingBuckets<'a>;
    type Matches = SpilledPayloads<'a>;

    const HAS_ALTERNATE: bool = true;
    const SPILLS_PAYLOADS: bool = true;

    #[inline(always)]
    fn prefetch_index<F: Form>(&self, _: &Group, (): &mut ()) {}

    #[inline(always)]
    fn locate<F: Form>(&self, hashes: &Group, (): &(), probed: &mut SpillingBuckets<'a>) {
        let (shards, addresses) = self.shards.addresses::<F>(SHAPE, hashes);
        self.prefetch(probed, shards, addresses.primary());
    }

    #[inline(always)]
    fn compare<F: Form>(
        &self,
        _: &Group,
        probed: &SpillingBuckets<'a>,
        matches: &mut SpilledPayloads<'a>,
    ) -> MatchMask {
        let BucketMatches { cells, payloads, mask } = probed.probed.compare::<F, SPILLING_CELLS>(SHAPE);
        matches.inner = payloads.numbers();
        matches.last = cells.equal(Words::splat(SPILLING_CELLS as u64 - 1)).bits() & mask.found;
        // For all other keys it reads their bucket, which is in the cache.
        let cached = probed.probed.buckets.parts::<F, WORD_BYTES>(Words::splat(0));
        matches.spilled = probed.spilled.or::<F>(&cached, Mask::of(!matches.last));
        matches.spilled.prefetch();
        mask
    }

    #[inline(always)]
    fn payloads<F: Form>(&self, matches: &SpilledPayloads<'a>) -> Group {
        let words = matches.spilled.words::<F>(Words::splat(0)) & Mask::of(matches.last).ones();
        let spilled = words >> (8 * (WORD_BYTES - SPILLED)) as u64;
        let spilled = spilled << SHAPE.last_payload_bits() as u64;
        (spilled | Words::of(matches.inner)).numbers()
    }

    #[inline(always)]
    fn retry_alternate<F: Form>(&self, hashes: &Group, probed: &mut SpillingBuckets<'a>) {
        let (shards, addresses) = self.shards.addresses::<F>(SHAPE, hashes);
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
