//! What happens to the parts of a table, told to whoever keeps a log of it.
//!
//! The observer learns of an event on the thread that caused it, some of them while the table's set of parts
//! may not change: it must be quick and must not use the table.
//!
//! - **Order**: a part is new, merged or mutated before what it covers is removed.
//! - **Rows**: of an empty part that only holds the place of removed ones nothing is told.
//! - **Removed**: when new queries no longer read the part; its files go with its last reader.

use std::path::PathBuf;
use std::sync::Arc;

use super::active::TableParts;
use super::control::WorkControl;
use super::stats::PartType;
use crate::error::{Error, Result};
use crate::key::partition::PartitionValue;
use crate::metrics::ReadSnapshot;
use crate::name::PartName;
use crate::part::view::Part;

/// Learns what happens to the parts of a table.
pub trait PartObserver: Send + Sync {
    fn note(&self, event: PartEvent);
}

/// Something that happened to one part.
#[derive(Clone, Debug)]
pub struct PartEvent {
    pub kind: PartEventKind,
    /// Why, if it is a merge.
    pub reason: Option<MergeReason>,
    /// Whether a merge that has ended wrote most columns one after the other.
    pub is_vertical: Option<bool>,
    /// Microseconds since 1970.
    pub at_us: u64,
    pub duration_us: u64,
    pub name: PartName,
    pub partition: PartitionValue,
    /// `None` of work that begins or that failed.
    pub part: Option<PartFigures>,
    /// The parts that it is made of.
    pub sources: Vec<PartName>,
    pub read_rows: u64,
    /// Decoded.
    pub read_bytes: u64,
    /// That the work held at once, about.
    pub peak_memory_bytes: u64,
    /// The identity of the inserted block, if the table tells its blocks apart.
    pub block_ids: Vec<String>,
    /// Numbers of the mutations that are applied.
    pub mutations: Vec<u64>,
    /// Why the work failed.
    pub error: Option<Error>,
}

/// What an event tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartEventKind {
    New,
    MergeStarted,
    Merged,
    MutationStarted,
    Mutated,
    Removed,
}

/// What a merge is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeReason {
    /// Fewer and larger parts, or a user asked for it.
    #[default]
    Regular,
    /// Some rows or values have expired.
    TtlDelete,
    /// Columns are to be written with other codecs.
    TtlRecompress,
    /// All rows have expired.
    TtlDrop,
}

/// A part in a few numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFigures {
    pub part_type: PartType,
    pub path: PathBuf,
    /// In the files, deleted ones too.
    pub rows: u64,
    pub bytes_on_disk: u64,
    pub uncompressed_bytes: u64,
}

/// A merge or mutation that runs: its end is told, whatever it is.
pub(super) struct ObservedWork<'a> {
    table: &'a TableParts,
    control: &'a WorkControl,
    /// As it is told at the beginning.
    event: PartEvent,
    read_before: ReadSnapshot,
}

impl TableParts {
    /// Tells `observer` what happens from now on. Only the first one counts.
    pub fn observe(&self, observer: Arc<dyn PartObserver>) {
        self.observer.get_or_init(|| observer);
    }

    pub(super) fn note(&self, event: impl FnOnce() -> PartEvent) {
        if let Some(observer) = self.observer.get() {
            observer.note(event());
        }
    }

    /// Tells of a part that is new in the set, and took so long to make.
    pub(super) fn note_new(&self, part: &Part, duration_us: u64, block_id: Option<String>) {
        self.note(|| PartEvent {
            duration_us,
            block_ids: block_id.into_iter().collect(),
            ..PartEvent::of(part, PartEventKind::New, self.clock.now_us())
        });
    }

    /// Tells that a merge of `sources` into `name` begins, or with `mutations` the mutation of the one.
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
    /// Tells how the work ended; `None` if others had changed the parts meanwhile.
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

impl PartEvent {
    fn new(name: PartName, partition: PartitionValue, at_us: u64) -> PartEvent {
        PartEvent {
            kind: PartEventKind::New,
            reason: None,
            is_vertical: None,
            at_us,
            duration_us: 0,
            name,
            partition,
            part: None,
            sources: Vec::new(),
            read_rows: 0,
            read_bytes: 0,
            peak_memory_bytes: 0,
            block_ids: Vec::new(),
            mutations: Vec::new(),
            error: None,
        }
    }

    /// What happened to `part` at `at_us`.
    pub(super) fn of(part: &Part, kind: PartEventKind, at_us: u64) -> PartEvent {
        let partition = part.partition().unwrap_or_default();
        let part_figures = Some(PartFigures::of(part));
        PartEvent { kind, part: part_figures, ..PartEvent::new(part.name().clone(), partition, at_us) }
    }
}

impl PartFigures {
    fn of(part: &Part) -> PartFigures {
        PartFigures {
            part_type: part.part_type(),
            path: part.stored.directory.path().to_owned(),
            rows: part.row_count(),
            bytes_on_disk: part.bytes_on_disk(),
            uncompressed_bytes: part.decoded_bytes(),
        }
    }
}

/// Damage is for the reader of the part to tell.
fn partition_of(part: Option<&Arc<Part>>) -> PartitionValue {
    part.and_then(|part| part.partition().ok()).unwrap_or_default()
}
