//! Puts the rows of a partition in order of hash, and keeps one a key.

use super::row_group::{Blocks, Partition};

/// Runs of rows that the distribution left together are sorted by insertion up to this length.
const INSERTION_ROWS_MAX: usize = 24;

/// Sorts one partition after the other in the same scratch space.
#[derive(Default)]
pub(super) struct Sorter {
    pub(super) sorted: Vec<(u64, u64)>,
    /// Where the next row of each group goes.
    ends: Vec<u32>,
}

impl Sorter {
    /// Distributes the rows over about as many groups as there are rows, by the bits behind the
    /// `high_bits` that all of them share, and then puts each group in order. Rows with one hash stay
    /// in their order.
    pub(super) fn sort(&mut self, partition: &Partition, memory: &Blocks, row_bytes: usize, high_bits: u32) {
        let group_bits = partition.rows.max(2).ilog2().min(20);
        let group = |hash: u64| (hash << high_bits >> (64 - group_bits)) as usize;
        self.ends.clear();
        self.ends.resize((1 << group_bits) + 1, 0);
        partition.rows(memory, row_bytes).for_each(|(hash, _)| self.ends[group(hash) + 1] += 1);
        for at in 1..self.ends.len() {
            self.ends[at] += self.ends[at - 1];
        }
        self.sorted.clear();
        self.sorted.resize(partition.rows, (0, 0));
        partition.rows(memory, row_bytes).for_each(|(hash, payload)| {
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
    pub(super) fn deduplicate(&mut self, same_key: &impl Fn(u64, u64) -> bool) {
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
