//! `system.merge_tree_settings`: what a SETTINGS clause of a MergeTree table takes, and the defaults.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;
use crate::settings::{MergeTreeSettings, SettingLine};

pub(super) fn columns() -> Columns {
    block::columns([
        ("name", SqlType::String),
        ("value", SqlType::String),
        ("default", SqlType::String),
        ("changed", SqlType::UInt8),
        ("description", SqlType::String),
        ("readonly", SqlType::UInt8),
        ("type", SqlType::String),
    ])
}

pub(super) fn block(_query: &Execution) -> Result<RecordBatch> {
    block_of(&MergeTreeSettings::default().lines())
}

/// The lines of the settings of a table engine.
pub(super) fn block_of(lines: &[SettingLine]) -> Result<RecordBatch> {
    block::BlockBuilder::default()
        .strings(lines.iter().map(|line| line.name))
        .strings(lines.iter().map(|line| &line.value))
        .strings(lines.iter().map(|line| &line.default))
        .u8s(lines.iter().map(|line| u8::from(line.changed)))
        .strings(lines.iter().map(|line| line.description))
        .u8s(lines.iter().map(|_| 0))
        .strings(lines.iter().map(|line| line.type_name))
        .finish(&columns())
}
