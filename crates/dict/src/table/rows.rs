//! The rows of a table while it loads.
//!
//! Rows arrive in any order and are scattered over partitions by the high bits of their hash. When the
//! last has come, each partition is sorted by itself, in cache, and the partitions in a row give a
//! table its cells in order of hash. A partition is freed as soon as its cells are written, so loading
//! takes the rows once plus the table once, never two tables.

use basalt_base::Result;
use basalt_base::region::Region;

use crate::hash::ShardBits;

const HASH_BYTES: usize = size_of::<u64>();
/// A row takes this many bytes of the place that it is written to, though the next begins before.
const RESERVED_BYTES: usize = 2 * HASH_BYTES;
/// The first chunk of a partition, and the largest: a chunk has as many bytes as all before it. They are memory of
/// their own, which the system has back as soon as they were read, whatever the allocator would keep; what was not
/// written takes none, since they are too small for huge pages.
const CHUNK_BYTES_MIN: usize = 16 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Runs of rows that the distribution left together are sorted by insertion up to this length.
const INSERTION_ROWS_MAX: usize = 24;

/// Rows of an equal range of hashes for each partition.
#[derive(Debug)]
pub(crate) struct Rows {
    partitions: Vec<Partition>,
    payload_bytes: usize,
    /// Of a hash: the bits that all rows here share.
    shard_bits: ShardBits,
    partition_bits: ShardBits,
}

#[derive(Debug, Default)]
struct Partition {
    /// All but the last are full.
    chunks: Vec<Chunk>,
    rows: usize,
}

/// Hash and payload of some rows, back to back.
#[derive(Debug)]
struct Chunk {
    bytes: Region,
    used: usize,
}

impl Rows {
    /// No rows, to come from one of the shards that `shard_bits` tell apart.
    pub(crate) fn new(payload_bytes: usize, shard_bits: ShardBits, partitions: usize) -> Rows {
        assert!(payload_bytes <= size_of::<u64>());
        let partition_bits = ShardBits::of(partitions);
        let partitions = (0..partitions).map(|_| Partition::default()).collect();
        Rows { partitions, payload_bytes, shard_bits, partition_bits }
    }

    pub(crate) fn push(&mut self, hashes: &[u64], payloads: &[u64]) -> Result<()> {
        let row_bytes = HASH_BYTES + self.payload_bytes;
        for (&hash, &payload) in hashes.iter().zip(payloads) {
            let at = self.partition_bits.split(self.shard_bits.split(hash).1).0;
            self.partitions[at].push(hash, payload, row_bytes)?;
        }
        Ok(())
    }

    /// The same rows as those of `count` shards, a power of two that is not above that of partitions.
    pub(crate) fn split(self, count: usize) -> Vec<Rows> {
        assert!(self.shard_bits == ShardBits::default(), "the rows are of all shards");
        let (shard_bits, payload_bytes) = (ShardBits::of(count), self.payload_bytes);
        let each = self.partitions.len() / count;
        let partition_bits = ShardBits::of(each);
        let mut partitions = self.partitions.into_iter();
        let shard = |_| Rows {
            partitions: partitions.by_ref().take(each).collect(),
            payload_bytes,
            shard_bits,
            partition_bits,
        };
        (0..count).map(shard).collect()
    }

    pub(crate) fn shard_bits(&self) -> ShardBits {
        self.shard_bits
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.partitions.iter().map(|partition| partition.rows).sum()
    }

    /// Sorts by hash and keeps the last of the rows with one key. Rows with one hash have one key if
    /// `same_key` says so of their payloads.
    pub(crate) fn sort_and_deduplicate(&mut self, same_key: impl Fn(u64, u64) -> bool) -> Result<()> {
        let row_bytes = HASH_BYTES + self.payload_bytes;
        let high_bits = self.shard_bits.count() + self.partition_bits.count();
        let mut sorter = Sorter::default();
        for partition in &mut self.partitions {
            sorter.sort(partition, row_bytes, high_bits);
            sorter.deduplicate(&same_key);
            partition.write_again(&sorter.sorted, row_bytes);
        }
        Ok(())
    }

    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> + '_ {
        let row_bytes = HASH_BYTES + self.payload_bytes;
        self.partitions.iter().flat_map(move |partition| partition.rows(row_bytes)).map(|row| row.1)
    }

    /// Hands out the payloads of all rows, a partition's at a time.
    pub(crate) fn for_each_block(&self, mut visit: impl FnMut(&[u64])) {
        let row_bytes = HASH_BYTES + self.payload_bytes;
        let mut block = Vec::new();
        for partition in &self.partitions {
            block.clear();
            block.reserve(partition.rows);
            partition.for_each(row_bytes, |_, payload| block.push(payload));
            visit(&block);
        }
    }

    /// Hands out hash and payload of all rows in their order; a chunk is freed once it was read.
    #[inline(always)]
    pub(crate) fn drain(self, mut visit: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
        let row_bytes = HASH_BYTES + self.payload_bytes;
        for chunk in self.partitions.into_iter().flat_map(|partition| partition.chunks) {
            for at in (0..chunk.used).step_by(row_bytes) {
                let (hash, payload) = chunk.row(at, row_bytes);
                visit(hash, payload)?;
            }
        }
        Ok(())
    }
}

impl Partition {
    #[inline(always)]
    fn push(&mut self, hash: u64, payload: u64, row_bytes: usize) -> Result<()> {
        if self.chunks.last().is_none_or(|chunk| chunk.bytes.len() < chunk.used + RESERVED_BYTES) {
            self.start_chunk((self.rows * row_bytes).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX))?;
        }
        let chunk = self.chunks.last_mut().expect("a chunk was started");
        chunk.write(chunk.used, hash, payload);
        chunk.used += row_bytes;
        self.rows += 1;
        Ok(())
    }

    #[cold]
    fn start_chunk(&mut self, bytes: usize) -> Result<()> {
        self.chunks.push(Chunk { bytes: Region::zeroed(bytes)?, used: 0 });
        Ok(())
    }

    /// Puts `rows`, no more than there are, in the place of those that are there.
    fn write_again(&mut self, rows: &[(u64, u64)], row_bytes: usize) {
        let mut left = rows;
        for chunk in &mut self.chunks {
            let (now, later) = left.split_at((chunk.used / row_bytes).min(left.len()));
            for (row, &(hash, payload)) in now.iter().enumerate() {
                chunk.write(row * row_bytes, hash, payload);
            }
            chunk.used = now.len() * row_bytes;
            left = later;
        }
        self.rows = rows.len();
    }

    /// Hands out all rows in their order.
    #[inline(always)]
    fn for_each(&self, row_bytes: usize, mut visit: impl FnMut(u64, u64)) {
        for chunk in &self.chunks {
            for at in (0..chunk.used).step_by(row_bytes) {
                let (hash, payload) = chunk.row(at, row_bytes);
                visit(hash, payload);
            }
        }
    }

    fn rows(&self, row_bytes: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.chunks
            .iter()
            .flat_map(move |chunk| (0..chunk.used).step_by(row_bytes).map(move |at| chunk.row(at, row_bytes)))
    }
}

impl Chunk {
    /// Writes a row, and zeroes or another's bytes behind it, as far as it reserves.
    #[inline(always)]
    fn write(&mut self, at: usize, hash: u64, payload: u64) {
        let to = self.bytes[at..].first_chunk_mut::<RESERVED_BYTES>();
        let to = to.expect("a row has all the bytes that it reserves");
        *to = (u128::from(payload) << 64 | u128::from(hash)).to_le_bytes();
    }

    #[inline(always)]
    fn row(&self, at: usize, row_bytes: usize) -> (u64, u64) {
        let bytes: &[u8; RESERVED_BYTES] =
            self.bytes[at..].first_chunk().expect("a row has all the bytes that it reserves");
        let (hash, payload) = bytes.split_at(HASH_BYTES);
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("half of sixteen bytes"));
        let mask = u64::MAX.checked_shr((8 * (RESERVED_BYTES - row_bytes)) as u32).unwrap_or(0);
        (word(hash), word(payload) & mask)
    }
}

/// Sorts one partition after the other in the same scratch space.
#[derive(Default)]
struct Sorter {
    sorted: Vec<(u64, u64)>,
    /// Where the next row of each group goes.
    ends: Vec<u32>,
}

impl Sorter {
    /// Distributes the rows over about as many groups as there are rows, by the bits behind the
    /// `high_bits` that all of them share, and then puts each group in order. Rows with one hash stay
    /// in their order.
    fn sort(&mut self, partition: &Partition, row_bytes: usize, high_bits: u32) {
        let group_bits = partition.rows.max(2).ilog2().min(20);
        let group = |hash: u64| (hash << high_bits >> (64 - group_bits)) as usize;
        self.ends.clear();
        self.ends.resize((1 << group_bits) + 1, 0);
        partition.for_each(row_bytes, |hash, _| self.ends[group(hash) + 1] += 1);
        for at in 1..self.ends.len() {
            self.ends[at] += self.ends[at - 1];
        }
        self.sorted.clear();
        self.sorted.resize(partition.rows, (0, 0));
        partition.for_each(row_bytes, |hash, payload| {
            let end = &mut self.ends[group(hash)];
            self.sorted[*end as usize] = (hash, payload);
            *end += 1;
        });
        let mut start = 0;
        for &end in &self.ends[..1 << group_bits] {
            sort_group(&mut self.sorted[start..end as usize]);
            start = end as usize;
        }
    }

    /// Keeps the last of the rows with one key, in the place of the first.
    fn deduplicate(&mut self, same_key: &impl Fn(u64, u64) -> bool) {
        let rows = &mut self.sorted;
        if rows.is_sorted_by(|left, right| left.0 < right.0) {
            return;
        }
        let mut kept = 0;
        for at in 0..rows.len() {
            let (hash, payload) = rows[at];
            let run = rows[..kept].iter().rposition(|row| row.0 != hash).map_or(0, |before| before + 1);
            let earlier = (run..kept).find(|&at| same_key(rows[at].1, payload));
            let to = earlier.unwrap_or(kept);
            rows[to] = (hash, payload);
            kept = kept.max(to + 1);
        }
        rows.truncate(kept);
    }
}

/// Sorts by hash; rows with one hash stay in their order.
#[inline(always)]
fn sort_group(rows: &mut [(u64, u64)]) {
    if rows.len() > INSERTION_ROWS_MAX {
        rows.sort_by_key(|row| row.0);
        return;
    }
    for at in 1..rows.len() {
        let row = rows[at];
        let mut to = at;
        while to > 0 && rows[to - 1].0 > row.0 {
            rows[to] = rows[to - 1];
            to -= 1;
        }
        rows[to] = row;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn entries(rows: Rows) -> Vec<(u64, u64)> {
        let mut entries = Vec::new();
        let outcome = rows.drain(|hash, payload| {
            entries.push((hash, payload));
            Ok(())
        });
        outcome.expect("entries are taken");
        entries
    }

    proptest! {
        #[test]
        fn the_last_row_of_a_key_wins(
            keys in prop::collection::vec(prop_oneof![any::<u64>(), 0..9_u64, (0..200_u64).prop_map(|key| key << 40)], 0..400),
        ) {
            let mut rows = Rows::new(2, ShardBits::default(), 4);
            let payloads: Vec<u64> = (0..keys.len() as u64).collect();
            rows.push(&keys, &payloads).expect("memory");
            rows.sort_and_deduplicate(|_, _| true).expect("memory");
            let model: BTreeMap<u64, u64> = keys.iter().copied().zip(payloads).collect();
            prop_assert_eq!(rows.len(), model.len());
            prop_assert_eq!(rows.payloads().collect::<Vec<_>>(), model.values().copied().collect::<Vec<_>>());
            let halves = rows.split(2).into_iter().flat_map(entries);
            prop_assert_eq!(halves.collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn different_keys_with_one_hash_stay_apart() {
        let mut rows = Rows::new(4, ShardBits::default(), 1);
        rows.push(&[42; 6], &[0, 1, 2, 3, 4, 5]).expect("memory");
        rows.sort_and_deduplicate(|left, right| left % 3 == right % 3).expect("memory");
        assert_eq!(rows.payloads().collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn payloads_of_every_width_come_back() {
        for payload_bytes in 0..=8 {
            let mut rows = Rows::new(payload_bytes, ShardBits::default(), 2);
            let mask = u64::MAX.checked_shr(64 - 8 * payload_bytes as u32).unwrap_or(0);
            let expected: Vec<(u64, u64)> = (0..5000_u64).map(|row| (row << 50, row << 3 & mask)).collect();
            let (hashes, payloads): (Vec<u64>, Vec<u64>) = expected.iter().copied().unzip();
            rows.push(&hashes, &payloads).expect("memory");
            let mut payloads = Vec::new();
            rows.for_each_block(|block| payloads.extend_from_slice(block));
            assert_eq!(payloads, expected.iter().map(|row| row.1).collect::<Vec<_>>());
            assert_eq!(entries(rows), expected);
        }
    }
}
