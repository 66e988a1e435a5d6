//! How many cells a bucket has, and which two buckets may hold an entry.

use basalt_base::Result;
use basalt_base::processor::Form;
use basalt_base::words::Words;

use super::bits::low_bits;
use crate::hash::{ShardBits, split};
use crate::image::{ImageReader, ImageWriter};

/// The low bits of each cell's word. The tags of a bucket are adjacent, so that all of them are compared at once.
pub(super) const TAG_BYTES: usize = size_of::<u16>();
/// The overflow bits follow the tags, see [`overflow_bit`].
const OVERFLOW_BYTES: usize = 1;
/// One bit less than a `u64` has, so that no word equals [`NO_WORD`].
const WORD_BITS_MAX: usize = 63;
/// A number that equals no word.
const NO_WORD: u64 = 1 << WORD_BITS_MAX;
/// The two buckets of an entry are in one group, which fits into the L2 cache while it is filled.
const GROUP_BYTES: usize = 1 << 19;
const GROUP_BUCKETS_MAX: usize = 1 << 12;
/// A cache line.
pub(super) const BUCKET_BYTES: usize = 64;
/// Spilled bytes follow this many buckets, so that they fill whole cache lines.
pub(super) const BLOCK_BUCKETS: usize = 64;
/// Above this load factor, insertion takes ever longer.
const LOAD_FACTOR_MAX: f64 = 0.95;
/// Buckets of at most this many cells have a higher load factor by default. One entry in five is in its alternate
/// bucket then.
const FEW_CELLS: usize = 4;
const FEW_CELLS_LOAD_FACTOR: f64 = 0.9;
/// With the widest payloads, four cells waste most of a fifth one. The buckets of large tables have a fifth cell,
/// whose payload spills its last bytes: a key that is found in it costs a second cache line.
pub(super) const SPILLING_PAYLOAD_BYTES: usize = 8;
pub(super) const SPILLING_CELLS: usize = 5;
/// Enough for fingerprints of 40 bits.
const SPILLED_BYTES: usize = 3;
const SPILLING_LOAD_FACTOR: f64 = 0.94;
const SPILLING_LOAD_FACTOR_MAX: f64 = 0.965;
/// Spreads fingerprints over a group: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many cells a bucket has, and the width of their payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BucketShape {
    pub(super) cells: usize,
    pub(super) payload_bytes: usize,
}

/// The primary bucket of an entry, and its fingerprint there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) bucket: usize,
    pub(super) fingerprint: u64,
}

/// Maps hashes to the buckets of a table, which are divided into groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addressing {
    pub(super) count: u64,
    pub(super) shard_bits: ShardBits,
    pub(super) fingerprint_bits: u32,
    /// The binary logarithm of the number of buckets in a group.
    pub(super) group_bits: u32,
}

/// The numbers of cells that buckets may have, for payloads of each width. Words have the bits that are left.
const KNOWN: [&[usize]; 9] = [
    &[8, 10, 12],
    &[7, 8, 10],
    &[6, 7, 8, 9],
    &[5, 6, 7],
    &[5, 6, 7],
    &[5, 6],
    &[4, 5],
    &[4, 5],
    &[4, SPILLING_CELLS],
];

impl BucketShape {
    /// The shape with the smallest cells that distinguish all hashes in a table of `rows`, in all shards together.
    /// Without `load_factor`, each shape has its default.
    pub(super) fn of(rows: usize, load_factor: Option<f64>, payload_bytes: usize) -> BucketShape {
        let shapes = BucketShape::known(payload_bytes);
        let widest = shapes.clone().next().expect("payloads of each width have shapes");
        let fits = |shape: &BucketShape| {
            let buckets = shape.buckets_for(rows, shape.load_factor(load_factor));
            buckets >= shape.buckets_min(ShardBits::default())
        };
        shapes.filter(fits).last().unwrap_or(widest)
    }

    /// All shapes for this payload, the one with the smallest cells last.
    pub(super) fn known(payload_bytes: usize) -> impl Iterator<Item = BucketShape> + Clone {
        KNOWN[payload_bytes].iter().map(move |&cells| BucketShape { cells, payload_bytes })
    }

    /// How far buckets are filled: as `wanted`, or so that lookups are fast. By default one entry in twenty is in its
    /// alternate bucket, and one in five with few cells or spilled payloads.
    pub(super) fn load_factor(self, wanted: Option<f64>) -> f64 {
        let (own, most) = match self.cells {
            _ if self.spills() => (SPILLING_LOAD_FACTOR, SPILLING_LOAD_FACTOR_MAX),
            ..=FEW_CELLS => (FEW_CELLS_LOAD_FACTOR, LOAD_FACTOR_MAX),
            9.. => (0.8, LOAD_FACTOR_MAX),
            _ => (0.75, LOAD_FACTOR_MAX),
        };
        wanted.map_or(own, |wanted| wanted.min(most))
    }

    /// Whether the payload of the last cell spills its last bytes.
    #[inline(always)]
    pub(super) const fn spills(self) -> bool {
        self.cells == SPILLING_CELLS && self.payload_bytes == SPILLING_PAYLOAD_BYTES
    }

    /// How many bytes it spills.
    #[inline(always)]
    pub(super) const fn spilled_bytes(self) -> usize {
        if self.spills() { SPILLED_BYTES } else { 0 }
    }

    /// Whether the payload of this cell spills.
    #[inline(always)]
    pub(super) const fn is_spilled(self, cell: usize) -> bool {
        self.spills() && cell == SPILLING_CELLS - 1
    }

    /// Bits of a payload.
    pub(super) const fn payload_bits(self) -> usize {
        8 * self.payload_bytes
    }

    /// The bits of the last cell's payload that are in the bucket.
    pub(super) const fn last_payload_bits(self) -> usize {
        8 * (self.payload_bytes - self.spilled_bytes())
    }

    /// The bits of a word: a fingerprint, and whether the entry is in its primary bucket.
    pub(super) const fn word_bits(self) -> u32 {
        let bits =
            8 * (BUCKET_BYTES - OVERFLOW_BYTES + self.spilled_bytes()) / self.cells - self.payload_bits();
        if bits < WORD_BITS_MAX { bits as u32 } else { WORD_BITS_MAX as u32 }
    }

    pub(super) const fn fingerprint_bits(self) -> u32 {
        self.word_bits() - 1
    }

    /// The bits of a word without its tag.
    pub(super) const fn rest_bits(self) -> u32 {
        self.word_bits() - u16::BITS
    }

    /// Where the byte of overflow bits is.
    pub(super) const fn overflow_at(self) -> usize {
        self.cells * TAG_BYTES
    }

    /// The bits of a record: a cell without its tag.
    pub(super) const fn record_bits(self) -> usize {
        self.rest_bits() as usize + self.payload_bits()
    }

    /// The bit of a bucket at which a record begins.
    pub(super) const fn record_at(self, cell: usize) -> usize {
        8 * (self.overflow_at() + OVERFLOW_BYTES) + cell * self.record_bits()
    }

    /// The bytes of a block: buckets, and what they spilled.
    pub(super) const fn block_bytes(self) -> usize {
        BLOCK_BUCKETS * (BUCKET_BYTES + self.spilled_bytes())
    }

    /// The bytes of this many buckets, rounded up to whole blocks if payloads spill.
    #[inline(always)]
    pub(super) const fn bytes(self, buckets: usize) -> usize {
        if self.spills() {
            buckets.div_ceil(BLOCK_BUCKETS) * self.block_bytes()
        } else {
            buckets * BUCKET_BYTES
        }
    }

    /// [`Self::bytes`], unless the number overflows.
    pub(super) fn checked_bytes(self, buckets: usize) -> Option<usize> {
        buckets.div_ceil(BLOCK_BUCKETS).checked_mul(self.block_bytes()).map(|_| self.bytes(buckets))
    }

    /// Where a bucket begins.
    #[inline(always)]
    pub(super) const fn bucket_at(self, bucket: usize) -> usize {
        bucket * BUCKET_BYTES + bucket / BLOCK_BUCKETS * (BLOCK_BUCKETS * self.spilled_bytes())
    }

    /// Where the spilled bytes of a bucket begin.
    #[inline(always)]
    pub(super) const fn spilled_at(self, bucket: usize) -> usize {
        (bucket / BLOCK_BUCKETS + 1) * (BLOCK_BUCKETS * BUCKET_BYTES) + bucket * self.spilled_bytes()
    }

    /// The word of an entry with this fingerprint, in its primary or alternate bucket.
    #[inline(always)]
    pub(super) const fn word(self, fingerprint: u64, is_primary: bool) -> u64 {
        fingerprint | (is_primary as u64) << self.fingerprint_bits()
    }

    /// The word of an entry in its alternate bucket.
    #[inline(always)]
    pub(super) const fn alternate_word(self, fingerprint: u64) -> u64 {
        // No entry with the fingerprint 0 is in its alternate bucket, and a free cell looks as if it were.
        self.word(fingerprint, false) | if fingerprint == 0 { NO_WORD } else { 0 }
    }

    /// The fingerprint of a word, and whether its entry is in its primary bucket.
    #[inline(always)]
    pub(super) fn split(self, word: u64) -> (u64, bool) {
        (word & low_bits(self.fingerprint_bits()), word >> self.fingerprint_bits() != 0)
    }

    /// Whether an entry with this fingerprint may be outside of `bucket`, its primary one. The fingerprint may be a
    /// whole word.
    #[inline(always)]
    pub(super) const fn has_overflowed(self, bucket: &[u8], fingerprint: u64) -> bool {
        bucket[self.overflow_at()] & overflow_bit(fingerprint) != 0
    }

    /// The number of buckets that hold `rows` at this load factor.
    pub(super) fn buckets_for(self, rows: usize, load_factor: f64) -> u64 {
        (rows as f64 / load_factor / self.cells as f64).ceil() as u64
    }

    /// With fewer buckets in a shard, two hashes of one bucket could have the same fingerprint.
    pub(super) fn buckets_min(self, shard_bits: ShardBits) -> u64 {
        1 << (u64::BITS - self.fingerprint_bits()).saturating_sub(shard_bits.count())
    }

    pub(super) const fn group_bits(self) -> u32 {
        let buckets = GROUP_BYTES / (BUCKET_BYTES + self.spilled_bytes());
        if buckets < GROUP_BUCKETS_MAX { buckets.ilog2() } else { GROUP_BUCKETS_MAX.ilog2() }
    }

    #[inline(always)]
    pub(super) const fn addressing(self, count: u64, shard_bits: ShardBits) -> Addressing {
        Addressing {
            count,
            shard_bits,
            fingerprint_bits: self.fingerprint_bits(),
            group_bits: self.group_bits(),
        }
    }

    pub(super) fn save(self, image: &mut ImageWriter<'_>) {
        image.number(self.cells as u64);
        image.number(self.payload_bytes as u64);
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<BucketShape> {
        let cells = image.number()?;
        let payload_bytes = image.number_below(KNOWN.len() as u64)? as usize;
        BucketShape::known(payload_bytes)
            .find(|shape| shape.cells as u64 == cells)
            .ok_or_else(ImageReader::unfit)
    }
}

/// The addresses of a group of hashes, each in a shard of its own: what [`Addressing`] computes for one hash.
#[derive(Clone, Copy)]
pub(super) struct Addresses<F> {
    shape: BucketShape,
    counts: Words<F>,
    buckets: Words<F>,
    fingerprints: Words<F>,
}

impl<F: Form> Addresses<F> {
    /// `counts` are the buckets of each shard.
    #[inline(always)]
    pub(super) fn of(
        shape: BucketShape,
        hashes: Words<F>,
        shard_bits: ShardBits,
        counts: Words<F>,
    ) -> Addresses<F> {
        let (buckets, fractions) = (hashes << u64::from(shard_bits.count())).product(counts);
        Addresses {
            shape,
            counts,
            buckets,
            fingerprints: fractions >> u64::from(u64::BITS - shape.fingerprint_bits()),
        }
    }

    /// The primary buckets, and the words there.
    #[inline(always)]
    pub(super) fn primary(&self) -> (Words<F>, Words<F>) {
        (self.buckets, self.fingerprints | Words::splat(self.shape.word(0, true)))
    }

    /// The alternate buckets, and the words there.
    #[inline(always)]
    pub(super) fn alternate(&self) -> (Words<F>, Words<F>) {
        let Addresses { shape, counts, buckets, fingerprints } = *self;
        let (none, one, group_bits) = (Words::splat(0), Words::splat(1), u64::from(shape.group_bits()));
        // As `Addressing::group` and `Addressing::alternate`.
        let last = (counts >> group_bits).max(one) - one;
        let group = (buckets >> group_bits).min(last);
        let first = group << group_bits;
        let len = group.equal(last).select(counts - first, Words::splat(1 << group_bits));
        let spread = fingerprints.product(Words::splat(SPREAD)).1 >> 32;
        let far = one + (spread.times_low(len - one) >> 32);
        let to = buckets - first + (far & len.above(far).ones());
        let other = first + len.above(to).select(to, to - len);
        (other, fingerprints | (fingerprints.equal(none).ones() & NO_WORD))
    }
}

/// The bit of an entry's primary bucket that is set if the entry may be elsewhere. Each eighth of all fingerprints
/// shares a bit.
#[inline(always)]
pub(super) const fn overflow_bit(fingerprint: u64) -> u8 {
    1 << (fingerprint % 8)
}

impl Addressing {
    /// The address of `hash`, which is of this shard.
    #[inline(always)]
    pub(super) fn address(&self, hash: u64) -> Address {
        let (bucket, fraction) = split(self.shard_bits.split(hash).1, self.count);
        Address { bucket: bucket as usize, fingerprint: fraction >> (u64::BITS - self.fingerprint_bits) }
    }

    /// The hash of shard `shard` whose address this is.
    pub(super) fn hash(&self, shard: usize, address: Address) -> u64 {
        // The least multiple of `step` whose product with the count of buckets is not below the address: the product
        // grows by more than a fingerprint's lowest bit with each step.
        let product = u128::from(address.bucket as u64) << 64
            | u128::from(address.fingerprint) << (u64::BITS - self.fingerprint_bits);
        let step = 1_u128 << self.shard_bits.count();
        let rest = product.div_ceil(u128::from(self.count)).next_multiple_of(step);
        self.shard_bits.join(shard, rest as u64)
    }

    /// The alternate bucket of an entry.
    #[inline(always)]
    pub(super) fn alternate(&self, address: Address) -> usize {
        let (first, len) = self.group(address.bucket);
        let to = address.bucket - first + step(address.fingerprint, len);
        first + if to < len { to } else { to - len }
    }

    /// The primary bucket of an entry that is in `bucket`, its alternate one.
    #[inline(always)]
    pub(super) fn primary_of(&self, bucket: usize, fingerprint: u64) -> usize {
        let (first, len) = self.group(bucket);
        let (from, step) = (bucket - first, step(fingerprint, len));
        first + if from < step { from + len - step } else { from - step }
    }

    /// The first bucket of the group of `bucket`, and the number of buckets in that group. The last group is longer,
    /// not shorter.
    #[inline(always)]
    pub(super) fn group(&self, bucket: usize) -> (usize, usize) {
        let count = self.count as usize;
        let last = (count >> self.group_bits).max(1) - 1;
        let group = (bucket >> self.group_bits).min(last);
        let first = group << self.group_bits;
        (first, if group == last { count - first } else { 1 << self.group_bits })
    }
}

/// The distance to the alternate bucket in a group of `len`: less than `len`, and at least one if there are two
/// buckets.
#[inline(always)]
fn step(fingerprint: u64, len: usize) -> usize {
    let spread = fingerprint.wrapping_mul(SPREAD) >> 32;
    let far = 1 + ((spread * (len as u64 - 1)) >> 32) as usize;
    if far < len { far } else { 0 }
}

#[cfg(test)]
mod tests {
    use basalt_base::processor::{Loop, run_all};
    use basalt_base::words::WORDS;

    use super::*;

    /// The primary and alternate buckets of a group, and the words there.
    struct Both(BucketShape, [u64; WORDS], ShardBits, [u64; WORDS]);

    impl Loop for Both {
        type Output = [([u64; WORDS], [u64; WORDS]); 2];

        #[inline(always)]
        fn run<F: Form>(self) -> Self::Output {
            let Both(shape, hashes, shard_bits, counts) = self;
            let addresses = Addresses::<F>::of(shape, Words::of(hashes), shard_bits, Words::of(counts));
            [addresses.primary(), addresses.alternate()]
                .map(|(buckets, words)| (buckets.numbers(), words.numbers()))
        }
    }

    #[test]
    fn spots_of_a_group_are_those_of_each() {
        for shape in (0..=8).flat_map(BucketShape::known) {
            for round in 0..200_u64 {
                let number = |at: u64| (8 * round + at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let hashes: [u64; WORDS] = std::array::from_fn(|at| match (round + at as u64) % 20 {
                    // The first hash of a bucket has the fingerprint 0.
                    0 => 0,
                    1 => u64::MAX,
                    _ => number(at as u64),
                });
                let most = [1 << 3, 1 << 14, 1 << 24, 1 << 34][round as usize % 4];
                let counts: [u64; WORDS] = std::array::from_fn(|at| 1 + number(at as u64 + 100) % most);
                let shard_bits = ShardBits::of(1 << (round % 17));
                let expected = std::array::from_fn::<_, WORDS, _>(|at| {
                    let addressing = shape.addressing(counts[at], shard_bits);
                    let address = addressing.address(hashes[at]);
                    let in_primary = (address.bucket as u64, shape.word(address.fingerprint, true));
                    [
                        in_primary,
                        (addressing.alternate(address) as u64, shape.alternate_word(address.fingerprint)),
                    ]
                });
                for found in run_all(|| Both(shape, hashes, shard_bits, counts)) {
                    for (which, (buckets, words)) in found.into_iter().enumerate() {
                        for at in 0..WORDS {
                            let seen = (buckets[at], words[at]);
                            assert_eq!(seen, expected[at][which], "{shape:?} {} {which}", counts[at]);
                        }
                    }
                }
            }
        }
    }
}
