//! `system.settings`: the settings as the asking session has them.
//!
//! `readonly` is 1 for a setting of which only the default is implemented, so that drivers do not send it.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use crate::execution::Execution;
use crate::settings::{SettingLine, Tier};

pub(super) fn columns() -> Columns {
    block::columns([
        ("name", SqlType::String),
        ("value", SqlType::String),
        ("changed", SqlType::UInt8),
        ("description", SqlType::String),
        ("min", SqlType::String.into_nullable()),
        ("max", SqlType::String.into_nullable()),
        ("disallowed_values", block::string_array()),
        ("readonly", SqlType::UInt8),
        ("type", SqlType::String),
        ("default", SqlType::String),
        ("alias_for", SqlType::String),
        ("is_obsolete", SqlType::UInt8),
        ("tier", tier_type()),
    ])
}

/// The type of the column `tier`.
pub(super) fn tier_type() -> SqlType {
    block::enum8(&[
        ("Production", Tier::Production as i8),
        ("Obsolete", Tier::Obsolete as i8),
        ("Experimental", Tier::Experimental as i8),
        ("Beta", Tier::Beta as i8),
        ("PrivatePreview", Tier::PrivatePreview as i8),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let lines = query.settings.lines();
    let shown = |line: &SettingLine, text: &str| match text {
        "0" if line.type_name == "MaxThreads" => format!("auto({})", query.services.processors),
        text => text.to_owned(),
    };
    let bounds = |line: &SettingLine| query.settings.constraints().of(line.name);
    block::BlockBuilder::default()
        .strings(lines.iter().map(|line| line.name))
        .strings(lines.iter().map(|line| shown(line, &line.value)))
        .u8s(lines.iter().map(|line| u8::from(line.changed)))
        .strings(lines.iter().map(|line| line.description))
        .maybe_strings(lines.iter().map(|line| bounds(line).0))
        .maybe_strings(lines.iter().map(|line| bounds(line).1))
        .string_lists(lines.iter().map(|_| Vec::<&str>::new()))
        .u8s(
            lines
                .iter()
                .map(|line| u8::from(line.is_fixed || bounds(line).2 || query.settings.is_kept(line.name))),
        )
        .strings(lines.iter().map(|line| line.type_name))
        .strings(lines.iter().map(|line| shown(line, &line.default)))
        .strings(lines.iter().map(|line| line.alias_for))
        .u8s(lines.iter().map(|line| u8::from(line.tier == Tier::Obsolete)))
        .i8s(lines.iter().map(|line| line.tier as i8))
        .finish(&columns())
}
