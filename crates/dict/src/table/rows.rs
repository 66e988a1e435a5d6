//! The rows of a table while it loads.
//!
//! Rows arrive in any order and are scattered over partitions by the high bits of their hash. After the last row,
//! each partition is sorted by itself, in cache. The partitions, one after the other, give the table its cells in
//! order of hash. The memory of neighbouring partitions goes to the table as soon as their cells are written, so a
//! load takes the memory of the rows and of one table.

use basalt_base::Result;
use basalt_base::region::Region;

use super::row_group::{Blocks, Group, HASH_BYTES, Partition};
use super::row_sorter::Sorter;
use super::scatter::{SCATTERED_ROWS, Scatter};
use crate::hash::ShardBits;
use crate::payloads::Payloads;

/// Partitions that share blocks.
const PARTITIONS_A_GROUP: usize = 16;

/// The rows of partitions, which have equal ranges of hashes.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    groups: Vec<Group>,
    payload_bytes: usize,
    /// The bits of a hash that all rows share.
    shard_bits: ShardBits,
    partition_bits: ShardBits,
    /// Scratch space for the block that is being added.
    scatter: Scatter,
}

/// The rows of a partition.
pub(crate) struct PartitionRows<'a> {
    partition: &'a Partition,
    memory: &'a Blocks,
    row_bytes: usize,
}

impl<'a> PartitionRows<'a> {
    pub(crate) fn len(&self) -> usize {
        self.partition.rows
    }

    #[inline(always)]
    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> + use<'a> {
        self.partition.rows(self.memory, self.row_bytes).map(|row| row.1)
    }
}

impl Rows {
    /// No rows yet; all will be of one shard.
    pub(crate) fn new(payload_bytes: usize, shard_bits: ShardBits, partitions: usize) -> Rows {
        assert!(payload_bytes <= size_of::<u64>());
        let partition_bits = ShardBits::of(partitions);
        let groups = partitions.div_ceil(PARTITIONS_A_GROUP);
        let groups = (0..groups).map(|_| Group::new(partitions.min(PARTITIONS_A_GROUP))).collect();
        Rows { groups, payload_bytes, shard_bits, partition_bits, scatter: Scatter::default() }
    }

    /// Adds a block of rows.
    pub(crate) fn push(&mut self, hashes: &[u64], payloads: &Payloads) -> Result<()> {
        match payloads {
            Payloads::Each(payloads) => self.push_rows(hashes, |row| payloads[row]),
            Payloads::Numbers(numbers) => self.push_rows(hashes, |row| numbers.start + row as u64),
        }
    }

    /// [`Rows::push`]; `payload` maps the number of a row in the block to its payload.
    fn push_rows(&mut self, hashes: &[u64], payload: impl Fn(usize) -> u64) -> Result<()> {
        let (row_bytes, partitions) = (self.row_bytes(), 1 << self.partition_bits.count());
        let Rows { groups, scatter, shard_bits, partition_bits, .. } = self;
        // Copies stay in registers.
        let (shard_bits, partition_bits) = (*shard_bits, *partition_bits);
        let partition = move |hash| partition_bits.split(shard_bits.split(hash).1).0;
        for (piece, hashes) in hashes.chunks(SCATTERED_ROWS).enumerate() {
            let payload = |row| payload(piece * SCATTERED_ROWS + row);
            scatter.put(hashes, payload, row_bytes, partitions, partition);
            for (at, rows) in scatter.partitions() {
                groups[at / PARTITIONS_A_GROUP].extend(at % PARTITIONS_A_GROUP, rows, row_bytes)?;
            }
        }
        Ok(())
    }

    /// The rows of all shards as those of each of `count` shards, a power of two not greater than the number of groups.
    pub(crate) fn split(self, count: usize) -> Vec<Rows> {
        assert!(self.shard_bits == ShardBits::default(), "the rows are of all shards");
        let (shard_bits, payload_bytes) = (ShardBits::of(count), self.payload_bytes);
        let each = self.groups.len() / count;
        let partition_bits = ShardBits::of((1 << self.partition_bits.count()) / count);
        let mut groups = self.groups.into_iter();
        let shard = |_| Rows {
            groups: groups.by_ref().take(each).collect(),
            payload_bytes,
            shard_bits,
            partition_bits,
            scatter: Scatter::default(),
        };
        (0..count).map(shard).collect()
    }

    fn row_bytes(&self) -> usize {
        HASH_BYTES + self.payload_bytes
    }

    pub(crate) fn shard_bits(&self) -> ShardBits {
        self.shard_bits
    }

    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.partitions().map(|partition| partition.len()).sum()
    }

    /// All rows in the order of partitions.
    pub(super) fn partitions(&self) -> impl Iterator<Item = PartitionRows<'_>> {
        let row_bytes = self.row_bytes();
        self.groups.iter().flat_map(move |Group { partitions, memory }| {
            partitions.iter().map(move |partition| PartitionRows { partition, memory, row_bytes })
        })
    }

    /// Sorts by hash and keeps the last row of each key. `same_key` compares the keys of two rows with the same hash
    /// by their payloads.
    pub(crate) fn sort_and_deduplicate(&mut self, same_key: impl Fn(u64, u64) -> bool) -> Result<()> {
        let row_bytes = self.row_bytes();
        let high_bits = self.shard_bits.count() + self.partition_bits.count();
        // There are no more blocks.
        self.scatter = Scatter::default();
        let mut sorter = Sorter::default();
        for Group { partitions, memory } in &mut self.groups {
            for partition in partitions {
                sorter.sort(partition, memory, row_bytes, high_bits);
                sorter.deduplicate(&same_key);
                partition.write_again(memory, &sorter.sorted, row_bytes);
            }
        }
        Ok(())
    }

    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> + '_ {
        self.partitions().flat_map(|partition| partition.payloads())
    }

    /// Visits the payloads of all rows, a partition at a time.
    pub(crate) fn for_each_block(&self, mut visit: impl FnMut(&[u64])) {
        let mut block = Vec::new();
        for partition in self.partitions() {
            block.clear();
            block.reserve(partition.len());
            partition.payloads().for_each(|payload| block.push(payload));
            visit(&block);
        }
    }

    /// Visits hash and payload of all rows in order, and frees each group after its last row.
    #[inline(always)]
    pub(crate) fn drain(self, visit: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
        self.drain_into(&mut Visitor(visit))
    }

    /// Gives all rows to `sink` in order, and then the memory that they were in.
    #[inline(always)]
    pub(super) fn drain_into(self, sink: &mut impl RowSink) -> Result<()> {
        let row_bytes = self.row_bytes();
        for Group { partitions, memory } in self.groups {
            for partition in &partitions {
                partition.chunks(&memory, row_bytes).try_for_each(|rows| sink.take(rows))?;
            }
            memory.blocks.into_iter().for_each(|block| sink.give(block));
        }
        Ok(())
    }
}

/// Takes sorted rows.
pub(super) trait RowSink {
    /// Takes rows in their order.
    fn take(&mut self, rows: impl Iterator<Item = (u64, u64)>) -> Result<()>;

    /// Takes memory whose rows were taken.
    fn give(&mut self, memory: Region);
}

struct Visitor<V>(V);

impl<V: FnMut(u64, u64) -> Result<()>> RowSink for Visitor<V> {
    #[inline(always)]
    fn take(&mut self, mut rows: impl Iterator<Item = (u64, u64)>) -> Result<()> {
        rows.try_for_each(|(hash, payload)| (self.0)(hash, payload))
    }

    fn give(&mut self, memory: Region) {
        drop(memory);
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
            let mut rows = Rows::new(2, ShardBits::default(), 2 * PARTITIONS_A_GROUP);
            let payloads: Vec<u64> = (0..keys.len() as u64).collect();
            rows.push(&keys, &Payloads::Each(payloads.clone())).expect("memory");
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
        rows.push(&[42; 6], &Payloads::Numbers(0..6)).expect("memory");
        rows.sort_and_deduplicate(|left, right| left % 3 == right % 3).expect("memory");
        assert_eq!(rows.payloads().collect::<Vec<_>>(), [3, 4, 5]);
    }

    #[test]
    fn payloads_of_every_width_come_back() {
        let rows_of_all = SCATTERED_ROWS as u64 + 5000;
        for payload_bytes in 0..=8 {
            let mut rows = Rows::new(payload_bytes, ShardBits::default(), 2);
            let mask = u64::MAX.checked_shr(64 - 8 * payload_bytes as u32).unwrap_or(0);
            let expected: Vec<(u64, u64)> =
                (0..rows_of_all).map(|row| (row << 47, row << 3 & mask)).collect();
            let (hashes, payloads): (Vec<u64>, Vec<u64>) = expected.iter().copied().unzip();
            rows.push(&hashes, &Payloads::Each(payloads)).expect("memory");
            let mut payloads = Vec::new();
            rows.for_each_block(|block| payloads.extend_from_slice(block));
            assert_eq!(payloads, expected.iter().map(|row| row.1).collect::<Vec<_>>());
            assert_eq!(entries(rows), expected);
        }
    }
}
