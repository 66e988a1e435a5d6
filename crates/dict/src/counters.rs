//! How often a dictionary was asked, and how often it knew.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::stats::DictionaryStats;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    query_count: AtomicU64,
    found_count: AtomicU64,
    missed_count: AtomicU64,
}

impl Counters {
    /// Counts a lookup of a block: once a block, not once a key, so that threads do not fight over it.
    pub(crate) fn add(&self, found: &[bool]) {
        self.add_rows(found.len(), found.iter().filter(|&&found| found).count());
    }

    /// The same of a block of so many rows.
    pub(crate) fn add_rows(&self, row_count: usize, found_count: usize) {
        self.query_count.fetch_add(row_count as u64, Ordering::Relaxed);
        self.found_count.fetch_add(found_count as u64, Ordering::Relaxed);
    }

    /// Counts the rows of a lookup whose keys a cache did not have, or had too long.
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
