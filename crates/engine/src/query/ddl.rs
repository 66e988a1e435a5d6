//! Dispatches statements that change the catalog or a table to the files that run them.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Error, Result, bail};
use basalt_sql::ast::{self, Statement};

use super::{
    alter, backup, create_dictionary, create_table, create_view, delete, detach, drop, kill_mutation,
    named_collection, optimize, rename, update,
};
use crate::execution::Execution;

/// Runs a statement that changes the catalog or a table on a thread that may block.
pub(super) async fn run(
    query: &Arc<Execution>,
    statement: Statement,
    parameters: HashMap<String, String>,
) -> Result<()> {
    if let Statement::CreateTable(create) = statement {
        return create_table::create_table(query, *create).await;
    }
    if let Statement::CreateView(create) = statement {
        return create_view::create_view(query, *create).await;
    }
    let run = move |query: &Arc<Execution>| run_blocking(query, statement, &parameters);
    query.on_blocking_thread("a DDL statement", run).await
}

fn run_blocking(
    query: &Arc<Execution>,
    statement: Statement,
    parameters: &HashMap<String, String>,
) -> Result<()> {
    match statement {
        Statement::CreateDatabase(create) => create_database(query, &create),
        Statement::CreateDictionary(create) => create_dictionary::create_dictionary(query, *create),
        Statement::CreateNamedCollection(create) => named_collection::create(query, create),
        Statement::AlterNamedCollection(alter) => named_collection::alter(query, alter),
        Statement::DropNamedCollection { name, if_exists } => named_collection::drop(query, &name, if_exists),
        Statement::Drop(drop) => drop::drop_objects(query, &drop),
        Statement::Truncate { name, if_exists } => drop::truncate(query, &name, if_exists),
        Statement::Rename { kind, pairs } => rename::rename(query, kind, &pairs),
        Statement::Exchange { kind, left, right } => rename::exchange(query, kind, &left, &right),
        Statement::Alter(ast) => alter::alter(query, &ast, parameters),
        Statement::Optimize { table, partition, is_final, deduplicate } => {
            optimize::optimize(query, &table, partition.as_ref(), is_final, deduplicate.as_deref())
        }
        Statement::Delete { table, filter, .. } => delete::delete_from(query, &table, &filter, parameters),
        Statement::Update(ast) => update::update(query, *ast, parameters),
        Statement::Access(statement) => {
            query.instance.access_control.apply(&statement, &query.access, &query.database)
        }
        Statement::KillMutation { filter } => kill_mutation::kill_mutation(query, &filter),
        Statement::Detach(detach) => detach::detach(query, &detach),
        Statement::Attach { kind, name, if_not_exists } => detach::attach(query, kind, &name, if_not_exists),
        Statement::Backup { table, to } => backup::backup(query, &table, &to),
        Statement::Restore { table, new_name, from } => {
            backup::restore(query, &table, new_name.as_ref(), &from)
        }
        other => Err(Error::logical(format!("no executor for the statement `{other}`"))),
    }
}

fn create_database(query: &Execution, create: &ast::CreateDatabase) -> Result<()> {
    if let Some(engine) = &create.engine
        && !matches!(engine.name.as_str(), "Atomic" | "Ordinary")
    {
        bail!(NotImplemented, "database engine `{}` is not implemented", engine.name);
    }
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    if catalog.has_database(&create.name) {
        if create.if_not_exists {
            return Ok(());
        }
        bail!(DatabaseAlreadyExists, "database `{}` already exists", create.name);
    }
    catalog.check_database_not_detached(&create.name)?;
    catalog.create_database(&create.name)
}
