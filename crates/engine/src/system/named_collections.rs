//! `system.named_collections`: their names and keys; the values are hidden.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use super::block::BlockBuilder;
use crate::execution::Execution;

/// Shown in place of a value.
const HIDDEN: &str = "[HIDDEN]";

pub(super) fn columns() -> Columns {
    block::columns([
        ("name", SqlType::String),
        ("collection", SqlType::Map(SqlType::String.into(), SqlType::String.into())),
        ("source", SqlType::String),
        ("create_query", SqlType::String),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let all = query.instance.named_collections().all();
    let mut block = BlockBuilder::default();
    block
        .strings(all.iter().map(|collection| &collection.name))
        .string_maps(
            all.iter().map(|collection| {
                collection.entries.iter().map(|entry| (entry.key.as_str(), HIDDEN)).collect()
            }),
        )
        .strings(all.iter().map(|_| "SQL"))
        .strings(all.iter().map(|collection| collection.as_ref().clone().without_secrets().to_string()));
    block.finish(&columns())
}
