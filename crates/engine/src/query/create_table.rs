//! CREATE TABLE.

use std::sync::Arc;

use basalt_base::{Column, Error, Result, bail};
use basalt_sql::ast::{self, ObjectKind, ObjectName, TableSource};
use uuid::Uuid;

use super::resolve::{column_def, is_free};
use super::{insert, select, temporary_table};
use crate::catalog::CatalogObject;
use crate::execution::Execution;
use crate::names::ObjectKey;
use crate::planning::check_defaults;
use crate::request::Request;
use crate::tables::{TableDefinition, definition_of};

/// Makes a table, and fills it from the query of AS SELECT.
pub(super) async fn create_table(query: &Arc<Execution>, mut create: ast::CreateTable) -> Result<()> {
    let source_query = complete_source(query, &mut create).await?;
    let created = query.on_blocking_thread("CREATE TABLE", move |query| match create.temporary {
        true => temporary_table::create(query, create),
        false => enter_table(query, create),
    });
    match (source_query, created.await?) {
        (Some(source), Some(key)) => {
            let statement = ast::Insert {
                target: ast::InsertTarget::Table(ObjectName { database: Some(key.database), name: key.name }),
                columns: Vec::new(),
                settings: Vec::new(),
                source: ast::InsertSource::Query(source),
            };
            insert::insert(query, statement, Request::new("")).await
        }
        _ => Ok(()),
    }
}

/// Opens the table and adds it to the catalog; `None` if it existed already.
fn enter_table(query: &Arc<Execution>, mut create: ast::CreateTable) -> Result<Option<ObjectKey>> {
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    let key = query.key_of_new(&create.name);
    if !is_free(query, &key, ObjectKind::Table, create.if_not_exists, create.or_replace)? {
        return Ok(None);
    }
    if create.engine.is_none() {
        let name = query.settings.default_table_engine.clone();
        create.engine = Some(ast::EngineCall { name, args: Vec::new() });
    }
    let definition = complete_definition(query, &key.database, &key.name, create)?;
    let table = query.instance.opener().open(Arc::new(definition))?;
    if let Some(derived) = table.as_derived() {
        derived.check_source()?;
    }
    catalog.put(&key.database, &key.name, CatalogObject::Table(table))?;
    Ok(Some(key))
}

/// The definition of a new table, with a uuid of its own.
pub(super) fn complete_definition(
    query: &Arc<Execution>,
    database: &str,
    name: &str,
    mut create: ast::CreateTable,
) -> Result<TableDefinition> {
    if query.settings.flatten_nested {
        create.elements = ast::flatten_elements(create.elements);
    }
    let definition = definition_of(database, name, Uuid::new_v4(), create)?;
    definition.check_suspicious(None, &query.settings)?;
    check_defaults(query, &definition, |_| true)?;
    Ok(definition)
}

/// Takes the columns of `AS SELECT` or `AS other` where the statement lists none; returns the query that fills the
/// table.
async fn complete_source(
    query: &Arc<Execution>,
    create: &mut ast::CreateTable,
) -> Result<Option<Box<ast::Query>>> {
    match create.source.take() {
        None => Ok(None),
        Some(TableSource::Query(source)) => {
            take_columns(query, create, &source).await?;
            Ok(Some(source))
        }
        Some(TableSource::EmptyQuery(source)) => {
            take_columns(query, create, &source).await?;
            Ok(None)
        }
        Some(TableSource::Like(other)) => {
            let key = query.key_of(&other);
            let catalog = query.instance.catalog();
            if let Some(CatalogObject::Dictionary(_)) = catalog.find(&key.database, &key.name) {
                let (database, name) = (&key.database, &key.name);
                bail!(
                    IncorrectQuery,
                    "`{database}.{name}` is a dictionary, not a table; \
                     ENGINE = Dictionary({database}.{name}) makes a table of it"
                );
            }
            let table = catalog.table(&key.database, &key.name, "CREATE TABLE ... AS")?;
            let like = table.definition();
            create.elements = like.create.elements.clone();
            if create.engine.is_none() {
                create.engine = like.create.engine.clone();
                create.order_by = like.create.order_by.clone();
                create.primary_key = like.create.primary_key.clone();
                create.partition_by = like.create.partition_by.clone();
                create.sample_by = like.create.sample_by.clone();
                create.ttl = like.create.ttl.clone();
                create.settings = like.create.settings.clone();
            }
            Ok(None)
        }
        Some(TableSource::Function(_)) => Err(Error::not_implemented("CREATE TABLE ... AS a table function")),
    }
}

/// Takes the columns of the query where the statement lists none.
async fn take_columns(
    query: &Arc<Execution>,
    create: &mut ast::CreateTable,
    source: &ast::Query,
) -> Result<()> {
    if create.elements.is_empty() {
        let planned = select::plan(query, source.clone(), Default::default()).await?;
        create.elements = planned.columns.iter().map(column_element).collect::<Result<_>>()?;
    }
    Ok(())
}

fn column_element(column: &Column) -> Result<ast::TableElement> {
    Ok(ast::TableElement::Column(column_def(column)?))
}
