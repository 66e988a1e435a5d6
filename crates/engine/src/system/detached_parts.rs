//! `system.detached_parts`: parts of MergeTree tables that were set aside.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_parts::DetachedStats;

use super::block::{self, BlockBuilder};
use crate::catalog::CatalogObject;
use crate::query::QueryContext;

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("partition_id", SqlType::String),
        ("name", SqlType::String),
        ("bytes_on_disk", SqlType::UInt64),
        ("path", SqlType::String),
        ("reason", SqlType::String),
        ("min_block_number", SqlType::Int64),
        ("max_block_number", SqlType::Int64),
        ("level", SqlType::UInt32),
    ])
}

struct Line {
    database: String,
    table: String,
    part: DetachedStats,
}

pub(super) fn block(query: &QueryContext) -> Result<RecordBatch> {
    let lines = lines(query)?;
    let parts = || lines.iter().map(|line| &line.part);
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.table))
        .strings(parts().map(|part| &part.name.partition))
        .strings(parts().map(|part| &part.directory))
        .u64s(parts().map(|part| part.bytes_on_disk))
        .strings(parts().map(|part| part.path.display().to_string()))
        .strings(parts().map(|part| &part.reason))
        .i64s(parts().map(|part| part.name.min_block as i64))
        .i64s(parts().map(|part| part.name.max_block as i64))
        .u32s(parts().map(|part| part.name.level));
    block.finish(&columns())
}

fn lines(query: &QueryContext) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (database, name, object) in query.engine.catalog().all_objects() {
        let CatalogObject::Table(table) = object else { continue };
        let Some(parts) = table.parts_of() else { continue };
        lines.extend(parts.detached_stats()?.into_iter().map(|part| Line {
            database: database.clone(),
            table: name.clone(),
            part,
        }));
    }
    Ok(lines)
}
