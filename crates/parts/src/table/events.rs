//! Events of the parts of a table, for an observer that keeps a log of them.
//!
//! The observer is called on the thread that caused the event, sometimes while the set of parts is locked: it must be
//! quick and must not use the table.
//!
//! - **Order**: a part is reported as new, merged or mutated before the parts that it covers are reported as
//!   removed.
//! - **Rows**: an empty part that only covers removed ones is not reported.
//! - **Removed**: reported when new queries no longer read the part; its files stay until its last reader is gone.

use std::path::PathBuf;

use crate::error::Error;
use crate::key::partition::PartitionValue;
use crate::name::PartName;
use crate::part::part_type::PartType;
use crate::part::view::Part;

/// Receives the events of a table's parts.
pub trait PartObserver: Send + Sync {
    fn note(&self, event: PartEvent);
}

/// An event of one part.
#[derive(Clone, Debug)]
pub struct PartEvent {
    pub kind: PartEventKind,
    /// The reason of a merge.
    pub reason: Option<MergeReason>,
    /// Whether a finished merge was vertical.
    pub is_vertical: Option<bool>,
    /// Microseconds since 1970.
    pub at_us: u64,
    pub duration_us: u64,
    pub name: PartName,
    pub partition: PartitionValue,
    /// `None` for work that begins or failed.
    pub part: Option<PartFigures>,
    /// The parts that it was made from.
    pub sources: Vec<PartName>,
    pub read_rows: u64,
    /// Decoded bytes.
    pub read_bytes: u64,
    /// Approximate peak of the bytes that the work held.
    pub peak_memory_bytes: u64,
    /// The identity of the inserted block, if the table deduplicates.
    pub block_ids: Vec<String>,
    /// Numbers of the applied mutations.
    pub mutations: Vec<u64>,
    /// The error of failed work.
    pub error: Option<Error>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartEventKind {
    New,
    MergeStarted,
    Merged,
    MutationStarted,
    Mutated,
    Removed,
}

/// The reason of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeReason {
    /// Fewer and larger parts, or a user's request.
    #[default]
    Regular,
    /// Some rows or values have expired.
    TtlDelete,
    /// Columns are rewritten with other codecs.
    TtlRecompress,
    /// All rows have expired.
    TtlDrop,
}

/// The sizes of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFigures {
    pub part_type: PartType,
    pub path: PathBuf,
    /// Rows in the files, including deleted ones.
    pub rows: u64,
    pub bytes_on_disk: u64,
    pub uncompressed_bytes: u64,
}

impl PartEvent {
    pub(super) fn new(name: PartName, partition: PartitionValue, at_us: u64) -> PartEvent {
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

    /// An event of `part` at `at_us`.
    pub(super) fn of(part: &Part, kind: PartEventKind, at_us: u64) -> PartEvent {
        let partition = part.partition().unwrap_or_default();
        let part_figures = Some(PartFigures::of(part));
        PartEvent { kind, part: part_figures, ..PartEvent::new(part.name().clone(), partition, at_us) }
    }
}

impl PartFigures {
    pub(super) fn of(part: &Part) -> PartFigures {
        PartFigures {
            part_type: part.part_type(),
            path: part.stored.directory.path().to_owned(),
            rows: part.row_count(),
            bytes_on_disk: part.bytes_on_disk(),
            uncompressed_bytes: part.decoded_bytes(),
        }
    }
}
