//! Orders the rows of a block by partition, so that each partition takes its rows at once.
//!
//! Otherwise each row would touch a cache line and page of its partition, and there are more partitions than entries
//! of a TLB. Rows are counted first: a branch on a full partition would be mispredicted each time that one is full.

use super::row_group::{RESERVED_BYTES, write_row};

/// Rows that are ordered together, a megabyte at most.
pub(super) const SCATTERED_ROWS: usize = 1 << 16;

/// Rows in order of partition, in the format of partitions.
#[derive(Debug, Default)]
pub(super) struct Scatter {
    /// After the rows of each partition, there is room for the bytes that the last row reserves.
    bytes: Vec<u8>,
    /// Where the next row of each partition goes. After the last row, where its rows end.
    ends: Vec<usize>,
    /// The rows of each partition.
    counts: Vec<u32>,
    row_bytes: usize,
}

impl Scatter {
    /// Takes at most [`SCATTERED_ROWS`] rows in place of the old ones. `payload` maps the number of a row to its
    /// payload.
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
        // Old contents are overwritten.
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

    /// The rows of each partition that is not empty.
    pub(super) fn partitions(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let rows = self.ends.iter().zip(&self.counts).enumerate().filter(|(_, (_, count))| **count > 0);
        rows.map(|(at, (&end, &count))| (at, &self.bytes[end - count as usize * self.row_bytes..end]))
    }
}
