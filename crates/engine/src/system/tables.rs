//! `system.tables`: tables, views and dictionaries of every database.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};
use basalt_parts::PartStats;
use basalt_sql::ast::Expr;
use basalt_sql::hide_passwords;
use uuid::Uuid;

use super::block;
use super::block::{Alias, BlockBuilder};
use super::registry::table_names;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::information_schema;
use crate::names::SYSTEM;
use crate::tables::{KeyClause, Table, parts_of};

pub(super) const ALIASES: &[Alias] = &[("table", "String", "name")];

pub(super) fn columns() -> Columns {
    block::declared(
        "database String, name String, uuid UUID, engine String, is_temporary UInt8, data_paths Array(String), \
         metadata_path String, metadata_modification_time DateTime, metadata_version Int32, \
         dependencies_database Array(String), dependencies_table Array(String), create_table_query String, \
         engine_full String, as_select String, \
         parameterized_view_parameters Array(Tuple(name String, type String)), partition_key String, \
         sorting_key String, primary_key String, sampling_key String, unique_key String, \
         skipping_indices_types Array(String), storage_policy String, total_rows Nullable(UInt64), \
         total_bytes Nullable(UInt64), total_bytes_uncompressed Nullable(UInt64), parts Nullable(UInt64), \
         active_parts Nullable(UInt64), total_marks Nullable(UInt64), active_on_fly_data_mutations UInt64, \
         active_on_fly_alter_mutations UInt64, active_on_fly_metadata_mutations UInt64, \
         columns_descriptions_cache_size UInt64, lifetime_rows Nullable(UInt64), lifetime_bytes Nullable(UInt64), \
         comment String, has_own_data UInt8, loading_dependencies_database Array(String), \
         loading_dependencies_table Array(String), loading_dependent_database Array(String), \
         loading_dependent_table Array(String), target_database String, target_table String, definer String",
    )
}

/// One row.
#[derive(Default)]
struct Line {
    database: String,
    name: String,
    uuid: Uuid,
    engine: &'static str,
    paths: Vec<String>,
    create: String,
    engine_full: String,
    as_select: String,
    keys: Keys,
    skip_indexes: Vec<String>,
    rows: Option<u64>,
    bytes: Option<u64>,
    parts: Option<Parts>,
    comment: String,
}

/// The texts of a table's keys.
#[derive(Default)]
struct Keys {
    partition: String,
    sorting: String,
    primary: String,
    sampling: String,
}

/// Sums over the parts of a table; all but `count` over the active ones.
#[derive(Default)]
struct Parts {
    count: u64,
    active: u64,
    marks: u64,
    uncompressed: u64,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let mut lines: Vec<Line> = query.visible_objects().into_iter().map(line).collect();
    lines.extend(table_names().into_iter().map(system_line));
    lines.extend(information_schema::views().map(|(database, name, select)| Line {
        database: database.to_owned(),
        name,
        engine: "View",
        as_select: select,
        ..Line::default()
    }));
    fill(&lines).finish(&columns())
}

fn fill(lines: &[Line]) -> BlockBuilder {
    let parts = |get: fn(&Parts) -> u64| lines.iter().map(move |line| line.parts.as_ref().map(get));
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.name))
        .uuids(lines.iter().map(|line| line.uuid))
        .strings(lines.iter().map(|line| line.engine))
        .skip(1)
        .string_lists(lines.iter().map(|line| line.paths.clone()))
        .skip(5)
        .strings(lines.iter().map(|line| &line.create))
        .strings(lines.iter().map(|line| &line.engine_full))
        .strings(lines.iter().map(|line| &line.as_select))
        .skip(1)
        .strings(lines.iter().map(|line| &line.keys.partition))
        .strings(lines.iter().map(|line| &line.keys.sorting))
        .strings(lines.iter().map(|line| &line.keys.primary))
        .strings(lines.iter().map(|line| &line.keys.sampling))
        .skip(1)
        .string_lists(lines.iter().map(|line| line.skip_indexes.clone()))
        .strings(lines.iter().map(|line| if line.paths.is_empty() { "" } else { "default" }))
        .maybe_u64s(lines.iter().map(|line| line.rows))
        .maybe_u64s(lines.iter().map(|line| line.bytes))
        .maybe_u64s(parts(|parts| parts.uncompressed))
        .maybe_u64s(parts(|parts| parts.count))
        .maybe_u64s(parts(|parts| parts.active))
        .maybe_u64s(parts(|parts| parts.marks))
        .skip(6)
        .strings(lines.iter().map(|line| &line.comment))
        .u8s(lines.iter().map(|line| u8::from(!line.paths.is_empty())));
    block
}

fn line((database, name, object): (String, String, CatalogObject)) -> Line {
    let table = match &object {
        CatalogObject::Table(table) => Some(table.as_ref()),
        _ => None,
    };
    let path = table.and_then(Table::data_path);
    let as_select = match &object {
        CatalogObject::View(view) => {
            let text = view.create.query.to_string();
            hide_passwords(&text).unwrap_or(text)
        }
        _ => String::new(),
    };
    Line {
        database,
        name,
        uuid: object.uuid(),
        engine: object.engine(),
        paths: path.map(|path| path.display().to_string()).into_iter().collect(),
        create: object.create_statement(),
        engine_full: object.engine_clauses(),
        as_select,
        keys: table.map(keys).unwrap_or_default(),
        skip_indexes: table.map(skip_indexes).unwrap_or_default(),
        rows: table.and_then(Table::total_rows),
        bytes: table.and_then(Table::total_bytes),
        parts: table.and_then(parts_of).map(|parts| sum(&parts.stats())),
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

/// The types of its skip indexes, each once.
fn skip_indexes(table: &dyn Table) -> Vec<String> {
    let mut types: Vec<String> = table
        .definition()
        .index_clauses()
        .filter_map(|index| index.kind.as_ref())
        .map(|kind| kind.name.clone())
        .collect();
    types.sort();
    types.dedup();
    types
}

fn sum(stats: &[PartStats]) -> Parts {
    let mut sum = Parts { count: stats.len() as u64, ..Parts::default() };
    for part in stats.iter().filter(|part| part.active) {
        sum.active += 1;
        sum.marks += part.marks;
        sum.uncompressed += part.data_uncompressed_bytes;
    }
    sum
}

fn system_line(name: &str) -> Line {
    Line { database: SYSTEM.to_owned(), name: name.to_owned(), engine: "System", ..Line::default() }
}
