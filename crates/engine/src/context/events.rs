//! Profile events: what a query did, counted where it happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_parts::ReadMetrics;

/// The counters of one query. Names are ClickHouse's.
#[derive(Debug, Default)]
pub(crate) struct ProfileEvents {
    /// Counted by the readers of parts: bytes, marks, and time in the system's read call.
    pub(crate) reads: Arc<ReadMetrics>,
    pub(crate) selected_parts: AtomicU64,
    pub(crate) selected_marks: AtomicU64,
    pub(crate) key_lookups: AtomicU64,
    /// Parts with and without an entry in the condition cache.
    pub(crate) condition_cache_hits: AtomicU64,
    pub(crate) condition_cache_misses: AtomicU64,
}

impl ProfileEvents {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// Names and values of the events that happened, by name. `elapsed_us` is the query's wall time.
    pub(crate) fn snapshot(
        &self,
        progress: &crate::ProgressSnapshot,
        elapsed_us: u64,
    ) -> Vec<(&'static str, u64)> {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let reads = self.reads.snapshot();
        let mut events = vec![
            ("CompressedReadBufferBytes", reads.uncompressed_bytes),
            ("DiskReadElapsedMicroseconds", reads.disk_read_us),
            ("InsertedBytes", progress.written_bytes),
            ("InsertedRows", progress.written_rows),
            ("KeyLookups", get(&self.key_lookups)),
            ("QueryConditionCacheHits", get(&self.condition_cache_hits)),
            ("QueryConditionCacheMisses", get(&self.condition_cache_misses)),
            ("ReadCompressedBytes", reads.compressed_bytes),
            ("RealTimeMicroseconds", elapsed_us),
            ("SelectedBytes", progress.read_bytes),
            ("SelectedMarks", get(&self.selected_marks)),
            ("SelectedParts", get(&self.selected_parts)),
            ("SelectedRows", progress.read_rows),
        ];
        let always = ["DiskReadElapsedMicroseconds", "RealTimeMicroseconds", "SelectedRows", "SelectedMarks"];
        events.retain(|(name, count)| *count > 0 || always.contains(name));
        events
    }
}
