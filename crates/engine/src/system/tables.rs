//! `system.tables`: tables, views and dictionaries of every database.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};

use super::block::{self, BlockBuilder};
use crate::catalog::{CatalogObject, SYSTEM};
use crate::query::QueryContext;
use crate::tables::Table;

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("name", SqlType::String),
        ("uuid", SqlType::String),
        ("engine", SqlType::String),
        ("data_paths", block::string_array()),
        ("create_table_query", SqlType::String),
        ("sorting_key", SqlType::String),
        ("primary_key", SqlType::String),
        ("total_rows", SqlType::UInt64.into_nullable()),
        ("total_bytes", SqlType::UInt64.into_nullable()),
        ("comment", SqlType::String),
    ])
}

/// One row.
struct Line {
    database: String,
    name: String,
    uuid: String,
    engine: &'static str,
    paths: Vec<String>,
    create: String,
    sorting_key: String,
    primary_key: String,
    rows: Option<u64>,
    bytes: Option<u64>,
    comment: String,
}

pub(super) fn block(query: &QueryContext) -> Result<RecordBatch> {
    let mut lines: Vec<Line> = query.engine.catalog().all_objects().into_iter().map(line).collect();
    lines.extend(super::table_names().into_iter().map(system_line));
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.name))
        .strings(lines.iter().map(|line| &line.uuid))
        .strings(lines.iter().map(|line| line.engine))
        .string_lists(lines.iter().map(|line| line.paths.clone()))
        .strings(lines.iter().map(|line| &line.create))
        .strings(lines.iter().map(|line| &line.sorting_key))
        .strings(lines.iter().map(|line| &line.primary_key))
        .maybe_u64s(lines.iter().map(|line| line.rows))
        .maybe_u64s(lines.iter().map(|line| line.bytes))
        .strings(lines.iter().map(|line| &line.comment));
    block.finish(&columns())
}

fn line((database, name, object): (String, String, CatalogObject)) -> Line {
    let table = match &object {
        CatalogObject::Table(table) => Some(table.as_ref()),
        _ => None,
    };
    let (sorting_key, primary_key) = table.map(keys).unwrap_or_default();
    let path = table.and_then(Table::data_path);
    Line {
        database,
        name,
        uuid: object.uuid().to_string(),
        engine: object.engine(),
        paths: path.map(|path| path.display().to_string()).into_iter().collect(),
        create: object.create_statement(),
        sorting_key,
        primary_key,
        rows: table.and_then(Table::total_rows),
        bytes: table.and_then(Table::total_bytes),
        comment: table.and_then(|table| table.definition().create.comment.clone()).unwrap_or_default(),
    }
}

/// The texts of the sorting key and of the primary key.
fn keys(table: &dyn Table) -> (String, String) {
    match table.definition().sort_key() {
        Ok((columns, primary)) => (columns.join(", "), columns[..primary].join(", ")),
        Err(_) => Default::default(),
    }
}

fn system_line(name: &str) -> Line {
    Line {
        database: SYSTEM.to_owned(),
        name: name.to_owned(),
        uuid: uuid::Uuid::nil().to_string(),
        engine: "System",
        paths: Vec::new(),
        create: String::new(),
        sorting_key: String::new(),
        primary_key: String::new(),
        rows: None,
        bytes: None,
        comment: String::new(),
    }
}
