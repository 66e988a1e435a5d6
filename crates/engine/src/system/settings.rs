//! `system.settings`: the settings as the asking session has them.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([
        ("name", SqlType::String),
        ("value", SqlType::String),
        ("changed", SqlType::UInt8),
        ("description", SqlType::String),
        ("readonly", SqlType::UInt8),
        ("type", SqlType::String),
        ("default", SqlType::String),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let lines = query.settings.lines();
    block::BlockBuilder::default()
        .strings(lines.iter().map(|line| line.name))
        .strings(lines.iter().map(|line| &line.value))
        .u8s(lines.iter().map(|line| u8::from(line.changed)))
        .strings(lines.iter().map(|line| line.description))
        .u8s(lines.iter().map(|line| u8::from(query.settings.is_kept(line.name))))
        .strings(lines.iter().map(|line| line.type_name))
        .strings(lines.iter().map(|line| &line.default))
        .finish(&columns())
}
