//! `system.merges`: the merges and mutations that run now.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_parts::MergeReason;

use super::block;
use super::parts::partition_text;
use crate::background::RunningWork;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    let names = || SqlType::array_of(SqlType::String);
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("elapsed", SqlType::Float64),
        ("progress", SqlType::Float64),
        ("num_parts", SqlType::UInt64),
        ("source_part_names", names()),
        ("result_part_name", SqlType::String),
        ("source_part_paths", names()),
        ("result_part_path", SqlType::String),
        ("partition_id", SqlType::String),
        ("partition", SqlType::String),
        ("is_mutation", SqlType::UInt8),
        ("total_size_bytes_compressed", SqlType::UInt64),
        ("total_size_bytes_uncompressed", SqlType::UInt64),
        ("total_size_marks", SqlType::UInt64),
        ("bytes_read_uncompressed", SqlType::UInt64),
        ("rows_read", SqlType::UInt64),
        ("bytes_written_uncompressed", SqlType::UInt64),
        ("rows_written", SqlType::UInt64),
        ("columns_written", SqlType::UInt64),
        ("memory_usage", SqlType::UInt64),
        ("thread_id", SqlType::UInt64),
        ("merge_type", SqlType::String),
        ("merge_algorithm", SqlType::String),
        ("current_projection", SqlType::String),
        ("current_projection_progress", SqlType::Float64),
        ("current_projection_parts_merging", SqlType::UInt64),
        ("current_projection_parts_remaining", SqlType::UInt64),
        ("projections_completed", names()),
        ("projections_remaining", names()),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let works = query.instance.background().running();
    let works = || works.iter();
    let sum = |work: &RunningWork, bytes: fn(&basalt_parts::PartStats) -> u64| -> u64 {
        work.parts.iter().map(bytes).sum()
    };
    // Not rows: most columns may be read after all rows were seen.
    let progress = |work: &RunningWork| {
        let bytes = sum(work, |part| part.data_uncompressed_bytes);
        work.control.bytes_read() as f64 / bytes.max(1) as f64
    };
    let algorithm = |work: &RunningWork| match work.mutation {
        Some(_) => "",
        None if work.control.is_vertical() => "Vertical",
        None => "Horizontal",
    };
    let none = || works().map(|_| Vec::<String>::new());
    block::BlockBuilder::default()
        .strings(works().map(|work| &work.key.database))
        .strings(works().map(|work| &work.key.name))
        .f64s(works().map(|work| work.started.elapsed().as_secs_f64()))
        .f64s(works().map(|work| progress(work).min(1.0)))
        .u64s(works().map(|work| work.parts.len() as u64))
        .string_lists(works().map(|work| work.parts.iter().map(|part| part.name.to_string()).collect()))
        .strings(works().map(|work| work.result.to_string()))
        .string_lists(works().map(|work| work.parts.iter().map(|p| p.path.display().to_string()).collect()))
        .strings(works().map(|work| result_path(work)))
        .strings(works().map(|work| &work.result.partition))
        .strings(works().map(|work| partition(work)))
        .u8s(works().map(|work| u8::from(work.mutation.is_some())))
        .u64s(works().map(|work| sum(work, |part| part.bytes_on_disk)))
        .u64s(works().map(|work| sum(work, |part| part.data_uncompressed_bytes)))
        .u64s(works().map(|work| sum(work, |part| part.marks)))
        .u64s(works().map(|work| work.control.bytes_read()))
        .u64s(works().map(|work| work.control.rows_read()))
        .u64s(works().map(|work| work.control.bytes_written()))
        .u64s(works().map(|work| work.control.rows_written()))
        .u64s(works().map(|work| work.control.columns_written()))
        .u64s(works().map(|work| work.control.memory_bytes()))
        .u64s(works().map(|work| work.thread))
        .strings(works().map(|work| merge_type(work)))
        .strings(works().map(|work| algorithm(work)))
        // There are no projections.
        .strings(works().map(|_| ""))
        .f64s(works().map(|_| 0.0))
        .u64s(works().map(|_| 0))
        .u64s(works().map(|_| 0))
        .string_lists(none())
        .string_lists(none())
        .finish(&columns())
}

/// Next to the parts that are read.
fn result_path(work: &RunningWork) -> String {
    let dir = work.parts.first().and_then(|part| part.path.parent());
    dir.map(|dir| format!("{}/", dir.join(work.result.to_string()).display())).unwrap_or_default()
}

fn partition(work: &RunningWork) -> String {
    work.parts.first().map(|part| partition_text(&part.partition)).unwrap_or_default()
}

fn merge_type(work: &RunningWork) -> &'static str {
    match work.control.reason() {
        _ if work.mutation.is_some() => "",
        MergeReason::Regular => "Regular",
        MergeReason::TtlDelete => "TTLDelete",
        MergeReason::TtlRecompress => "TTLRecompress",
        MergeReason::TtlDrop => "TTLDrop",
    }
}
