//! `system.merge_tree_settings`: what a SETTINGS clause of a MergeTree table takes, and the defaults.
//!
//! `readonly` is 1 for a setting of which only the default is implemented.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use super::settings::tier_type;
use crate::execution::Execution;
use crate::settings::{MergeTreeSettings, SettingLine, Tier};

pub(super) fn columns() -> Columns {
    block::columns([
        ("name", SqlType::String),
        ("value", SqlType::String),
        ("default", SqlType::String),
        ("changed", SqlType::UInt8),
        ("description", SqlType::String),
        ("min", SqlType::String.into_nullable()),
        ("max", SqlType::String.into_nullable()),
        ("disallowed_values", block::string_array()),
        ("readonly", SqlType::UInt8),
        ("type", SqlType::String),
        ("is_obsolete", SqlType::UInt8),
        ("tier", tier_type()),
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
        .maybe_strings(lines.iter().map(|_| None::<&str>))
        .maybe_strings(lines.iter().map(|_| None::<&str>))
        .string_lists(lines.iter().map(|_| Vec::<&str>::new()))
        .u8s(lines.iter().map(|line| u8::from(line.is_fixed)))
        .strings(lines.iter().map(|line| line.type_name))
        .u8s(lines.iter().map(|line| u8::from(line.tier == Tier::Obsolete)))
        .i8s(lines.iter().map(|line| line.tier as i8))
        .finish(&columns())
}
