//! `system.parts`: the parts of MergeTree tables.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_parts::PartStats;

use super::block::{self, BlockBuilder};
use crate::catalog::CatalogObject;
use crate::query::QueryContext;

pub(super) fn columns() -> Columns {
    block::columns([
        ("partition", SqlType::String),
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
        ("min_block_number", SqlType::Int64),
        ("max_block_number", SqlType::Int64),
        ("level", SqlType::UInt32),
        ("primary_key_bytes_in_memory", SqlType::UInt64),
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("engine", SqlType::String),
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
pub(super) fn lines(query: &QueryContext) -> Vec<Line> {
    let mut lines = Vec::new();
    for (database, name, object) in query.engine.catalog().all_objects() {
        if let CatalogObject::Table(table) = object {
            lines.extend(table.parts().into_iter().map(|part| Line {
                database: database.clone(),
                table: name.clone(),
                engine: table.engine(),
                part,
            }));
        }
    }
    lines
}

pub(super) fn block(query: &QueryContext) -> Result<RecordBatch> {
    let lines = lines(query);
    let parts = || lines.iter().map(|line| &line.part);
    let mut block = BlockBuilder::default();
    block
        .strings(parts().map(|_| "tuple()"))
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
        .i64s(parts().map(|part| part.name.min_block as i64))
        .i64s(parts().map(|part| part.name.max_block as i64))
        .u32s(parts().map(|part| part.name.level))
        .u64s(parts().map(|part| part.primary_key_bytes_in_memory))
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.table))
        .strings(lines.iter().map(|line| line.engine));
    block.finish(&columns())
}
