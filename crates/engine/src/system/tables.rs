//! `system.tables`: tables, views and dictionaries of every database.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_sql::ast::Expr;

use super::block;
use super::block::BlockBuilder;
use super::registry::table_names;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::names::SYSTEM;
use crate::tables::{KeyClause, Table};

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("name", SqlType::String),
        ("uuid", SqlType::String),
        ("engine", SqlType::String),
        ("data_paths", block::string_array()),
        ("create_table_query", SqlType::String),
        ("partition_key", SqlType::String),
        ("sorting_key", SqlType::String),
        ("primary_key", SqlType::String),
        ("sampling_key", SqlType::String),
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
    keys: Keys,
    rows: Option<u64>,
    bytes: Option<u64>,
    comment: String,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let mut lines: Vec<Line> = query.instance.catalog().all_objects().into_iter().map(line).collect();
    lines.extend(table_names().into_iter().map(system_line));
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.name))
        .strings(lines.iter().map(|line| &line.uuid))
        .strings(lines.iter().map(|line| line.engine))
        .string_lists(lines.iter().map(|line| line.paths.clone()))
        .strings(lines.iter().map(|line| &line.create))
        .strings(lines.iter().map(|line| &line.keys.partition))
        .strings(lines.iter().map(|line| &line.keys.sorting))
        .strings(lines.iter().map(|line| &line.keys.primary))
        .strings(lines.iter().map(|line| &line.keys.sampling))
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
    let path = table.and_then(Table::data_path);
    Line {
        database,
        name,
        uuid: object.uuid().to_string(),
        engine: object.engine(),
        paths: path.map(|path| path.display().to_string()).into_iter().collect(),
        create: object.create_statement(),
        keys: table.map(keys).unwrap_or_default(),
        rows: table.and_then(Table::total_rows),
        bytes: table.and_then(Table::total_bytes),
        comment: comment(&object),
    }
}

fn comment(object: &CatalogObject) -> String {
    let comment = match object {
        CatalogObject::Table(table) => table.definition().create.comment.clone(),
        CatalogObject::Dictionary(dictionary) => dictionary.create().comment,
        _ => None,
    };
    comment.unwrap_or_default()
}

/// The texts of a table's keys.
#[derive(Default)]
struct Keys {
    partition: String,
    sorting: String,
    primary: String,
    sampling: String,
}

fn keys(table: &dyn Table) -> Keys {
    let definition = table.definition();
    let (sorting, primary) = definition.sort_key().unwrap_or_default();
    let sorting: Vec<String> = sorting.iter().map(KeyClause::text).collect();
    let text = |expr: &Option<Expr>| expr.as_ref().map(ToString::to_string).unwrap_or_default();
    Keys {
        partition: text(&definition.create.partition_by),
        primary: sorting[..primary].join(", "),
        sorting: sorting.join(", "),
        sampling: text(&definition.create.sample_by),
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
        keys: Keys::default(),
        rows: None,
        bytes: None,
        comment: String::new(),
    }
}
