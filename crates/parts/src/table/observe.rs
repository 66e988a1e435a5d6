//! Reports the events of parts to the observer of a table.

use std::sync::Arc;

use super::active::TableParts;
use super::control::WorkControl;
use super::events::{PartEvent, PartEventKind, PartFigures, PartObserver};
use crate::error::{Error, Result};
use crate::key::partition::PartitionValue;
use crate::metrics::ReadSnapshot;
use crate::name::PartName;
use crate::part::view::Part;

/// A running merge or mutation, whose end is always reported.
pub(super) struct ObservedWork<'a> {
    table: &'a TableParts,
    control: &'a WorkControl,
    /// The event of its beginning.
    event: PartEvent,
    read_before: ReadSnapshot,
}

impl TableParts {
    /// Sets the observer. Only the first call counts.
    pub fn observe(&self, observer: Arc<dyn PartObserver>) {
        self.observer.get_or_init(|| observer);
    }

    pub(super) fn note(&self, event: impl FnOnce() -> PartEvent) {
        if let Some(observer) = self.observer.get() {
            observer.note(event());
        }
    }

    /// Reports a new part, which took `duration_us` to make.
    pub(super) fn note_new(&self, part: &Part, duration_us: u64, block_id: Option<String>) {
        self.note(|| PartEvent {
            duration_us,
            block_ids: block_id.into_iter().collect(),
            ..PartEvent::of(part, PartEventKind::New, self.clock.now_us())
        });
    }

    /// Reports the beginning of a merge of `sources` into `name`, or, with `mutations`, of a mutation.
    pub(super) fn observe_work<'a>(
        &'a self,
        control: &'a WorkControl,
        name: PartName,
        sources: &[Arc<Part>],
        mutations: Vec<u64>,
    ) -> ObservedWork<'a> {
        control.begin();
        let is_merge = mutations.is_empty();
        let event = PartEvent {
            kind: if is_merge { PartEventKind::MergeStarted } else { PartEventKind::MutationStarted },
            reason: is_merge.then(|| control.reason()),
            sources: sources.iter().map(|part| part.name().clone()).collect(),
            mutations,
            ..PartEvent::new(name, partition_of(sources.first()), self.clock.now_us())
        };
        self.note(|| event.clone());
        ObservedWork { table: self, control, event, read_before: control.metrics().snapshot() }
    }
}

impl ObservedWork<'_> {
    /// Reports the end of the work; `None` if the parts had changed meanwhile.
    pub(super) fn end(self, result: Result<Option<&Part>, &Error>) {
        let (now_us, read) = (self.table.clock.now_us(), self.control.metrics().snapshot());
        let is_merge = self.event.reason.is_some();
        let error = match result {
            Ok(Some(_)) => None,
            Ok(None) => Some(Error::Cancelled),
            Err(error) => Some(error.clone()),
        };
        self.table.note(|| PartEvent {
            kind: if is_merge { PartEventKind::Merged } else { PartEventKind::Mutated },
            is_vertical: is_merge.then(|| self.control.is_vertical()),
            duration_us: now_us.saturating_sub(self.event.at_us),
            at_us: now_us,
            part: result.ok().flatten().map(PartFigures::of),
            read_rows: read.rows - self.read_before.rows,
            read_bytes: read.uncompressed_bytes - self.read_before.uncompressed_bytes,
            peak_memory_bytes: self.control.peak_memory_bytes(),
            error,
            ..self.event
        });
    }
}

/// The reader of the part reports damage, not this.
fn partition_of(part: Option<&Arc<Part>>) -> PartitionValue {
    part.and_then(|part| part.partition().ok()).unwrap_or_default()
}
