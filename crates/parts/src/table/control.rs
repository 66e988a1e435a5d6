//! What a running merge or mutation tells of itself, and how others end it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::metrics::ReadMetrics;

/// Shared by who does the work and who looks on.
#[derive(Debug, Default)]
pub struct WorkControl {
    is_cancelled: AtomicBool,
    keeps_expired: bool,
    metrics: Arc<ReadMetrics>,
    rows_written: AtomicU64,
    is_vertical: AtomicBool,
}

impl WorkControl {
    /// Lets the work end at its next batch, with an error and without a trace.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Of a merge that leaves expired rows as they are.
    pub fn keeping_expired() -> WorkControl {
        WorkControl { keeps_expired: true, ..WorkControl::default() }
    }

    pub(super) fn keeps_expired(&self) -> bool {
        self.keeps_expired
    }

    /// Rows of the inputs that were read so far.
    pub fn rows_read(&self) -> u64 {
        self.metrics.snapshot().rows
    }

    /// Bytes of the inputs that were read so far, decoded.
    pub fn bytes_read(&self) -> u64 {
        self.metrics.snapshot().uncompressed_bytes
    }

    /// Rows that went to the new part so far.
    pub fn rows_written(&self) -> u64 {
        self.rows_written.load(Ordering::Relaxed)
    }

    /// Whether it is a merge that writes most columns one after the other.
    pub fn is_vertical(&self) -> bool {
        self.is_vertical.load(Ordering::Relaxed)
    }

    pub(super) fn note_vertical(&self) {
        self.is_vertical.store(true, Ordering::Relaxed);
    }

    pub(super) fn metrics(&self) -> &Arc<ReadMetrics> {
        &self.metrics
    }

    pub(super) fn count_written(&self, rows: usize) {
        self.rows_written.fetch_add(rows as u64, Ordering::Relaxed);
    }
}
