//! `system.rocksdb`: what RocksDB has counted for every key/value table since it was opened.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block;
use super::block::BlockBuilder;
use crate::catalog::CatalogObject;
use crate::execution::Execution;

/// Before the name of each counter.
const PREFIX: &str = "rocksdb.";

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("name", SqlType::String),
        ("value", SqlType::UInt64),
    ])
}

struct Line {
    database: String,
    table: String,
    name: &'static str,
    value: u64,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let mut lines = Vec::new();
    for (database, table, object) in query.visible_objects() {
        let CatalogObject::Table(found) = object else { continue };
        // As ClickHouse does: what has not happened yet is left out.
        let counters = found.as_stored().map(|stored| stored.counters()).unwrap_or_default();
        for (name, value) in counters.into_iter().filter(|(_, value)| *value > 0) {
            let name = name.strip_prefix(PREFIX).unwrap_or(name);
            lines.push(Line { database: database.clone(), table: table.clone(), name, value });
        }
    }
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.table))
        .strings(lines.iter().map(|line| line.name))
        .u64s(lines.iter().map(|line| line.value));
    block.finish(&columns())
}
