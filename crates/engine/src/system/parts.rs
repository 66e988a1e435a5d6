//! `system.parts`: the parts of MergeTree tables.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StructArray};
use arrow::datatypes::{Int64Type, UInt16Type, UInt32Type};
use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_formats::text::{Style, TextSettings, write_value};
use basalt_parts::{ColumnBounds, PartStats, PartitionValue, TtlAction, TtlStats};

use super::block;
use super::block::BlockBuilder;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::tables::parts_of;

pub(super) fn columns() -> Columns {
    let times = || SqlType::array_of(SqlType::DateTime(None));
    block::columns([
        ("partition", SqlType::String),
        ("partition_id", SqlType::String),
        ("name", SqlType::String),
        ("part_type", SqlType::String),
        ("active", SqlType::UInt8),
        ("marks", SqlType::UInt64),
        ("rows", SqlType::UInt64),
        ("bytes_on_disk", SqlType::UInt64),
        ("data_compressed_bytes", SqlType::UInt64),
        ("data_uncompressed_bytes", SqlType::UInt64),
        ("marks_bytes", SqlType::UInt64),
        ("modification_time", SqlType::DateTime(None)),
        ("min_date", SqlType::Date),
        ("max_date", SqlType::Date),
        ("min_time", SqlType::DateTime(None)),
        ("max_time", SqlType::DateTime(None)),
        ("min_block_number", SqlType::Int64),
        ("max_block_number", SqlType::Int64),
        ("level", SqlType::UInt32),
        ("primary_key_bytes_in_memory", SqlType::UInt64),
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("engine", SqlType::String),
        ("delete_ttl_info_min", SqlType::DateTime(None)),
        ("delete_ttl_info_max", SqlType::DateTime(None)),
        ("move_ttl_info.expression", block::string_array()),
        ("move_ttl_info.min", times()),
        ("move_ttl_info.max", times()),
        ("recompression_ttl_info.expression", block::string_array()),
        ("recompression_ttl_info.min", times()),
        ("recompression_ttl_info.max", times()),
        ("group_by_ttl_info.expression", block::string_array()),
        ("group_by_ttl_info.min", times()),
        ("group_by_ttl_info.max", times()),
        ("rows_where_ttl_info.expression", block::string_array()),
        ("rows_where_ttl_info.min", times()),
        ("rows_where_ttl_info.max", times()),
    ])
}

/// A part and the table that it belongs to.
pub(super) struct Line {
    pub(super) database: String,
    pub(super) table: String,
    pub(super) engine: &'static str,
    pub(super) part: PartStats,
}

/// Every part of every table.
pub(super) fn lines(query: &Execution) -> Vec<Line> {
    let mut lines = Vec::new();
    for (database, name, object) in query.visible_objects() {
        if let CatalogObject::Table(table) = object {
            let parts = parts_of(table.as_ref()).map(|parts| parts.stats()).unwrap_or_default();
            lines.extend(parts.into_iter().map(|part| Line {
                database: database.clone(),
                table: name.clone(),
                engine: table.engine(),
                part,
            }));
        }
    }
    lines
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let lines = lines(query);
    let parts = || lines.iter().map(|line| &line.part);
    let mut block = BlockBuilder::default();
    block
        .strings(parts().map(|part| partition_text(&part.partition)))
        .strings(parts().map(|part| part.name.partition.clone()))
        .strings(parts().map(|part| part.name.to_string()))
        .strings(parts().map(|part| part.part_type.name()))
        .u8s(parts().map(|part| u8::from(part.active)))
        .u64s(parts().map(|part| part.marks))
        .u64s(parts().map(|part| part.rows))
        .u64s(parts().map(|part| part.bytes_on_disk))
        .u64s(parts().map(|part| part.data_compressed_bytes))
        .u64s(parts().map(|part| part.data_uncompressed_bytes))
        .u64s(parts().map(|part| part.marks_bytes))
        .u32s(parts().map(|part| (part.modified_at_us / 1_000_000) as u32))
        .u16s(parts().map(|part| dates(part).0))
        .u16s(parts().map(|part| dates(part).1))
        .u32s(parts().map(|part| times(part).0))
        .u32s(parts().map(|part| times(part).1))
        .i64s(parts().map(|part| part.name.min_block as i64))
        .i64s(parts().map(|part| part.name.max_block as i64))
        .u32s(parts().map(|part| part.name.level))
        .u64s(parts().map(|part| part.primary_key_bytes_in_memory))
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.table))
        .strings(lines.iter().map(|line| line.engine));
    ttl_columns(&mut block, &lines);
    block.finish(&columns())
}

/// When the rows of the parts expire, by each kind of rule.
fn ttl_columns(block: &mut BlockBuilder, lines: &[Line]) {
    let deletes = |rule: &TtlAction| matches!(rule, TtlAction::Delete { has_condition: false });
    let deletion = |line: &Line| {
        let ttl = line.part.ttl.iter().find(|ttl| deletes(&ttl.rule.action));
        ttl.and_then(|ttl| ttl.range).unwrap_or_default()
    };
    block
        .u32s(lines.iter().map(|line| deletion(line).0 as u32))
        .u32s(lines.iter().map(|line| deletion(line).1 as u32));
    // There is one disk: nothing moves.
    ttl_lists(block, lines, |_| false);
    ttl_lists(block, lines, |action| matches!(action, TtlAction::Recompress { .. }));
    ttl_lists(block, lines, |action| matches!(action, TtlAction::Group { .. }));
    ttl_lists(block, lines, |action| matches!(action, TtlAction::Delete { has_condition: true }));
}

/// Expressions of the wanted rules, then their first and their last times.
fn ttl_lists(block: &mut BlockBuilder, lines: &[Line], wanted: fn(&TtlAction) -> bool) {
    let of = |line: &Line| -> Vec<TtlStats> {
        line.part.ttl.iter().filter(|ttl| wanted(&ttl.rule.action)).cloned().collect()
    };
    let times = |line: &Line, time: fn((i64, i64)) -> i64| -> Vec<u32> {
        of(line).iter().map(|ttl| time(ttl.range.unwrap_or_default()) as u32).collect()
    };
    block
        .string_lists(
            lines.iter().map(|line| of(line).iter().map(|ttl| ttl.rule.expiry.text().to_owned()).collect()),
        )
        .u32_lists(lines.iter().map(|line| times(line, |range| range.0)))
        .u32_lists(lines.iter().map(|line| times(line, |range| range.1)));
}

/// The value of a partition key as text: one value plainly, several as a tuple.
pub(super) fn partition_text(partition: &PartitionValue) -> String {
    match partition.elements.as_slice() {
        [] => "tuple()".to_owned(),
        [(ty, value)] => value_text(ty, value),
        elements => {
            let ty = SqlType::tuple_of(elements.iter().map(|(ty, _)| ty.clone()));
            let values = elements.iter().map(|(_, value)| Arc::clone(value)).collect();
            match StructArray::try_new(ty.struct_fields(), values, None) {
                Ok(tuple) => value_text(&ty, &(Arc::new(tuple) as ArrayRef)),
                Err(_) => String::new(),
            }
        }
    }
}

fn value_text(ty: &SqlType, value: &ArrayRef) -> String {
    let mut text = Vec::new();
    let written = write_value(ty, value, 0, &mut text, Style::Raw, &TextSettings::default());
    // A type that has no text is no partition key.
    written.map(|()| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// Smallest and largest date, where the partition key reads a column of that type.
fn dates(part: &PartStats) -> (u16, u16) {
    let is_date = |bounds: &&ColumnBounds| bounds.column.ty == SqlType::Date;
    let values = part.partition_bounds.iter().find(is_date);
    let values = values.and_then(|bounds| bounds.values.as_primitive_opt::<UInt16Type>());
    values.map_or((0, 0), |values| (values.value(0), values.value(1)))
}

/// Smallest and largest time in seconds, where the partition key reads a column of that type.
fn times(part: &PartStats) -> (u32, u32) {
    let seconds = |bounds: &ColumnBounds| match bounds.column.ty {
        SqlType::DateTime(_) => {
            let values = bounds.values.as_primitive_opt::<UInt32Type>()?;
            Some((values.value(0), values.value(1)))
        }
        SqlType::DateTime64 { precision, .. } => {
            let values = bounds.values.as_primitive_opt::<Int64Type>()?;
            let ticks = 10_i64.pow(u32::from(precision));
            let second =
                |row: usize| values.value(row).div_euclid(ticks).clamp(0, i64::from(u32::MAX)) as u32;
            Some((second(0), second(1)))
        }
        _ => None,
    };
    part.partition_bounds.iter().find_map(seconds).unwrap_or_default()
}
