//! `system.detached_tables`: tables, views and dictionaries that DETACH took out of their database.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use super::block::BlockBuilder;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("uuid", SqlType::Uuid),
        ("metadata_path", SqlType::String),
        ("is_permanently", SqlType::UInt8),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let catalog = query.instance.catalog();
    let mut lines = catalog.all_detached();
    lines.retain(|(key, _)| query.sees(&[&key.database, &key.name]));
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|(key, _)| &key.database))
        .strings(lines.iter().map(|(key, _)| &key.name))
        .uuids(lines.iter().map(|(_, object)| object.uuid))
        .strings(lines.iter().map(|(key, _)| catalog.metadata_path(key).display().to_string()))
        .u8s(lines.iter().map(|(_, object)| u8::from(object.is_permanent)));
    block.finish(&columns())
}
