//! `system.mutations`: changes of stored rows that wait, run, or are done; one row a command.

use arrow::array::{ArrayRef, Int64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_parts::MutationStatus;
use std::sync::Arc;

use super::block;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::mutation::{commands_of as mutation_commands, mutation_id};
use crate::tables::parts_of;

pub(super) fn columns() -> Columns {
    let names = || SqlType::array_of(SqlType::String);
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("mutation_id", SqlType::String),
        ("command", SqlType::String),
        ("create_time", SqlType::DateTime(None)),
        ("block_numbers.partition_id", names()),
        ("block_numbers.number", SqlType::array_of(SqlType::Int64)),
        ("parts_in_progress_names", names()),
        ("parts_to_do_names", names()),
        ("parts_to_do", SqlType::Int64),
        ("is_done", SqlType::UInt8),
        ("is_killed", SqlType::UInt8),
        ("latest_failed_part", SqlType::String),
        ("latest_fail_time", SqlType::DateTime(None)),
        ("latest_fail_reason", SqlType::String),
    ])
}

struct Line {
    database: String,
    table: String,
    command: String,
    status: MutationStatus,
    in_progress: Vec<String>,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let lines = lines(query);
    let lines = || lines.iter();
    let seconds = |us: u64| (us / 1_000_000) as u32;
    let failure = |line: &Line| line.status.failure.clone();
    let names = |line: &Line| line.status.parts_to_do.iter().map(ToString::to_string).collect::<Vec<_>>();
    block::BlockBuilder::default()
        .strings(lines().map(|line| &line.database))
        .strings(lines().map(|line| &line.table))
        .strings(lines().map(|line| mutation_id(line.status.version)))
        .strings(lines().map(|line| &line.command))
        .u32s(lines().map(|line| seconds(line.status.created_at_us)))
        .string_lists(lines().map(|_| vec![""]))
        .push(numbers(lines().map(|line| line.status.version as i64).collect()))
        .string_lists(lines().map(|line| line.in_progress.clone()))
        .string_lists(lines().map(names))
        .i64s(lines().map(|line| line.status.parts_to_do.len() as i64))
        .u8s(lines().map(|line| u8::from(line.status.is_done())))
        .u8s(lines().map(|_| 0))
        .strings(lines().map(|line| failure(line).map(|f| f.part.to_string()).unwrap_or_default()))
        .u32s(lines().map(|line| failure(line).map_or(0, |failure| seconds(failure.at_us))))
        .strings(lines().map(|line| failure(line).map(|failure| failure.reason).unwrap_or_default()))
        .finish(&columns())
}

fn lines(query: &Execution) -> Vec<Line> {
    let running = query.instance.background().running();
    let mut lines = Vec::new();
    for (database, table, object) in query.visible_objects() {
        let CatalogObject::Table(found) = object else { continue };
        for status in parts_of(found.as_ref()).map(|parts| parts.mutations()).unwrap_or_default() {
            let own = running.iter().filter(|work| work.key.database == database && work.key.name == table);
            let in_progress = own.filter_map(|work| work.mutated_part(status.version));
            let in_progress: Vec<String> = in_progress.map(|part| part.name.to_string()).collect();
            let line = |command: String| Line {
                database: database.clone(),
                table: table.clone(),
                command,
                status: status.clone(),
                in_progress: in_progress.clone(),
            };
            // Text that is no longer understood is shown as it stands.
            match mutation_commands(&status.commands) {
                Ok(commands) => lines.extend(commands.iter().map(|command| line(format!("({command})")))),
                Err(_) => lines.push(line(status.commands.to_string())),
            }
        }
    }
    lines
}

/// Arrays of one number each.
fn numbers(values: Vec<i64>) -> ArrayRef {
    let offsets = OffsetBuffer::from_lengths(values.iter().map(|_| 1));
    Arc::new(ListArray::new(
        SqlType::Int64.element_field(),
        offsets,
        Arc::new(Int64Array::from(values)),
        None,
    ))
}
