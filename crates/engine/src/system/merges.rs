//! `system.merges`: the merges and mutations that run now.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_parts::{MergeReason, PartName, PartStats};
use basalt_succinct::Step;

use super::block;
use super::parts::partition_text;
use crate::background::{RunningWork, WorkSubject};
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
    let mut works = query.instance.background().running();
    works.retain(|work| query.sees(&[&work.key.database, &work.key.name]));
    let lines: Vec<Line> = works.iter().map(|work| Line::of(work)).collect();
    let (works, lines) = (|| works.iter(), || lines.iter());
    let none = || works().map(|_| Vec::<String>::new());
    block::BlockBuilder::default()
        .strings(works().map(|work| &work.key.database))
        .strings(works().map(|work| &work.key.name))
        .f64s(works().map(|work| work.started.elapsed().as_secs_f64()))
        .f64s(lines().map(|line| line.progress.min(1.0)))
        .u64s(lines().map(|line| line.sources.len() as u64))
        .string_lists(lines().map(|line| line.sources.clone()))
        .strings(lines().map(|line| &line.result))
        .string_lists(lines().map(|line| line.source_paths.clone()))
        .strings(lines().map(|line| &line.result_path))
        .strings(lines().map(|line| &line.partition_id))
        .strings(lines().map(|line| &line.partition))
        .u8s(lines().map(|line| u8::from(line.is_mutation)))
        .u64s(lines().map(|line| line.bytes_compressed))
        .u64s(lines().map(|line| line.bytes_uncompressed))
        .u64s(lines().map(|line| line.marks))
        .u64s(works().map(|work| work.control.bytes_read()))
        .u64s(works().map(|work| work.control.rows_read()))
        .u64s(works().map(|work| work.control.bytes_written()))
        .u64s(works().map(|work| work.control.rows_written()))
        .u64s(works().map(|work| work.control.columns_written()))
        .u64s(works().map(|work| work.control.memory_bytes()))
        .u64s(works().map(|work| work.thread))
        .strings(lines().map(|line| line.merge_type))
        .strings(lines().map(|line| line.algorithm))
        // There are no projections.
        .strings(works().map(|_| ""))
        .f64s(works().map(|_| 0.0))
        .u64s(works().map(|_| 0))
        .u64s(works().map(|_| 0))
        .string_lists(none())
        .string_lists(none())
        .finish(&columns())
}

/// What depends on the kind of the work.
#[derive(Default)]
struct Line {
    progress: f64,
    sources: Vec<String>,
    source_paths: Vec<String>,
    result: String,
    result_path: String,
    partition_id: String,
    partition: String,
    is_mutation: bool,
    bytes_compressed: u64,
    bytes_uncompressed: u64,
    marks: u64,
    merge_type: &'static str,
    algorithm: &'static str,
}

impl Line {
    fn of(work: &RunningWork) -> Line {
        match &work.subject {
            WorkSubject::Parts { parts, result, mutation } => Line::of_parts(work, parts, result, *mutation),
            WorkSubject::Places(step) => Line::of_step(work, step),
        }
    }

    fn of_parts(work: &RunningWork, parts: &[PartStats], result: &PartName, mutation: Option<u64>) -> Line {
        let sum = |bytes: fn(&PartStats) -> u64| -> u64 { parts.iter().map(bytes).sum() };
        let uncompressed = sum(|part| part.data_uncompressed_bytes);
        // Next to the parts that are read.
        let dir = parts.first().and_then(|part| part.path.parent());
        let result_path = dir.map(|dir| format!("{}/", dir.join(result.to_string()).display()));
        Line {
            // Not rows: most columns may be read after all rows were seen.
            progress: work.control.bytes_read() as f64 / uncompressed.max(1) as f64,
            sources: parts.iter().map(|part| part.name.to_string()).collect(),
            source_paths: parts.iter().map(|part| part.path.display().to_string()).collect(),
            result: result.to_string(),
            result_path: result_path.unwrap_or_default(),
            partition_id: result.partition.to_string(),
            partition: parts.first().map(|part| partition_text(&part.partition)).unwrap_or_default(),
            is_mutation: mutation.is_some(),
            bytes_compressed: sum(|part| part.bytes_on_disk),
            bytes_uncompressed: uncompressed,
            marks: sum(|part| part.marks),
            merge_type: if mutation.is_some() { "" } else { merge_type(work) },
            algorithm: match mutation {
                Some(_) => "",
                None if work.control.is_vertical() => "Vertical",
                None => "Horizontal",
            },
        }
    }

    fn of_step(work: &RunningWork, step: &Step) -> Line {
        Line {
            // Rows are read twice.
            progress: work.control.rows_read() as f64 / (2 * step.rows).max(1) as f64,
            sources: step.sources.clone(),
            result: format!("{}.seg", step.result),
            bytes_compressed: step.bytes,
            merge_type: "Regular",
            algorithm: if step.is_merge { "Merge" } else { "Build" },
            ..Line::default()
        }
    }
}

fn merge_type(work: &RunningWork) -> &'static str {
    match work.control.reason() {
        MergeReason::Regular => "Regular",
        MergeReason::TtlDelete => "TTLDelete",
        MergeReason::TtlRecompress => "TTLRecompress",
        MergeReason::TtlDrop => "TTLDrop",
    }
}
