//! Puts the rows of a block in order of partition, so that each partition takes its rows at once.
//!
//! Without this each row would touch a partition's own cache line and page, and there are more partitions than a core
//! keeps addresses of pages. Rows are counted first, so that no branch asks whether a partition is full: it would be
//! guessed wrong once for each time that one is.

use super::row_group::{RESERVED_BYTES, write_row};

/// Rows that are put in order together, a megabyte at most.
pub(super) const SCATTERED_ROWS: usize = 1 << 16;

/// Rows in order of partition, each as its partition has it.
#[derive(Debug, Default)]
pub(super) struct Scatter {
    /// Behind the rows of each partition there is room for what the last of them reserves.
    bytes: Vec<u8>,
    /// Where the next row of each partition goes, and at the end where its rows end.
    ends: Vec<usize>,
    /// Of each partition.
    counts: Vec<u32>,
    row_bytes: usize,
}

impl Scatter {
    /// Takes no more than [`SCATTERED_ROWS`], of which `payload` is told the number, and forgets those before.
    #[inline(always)]
    pub(super) fn put(
        &mut self,
        hashes: &[u64],
        payload: impl Fn(usize) -> u64,
        row_bytes: usize,
        partitions: usize,
        partition: impl Fn(u64) -> usize,
    ) {
        assert!(hashes.len() <= SCATTERED_ROWS, "a block comes in pieces");
        self.row_bytes = row_bytes;
        let Scatter { bytes, ends, counts, .. } = self;
        counts.clear();
        counts.resize(partitions, 0);
        let counts = counts.as_mut_slice();
        hashes.iter().for_each(|&hash| counts[partition(hash)] += 1);
        let mut end = 0;
        ends.clear();
        ends.extend(counts.iter().map(|&count| {
            let start = end;
            end += count as usize * row_bytes + RESERVED_BYTES;
            start
        }));
        // What is there from before is overwritten.
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        let (bytes, ends) = (bytes.as_mut_slice(), ends.as_mut_slice());
        for (row, &hash) in hashes.iter().enumerate() {
            let at = &mut ends[partition(hash)];
            write_row(bytes, *at, hash, payload(row));
            *at += row_bytes;
        }
    }

    /// The rows of each partition that has some.
    pub(super) fn partitions(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let rows = self.ends.iter().zip(&self.counts).enumerate().filter(|(_, (_, count))| **count > 0);
        rows.map(|(at, (&end, &count))| (at, &self.bytes[end - count as usize * self.row_bytes..end]))
    }
}
