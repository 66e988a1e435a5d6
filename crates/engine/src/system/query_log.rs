//! `system.query_log`: the queries of this process, their figures and their profile events.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;
use crate::query_log::QueryLogKind;

const SECONDS_A_DAY: u64 = 86_400;

pub(super) fn columns() -> Columns {
    let kinds = [
        QueryLogKind::Start,
        QueryLogKind::Finish,
        QueryLogKind::ExceptionBeforeStart,
        QueryLogKind::ExceptionWhileProcessing,
    ];
    let kinds = kinds.iter().map(|&kind| (kind.label().to_owned(), kind as i8)).collect();
    let micros = SqlType::DateTime64 { precision: 6, zone: None };
    block::columns([
        ("type", SqlType::Enum8(kinds)),
        ("event_date", SqlType::Date),
        ("event_time", SqlType::DateTime(None)),
        ("event_time_microseconds", micros.clone()),
        ("query_start_time", SqlType::DateTime(None)),
        ("query_start_time_microseconds", micros),
        ("query_duration_ms", SqlType::UInt64),
        ("read_rows", SqlType::UInt64),
        ("read_bytes", SqlType::UInt64),
        ("written_rows", SqlType::UInt64),
        ("written_bytes", SqlType::UInt64),
        ("result_rows", SqlType::UInt64),
        ("result_bytes", SqlType::UInt64),
        ("memory_usage", SqlType::UInt64),
        ("current_database", SqlType::String),
        ("query", SqlType::String),
        ("query_kind", SqlType::String),
        ("exception_code", SqlType::Int32),
        ("exception", SqlType::String),
        ("user", SqlType::String),
        ("query_id", SqlType::String),
        ("interface", SqlType::UInt8),
        ("log_comment", SqlType::String),
        ("used_dictionaries", block::string_array()),
        ("ProfileEvents", SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::UInt64))),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entries = query.instance.query_log().entries();
    let seconds = |us: u64| us / 1_000_000;
    // The day of an event is that of the machine's zone, as `today()` has it.
    let day = |us: u64| query.zone.to_local(seconds(us) as i64).div_euclid(SECONDS_A_DAY as i64) as u16;
    block::BlockBuilder::default()
        .i8s(entries.iter().map(|entry| entry.kind as i8))
        .u16s(entries.iter().map(|entry| day(entry.time_us)))
        .u32s(entries.iter().map(|entry| seconds(entry.time_us) as u32))
        .i64s(entries.iter().map(|entry| entry.time_us as i64))
        .u32s(entries.iter().map(|entry| seconds(entry.started_us) as u32))
        .i64s(entries.iter().map(|entry| entry.started_us as i64))
        .u64s(entries.iter().map(|entry| entry.duration_us / 1000))
        .u64s(entries.iter().map(|entry| entry.progress.read_rows))
        .u64s(entries.iter().map(|entry| entry.progress.read_bytes))
        .u64s(entries.iter().map(|entry| entry.progress.written_rows))
        .u64s(entries.iter().map(|entry| entry.progress.written_bytes))
        .u64s(entries.iter().map(|entry| entry.progress.result_rows))
        .u64s(entries.iter().map(|entry| entry.progress.result_bytes))
        .u64s(entries.iter().map(|entry| entry.peak_memory))
        .strings(entries.iter().map(|entry| &entry.database))
        .strings(entries.iter().map(|entry| &entry.query))
        .strings(entries.iter().map(|entry| entry.query_kind))
        .i32s(entries.iter().map(|entry| i32::from(entry.exception_code)))
        .strings(entries.iter().map(|entry| &entry.exception))
        .strings(entries.iter().map(|entry| &entry.user))
        .strings(entries.iter().map(|entry| &entry.query_id))
        .u8s(entries.iter().map(|entry| entry.interface as u8))
        .strings(entries.iter().map(|entry| &entry.log_comment))
        .string_lists(entries.iter().map(|entry| entry.used_dictionaries.clone()))
        .count_maps(entries.iter().map(|entry| entry.events.clone()))
        .finish(&columns())
}
