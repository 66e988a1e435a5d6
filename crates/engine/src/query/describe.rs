//! DESCRIBE: the columns of a table, of a table function or of a query.

use std::sync::Arc;

use basalt_base::{Column, Columns, Result, SqlType};
use basalt_sql::ast::{self, Describe, ObjectName, TableFactor};

use super::select;
use super::show::{Described, strings_block};
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::names::{INFORMATION_SCHEMA, SYSTEM};
use crate::tables::{TableDefinition, default_kind_name};
use crate::{information_schema, system};

/// The answer, and the format that the statement names.
pub(super) async fn describe(query: &Arc<Execution>, describe: Describe) -> Result<Described> {
    let (rows, format) = match describe {
        Describe::Table { name, format } => (describe_table(query, &name).await?, format),
        Describe::Factor { factor, format } => (describe_factor(query, *factor).await?, format),
    };
    let names = [
        "name",
        "type",
        "default_type",
        "default_expression",
        "comment",
        "codec_expression",
        "ttl_expression",
    ];
    let columns: Columns = names.iter().map(|name| Column::new(*name, SqlType::String)).collect();
    let block = strings_block(&columns, rows)?;
    Ok((columns, block, format))
}

async fn describe_table(query: &Arc<Execution>, name: &ObjectName) -> Result<Vec<Vec<String>>> {
    let key = query.key_of(name);
    if key.database == SYSTEM {
        return Ok(definition_rows(&system::table(&key.name, query)?.definition()));
    }
    if INFORMATION_SCHEMA.contains(&key.database.as_str()) {
        return Ok(plain_rows(&information_schema::view(&key.name)?.1));
    }
    match query.instance.catalog().get(&key.database, &key.name)? {
        CatalogObject::Table(table) => Ok(definition_rows(&table.definition())),
        CatalogObject::View(view) => Ok(plain_rows(&view.columns)),
        CatalogObject::Dictionary(entry) => Ok(plain_rows(&entry.columns())),
        CatalogObject::Broken(broken) => Err(broken.error.clone()),
    }
}

/// A table function or a subquery: the columns of `SELECT * FROM` it.
async fn describe_factor(query: &Arc<Execution>, factor: TableFactor) -> Result<Vec<Vec<String>>> {
    let asterisk = ast::Expr::Asterisk { qualifier: Vec::new(), except: Vec::new(), replace: Vec::new() };
    let body = ast::Select {
        items: vec![ast::SelectItem { expr: asterisk, alias: None }],
        from: Some(ast::TableExpr::Factor(factor)),
        ..ast::Select::default()
    };
    let ast = ast::Query {
        body: ast::SetExpr::Select(Box::new(body)),
        into_outfile: None,
        format: None,
        settings: Vec::new(),
    };
    let planned = select::plan(query, ast, Default::default()).await?;
    Ok(plain_rows(&planned.columns))
}

fn plain_rows(columns: &[Column]) -> Vec<Vec<String>> {
    let row = |column: &Column| {
        let mut row = vec![String::new(); 7];
        row[0].clone_from(&column.name);
        row[1] = column.ty.to_string();
        row
    };
    columns.iter().map(row).collect()
}

fn definition_rows(definition: &TableDefinition) -> Vec<Vec<String>> {
    definition
        .columns
        .iter()
        .map(|column| {
            let (kind, expr) = match &column.default {
                Some(default) => (
                    default_kind_name(default.kind),
                    default.expr.as_ref().map(ToString::to_string).unwrap_or_default(),
                ),
                None => ("", String::new()),
            };
            let codec = column.codec.as_ref().map(ToString::to_string).unwrap_or_default();
            vec![
                column.name.clone(),
                column.ty.to_string(),
                kind.to_owned(),
                expr,
                column.comment.clone(),
                codec,
                column.ttl.as_ref().map(ToString::to_string).unwrap_or_default(),
            ]
        })
        .collect()
}
