//! `system.detached_parts`: parts of MergeTree tables that were set aside.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_parts::DetachedStats;

use super::block;
use super::block::BlockBuilder;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::tables::parts_of;

pub(super) fn columns() -> Columns {
    let maybe = |ty: SqlType| ty.into_nullable();
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("partition_id", maybe(SqlType::String)),
        ("name", SqlType::String),
        ("bytes_on_disk", SqlType::UInt64),
        ("modification_time", SqlType::DateTime(None)),
        ("disk", SqlType::String),
        ("path", SqlType::String),
        ("reason", maybe(SqlType::String)),
        ("min_block_number", maybe(SqlType::Int64)),
        ("max_block_number", maybe(SqlType::Int64)),
        ("level", maybe(SqlType::UInt32)),
    ])
}

struct Line {
    database: String,
    table: String,
    part: DetachedStats,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let lines = lines(query)?;
    let parts = || lines.iter().map(|line| &line.part);
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.table))
        .strings(parts().map(|part| &part.name.partition))
        .strings(parts().map(|part| &part.directory))
        .u64s(parts().map(|part| part.bytes_on_disk))
        .u32s(parts().map(|part| u32::try_from(part.modified_at_s).unwrap_or(u32::MAX)))
        .strings(parts().map(|_| "default"))
        .strings(parts().map(|part| part.path.display().to_string()))
        .strings(parts().map(|part| &part.reason))
        .i64s(parts().map(|part| part.name.min_block as i64))
        .i64s(parts().map(|part| part.name.max_block as i64))
        .u32s(parts().map(|part| part.name.level));
    block.finish(&columns())
}

fn lines(query: &Execution) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (database, name, object) in query.visible_objects() {
        let CatalogObject::Table(table) = object else { continue };
        let Some(parts) = parts_of(table.as_ref()) else { continue };
        lines.extend(parts.detached_stats()?.into_iter().map(|part| Line {
            database: database.clone(),
            table: name.clone(),
            part,
        }));
    }
    Ok(lines)
}
