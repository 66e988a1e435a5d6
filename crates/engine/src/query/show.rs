//! SHOW, DESCRIBE, EXISTS and CHECK: answers about the catalog, as rows.
//!
//! Answers that a system table has come from a SELECT on it; the others are built here.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, UInt8Array};
use arrow::record_batch::RecordBatch;
use basalt_base::types::{quote_identifier, quote_string};
use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_sql::ast::{self, Describe, ObjectKind, ObjectName, ShowFilter, ShowWhat, Statement, TableFactor};

use super::running::Running;
use super::select;
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::names::SYSTEM;
use crate::outcome::Outcome;
use crate::request::Request;
use crate::system;
use crate::tables::{TableDefinition, default_kind_name};

/// Whether [`rows`] runs the statement.
pub(super) fn shows(statement: &Statement) -> bool {
    matches!(statement, Statement::Show(_) | Statement::Describe(_) | Statement::Exists { .. })
}

/// Runs a statement that answers about the catalog.
pub(super) async fn rows(running: Running, statement: Statement, request: Request) -> Result<Outcome> {
    let query = Arc::clone(&running.query);
    let answer = match statement {
        Statement::Show(show) => match show_answer(&query, show.what) {
            Ok(Answer::Select(text)) => return run_select(running, &text, show.format, request).await,
            Ok(Answer::Block(columns, block)) => Ok((columns, block, show.format)),
            Err(error) => Err(error),
        },
        Statement::Describe(describe) => describe_answer(&query, describe).await,
        Statement::Exists { kind, name } => exists(&query, kind, &name),
        other => Err(Error::logical(format!("`{other}` shows nothing"))),
    };
    match answer {
        Ok((columns, block, format)) => {
            let rows = select::ready_rows(&running, columns, block, &request, format);
            Ok(Outcome::Rows(Box::new(rows)))
        }
        Err(error) => {
            running.finish(Some(&error));
            Err(error)
        }
    }
}

enum Answer {
    /// The text of a SELECT over system tables.
    Select(String),
    Block(Columns, RecordBatch),
}

type Described = (Columns, RecordBatch, Option<String>);

async fn run_select(
    running: Running,
    text: &str,
    format: Option<String>,
    request: Request,
) -> Result<Outcome> {
    match basalt_sql::parse_statement(text.as_bytes()) {
        Ok(Statement::Query(mut ast)) => {
            ast.format = format;
            select::rows(running, *ast, request).await
        }
        _ => Err(Error::logical(format!("the SELECT of a SHOW does not parse: `{text}`"))),
    }
}

fn show_answer(query: &Execution, what: ShowWhat) -> Result<Answer> {
    let text = match what {
        ShowWhat::Databases { like } => {
            format!(
                "SELECT name FROM system.databases{} ORDER BY name",
                filter_text(&like, " WHERE ", "name")
            )
        }
        ShowWhat::Tables { kind, database, like, limit } => {
            let database = database.unwrap_or_else(|| query.database.clone());
            query.instance.catalog().require_database(&database)?;
            let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
            let kind = match kind {
                ObjectKind::View => " AND engine = 'View'",
                ObjectKind::Dictionary => " AND engine = 'Dictionary'",
                _ => "",
            };
            let like = filter_text(&like, " AND ", "name");
            let database = quote_string(&database);
            format!(
                "SELECT name FROM system.tables WHERE database = {database}{kind}{like} ORDER BY name{limit}"
            )
        }
        ShowWhat::Create { kind, name } => return show_create(query, kind, &name),
        ShowWhat::Columns { table, like } => {
            let key = query.key_of(&table);
            let like = filter_text(&like, " AND ", "name");
            format!(
                "SELECT name AS field, type, startsWith(type, 'Nullable') ? 'YES' : 'NO' AS `null` \
                 FROM system.columns WHERE database = {} AND table = {}{like} ORDER BY position",
                quote_string(&key.database),
                quote_string(&key.name)
            )
        }
        ShowWhat::ProcessList => "SELECT * FROM system.processes ORDER BY elapsed DESC".to_owned(),
        ShowWhat::Settings { like } => {
            let like = filter_text(&like, " WHERE ", "name");
            format!("SELECT name, type, value FROM system.settings{like} ORDER BY name")
        }
        ShowWhat::Functions { like } => {
            format!("SELECT * FROM system.functions{} ORDER BY name", filter_text(&like, " WHERE ", "name"))
        }
        ShowWhat::Engines => "SELECT name FROM system.table_engines ORDER BY name".to_owned(),
    };
    Ok(Answer::Select(text))
}

fn filter_text(filter: &Option<ShowFilter>, lead: &str, column: &str) -> String {
    match filter {
        None => String::new(),
        Some(ShowFilter::Where(expr)) => format!("{lead}({expr})"),
        Some(ShowFilter::Like { pattern, case_insensitive, negated }) => {
            let not = if *negated { "NOT " } else { "" };
            let like = if *case_insensitive { "ILIKE" } else { "LIKE" };
            format!("{lead}{column} {not}{like} {}", quote_string(pattern))
        }
    }
}

fn show_create(query: &Execution, kind: ObjectKind, name: &ObjectName) -> Result<Answer> {
    let statement = if kind == ObjectKind::Database {
        query.instance.catalog().require_database(&name.name)?;
        format!("CREATE DATABASE {} ENGINE = Atomic", quote_identifier(&name.name))
    } else {
        let key = query.key_of(name);
        let catalog = query.instance.catalog();
        match (catalog.find(&key.database, &key.name), catalog.detached(&key)) {
            (None, Some(detached)) => detached.shown_statement()?,
            _ => catalog.get(&key.database, &key.name)?.shown_statement(),
        }
    };
    let columns = Columns::new(vec![Column::new("statement", SqlType::String)]);
    let block = strings_block(&columns, vec![vec![statement]])?;
    Ok(Answer::Block(columns, block))
}

fn exists(query: &Execution, kind: ObjectKind, name: &ObjectName) -> Result<Described> {
    let catalog = query.instance.catalog();
    let found = if kind == ObjectKind::Database {
        catalog.has_database(&name.name)
    } else {
        let key = query.key_of(name);
        match catalog.find(&key.database, &key.name) {
            Some(CatalogObject::Dictionary(_)) => matches!(kind, ObjectKind::Dictionary | ObjectKind::Table),
            Some(CatalogObject::View(_)) => matches!(kind, ObjectKind::View | ObjectKind::Table),
            Some(_) => kind == ObjectKind::Table,
            None => key.database == SYSTEM && system::table_names().contains(&key.name.as_str()),
        }
    };
    let columns = Columns::new(vec![Column::new("result", SqlType::UInt8)]);
    let array: ArrayRef = Arc::new(UInt8Array::from(vec![u8::from(found)]));
    let block = RecordBatch::try_new(columns.to_arrow(), vec![array]).map_err(Error::of_arrow)?;
    Ok((columns, block, None))
}

async fn describe_answer(query: &Arc<Execution>, describe: Describe) -> Result<Described> {
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

/// Rows of strings as a block; every row has a string for each column.
pub(super) fn strings_block(columns: &Columns, rows: Vec<Vec<String>>) -> Result<RecordBatch> {
    let arrays = (0..columns.len())
        .map(|at| {
            let values = rows.iter().map(|row| row[at].as_bytes());
            Arc::new(BinaryViewArray::from_iter_values(values)) as ArrayRef
        })
        .collect();
    RecordBatch::try_new(columns.to_arrow(), arrays).map_err(Error::of_arrow)
}
