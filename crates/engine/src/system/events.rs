//! `system.events`: what has happened since the data directory was opened.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;
use super::block::Alias;
use crate::execution::Execution;

pub(super) const ALIASES: &[Alias] = &[("name", "String", "event")];

pub(super) fn columns() -> Columns {
    block::declared("event String, value UInt64, description String")
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let events = query.instance.counters().events();
    block::BlockBuilder::default()
        .strings(events.keys())
        .u64s(events.values().copied())
        .strings(events.keys().map(|_| ""))
        .finish(&columns())
}
