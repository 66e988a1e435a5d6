//! `system.data_skipping_indices`: the skip indexes of every table, and what they take on disk.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result, SqlType};
use basalt_sql::ast::{Expr, IndexDef};

use super::block;
use super::block::BlockBuilder;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::tables::parts_of;

pub(super) fn columns() -> Columns {
    block::columns([
        ("database", SqlType::String),
        ("table", SqlType::String),
        ("name", SqlType::String),
        ("type", SqlType::String),
        ("type_full", SqlType::String),
        ("expr", SqlType::String),
        ("granularity", SqlType::UInt64),
        ("data_compressed_bytes", SqlType::UInt64),
    ])
}

struct Line {
    database: String,
    table: String,
    clause: IndexDef,
    /// The indexed expressions, with ALIAS columns as their expressions.
    expr: String,
    bytes: u64,
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let mut lines = Vec::new();
    for (database, name, object) in query.visible_objects() {
        let CatalogObject::Table(table) = object else { continue };
        let definition = table.definition();
        let parts = parts_of(table.as_ref()).filter(|_| definition.index_clauses().next().is_some());
        let parts = parts.map(|parts| parts.stats()).unwrap_or_default();
        for clause in definition.index_clauses() {
            let own = parts.iter().filter(|part| part.active).flat_map(|part| &part.indexes);
            let bytes = own.filter(|index| index.name == clause.name).map(|index| index.bytes_on_disk).sum();
            let (database, table) = (database.clone(), name.clone());
            let exprs: Vec<String> = definition.indexed(clause).iter().map(Expr::to_string).collect();
            let expr = exprs.join(", ");
            lines.push(Line { database, table, clause: clause.clone(), expr, bytes });
        }
    }
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|line| &line.database))
        .strings(lines.iter().map(|line| &line.table))
        .strings(lines.iter().map(|line| &line.clause.name))
        .strings(lines.iter().map(|line| line.clause.kind.as_ref().map_or("", |kind| kind.name.as_str())))
        .strings(lines.iter().map(|line| full_type(&line.clause)))
        .strings(lines.iter().map(|line| &line.expr))
        .u64s(lines.iter().map(|line| line.clause.granularity.unwrap_or(1)))
        .u64s(lines.iter().map(|line| line.bytes));
    block.finish(&columns())
}

/// The type with its arguments, as it was written; empty for an index without TYPE.
fn full_type(clause: &IndexDef) -> String {
    let Some(kind) = &clause.kind else { return String::new() };
    if kind.args.is_empty() {
        return kind.name.clone();
    }
    let args: Vec<String> = kind.args.iter().map(|arg| Expr::Literal(arg.clone()).to_string()).collect();
    format!("{}({})", kind.name, args.join(", "))
}
