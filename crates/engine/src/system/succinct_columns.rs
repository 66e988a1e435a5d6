//! `system.succinct_columns`: how the columns of Succinct tables are stored in each segment, and why.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_segment::ColumnDescription;
use basalt_succinct::StoredSegment;

use super::block;
use super::block::BlockBuilder;
use super::succinct_segments::lines;
use crate::execution::Execution;

/// Before the names of columns among the components of a file.
const COLUMN_PREFIX: &str = "column/";

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("segment", SqlType::String),
        ("column", SqlType::String),
        ("encoding", SqlType::String),
        ("reason", SqlType::String),
        ("raw_bytes", SqlType::UInt64),
        ("stored_bytes", SqlType::UInt64),
    ])
}

struct Line {
    database: String,
    table: String,
    segment: String,
    column: ColumnDescription,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let mut found = Vec::new();
    for line in lines(query)? {
        let Some(stored) = &line.place.segment else { continue };
        found.extend(stored_parts(stored).map(|column| Line {
            database: line.database.clone(),
            table: line.table.clone(),
            segment: line.place.name.clone(),
            column,
        }));
    }
    let lines = || found.iter();
    let mut block = BlockBuilder::default();
    block
        .strings(lines().map(|line| &line.database))
        .strings(lines().map(|line| &line.table))
        .strings(lines().map(|line| &line.segment))
        .strings(lines().map(|line| &line.column.name))
        .strings(lines().map(|line| &line.column.encoding))
        .strings(lines().map(|line| &line.column.reason))
        .u64s(lines().map(|line| line.column.raw_bytes))
        .u64s(lines().map(|line| line.column.stored_bytes));
    block.finish(&columns())
}

/// What a segment has: the columns with all that is nested in them, then the key, indexes, filters and zone maps.
fn stored_parts(stored: &StoredSegment) -> impl Iterator<Item = ColumnDescription> {
    let segment = stored.segment();
    let components = segment.describe().components.into_iter();
    let others = components.filter(|component| !component.name.starts_with(COLUMN_PREFIX));
    let others = others.map(|component| ColumnDescription {
        name: component.name,
        encoding: component.encoding,
        reason: component.reason,
        raw_bytes: component.raw_bytes,
        stored_bytes: component.stored_bytes,
    });
    segment.describe_columns().cloned().chain(others)
}
