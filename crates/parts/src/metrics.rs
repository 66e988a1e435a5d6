//! Counters of reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Summed in nanoseconds: most reads take less than a microsecond.
const NS_PER_US: u64 = 1000;

/// Counters shared by many readers. They only grow.
#[derive(Debug, Default)]
pub struct ReadMetrics {
    compressed_bytes: AtomicU64,
    uncompressed_bytes: AtomicU64,
    disk_read_ns: AtomicU64,
    decode_ns: AtomicU64,
    rows: AtomicU64,
    marks: AtomicU64,
}

/// The values of the counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSnapshot {
    /// Bytes read from files.
    pub compressed_bytes: u64,
    /// Bytes after decoding.
    pub uncompressed_bytes: u64,
    /// Time inside the system's read call.
    pub disk_read_us: u64,
    /// Time spent on checksums and decoding.
    pub decode_us: u64,
    /// Rows returned.
    pub rows: u64,
    /// Granules returned.
    pub marks: u64,
}

impl ReadMetrics {
    pub fn snapshot(&self) -> ReadSnapshot {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReadSnapshot {
            compressed_bytes: get(&self.compressed_bytes),
            uncompressed_bytes: get(&self.uncompressed_bytes),
            disk_read_us: get(&self.disk_read_ns) / NS_PER_US,
            decode_us: get(&self.decode_ns) / NS_PER_US,
            rows: get(&self.rows),
            marks: get(&self.marks),
        }
    }

    pub(crate) fn count_disk_read(&self, started: Instant, bytes: usize) {
        add(&self.disk_read_ns, started.elapsed().as_nanos() as u64);
        add(&self.compressed_bytes, bytes as u64);
    }

    pub(crate) fn count_decode(&self, started: Instant, bytes: usize) {
        add(&self.decode_ns, started.elapsed().as_nanos() as u64);
        add(&self.uncompressed_bytes, bytes as u64);
    }

    /// Counts rows and granules that reach a query, which readers of single columns cannot know.
    pub fn count_rows(&self, rows: usize, marks: usize) {
        add(&self.rows, rows as u64);
        add(&self.marks, marks as u64);
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
