//! Which parts to merge next: neighbours of similar size, so that each row is rewritten seldom.
//!
//! A range of neighbours is worth a merge when together they are several times as large as the largest
//! of them; then the count of rewrites of a row grows with the logarithm of the table. Among such
//! ranges the one with the most parts for its bytes wins, because parts are what reading pays for.

use std::sync::Arc;

use super::active::TableParts;
use crate::part::part::Part;

/// A merge holds a granule of each input in memory.
pub(super) const MERGED_PARTS_MAX: usize = 16;

/// How many times the largest part all of them must have together.
const BALANCE: u64 = 5;

/// What opening, seeking and a fixed share of memory cost, as bytes: keeps tiny parts comparable.
const PART_COST_BYTES: u64 = 64 << 10;

/// A part larger than this is left as it is.
const MERGED_BYTES_MAX: u64 = 150 << 30;

impl TableParts {
    /// Neighbouring parts that are worth a merge now, if there are any.
    pub fn select_merge(&self) -> Option<Vec<Arc<Part>>> {
        let parts = self.snapshot();
        let sizes: Vec<u64> = parts.iter().map(|part| part.compressed_bytes() + PART_COST_BYTES).collect();
        let mut best: Option<(f64, std::ops::Range<usize>)> = None;
        for start in 0..parts.len() {
            let (mut sum, mut largest) = (0, 0);
            let neighbours = parts[start..]
                .iter()
                .take_while(|part| part.name().partition == parts[start].name().partition);
            for end in start..start + neighbours.take(MERGED_PARTS_MAX).count() {
                sum += sizes[end];
                largest = largest.max(sizes[end]);
                let count = end + 1 - start;
                if count < 2 || sum < largest * BALANCE || sum > MERGED_BYTES_MAX {
                    continue;
                }
                let bytes_a_part = sum as f64 / (count - 1) as f64;
                if best.as_ref().is_none_or(|(least, _)| bytes_a_part < *least) {
                    best = Some((bytes_a_part, start..end + 1));
                }
            }
        }
        best.map(|(_, range)| parts[range].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use crate::table::tests::{TestTable, numbers};

    /// Inserting the same amount again and again leaves few parts, and few rewrites of each row.
    #[test]
    fn steady_inserts_are_merged_now_and_then() {
        let table = TestTable::new();
        let mut written = 0;
        for insert in 0..60 {
            table.parts.insert(numbers(insert * 10..insert * 10 + 10)).unwrap();
            while let Some(parts) = table.parts.select_merge() {
                written += parts.iter().map(|part| part.row_count()).sum::<u64>();
                table.parts.merge(&parts, &Default::default()).unwrap();
            }
        }
        let count = table.parts.snapshot().len();
        assert!(count < 15, "{count} parts are left");
        assert!(written < 600 * 4, "{written} rows were rewritten");
    }
}
