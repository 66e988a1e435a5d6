//! Sorts the rows of a partition by hash, and keeps one row of each key.

use super::row_group::{Blocks, Partition};

/// Groups of up to this many rows are sorted by insertion.
const INSERTION_ROWS_MAX: usize = 24;

/// Sorts one partition after the other in the same scratch space.
#[derive(Default)]
pub(super) struct Sorter {
    pub(super) sorted: Vec<(u64, u64)>,
    /// Where the next row of each group goes.
    ends: Vec<u32>,
    /// Whether some rows have the same hash.
    has_equal: bool,
}

impl Sorter {
    /// Distributes the rows over about as many groups as there are rows, by the bits after the `high_bits` that all
    /// of them share, and then sorts each group. Rows with the same hash keep their order.
    pub(super) fn sort(&mut self, partition: &Partition, memory: &Blocks, row_bytes: usize, high_bits: u32) {
        let group_bits = partition.rows.max(2).ilog2().min(20);
        let group = |hash: u64| (hash << high_bits >> (64 - group_bits)) as usize;
        self.ends.clear();
        self.ends.resize((1 << group_bits) + 1, 0);
        partition.rows(memory, row_bytes).for_each(|(hash, _)| self.ends[group(hash) + 1] += 1);
        let longest = self.ends.iter().copied().max().unwrap_or(0) as usize;
        for at in 1..self.ends.len() {
            self.ends[at] += self.ends[at - 1];
        }
        // Old contents are overwritten.
        self.sorted.resize(partition.rows, (0, 0));
        partition.rows(memory, row_bytes).for_each(|(hash, payload)| {
            let end = &mut self.ends[group(hash)];
            self.sorted[*end as usize] = (hash, payload);
            *end += 1;
        });
        if longest > INSERTION_ROWS_MAX {
            let mut start = 0;
            for &end in &self.ends[..1 << group_bits] {
                self.sorted[start..end as usize].sort_by_key(|row| row.0);
                start = end as usize;
            }
        }
        self.has_equal = insert_all(&mut self.sorted);
    }

    /// Keeps the last row of each key, in the place of the first one.
    pub(super) fn deduplicate(&mut self, same_key: &impl Fn(u64, u64) -> bool) {
        let rows = &mut self.sorted;
        if !self.has_equal {
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

/// Sorts rows that are almost in order by insertion, and returns whether some have the same hash; these keep their
/// order. Most rows are in their place, so the branch is well predicted. A branch on the length of each group would
/// not be.
fn insert_all(rows: &mut [(u64, u64)]) -> bool {
    let mut has_equal = false;
    let Some(&(mut last, _)) = rows.first() else { return has_equal };
    for at in 1..rows.len() {
        let row = rows[at];
        if row.0 > last {
            last = row.0;
            continue;
        }
        let mut to = at;
        while to > 0 && rows[to - 1].0 > row.0 {
            rows[to] = rows[to - 1];
            to -= 1;
        }
        rows[to] = row;
        has_equal |= to > 0 && rows[to - 1].0 == row.0;
    }
    has_equal
}
