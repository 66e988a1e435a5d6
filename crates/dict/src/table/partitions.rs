//! The rows of one table while it loads.
//!
//! Rows arrive in any order and are scattered over partitions by the high bits of their hash. When the
//! last has come, each partition is sorted by itself, in cache, and the partitions in a row give the
//! table its cells in order of hash. A partition is freed as soon as its cells are written, so loading
//! takes the rows once plus the table once, never two tables.

use super::PackedTable;
use super::packed::PackedTableWriter;
use crate::hash::split;

const PARTITIONS: u64 = 256;

pub(crate) struct Partitions {
    parts: Vec<Partition>,
    payload_bytes: usize,
    /// How many tables share the hashes; see [`split`].
    places: u64,
}

#[derive(Default)]
struct Partition {
    hashes: Vec<u64>,
    payloads: Vec<u8>,
}

impl Partitions {
    /// Partitions of one of `places` tables.
    pub(crate) fn new(payload_bytes: usize, places: u64) -> Partitions {
        let parts = (0..PARTITIONS).map(|_| Partition::default()).collect();
        Partitions { parts, payload_bytes, places }
    }

    pub(crate) fn push(&mut self, hash: u64, payload: u64) {
        let rest = split(hash, self.places).1;
        let part = &mut self.parts[split(rest, PARTITIONS).0 as usize];
        part.hashes.push(hash);
        part.payloads.extend_from_slice(&payload.to_le_bytes()[..self.payload_bytes]);
    }

    /// Sorts by hash and keeps the last of the rows with one key. Rows with one hash have one key if
    /// `same_key` says so of their payloads.
    pub(crate) fn sort_and_deduplicate(&mut self, same_key: impl Fn(u64, u64) -> bool) {
        let mut order = Vec::new();
        for part in &mut self.parts {
            part.sort_and_deduplicate(&mut order, self.payload_bytes, &same_key);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.hashes.len()).sum()
    }

    pub(crate) fn payloads(&self) -> impl Iterator<Item = u64> + '_ {
        let payload = |part, row| Partition::payload(part, row, self.payload_bytes);
        self.parts.iter().flat_map(move |part| (0..part.hashes.len()).map(move |row| payload(part, row)))
    }

    /// The table of the sorted rows, each payload turned into `renamed(payload)`.
    pub(crate) fn into_table(self, max_load_factor: f64, renamed: impl Fn(u64) -> u64) -> PackedTable {
        let len = self.len();
        let mut writer = PackedTableWriter::new(len, max_load_factor, self.payload_bytes, self.places);
        for part in self.parts {
            for (row, &hash) in part.hashes.iter().enumerate() {
                writer.push(hash, renamed(part.payload(row, self.payload_bytes)));
            }
        }
        writer.finish()
    }
}

impl Partition {
    fn payload(&self, row: usize, payload_bytes: usize) -> u64 {
        let mut payload = [0; size_of::<u64>()];
        let at = row * payload_bytes;
        payload[..payload_bytes].copy_from_slice(&self.payloads[at..at + payload_bytes]);
        u64::from_le_bytes(payload)
    }

    /// `order` is scratch space.
    fn sort_and_deduplicate(
        &mut self,
        order: &mut Vec<(u64, usize)>,
        payload_bytes: usize,
        same_key: &impl Fn(u64, u64) -> bool,
    ) {
        order.clear();
        order.extend(self.hashes.iter().enumerate().map(|(row, &hash)| (hash, row)));
        order.sort_unstable();
        let mut sorted = Partition {
            hashes: Vec::with_capacity(order.len()),
            payloads: Vec::with_capacity(order.len() * payload_bytes),
        };
        for &(hash, row) in order.iter() {
            sorted.replace_or_push(hash, self.payload(row, payload_bytes), payload_bytes, same_key);
        }
        *self = sorted;
    }

    /// Puts a row over an earlier row with its key, else at the end.
    fn replace_or_push(
        &mut self,
        hash: u64,
        payload: u64,
        payload_bytes: usize,
        same_key: &impl Fn(u64, u64) -> bool,
    ) {
        let bytes = &payload.to_le_bytes()[..payload_bytes];
        for row in (0..self.hashes.len()).rev().take_while(|&row| self.hashes[row] == hash) {
            if same_key(self.payload(row, payload_bytes), payload) {
                self.payloads[row * payload_bytes..][..payload_bytes].copy_from_slice(bytes);
                return;
            }
        }
        self.hashes.push(hash);
        self.payloads.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_of_a_key_wins() {
        let mut rows = Partitions::new(4, 1);
        for payload in 0..1000 {
            rows.push((payload % 10) << 60, payload);
        }
        rows.sort_and_deduplicate(|_, _| true);
        let table = rows.into_table(0.5, |payload| payload + 1);
        let expected: Vec<_> = (0..10).map(|key| (key << 60, 990 + key + 1)).collect();
        assert_eq!(table.entries().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn different_keys_with_one_hash_stay_apart() {
        let mut rows = Partitions::new(4, 1);
        for payload in 0..6 {
            rows.push(42, payload);
        }
        rows.sort_and_deduplicate(|left, right| left % 3 == right % 3);
        assert_eq!(rows.payloads().collect::<Vec<_>>(), [3, 4, 5]);
    }
}
