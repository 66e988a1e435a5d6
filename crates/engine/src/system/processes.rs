//! `system.processes`: the queries that run now.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([
        ("user", SqlType::String),
        ("query_id", SqlType::String),
        ("interface", SqlType::UInt8),
        ("elapsed", SqlType::Float64),
        ("is_cancelled", SqlType::UInt8),
        ("read_rows", SqlType::UInt64),
        ("read_bytes", SqlType::UInt64),
        ("total_rows_approx", SqlType::UInt64),
        ("written_rows", SqlType::UInt64),
        ("written_bytes", SqlType::UInt64),
        ("memory_usage", SqlType::Int64),
        ("peak_memory_usage", SqlType::Int64),
        ("query", SqlType::String),
        ("current_database", SqlType::String),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let running = query.instance.processes().list();
    let progress: Vec<_> = running.iter().map(|query| query.progress.snapshot()).collect();
    block::BlockBuilder::default()
        .strings(running.iter().map(|query| &query.user))
        .strings(running.iter().map(|query| &query.id))
        .u8s(running.iter().map(|query| query.interface as u8))
        .f64s(running.iter().map(|query| query.started.elapsed().as_secs_f64()))
        .u8s(running.iter().map(|query| u8::from(query.end.cancel.is_cancelled())))
        .u64s(progress.iter().map(|progress| progress.read_rows))
        .u64s(progress.iter().map(|progress| progress.read_bytes))
        .u64s(progress.iter().map(|progress| progress.total_rows_to_read))
        .u64s(progress.iter().map(|progress| progress.written_rows))
        .u64s(progress.iter().map(|progress| progress.written_bytes))
        .i64s(running.iter().map(|query| query.memory.used() as i64))
        .i64s(running.iter().map(|query| query.memory.peak() as i64))
        .strings(running.iter().map(|query| &query.text))
        .strings(running.iter().map(|query| &query.database))
        .finish(&columns())
}
