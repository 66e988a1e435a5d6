//! `system.databases`.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};
use uuid::Uuid;

use super::block;
use super::block::Alias;
use crate::execution::Execution;
use crate::names::is_built_in;

pub(super) const ALIASES: &[Alias] = &[("database", "String", "name")];

pub(super) fn columns() -> Columns {
    block::declared(
        "name String, engine String, data_path String, metadata_path String, uuid UUID, engine_full String, \
         comment String, is_external UInt8",
    )
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let names = query.visible_databases();
    let engine = |name: &String| if is_built_in(name) { "Memory" } else { "Atomic" };
    let path = |part: &str| query.instance.data_dir().join(part).display().to_string();
    block::BlockBuilder::default()
        .strings(&names)
        .strings(names.iter().map(engine))
        .strings(names.iter().map(|_| path("store")))
        .strings(names.iter().map(|_| path("metadata")))
        .uuids(names.iter().map(|_| Uuid::nil()))
        .strings(names.iter().map(engine))
        .finish(&columns())
}
