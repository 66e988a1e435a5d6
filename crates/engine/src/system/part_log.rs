//! `system.part_log`: what happened to the parts of MergeTree tables since this process began.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_functions::host_name;
use basalt_parts::{MergeReason, PartEvent, PartEventKind, PartFigures};

use super::block;
use super::block::{Alias, BlockBuilder};
use super::parts::partition_text;
use crate::VERSION;
use crate::execution::Execution;
use crate::mutation::mutation_id;
use crate::tables::PartLogEntry;

const SECONDS_A_DAY: i64 = 86_400;

/// Columns that are computed from others.
pub(super) const ALIASES: &[Alias] = &[
    ("ProfileEvents.Names", "Array(String)", "mapKeys(ProfileEvents)"),
    ("ProfileEvents.Values", "Array(UInt64)", "mapValues(ProfileEvents)"),
    ("name", "String", "part_name"),
];

/// Labels and numbers of the columns that are Enum8, including events that do not happen here.
const EVENT_TYPES: &[(&str, i8)] = &[
    ("NewPart", 1),
    ("MergeParts", 2),
    ("DownloadPart", 3),
    ("RemovePart", 4),
    ("MutatePart", 5),
    ("MovePart", 6),
    ("MergePartsStart", 7),
    ("MutatePartStart", 8),
];
const MERGE_REASONS: &[(&str, i8)] = &[
    ("NotAMerge", 1),
    ("RegularMerge", 2),
    ("TTLDeleteMerge", 3),
    ("TTLRecompressMerge", 4),
    ("TTLDropMerge", 5),
];
const MERGE_ALGORITHMS: &[(&str, i8)] = &[("Undecided", 0), ("Vertical", 1), ("Horizontal", 2)];

pub(super) fn columns() -> Columns {
    let label = || SqlType::LowCardinality(Arc::new(SqlType::String));
    let counts = || SqlType::Map(Arc::new(label()), Arc::new(SqlType::UInt64));
    let names = block::string_array;
    block::columns([
        ("hostname", label()),
        ("clickhouse_version", label()),
        ("system_processor", label()),
        ("query_id", SqlType::String),
        ("event_type", enum_of(EVENT_TYPES)),
        ("merge_reason", enum_of(MERGE_REASONS)),
        ("merge_algorithm", enum_of(MERGE_ALGORITHMS)),
        ("event_date", SqlType::Date),
        ("event_time", SqlType::DateTime(None)),
        ("event_time_microseconds", SqlType::DateTime64 { precision: 6, zone: None }),
        ("duration_ms", SqlType::UInt64),
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("table_uuid", SqlType::Uuid),
        ("part_name", SqlType::String),
        ("partition_id", SqlType::String),
        ("partition", SqlType::String),
        ("part_type", SqlType::String),
        ("part_storage_type", SqlType::String),
        ("disk_name", SqlType::String),
        ("path_on_disk", SqlType::String),
        ("rows", SqlType::UInt64),
        ("size_in_bytes", SqlType::UInt64),
        ("merged_from", names()),
        ("bytes_uncompressed", SqlType::UInt64),
        ("read_rows", SqlType::UInt64),
        ("read_bytes", SqlType::UInt64),
        ("peak_memory_usage", SqlType::UInt64),
        ("deduplication_block_ids", names()),
        ("error", SqlType::UInt16),
        ("exception", SqlType::String),
        ("mutation_ids", names()),
        ("ProfileEvents", counts()),
        ("projections_duration_ms", counts()),
    ])
}

fn enum_of(labels: &[(&str, i8)]) -> SqlType {
    SqlType::Enum8(labels.iter().map(|&(label, number)| (label.to_owned(), number)).collect())
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entries = query.instance.opener().part_log.entries();
    let events = || entries.iter().map(|entry| &entry.event);
    let mut block = BlockBuilder::default();
    place_columns(&mut block, query, &entries);
    block
        .strings(events().map(|event| figure(event, |part| part.part_type.name()).unwrap_or("Unknown")))
        .strings(events().map(|event| figure(event, |_| "Full").unwrap_or("Unknown")))
        .strings(events().map(|event| if is_on_disk(event) { "default" } else { "" }))
        .strings(events().map(path))
        .u64s(events().map(|event| figure(event, |part| part.rows).unwrap_or(0)))
        .u64s(events().map(|event| figure(event, |part| part.bytes_on_disk).unwrap_or(0)))
        .string_lists(events().map(|event| event.sources.iter().map(ToString::to_string).collect()))
        .u64s(events().map(|event| figure(event, |part| part.uncompressed_bytes).unwrap_or(0)))
        .u64s(events().map(|event| event.read_rows))
        .u64s(events().map(|event| event.read_bytes))
        .u64s(events().map(|event| event.peak_memory_bytes))
        .string_lists(events().map(|event| event.block_ids.clone()));
    let error = |event: &PartEvent| event.error.clone().map(basalt_base::Error::from);
    block
        .u16s(events().map(|event| error(event).map_or(0, |error| error.code().number())))
        .strings(events().map(|event| error(event).map(|error| error.to_string()).unwrap_or_default()))
        .string_lists(events().map(|event| event.mutations.iter().map(|&id| mutation_id(id)).collect()))
        .count_maps(events().map(profile_events))
        .count_maps(events().map(|_| Vec::new()))
        .finish(&columns())
}

/// The event, its part and its time.
fn place_columns(block: &mut BlockBuilder, query: &Execution, entries: &[Arc<PartLogEntry>]) {
    let events = || entries.iter().map(|entry| &entry.event);
    let host = host_name();
    let seconds = |event: &PartEvent| (event.at_us / 1_000_000) as i64;
    // The day of an event is that of the machine's zone, as `today()` has it.
    let day = |event: &PartEvent| query.zone.to_local(seconds(event)).div_euclid(SECONDS_A_DAY) as u16;
    block
        .strings(entries.iter().map(|_| &host))
        .strings(entries.iter().map(|_| VERSION))
        .strings(entries.iter().map(|_| std::env::consts::ARCH))
        .strings(entries.iter().map(|entry| &entry.query_id))
        .i8s(events().map(|event| number_of(EVENT_TYPES, event_type(event.kind))))
        .i8s(events().map(|event| number_of(MERGE_REASONS, merge_reason(event.reason))))
        .i8s(events().map(|event| number_of(MERGE_ALGORITHMS, merge_algorithm(event.is_vertical))))
        .u16s(events().map(day))
        .u32s(events().map(|event| seconds(event) as u32))
        .i64s(events().map(|event| event.at_us as i64))
        .u64s(events().map(|event| event.duration_us / 1000))
        .strings(entries.iter().map(|entry| &entry.database))
        .strings(entries.iter().map(|entry| &entry.table))
        .uuids(entries.iter().map(|entry| entry.uuid))
        .strings(events().map(|event| event.name.to_string()))
        .strings(events().map(|event| &event.name.partition))
        .strings(events().map(|event| partition_text(&event.partition)));
}

fn event_type(kind: PartEventKind) -> &'static str {
    match kind {
        PartEventKind::New => "NewPart",
        PartEventKind::MergeStarted => "MergePartsStart",
        PartEventKind::Merged => "MergeParts",
        PartEventKind::MutationStarted => "MutatePartStart",
        PartEventKind::Mutated => "MutatePart",
        PartEventKind::Removed => "RemovePart",
    }
}

fn merge_reason(reason: Option<MergeReason>) -> &'static str {
    match reason {
        None => "NotAMerge",
        Some(MergeReason::Regular) => "RegularMerge",
        Some(MergeReason::TtlDelete) => "TTLDeleteMerge",
        Some(MergeReason::TtlRecompress) => "TTLRecompressMerge",
        Some(MergeReason::TtlDrop) => "TTLDropMerge",
    }
}

fn merge_algorithm(is_vertical: Option<bool>) -> &'static str {
    match is_vertical {
        None => "Undecided",
        Some(true) => "Vertical",
        Some(false) => "Horizontal",
    }
}

fn number_of(labels: &[(&str, i8)], label: &str) -> i8 {
    labels.iter().find(|(known, _)| *known == label).map_or(0, |(_, number)| *number)
}

fn figure<T>(event: &PartEvent, of: impl Fn(&PartFigures) -> T) -> Option<T> {
    event.part.as_ref().map(of)
}

/// Removed parts have no path.
fn is_on_disk(event: &PartEvent) -> bool {
    event.part.is_some() && event.kind != PartEventKind::Removed
}

fn path(event: &PartEvent) -> String {
    match &event.part {
        Some(part) if is_on_disk(event) => format!("{}/", part.path.display()),
        _ => String::new(),
    }
}

/// The profile events of an entry.
fn profile_events(event: &PartEvent) -> Vec<(&'static str, u64)> {
    let Some(part) = &event.part else { return Vec::new() };
    match event.kind {
        PartEventKind::New => vec![
            ("MergeTreeDataWriterBlocks", 1),
            ("MergeTreeDataWriterCompressedBytes", part.bytes_on_disk),
            ("MergeTreeDataWriterRows", part.rows),
            ("MergeTreeDataWriterUncompressedBytes", part.uncompressed_bytes),
        ],
        PartEventKind::Merged => vec![
            ("Merge", 1),
            ("MergeSourceParts", event.sources.len() as u64),
            ("MergeTotalMilliseconds", event.duration_us / 1000),
            ("MergeWrittenRows", part.rows),
            ("MergedRows", event.read_rows),
            ("MergedUncompressedBytes", event.read_bytes),
        ],
        PartEventKind::Mutated => {
            vec![("MutationTotalMilliseconds", event.duration_us / 1000), ("MutationTotalParts", 1)]
        }
        _ => Vec::new(),
    }
}
