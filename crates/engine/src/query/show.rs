//! SHOW, DESCRIBE and EXISTS: answers about the catalog, as rows.
//!
//! Answers that a system table has come from a SELECT on it; the others are built here.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, UInt8Array};
use arrow::record_batch::RecordBatch;
use basalt_base::types::{quote_identifier, quote_string};
use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_sql::ast::{ObjectKind, ObjectName, ShowWhat, Statement};

use super::describe::describe;
use super::running::Running;
use super::show_text::{columns_text, filter_text, indexes_text};
use super::{select, show_access};
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::information_schema;
use crate::names::{INFORMATION_SCHEMA, ObjectKey, SYSTEM, is_built_in};
use crate::outcome::Outcome;
use crate::request::Request;
use crate::system;

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
        Statement::Describe(what) => describe(&query, what).await,
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

pub(super) enum Answer {
    /// The text of a SELECT over system tables.
    Select(String),
    Block(Columns, RecordBatch),
}

pub(super) type Described = (Columns, RecordBatch, Option<String>);

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

fn show_answer(query: &Arc<Execution>, what: ShowWhat) -> Result<Answer> {
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
        ShowWhat::FullTables { database, like, limit } => {
            let database = database.unwrap_or_else(|| query.database.clone());
            query.instance.catalog().require_database(&database)?;
            let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
            let (like, database) = (filter_text(&like, " AND ", "name"), quote_string(&database));
            format!(
                "SELECT name, engine FROM system.tables WHERE database = {database}{like} ORDER BY name{limit}"
            )
        }
        ShowWhat::Columns { table, full, like } => columns_text(&query.key_of(&table), full, &like),
        ShowWhat::Indexes { table, filter } => {
            let key = query.key_of(&table);
            query.instance.catalog().table(&key.database, &key.name, "SHOW INDEX")?;
            indexes_text(&key, filter)
        }
        ShowWhat::Clusters => "SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster".to_owned(),
        ShowWhat::Setting { name } => {
            query.settings.get(&name)?;
            format!("SELECT value FROM system.settings WHERE name = {}", quote_string(&name))
        }
        ShowWhat::ProcessList => "SELECT * FROM system.processes ORDER BY elapsed DESC".to_owned(),
        ShowWhat::Settings { like } => {
            let like = filter_text(&like, " WHERE ", "name");
            format!("SELECT name, type, value FROM system.settings{like} ORDER BY name")
        }
        ShowWhat::Functions { like } => {
            format!("SELECT * FROM system.functions{} ORDER BY name", filter_text(&like, " WHERE ", "name"))
        }
        ShowWhat::Access(show) => return show_access::answer(query, &show),
        ShowWhat::Engines => "SELECT name FROM system.table_engines ORDER BY name".to_owned(),
    };
    Ok(Answer::Select(text))
}

fn show_create(query: &Arc<Execution>, kind: ObjectKind, name: &ObjectName) -> Result<Answer> {
    let statement = if kind == ObjectKind::Database {
        query.instance.catalog().require_database(&name.name)?;
        format!("CREATE DATABASE {} ENGINE = Atomic", quote_identifier(&name.name))
    } else {
        let key = query.key_of(name);
        let catalog = query.instance.catalog();
        match (catalog.find(&key.database, &key.name), catalog.detached(&key)) {
            _ if is_built_in(&key.database) => built_in_statement(query, &key)?,
            (None, Some(detached)) => detached.shown_statement()?,
            _ => catalog.get(&key.database, &key.name)?.shown_statement(),
        }
    };
    let columns = Columns::new(vec![Column::new("statement", SqlType::String)]);
    let block = strings_block(&columns, vec![vec![statement]])?;
    Ok(Answer::Block(columns, block))
}

/// The statement that would make a table that the engine makes itself.
fn built_in_statement(query: &Arc<Execution>, key: &ObjectKey) -> Result<String> {
    let name = format!("{}.{}", key.database, quote_identifier(&key.name));
    if key.database != SYSTEM {
        return Ok(format!("CREATE VIEW {name}\nAS {}", information_schema::view(&key.name)?.0));
    }
    let definition = system::table(&key.name, query)?.definition();
    let columns = definition.columns.iter().map(|column| {
        let alias = column.default.as_ref().and_then(|default| default.expr.as_ref());
        let alias = alias.map(|expr| format!(" ALIAS {expr}")).unwrap_or_default();
        format!("    `{}` {}{alias}", column.name, column.ty)
    });
    let columns: Vec<String> = columns.collect();
    Ok(format!("CREATE TABLE {name}\n(\n{}\n)\nENGINE = System", columns.join(",\n")))
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
            None if INFORMATION_SCHEMA.contains(&key.database.as_str()) => {
                information_schema::view(&key.name).is_ok()
            }
            None => key.database == SYSTEM && system::table_names().contains(&key.name.as_str()),
        }
    };
    let columns = Columns::new(vec![Column::new("result", SqlType::UInt8)]);
    let array: ArrayRef = Arc::new(UInt8Array::from(vec![u8::from(found)]));
    let block = RecordBatch::try_new(columns.to_arrow(), vec![array]).map_err(Error::of_arrow)?;
    Ok((columns, block, None))
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
