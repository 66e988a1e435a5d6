//! CREATE, DROP, TRUNCATE, OPTIMIZE: statements that change what there is.

use std::sync::Arc;
use std::time::Duration;

use basalt_base::{Column, Error, ErrorCode, Result, bail};
use basalt_sql::ast::{self, ObjectKind, ObjectName, Statement, TableSource};
use uuid::Uuid;

use super::current::CurrentQuery;
use super::{
    QueryContext, alter, create_dictionary, defaults, detach, insert, kill_mutation, mutation,
    named_collection, optimize, rename, select,
};
use crate::catalog::{CatalogObject, ObjectKey, SYSTEM, check_name, view_of};
use crate::request::Request;
use crate::tables::definition_of;

/// How often DROP ... SYNC looks whether the last user of the table is gone.
const SWEEP_INTERVAL: Duration = Duration::from_millis(5);

/// Runs a statement of this file on a thread that may block.
pub(super) async fn run(query: &Arc<QueryContext>, statement: Statement) -> Result<()> {
    if let Statement::CreateTable(create) = statement {
        return create_table(query, *create).await;
    }
    if let Statement::CreateView(create) = statement {
        return create_view(query, *create).await;
    }
    let query = Arc::clone(query);
    match tokio::task::spawn_blocking(move || run_blocking(&query, statement)).await {
        Ok(result) => result,
        Err(panic) => Err(Error::logical(format!("a DDL statement ended early: {panic}"))),
    }
}

fn run_blocking(query: &Arc<QueryContext>, statement: Statement) -> Result<()> {
    let _current = CurrentQuery::enter(query);
    match statement {
        Statement::CreateDatabase(create) => create_database(query, &create),
        Statement::CreateDictionary(create) => create_dictionary::create_dictionary(query, *create),
        Statement::CreateNamedCollection(create) => named_collection::create(query, create),
        Statement::AlterNamedCollection(alter) => named_collection::alter(query, alter),
        Statement::DropNamedCollection { name, if_exists } => named_collection::drop(query, &name, if_exists),
        Statement::Drop(drop) => drop_objects(query, &drop),
        Statement::Truncate { name, if_exists } => truncate(query, &name, if_exists),
        Statement::Rename { kind, pairs } => rename::rename(query, kind, &pairs),
        Statement::Exchange { kind, left, right } => rename::exchange(query, kind, &left, &right),
        Statement::Alter(ast) => alter::alter(query, &ast),
        Statement::Optimize { table, partition, is_final, deduplicate } => {
            optimize::optimize(query, &table, partition.as_ref(), is_final, deduplicate.as_deref())
        }
        Statement::Delete { table, filter } => mutation::delete_from(query, &table, &filter),
        Statement::KillMutation { filter } => kill_mutation::kill_mutation(query, &filter),
        Statement::Detach(detach) => detach::detach(query, &detach),
        Statement::Attach { kind, name, if_not_exists } => detach::attach(query, kind, &name, if_not_exists),
        other => Err(Error::logical(format!("no room runs the statement `{other}`"))),
    }
}

/// The name with its database.
pub(super) fn key_of(query: &QueryContext, name: &ObjectName) -> ObjectKey {
    let database = name.database.clone().unwrap_or_else(|| query.database.clone());
    ObjectKey { database, name: name.name.clone() }
}

fn create_database(query: &QueryContext, create: &ast::CreateDatabase) -> Result<()> {
    if let Some(engine) = &create.engine
        && !matches!(engine.name.as_str(), "Atomic" | "Ordinary")
    {
        bail!(NotImplemented, "database engine `{}` is not implemented", engine.name);
    }
    let catalog = query.engine.catalog();
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

/// Whether `key` is free for an object of `kind`, or OR REPLACE makes it so; under IF NOT EXISTS a taken name is no
/// error.
pub(super) fn is_free(
    query: &QueryContext,
    key: &ObjectKey,
    kind: ObjectKind,
    if_not_exists: bool,
    or_replace: bool,
) -> Result<bool> {
    if key.database == SYSTEM {
        bail!(ReadOnly, "nothing can be created in the database `{SYSTEM}`");
    }
    check_name(if kind == ObjectKind::Dictionary { "dictionary" } else { "table" }, &key.name)?;
    let catalog = query.engine.catalog();
    catalog.require_database(&key.database)?;
    if if_not_exists && catalog.detached(key).is_some() {
        return Ok(false);
    }
    catalog.check_not_detached(key)?;
    match catalog.find(&key.database, &key.name) {
        None => Ok(true),
        Some(object) if or_replace => {
            let is_dictionary = matches!(object, CatalogObject::Dictionary(_));
            let is_broken = matches!(object, CatalogObject::Broken(_));
            if !is_broken && is_dictionary != (kind == ObjectKind::Dictionary) {
                let (database, name) = (&key.database, &key.name);
                bail!(IncorrectQuery, "`{database}.{name}` is a {}; drop it to replace it", object.kind());
            }
            Ok(true)
        }
        Some(_) if if_not_exists => Ok(false),
        Some(CatalogObject::Dictionary(_)) => {
            bail!(DictionaryAlreadyExists, "dictionary `{}.{}` already exists", key.database, key.name)
        }
        Some(object) => {
            bail!(TableAlreadyExists, "{} `{}.{}` already exists", object.kind(), key.database, key.name)
        }
    }
}

async fn create_table(query: &Arc<QueryContext>, mut create: ast::CreateTable) -> Result<()> {
    let key = key_of(query, &create.name);
    let source_query = complete_source(query, &mut create).await?;
    let created = {
        let query = Arc::clone(query);
        let key = key.clone();
        tokio::task::spawn_blocking(move || {
            let _current = CurrentQuery::enter(&query);
            enter_table(&query, &key, create)
        })
    };
    let created =
        created.await.map_err(|panic| Error::logical(format!("CREATE TABLE ended early: {panic}")))??;
    match source_query {
        Some(source) if created => {
            let insert = ast::Insert {
                target: ast::InsertTarget::Table(ObjectName { database: Some(key.database), name: key.name }),
                columns: Vec::new(),
                settings: Vec::new(),
                source: ast::InsertSource::Query(source),
            };
            insert::insert(query, insert, Request::new("")).await
        }
        _ => Ok(()),
    }
}

/// Opens the table and enters it; `false` if it was there already.
fn enter_table(query: &Arc<QueryContext>, key: &ObjectKey, mut create: ast::CreateTable) -> Result<bool> {
    let catalog = query.engine.catalog();
    let _ddl = catalog.ddl();
    if !is_free(query, key, ObjectKind::Table, create.if_not_exists, create.or_replace)? {
        return Ok(false);
    }
    if create.engine.is_none() {
        let name = query.settings.default_table_engine.clone();
        create.engine = Some(ast::EngineCall { name, args: Vec::new() });
    }
    if query.settings.flatten_nested {
        create.elements = ast::flatten_elements(create.elements);
    }
    let definition = definition_of(&key.database, &key.name, Uuid::new_v4(), create)?;
    definition.check_suspicious(None, &query.settings)?;
    defaults::check(query, &definition, |_| true)?;
    let table = query.engine.opener().open(Arc::new(definition))?;
    table.check_source(catalog)?;
    catalog.put(&key.database, &key.name, CatalogObject::Table(table))?;
    Ok(true)
}

/// Takes the columns of `AS SELECT` or `AS other` where the statement lists none; answers with the
/// query that fills the table.
async fn complete_source(
    query: &Arc<QueryContext>,
    create: &mut ast::CreateTable,
) -> Result<Option<Box<ast::Query>>> {
    match create.source.take() {
        None => Ok(None),
        Some(TableSource::Query(source)) => {
            if create.elements.is_empty() {
                let planned = select::plan(query, source.as_ref().clone(), Default::default()).await?;
                create.elements = planned.columns.iter().map(column_element).collect::<Result<_>>()?;
            }
            Ok(Some(source))
        }
        Some(TableSource::Like(other)) => {
            let key = key_of(query, &other);
            let catalog = query.engine.catalog();
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

fn column_element(column: &Column) -> Result<ast::TableElement> {
    Ok(ast::TableElement::Column(column_def(column)?))
}

fn column_def(column: &Column) -> Result<ast::ColumnDef> {
    let ty = basalt_sql::parse_type(column.ty.to_string().as_bytes())?;
    Ok(ast::ColumnDef::new(column.name.clone(), Some(ty)))
}

async fn create_view(query: &Arc<QueryContext>, mut create: ast::CreateView) -> Result<()> {
    if create.materialized {
        bail!(NotImplemented, "CREATE MATERIALIZED VIEW is not implemented");
    }
    // The plan says whether the query is one, and what its columns are.
    let planned = select::plan(query, create.query.as_ref().clone(), Default::default()).await?;
    if create.columns.is_empty() {
        create.columns = planned.columns.iter().map(column_def).collect::<Result<_>>()?;
    }
    let key = key_of(query, &create.name);
    let catalog = query.engine.catalog();
    let _ddl = catalog.ddl();
    if !is_free(query, &key, ObjectKind::View, create.if_not_exists, create.or_replace)? {
        return Ok(());
    }
    create.name = ObjectName { database: Some(key.database.clone()), name: key.name.clone() };
    create.or_replace = false;
    create.if_not_exists = false;
    let view = view_of(Uuid::new_v4(), create)?;
    catalog.put(&key.database, &key.name, CatalogObject::View(Arc::new(view)))
}

fn drop_objects(query: &QueryContext, drop: &ast::DropObject) -> Result<()> {
    if drop.temporary {
        bail!(NotImplemented, "DROP TEMPORARY is not implemented");
    }
    drop_named(query, drop)?;
    // SYNC: the space is free when the statement ends.
    while drop.sync && !query.engine.catalog().sweep_dropped() {
        query.check()?;
        std::thread::sleep(SWEEP_INTERVAL);
    }
    Ok(())
}

fn drop_named(query: &QueryContext, drop: &ast::DropObject) -> Result<()> {
    let catalog = query.engine.catalog();
    let _ddl = catalog.ddl();
    for name in drop.names.iter().filter(|_| drop.kind != ObjectKind::Database) {
        let key = key_of(query, name);
        catalog
            .find(&key.database, &key.name)
            .map_or(Ok(()), |object| check_kind(&object, drop.kind, &key, "DROP"))?;
    }
    if query.settings.check_table_dependencies {
        catalog.check_no_dependents(|key| match drop.kind {
            ObjectKind::Database => drop.names.iter().any(|name| name.name == key.database),
            _ => drop.names.iter().any(|name| key_of(query, name) == *key),
        })?;
    }
    for name in &drop.names {
        if drop.kind == ObjectKind::Database {
            if !catalog.has_database(&name.name) && drop.if_exists {
                continue;
            }
            catalog.require_database(&name.name)?;
            for (table, _) in catalog.objects(&name.name) {
                query
                    .engine
                    .background()
                    .cancel_table(&ObjectKey { database: name.name.clone(), name: table });
            }
            catalog.drop_database(&name.name)?;
            continue;
        }
        let key = key_of(query, name);
        match catalog.find(&key.database, &key.name) {
            None if drop.if_exists => {}
            None => drop_missing(query, &key)?,
            Some(object) => {
                // Whoever holds the table keeps its data.
                std::mem::drop(object);
                query.engine.background().cancel_table(&key);
                catalog.remove(&key.database, &key.name)?;
            }
        }
    }
    Ok(())
}

fn drop_missing(query: &QueryContext, key: &ObjectKey) -> Result<()> {
    if key.database == SYSTEM {
        bail!(ReadOnly, "tables of the database `{SYSTEM}` cannot be dropped");
    }
    query.engine.catalog().get(&key.database, &key.name).map(|_| ())
}

/// Whether DROP or DETACH, as `verb` says, of an object of this kind may name it.
pub(super) fn check_kind(
    object: &CatalogObject,
    kind: ObjectKind,
    key: &ObjectKey,
    verb: &str,
) -> Result<()> {
    let fits = match object {
        CatalogObject::Table(_) => kind == ObjectKind::Table,
        CatalogObject::View(_) => matches!(kind, ObjectKind::View | ObjectKind::Table),
        CatalogObject::Dictionary(_) => matches!(kind, ObjectKind::Dictionary),
        CatalogObject::Broken(_) => true,
    };
    if fits {
        return Ok(());
    }
    let is_dictionary = matches!(object, CatalogObject::Dictionary(_)) && kind == ObjectKind::Table;
    Err(Error::new(
        if is_dictionary { ErrorCode::CannotDropDictionaryAsTable } else { ErrorCode::IncorrectQuery },
        format!(
            "`{}.{}` is a {}; use {verb} {}",
            key.database,
            key.name,
            object.kind(),
            object.kind().to_uppercase()
        ),
    ))
}

fn truncate(query: &QueryContext, name: &ObjectName, if_exists: bool) -> Result<()> {
    let key = key_of(query, name);
    let catalog = query.engine.catalog();
    if if_exists && catalog.find(&key.database, &key.name).is_none() {
        return Ok(());
    }
    catalog.table(&key.database, &key.name, "TRUNCATE")?.truncate()
}
