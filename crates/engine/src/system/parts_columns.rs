//! `system.parts_columns`: every column of every part, with its sizes.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_parts::{PartStats, TtlAction};

use super::block::BlockBuilder;
use super::{block, parts};
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([
        ("partition", SqlType::String),
        ("name", SqlType::String),
        ("part_type", SqlType::String),
        ("active", SqlType::UInt8),
        ("marks", SqlType::UInt64),
        ("rows", SqlType::UInt64),
        ("bytes_on_disk", SqlType::UInt64),
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("engine", SqlType::String),
        ("column", SqlType::String),
        ("type", SqlType::String),
        ("column_position", SqlType::UInt64),
        ("column_bytes_on_disk", SqlType::UInt64),
        ("column_data_compressed_bytes", SqlType::UInt64),
        ("column_data_uncompressed_bytes", SqlType::UInt64),
        ("column_marks_bytes", SqlType::UInt64),
        ("column_ttl_min", SqlType::DateTime(None).into_nullable()),
        ("column_ttl_max", SqlType::DateTime(None).into_nullable()),
        ("compression_codec", SqlType::String),
    ])
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let parts = parts::lines(query);
    let lines: Vec<_> = parts
        .iter()
        .flat_map(|line| {
            (1..).zip(&line.part.columns).map(move |(position, column)| (line, position, column))
        })
        .collect();
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|_| "tuple()"))
        .strings(lines.iter().map(|(line, _, _)| line.part.name.to_string()))
        .strings(lines.iter().map(|(line, _, _)| line.part.part_type.name()))
        .u8s(lines.iter().map(|(line, _, _)| u8::from(line.part.active)))
        .u64s(lines.iter().map(|(line, _, _)| line.part.marks))
        .u64s(lines.iter().map(|(line, _, _)| line.part.rows))
        .u64s(lines.iter().map(|(line, _, _)| line.part.bytes_on_disk))
        .strings(lines.iter().map(|(line, _, _)| &line.database))
        .strings(lines.iter().map(|(line, _, _)| &line.table))
        .strings(lines.iter().map(|(line, _, _)| line.engine))
        .strings(lines.iter().map(|(_, _, column)| &column.name))
        .strings(lines.iter().map(|(_, _, column)| &column.ty))
        .u64s(lines.iter().map(|(_, position, _)| *position))
        .u64s(lines.iter().map(|(_, _, column)| column.bytes_on_disk))
        .u64s(lines.iter().map(|(_, _, column)| column.data_compressed_bytes))
        .u64s(lines.iter().map(|(_, _, column)| column.data_uncompressed_bytes))
        .u64s(lines.iter().map(|(_, _, column)| column.marks_bytes))
        .maybe_u32s(lines.iter().map(|(line, _, column)| Some(expiry(&line.part, &column.name)?.0 as u32)))
        .maybe_u32s(lines.iter().map(|(line, _, column)| Some(expiry(&line.part, &column.name)?.1 as u32)))
        .strings(lines.iter().map(|(_, _, column)| &column.codec));
    block.finish(&columns())
}

/// When the first and the last value of the column expire.
fn expiry(part: &PartStats, name: &str) -> Option<(i64, i64)> {
    let clears = |action: &TtlAction| matches!(action, TtlAction::Clear { column, .. } if column == name);
    part.ttl.iter().find(|ttl| clears(&ttl.rule.action))?.range
}
