//! `system.succinct_segments`: where the rows of Succinct tables are.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_succinct::{PlaceState, PlaceStatistics};

use super::block;
use super::block::BlockBuilder;
use crate::catalog::CatalogObject;
use crate::execution::Execution;

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("name", SqlType::String),
        ("state", SqlType::String),
        ("rows", SqlType::UInt64),
        ("tombstones", SqlType::UInt64),
        ("shadowed_rows", SqlType::UInt64),
        ("bytes_on_disk", SqlType::UInt64),
        ("path", SqlType::String),
        ("last_failure", SqlType::String),
    ])
}

/// A place of rows, and the table that it is of.
pub(super) struct Line {
    pub(super) database: String,
    pub(super) table: String,
    pub(super) place: PlaceStatistics,
    last_failure: String,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let lines = lines(query)?;
    let lines = || lines.iter();
    let state = |state: PlaceState| match state {
        PlaceState::Writing => "writing",
        PlaceState::Frozen => "frozen",
        PlaceState::ReadOnly => "read-only",
    };
    let path = |line: &Line| line.place.segment.as_ref().map(|stored| stored.path().display().to_string());
    let mut block = BlockBuilder::default();
    block
        .strings(lines().map(|line| &line.database))
        .strings(lines().map(|line| &line.table))
        .strings(lines().map(|line| &line.place.name))
        .strings(lines().map(|line| state(line.place.state)))
        .u64s(lines().map(|line| line.place.rows))
        .u64s(lines().map(|line| line.place.tombstones))
        .u64s(lines().map(|line| line.place.shadowed))
        .u64s(lines().map(|line| line.place.bytes))
        .strings(lines().map(|line| path(line).unwrap_or_default()))
        .strings(lines().map(|line| &line.last_failure));
    block.finish(&columns())
}

/// The places of all Succinct tables.
pub(super) fn lines(query: &Execution) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (database, table, object) in query.visible_objects() {
        let CatalogObject::Table(found) = object else { continue };
        let Some(places) = found.as_places() else { continue };
        let last_failure = places.last_failure().unwrap_or_default();
        lines.extend(places.places()?.into_iter().map(|place| Line {
            database: database.clone(),
            table: table.clone(),
            place,
            last_failure: last_failure.clone(),
        }));
    }
    Ok(lines)
}
