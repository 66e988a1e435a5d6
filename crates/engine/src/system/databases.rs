//! `system.databases`.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;
use crate::names::SYSTEM;

pub(super) fn columns() -> Columns {
    block::columns([("name", SqlType::String), ("engine", SqlType::String), ("comment", SqlType::String)])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let names = query.instance.catalog().databases();
    let engines = names.iter().map(|name| if name == SYSTEM { "System" } else { "Atomic" });
    block::BlockBuilder::default()
        .strings(&names)
        .strings(engines)
        .strings(names.iter().map(|_| ""))
        .finish(&columns())
}
