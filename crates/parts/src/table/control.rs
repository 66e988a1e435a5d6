//! What a running merge or mutation tells of itself, and how others end it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::array::ArrayRef;

use super::events::MergeReason;
use crate::metrics::ReadMetrics;
use crate::part::volume::value_bytes;

/// Shared by who does the work and who looks on.
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
    /// That of this work and of others.
    memory_of_all: Option<WorkMemory>,
}

/// Bytes that merges hold together, about. Its clones are the same.
#[derive(Clone, Debug, Default)]
pub struct WorkMemory(Arc<AtomicU64>);

/// Memory that is held until it is dropped.
#[derive(Debug)]
pub(super) struct HeldMemory<'a> {
    control: &'a WorkControl,
    bytes: u64,
}

impl WorkControl {
    /// The same, of work whose memory counts in `all`.
    #[must_use]
    pub fn counted(mut self, all: &WorkMemory) -> WorkControl {
        self.memory_of_all = Some(all.clone());
        self
    }

    /// The same, of merges that there are for this reason.
    #[must_use]
    pub fn because_of(mut self, reason: MergeReason) -> WorkControl {
        self.reason = reason;
        self
    }

    /// Why there is the merge.
    pub fn reason(&self) -> MergeReason {
        self.reason
    }

    /// A merge or mutation begins: one control may be for several, one after the other.
    pub(super) fn begin(&self) {
        self.is_vertical.store(false, Ordering::Relaxed);
        for counter in [&self.rows_written, &self.bytes_written, &self.columns_written] {
            counter.store(0, Ordering::Relaxed);
        }
        self.peak_memory.store(self.memory_bytes(), Ordering::Relaxed);
    }

    /// The most that [`WorkControl::memory_bytes`] was since the work began.
    pub(super) fn peak_memory_bytes(&self) -> u64 {
        self.peak_memory.load(Ordering::Relaxed)
    }

    /// Bytes that the work holds, about: what was read of its inputs, and the batch that is made of them.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.load(Ordering::Relaxed)
    }

    /// Says that the work holds so many bytes more.
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

    /// Bytes of the values of these rows, decoded.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written.load(Ordering::Relaxed)
    }

    /// Columns that are written whole, of a merge that writes most of them one after the other.
    pub fn columns_written(&self) -> u64 {
        self.columns_written.load(Ordering::Relaxed)
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

    /// Answers with how many bytes they are.
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
