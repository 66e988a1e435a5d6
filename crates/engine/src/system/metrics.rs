//! `system.metrics`: what the server does at this moment.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use super::block::Alias;
use super::parts;
use crate::execution::Execution;

pub(super) const ALIASES: &[Alias] = &[("name", "String", "metric")];

pub(super) fn columns() -> Columns {
    block::declared("metric String, value Int64, description String")
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let rows = rows(query);
    block::BlockBuilder::default()
        .strings(rows.iter().map(|(name, ..)| name))
        .i64s(rows.iter().map(|(_, value, _)| i64::try_from(*value).unwrap_or(i64::MAX)))
        .strings(rows.iter().map(|(.., description)| description))
        .finish(&columns())
}

fn rows(query: &Execution) -> Vec<(&'static str, u64, &'static str)> {
    let instance = &query.instance;
    let running = instance.background().running();
    let mutations = running.iter().filter(|work| work.mutated_part(0).is_some()).count();
    let parts = parts::lines(query);
    let active = parts.iter().filter(|line| line.part.active).count();
    vec![
        ("MemoryTracking", query.services.memory.total(), "Bytes that the process holds."),
        ("Merge", (running.len() - mutations) as u64, "Merges that run."),
        ("PartMutation", mutations as u64, "Mutations of parts that run."),
        ("PartsActive", active as u64, "Parts that queries read."),
        ("PartsOutdated", (parts.len() - active) as u64, "Parts that are replaced and not yet removed."),
        ("Query", instance.processes().list().len() as u64, "Queries that run."),
    ]
}
