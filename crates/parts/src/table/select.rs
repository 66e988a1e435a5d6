//! Selects parts to merge: neighbours of similar size, so that rows are rewritten seldom.
//!
//! A range of neighbours qualifies when it is several times as large as its largest part; then the number of
//! rewrites of a row is logarithmic in the size of the table. Among such ranges the one with the most parts for its
//! bytes wins, because reading pays for parts.

use std::sync::Arc;

use super::active::TableParts;
use crate::part::view::Part;

/// A merge holds a granule of each input in memory.
pub(super) const MERGED_PARTS_MAX: usize = 16;

/// The least ratio of the sum to the largest part.
const BALANCE: u64 = 5;

/// The cost of a part besides its bytes (opening, seeking, memory), which makes tiny parts comparable.
const PART_COST_BYTES: u64 = 64 << 10;

impl TableParts {
    /// Neighbouring parts that are worth a merge now: none is claimed, and together they have at most `bytes_max`
    /// bytes.
    pub fn select_merge(&self, bytes_max: u64) -> Option<Vec<Arc<Part>>> {
        let parts = self.snapshot();
        let bytes_max = bytes_max.min(self.spec().merges.bytes_max);
        let mut best: Option<(f64, &[Arc<Part>])> = None;
        let mut rest = &parts[..];
        while !rest.is_empty() {
            let is_free = |part: &&Arc<Part>| !self.claims.is_busy(part) && self.may_join(&rest[0], part);
            let run = rest.iter().take_while(is_free).count();
            if let Some((bytes_a_part, group)) = best_from(&rest[..run], bytes_max)
                && best.is_none_or(|(least, _)| bytes_a_part < least)
            {
                best = Some((bytes_a_part, group));
            }
            rest = &rest[1..];
        }
        best.map(|(_, group)| group.to_vec())
    }

    /// Neighbouring parts that can be merged now: those that are worth it, or else the longest range.
    pub(super) fn select_any(&self, partition: Option<&str>) -> Option<Vec<Arc<Part>>> {
        let fits = |name: &str| partition.is_none_or(|only| only == name);
        if let Some(parts) = self.select_merge(u64::MAX)
            && fits(&parts[0].name().partition)
        {
            return Some(parts);
        }
        let parts = self.snapshot();
        let is_free = |part: &Arc<Part>| !self.claims.is_busy(part);
        let runs = parts.chunk_by(|a, b| is_free(a) && is_free(b) && self.may_join(a, b));
        let most = runs.filter(|run| fits(&run[0].name().partition)).max_by_key(|run| run.len())?;
        (most.len() > 1).then(|| most[..most.len().min(MERGED_PARTS_MAX)].to_vec())
    }

    /// Whether the parts are of one partition and have the same mutations applied.
    pub(super) fn may_join(&self, a: &Part, b: &Part) -> bool {
        a.name().partition == b.name().partition && self.mutations_applied(a) == self.mutations_applied(b)
    }
}

/// The range of neighbours that begins with the first part and costs the fewest bytes for each part that the merge
/// saves, and that cost.
fn best_from(parts: &[Arc<Part>], bytes_max: u64) -> Option<(f64, &[Arc<Part>])> {
    let (mut sum, mut largest) = (0, 0);
    let mut best = None;
    for (saved, part) in parts.iter().enumerate().take(MERGED_PARTS_MAX) {
        let size = part.compressed_bytes() + PART_COST_BYTES;
        sum += size;
        largest = largest.max(size);
        if saved == 0 || sum < largest * BALANCE || sum > bytes_max {
            continue;
        }
        let bytes_a_part = sum as f64 / saved as f64;
        if best.is_none_or(|(least, _)| bytes_a_part < least) {
            best = Some((bytes_a_part, &parts[..=saved]));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use crate::table::tests::{TestTable, numbers};

    /// Steady inserts of equal size leave few parts, and few rewrites of each row.
    #[test]
    fn steady_inserts_are_merged_now_and_then() {
        let table = TestTable::new();
        let mut written = 0;
        for insert in 0..60 {
            table.parts.insert(numbers(insert * 10..insert * 10 + 10)).unwrap();
            while let Some(parts) = table.parts.select_merge(u64::MAX) {
                written += parts.iter().map(|part| part.row_count()).sum::<u64>();
                table.parts.merge(&parts, &Default::default()).unwrap();
            }
        }
        let count = table.parts.snapshot().len();
        assert!(count < 15, "{count} parts are left");
        assert!(written < 600 * 6, "{written} rows were rewritten");
    }
}
