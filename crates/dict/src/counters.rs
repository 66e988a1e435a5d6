//! Counts lookups, and how many of them were found.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::stats::DictionaryStats;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    query_count: AtomicU64,
    found_count: AtomicU64,
    missed_count: AtomicU64,
}

impl Counters {
    /// Counts a lookup of a block: once for the block, so that threads do not contend for each key.
    pub(crate) fn add(&self, found: &[bool]) {
        self.add_rows(found.len(), found.iter().filter(|&&found| found).count());
    }

    /// Counts a lookup of `row_count` keys.
    pub(crate) fn add_rows(&self, row_count: usize, found_count: usize) {
        self.query_count.fetch_add(row_count as u64, Ordering::Relaxed);
        self.found_count.fetch_add(found_count as u64, Ordering::Relaxed);
    }

    /// Counts keys that a cache did not have, or whose rows had expired.
    pub(crate) fn add_missed(&self, missed_count: usize) {
        self.missed_count.fetch_add(missed_count as u64, Ordering::Relaxed);
    }

    pub(crate) fn fill(&self, stats: DictionaryStats) -> DictionaryStats {
        DictionaryStats {
            query_count: self.query_count.load(Ordering::Relaxed),
            found_count: self.found_count.load(Ordering::Relaxed),
            missed_count: self.missed_count.load(Ordering::Relaxed),
            ..stats
        }
    }
}
