//! `system.processes`: the queries that run now. A user without KILL QUERY sees its own.

use arrow::record_batch::RecordBatch;
use basalt_access::{Path, PrivilegeSet};
use basalt_base::{Columns, Result};

use super::block;
use crate::context::QueryContext;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::declared(
        "is_initial_query UInt8, user String, query_id String, address IPv6, port UInt16, initial_user String, \
         initial_query_id String, initial_address IPv6, initial_port UInt16, interface UInt8, os_user String, \
         client_hostname String, client_name String, client_agent String, client_revision UInt64, \
         client_version_major UInt64, client_version_minor UInt64, client_version_patch UInt64, http_method UInt8, \
         http_user_agent String, http_referer String, forwarded_for String, quota_key String, \
         distributed_depth UInt64, elapsed Float64, is_cancelled UInt8, is_all_data_sent UInt8, read_rows UInt64, \
         read_bytes UInt64, total_rows_approx UInt64, written_rows UInt64, written_bytes UInt64, \
         memory_usage Int64, peak_memory_usage Int64, query String, normalized_query_hash UInt64, \
         query_kind String, thread_ids Array(UInt64), peak_threads_usage UInt64, \
         ProfileEvents Map(String, UInt64), Settings Map(String, String), current_database String, \
         is_internal UInt8",
    )
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let mut running = query.instance.processes().list();
    if !query.access.has(PrivilegeSet::of("KILL QUERY"), &Path::default()) {
        running.retain(|other| other.user == query.user);
    }
    let progress: Vec<_> = running.iter().map(|query| query.progress.snapshot()).collect();
    let elapsed_us = |query: &QueryContext| query.started.elapsed().as_micros() as u64;
    let events = running.iter().zip(&progress);
    let events = events.map(|(query, progress)| query.events.snapshot(progress, elapsed_us(query)));
    block::BlockBuilder::default()
        .u8s(running.iter().map(|_| 1))
        .strings(running.iter().map(|query| &query.user))
        .strings(running.iter().map(|query| &query.id))
        .skip(2)
        .strings(running.iter().map(|query| &query.user))
        .strings(running.iter().map(|query| &query.id))
        .skip(2)
        .u8s(running.iter().map(|query| query.interface as u8))
        .skip(14)
        .f64s(running.iter().map(|query| query.started.elapsed().as_secs_f64()))
        .u8s(running.iter().map(|query| u8::from(query.end.cancel.is_cancelled())))
        .skip(1)
        .u64s(progress.iter().map(|progress| progress.read_rows))
        .u64s(progress.iter().map(|progress| progress.read_bytes))
        .u64s(progress.iter().map(|progress| progress.total_rows_to_read))
        .u64s(progress.iter().map(|progress| progress.written_rows))
        .u64s(progress.iter().map(|progress| progress.written_bytes))
        .i64s(running.iter().map(|query| query.memory.used() as i64))
        .i64s(running.iter().map(|query| query.memory.peak() as i64))
        .strings(running.iter().map(|query| &query.text))
        .skip(1)
        .strings(running.iter().map(|query| query.kind))
        .skip(2)
        .count_maps(events)
        .skip(1)
        .strings(running.iter().map(|query| &query.database))
        .finish(&columns())
}
