//! The columns of a table of another server.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use basalt_base::{Column, Result, bail};
use basalt_sql::{ast, parse_expr, parse_type, resolve_type};

use super::origin::Origin;
use super::servers::Servers;
use crate::tables::{ColumnDefault, ColumnDefinition, TableDefinition, virtual_definition};

/// The columns of the answer to DESCRIBE that are read: name, type, kind of default, default.
const COLUMNS_READ: usize = 4;

/// The definition of the table, as the first shard describes it.
pub(super) fn definition(servers: &Servers, from: &Origin, name: &str) -> Result<Arc<TableDefinition>> {
    let statement = format!("DESCRIBE TABLE {}", from.text());
    let mut rows = servers.connect(0)?.into_rows(statement.as_bytes())?;
    let mut columns = Vec::new();
    while let Some(block) = rows.next_rows()? {
        let texts = texts(&block)?;
        for row in 0..block.num_rows() {
            columns.push(column(&texts.each_ref().map(|column| column[row].as_str()))?);
        }
    }
    if columns.is_empty() {
        bail!(EmptyListOfColumnsQueried, "{} has no columns", from.text());
    }
    Ok(Arc::new(virtual_definition("Distributed", "_table_function", name, columns)))
}

/// The texts of each column that is read.
fn texts(block: &RecordBatch) -> Result<[Vec<String>; COLUMNS_READ]> {
    let mut texts: [Vec<String>; COLUMNS_READ] = Default::default();
    for (at, texts) in texts.iter_mut().enumerate() {
        let column = block.columns().get(at).and_then(|column| column.as_binary_view_opt());
        let Some(column) = column.filter(|column| column.null_count() == 0) else {
            bail!(
                UnexpectedPacketFromServer,
                "the answer to DESCRIBE TABLE has other columns than are known"
            );
        };
        texts.extend(column.iter().flatten().map(|text| String::from_utf8_lossy(text).into_owned()));
    }
    Ok(texts)
}

/// A column. The other server computes its MATERIALIZED and ALIAS columns: here, both are columns that are read if they
/// are named, and that an INSERT does not take.
fn column([name, ty, kind, default]: &[&str; COLUMNS_READ]) -> Result<ColumnDefinition> {
    let ty = parse_type(ty.as_bytes()).map_err(Into::into).and_then(|ty| resolve_type(&ty));
    let ty = ty.map_err(|error: basalt_base::Error| error.within(format!("column `{name}`")))?;
    let kind = match *kind {
        "" => None,
        "DEFAULT" => Some(ast::DefaultKind::Default),
        "EPHEMERAL" => Some(ast::DefaultKind::Ephemeral),
        _ => Some(ast::DefaultKind::Materialized),
    };
    // An expression that does not parse here matters only to an INSERT that asks for it.
    let is_given = kind == Some(ast::DefaultKind::Default);
    let expr = if is_given { parse_expr(default.as_bytes()).ok() } else { None };
    let default = kind.map(|kind| ColumnDefault { kind, expr });
    Ok(ColumnDefinition { default, ..ColumnDefinition::plain(&Column::new(*name, ty)) })
}
