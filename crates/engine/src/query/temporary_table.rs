//! CREATE TEMPORARY TABLE, and the external tables of a statement.

use std::sync::Arc;

use basalt_base::types::quote_identifier;
use basalt_base::{Result, bail};
use basalt_sql::ast::{self, Statement};
use uuid::Uuid;

use super::create_table::complete_definition;
use crate::execution::Execution;
use crate::names::{ObjectKey, TEMPORARY, check_name};
use crate::request::ExternalTable;
use crate::tables::Table;
use crate::temporary_tables::TemporaryTables;

/// The only engine of temporary tables.
const ENGINE: &str = "Memory";

/// Makes a temporary table of the session. Returns its key, or `None` if there was one and IF NOT EXISTS allows that.
pub(super) fn create(query: &Arc<Execution>, mut create: ast::CreateTable) -> Result<Option<ObjectKey>> {
    let name = create.name.name.clone();
    if create.name.database.is_some() {
        bail!(BadDatabaseForTemporaryTable, "a temporary table is in no database: name it `{name}` alone");
    }
    check_name("table", &name)?;
    let is_there = query.temporary.find(&name).is_some();
    if is_there && create.if_not_exists {
        return Ok(None);
    }
    if is_there && !create.or_replace {
        bail!(TableAlreadyExists, "temporary table `{name}` already exists");
    }
    if let Some(engine) = create.engine.as_ref().filter(|engine| engine.name != ENGINE) {
        bail!(
            NotImplemented,
            "a temporary table of engine {} is not implemented; {ENGINE} is the default",
            engine.name
        );
    }
    create.engine = Some(ast::EngineCall { name: ENGINE.to_owned(), args: Vec::new() });
    let stored = stored_name(&name);
    let definition = complete_definition(query, TEMPORARY, &stored, create)?;
    let table = query.instance.opener().open(Arc::new(definition))?;
    enter(query, &query.temporary, &name, &stored, table, false);
    Ok(Some(ObjectKey { database: TEMPORARY.to_owned(), name: stored }))
}

/// Makes the tables that came with a statement.
pub(super) async fn receive(query: &Arc<Execution>, tables: Vec<ExternalTable>) -> Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    query.on_blocking_thread("external tables", move |query| create_external(query, tables)).await
}

fn create_external(query: &Arc<Execution>, tables: Vec<ExternalTable>) -> Result<()> {
    for external in tables {
        check_name("table", &external.name)?;
        let columns: Vec<String> = external
            .columns
            .iter()
            .map(|column| format!("{} {}", quote_identifier(&column.name), column.ty))
            .collect();
        let text = format!(
            "CREATE TEMPORARY TABLE {} ({}) ENGINE = {ENGINE}",
            quote_identifier(&external.name),
            columns.join(", ")
        );
        let Statement::CreateTable(create) = basalt_sql::parse_statement(text.as_bytes())? else {
            bail!(LogicalError, "the statement of an external table is no CREATE TABLE");
        };
        let stored = stored_name(&external.name);
        let definition = complete_definition(query, TEMPORARY, &stored, *create)?;
        let table = query.instance.opener().open(Arc::new(definition))?;
        for block in external.blocks {
            table.insert(block)?;
        }
        enter(query, &query.temporary, &external.name, &stored, table, true);
    }
    Ok(())
}

/// A name that no other temporary table has.
fn stored_name(name: &str) -> String {
    format!("{name}.{}", Uuid::new_v4())
}

fn enter(
    query: &Execution,
    tables: &TemporaryTables,
    name: &str,
    stored: &str,
    table: Arc<dyn Table>,
    is_external: bool,
) {
    query.instance.catalog().put_temporary(stored, table);
    let (instance, removed) = (Arc::clone(&query.instance), stored.to_owned());
    let remove = move || instance.catalog().remove_temporary(&removed);
    match is_external {
        true => tables.add_external(name, stored.to_owned(), remove),
        false => tables.add(name, stored.to_owned(), remove),
    }
}
