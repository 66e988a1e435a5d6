//! Progress of a running merge or mutation, and its cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::array::ArrayRef;

use super::events::MergeReason;
use crate::metrics::ReadMetrics;
use crate::part::volume::value_bytes;

/// Shared between the worker and its observers.
#[derive(Debug, Default)]
pub struct WorkControl {
    is_cancelled: AtomicBool,
    keeps_expired: bool,
    metrics: Arc<ReadMetrics>,
    rows_written: AtomicU64,
    bytes_written: AtomicU64,
    columns_written: AtomicU64,
    is_vertical: AtomicBool,
    reason: MergeReason,
    memory: AtomicU64,
    peak_memory: AtomicU64,
    /// The memory of all work, including this.
    memory_of_all: Option<WorkMemory>,
}

/// Approximate bytes that all merges hold. Clones share the counter.
#[derive(Clone, Debug, Default)]
pub struct WorkMemory(Arc<AtomicU64>);

/// Memory that is counted until this is dropped.
#[derive(Debug)]
pub(super) struct HeldMemory<'a> {
    control: &'a WorkControl,
    bytes: u64,
}

impl WorkControl {
    /// Adds the memory of this work to `all`.
    #[must_use]
    pub fn counted(mut self, all: &WorkMemory) -> WorkControl {
        self.memory_of_all = Some(all.clone());
        self
    }

    /// Sets the reason of the merge.
    #[must_use]
    pub fn because_of(mut self, reason: MergeReason) -> WorkControl {
        self.reason = reason;
        self
    }

    /// The reason of the merge.
    pub fn reason(&self) -> MergeReason {
        self.reason
    }

    /// Begins a merge or mutation: one control may serve several in sequence.
    pub(super) fn begin(&self) {
        self.is_vertical.store(false, Ordering::Relaxed);
        for counter in [&self.rows_written, &self.bytes_written, &self.columns_written] {
            counter.store(0, Ordering::Relaxed);
        }
        self.peak_memory.store(self.memory_bytes(), Ordering::Relaxed);
    }

    /// The peak of [`WorkControl::memory_bytes`] since the work began.
    pub(super) fn peak_memory_bytes(&self) -> u64 {
        self.peak_memory.load(Ordering::Relaxed)
    }

    /// Approximate bytes that the work holds: inputs that were read, and the batch made from them.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Counts `bytes` more as held.
    pub(super) fn hold(&self, bytes: u64) -> HeldMemory<'_> {
        self.counters().for_each(|counter| {
            counter.fetch_add(bytes, Ordering::Relaxed);
        });
        self.peak_memory.fetch_max(self.memory_bytes(), Ordering::Relaxed);
        HeldMemory { control: self, bytes }
    }

    fn counters(&self) -> impl Iterator<Item = &AtomicU64> {
        let all = self.memory_of_all.as_ref().map(|all| &*all.0);
        std::iter::once(&self.memory).chain(all)
    }

    /// Cancels the work at its next batch: it fails and leaves no files.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The control of a merge that keeps expired rows.
    pub fn keeping_expired() -> WorkControl {
        WorkControl { keeps_expired: true, ..WorkControl::default() }
    }

    pub(super) fn keeps_expired(&self) -> bool {
        self.keeps_expired
    }

    /// Rows of the inputs read so far.
    pub fn rows_read(&self) -> u64 {
        self.metrics.snapshot().rows
    }

    /// Decoded bytes of the inputs read so far.
    pub fn bytes_read(&self) -> u64 {
        self.metrics.snapshot().uncompressed_bytes
    }

    /// Rows written to the new part so far.
    pub fn rows_written(&self) -> u64 {
        self.rows_written.load(Ordering::Relaxed)
    }

    /// Decoded bytes of the values of these rows.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written.load(Ordering::Relaxed)
    }

    /// Complete columns of a vertical merge.
    pub fn columns_written(&self) -> u64 {
        self.columns_written.load(Ordering::Relaxed)
    }

    /// Whether it is a vertical merge.
    pub fn is_vertical(&self) -> bool {
        self.is_vertical.load(Ordering::Relaxed)
    }

    pub(super) fn note_vertical(&self) {
        self.is_vertical.store(true, Ordering::Relaxed);
    }

    /// Counts rows that were read by work on other storage than parts.
    pub fn count_read(&self, rows: u64) {
        self.metrics.count_rows(usize::try_from(rows).unwrap_or(usize::MAX), 0);
    }

    pub(super) fn metrics(&self) -> &Arc<ReadMetrics> {
        &self.metrics
    }

    pub(super) fn count_written(&self, rows: usize) {
        self.rows_written.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Counts the bytes of written values and returns them.
    pub(super) fn count_written_bytes(&self, values: &ArrayRef) -> u64 {
        let bytes = value_bytes(values);
        self.bytes_written.fetch_add(bytes, Ordering::Relaxed);
        bytes
    }

    pub(super) fn count_columns(&self, columns: usize) {
        self.columns_written.fetch_add(columns as u64, Ordering::Relaxed);
    }
}

impl WorkMemory {
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for HeldMemory<'_> {
    fn drop(&mut self) {
        self.control.counters().for_each(|counter| {
            counter.fetch_sub(self.bytes, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_until_it_is_dropped() {
        let all = WorkMemory::default();
        let (one, other) = (WorkControl::default().counted(&all), WorkControl::default().counted(&all));
        let held = one.hold(100);
        let more = one.hold(20);
        let _others = other.hold(3);
        assert_eq!((one.memory_bytes(), all.bytes()), (120, 123));
        drop(held);
        assert_eq!((one.memory_bytes(), all.bytes()), (20, 23));
        drop(more);
        assert_eq!((one.memory_bytes(), all.bytes()), (0, 3));
    }
}
