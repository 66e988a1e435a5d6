//! ALTER TABLE: changes of the column list, and mutations.

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Error, Result, bail};
use basalt_sql::ast::{
    AlterAction, AlterTable, ColumnDef, ColumnPosition, CreateTable, DefaultKind, TableElement,
};

use super::{QueryContext, ddl, mutation, partition};
use crate::catalog::{CatalogObject, ObjectKey};
use crate::tables::{ColumnChange, Table, TableDefinition, column_of, definition_of};

/// Applies the actions one after another; neighbouring UPDATEs and DELETEs are one mutation.
pub(super) fn alter(query: &Arc<QueryContext>, ast: &AlterTable) -> Result<()> {
    let key = ddl::key_of(query, &ast.name);
    let (table, mutations) = begin(query, &key, &ast.actions)?;
    if query.settings.mutations_sync == 0 {
        return Ok(());
    }
    mutations.into_iter().try_for_each(|version| mutation::wait(query, &key, &table, version))
}

/// All that happens at once; answers with the mutations that are left to run.
fn begin(
    query: &Arc<QueryContext>,
    key: &ObjectKey,
    actions: &[AlterAction],
) -> Result<(Arc<dyn Table>, Vec<u64>)> {
    let catalog = query.engine.catalog();
    let _ddl = catalog.ddl();
    let table = catalog.table(&key.database, &key.name, "ALTER")?;
    let mut mutations = Vec::new();
    for group in actions.chunk_by(|a, b| is_mutation(a) == is_mutation(b)) {
        if is_mutation(&group[0]) {
            mutations.push(mutation::begin(query, table.as_ref(), group)?);
        } else {
            change_columns(query, key, &table, group)?;
        }
    }
    Ok((table, mutations))
}

fn is_mutation(action: &AlterAction) -> bool {
    match action {
        AlterAction::Update { .. } | AlterAction::Delete { .. } => true,
        AlterAction::ClearColumn { partition, .. } => partition.is_none(),
        _ => false,
    }
}

fn change_columns(
    query: &Arc<QueryContext>,
    key: &ObjectKey,
    table: &Arc<dyn Table>,
    actions: &[AlterAction],
) -> Result<()> {
    let catalog = query.engine.catalog();
    for action in actions {
        if let AlterAction::Partition(action) = action {
            partition::run(query, table.as_ref(), action)?;
            continue;
        }
        if let Some(create) = changed_clauses(&table.definition(), action)? {
            let old = table.definition();
            let definition = Arc::new(definition_of(&old.database, &old.name, old.uuid, create)?);
            table.alter(&ColumnChange::Describe { name: String::new() }, definition)?;
            catalog.put(&key.database, &key.name, CatalogObject::Table(Arc::clone(table)))?;
            continue;
        }
        if let Some((change, elements)) = plan_change(&table.definition(), action)? {
            let definition = Arc::new(changed_definition(&table.definition(), elements)?);
            let enter = || catalog.put(&key.database, &key.name, CatalogObject::Table(Arc::clone(table)));
            if let ColumnChange::Drop { .. } = change {
                // The metadata must not list a column whose files are gone.
                table.set_definition(Arc::clone(&definition))?;
                enter()?;
                table.alter(&change, definition)?;
            } else {
                table.alter(&change, definition)?;
                enter()?;
            }
        }
    }
    Ok(())
}

/// The CREATE statement with another comment or other settings; `None` for any other action.
fn changed_clauses(definition: &TableDefinition, action: &AlterAction) -> Result<Option<CreateTable>> {
    let mut create = definition.create.clone();
    match action {
        AlterAction::ModifyComment { comment } => create.comment = Some(comment.clone()),
        AlterAction::ModifySetting { settings } => {
            let is_fixed = |name: &str| ["index_granularity", "index_granularity_bytes"].contains(&name);
            if let Some(fixed) = settings.iter().find(|setting| is_fixed(&setting.name)) {
                bail!(
                    ReadonlySetting,
                    "setting '{}' is readonly for storage '{}'",
                    fixed.name,
                    engine(definition)
                );
            }
            for setting in settings {
                create.settings.retain(|old| old.name != setting.name);
                create.settings.push(setting.clone());
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(create))
}

fn engine(definition: &TableDefinition) -> &str {
    definition.create.engine.as_ref().map_or("", |engine| engine.name.as_str())
}

fn changed_definition(old: &TableDefinition, elements: Vec<TableElement>) -> Result<TableDefinition> {
    let mut create = old.create.clone();
    create.elements = elements;
    let definition = definition_of(&old.database, &old.name, old.uuid, create)?;
    // A key that lost its column is refused before anything changed.
    let lost = old.columns.iter().find(|column| definition.column(&column.name).is_none());
    if let Some(column) = lost
        && old.is_in_key(&column.name)?
    {
        bail!(
            AlterOfColumnIsForbidden,
            "column `{}` belongs to a key of table `{}`: it cannot be dropped",
            column.name,
            old.full_name()
        );
    }
    Ok(definition)
}

/// The change and the new element list; `None` where IF [NOT] EXISTS leaves nothing to do.
fn plan_change(
    definition: &TableDefinition,
    action: &AlterAction,
) -> Result<Option<(ColumnChange, Vec<TableElement>)>> {
    let mut elements = definition.create.elements.clone();
    let change = match action {
        AlterAction::AddColumn { column, if_not_exists, position } => {
            if definition.column(&column.name).is_some() {
                if *if_not_exists {
                    return Ok(None);
                }
                bail!(DuplicateColumn, "column `{}` exists already", column.name);
            }
            let at = insert_position(definition, &elements, position.as_ref())?;
            elements.insert(at, TableElement::Column(column.clone()));
            ColumnChange::Add { name: column.name.clone() }
        }
        AlterAction::DropColumn { name, if_exists } => {
            if !has_column(definition, name, *if_exists)? {
                return Ok(None);
            }
            if definition.is_in_key(name)? {
                bail!(
                    AlterOfColumnIsForbidden,
                    "column `{name}` is part of the table's key or decides merges"
                );
            }
            elements.retain(|element| column_in(element).is_none_or(|column| column.name != *name));
            ColumnChange::Drop { name: name.clone() }
        }
        AlterAction::RenameColumn { from, to, if_exists } => {
            if !has_column(definition, from, *if_exists)? {
                return Ok(None);
            }
            if definition.column(to).is_some() {
                bail!(DuplicateColumn, "column `{to}` exists already");
            }
            refuse_in_key(definition, from)?;
            edit(&mut elements, from, |column| to.clone_into(&mut column.name));
            ColumnChange::Rename { from: from.clone(), to: to.clone() }
        }
        AlterAction::CommentColumn { name, comment, if_exists } => {
            if !has_column(definition, name, *if_exists)? {
                return Ok(None);
            }
            edit(&mut elements, name, |column| column.comment = Some(comment.clone()));
            ColumnChange::Describe { name: name.clone() }
        }
        AlterAction::ModifyColumn { column, if_exists } => {
            if !has_column(definition, &column.name, *if_exists)? {
                return Ok(None);
            }
            refuse_other_type(definition, column)?;
            edit(&mut elements, &column.name, |old| describe(old, column));
            ColumnChange::Describe { name: column.name.clone() }
        }
        other => return Err(Error::not_implemented(words(other))),
    };
    Ok(Some((change, elements)))
}

fn words(action: &AlterAction) -> String {
    let words = match action {
        AlterAction::ClearColumn { .. } => "CLEAR COLUMN IN PARTITION",
        AlterAction::ModifyOrderBy { .. } => "MODIFY ORDER BY",
        AlterAction::ModifyTtl { .. } => "MODIFY TTL",
        AlterAction::RemoveTtl | AlterAction::RemoveColumnTtl { .. } => "REMOVE TTL",
        AlterAction::MaterializeTtl { .. } => "MATERIALIZE TTL",
        AlterAction::Other { words } => words,
        _ => "this action",
    };
    format!("ALTER TABLE ... {words}")
}

fn column_in(element: &TableElement) -> Option<&ColumnDef> {
    match element {
        TableElement::Column(column) => Some(column),
        _ => None,
    }
}

fn edit(elements: &mut [TableElement], name: &str, change: impl FnOnce(&mut ColumnDef)) {
    let found = elements.iter_mut().find_map(|element| match element {
        TableElement::Column(column) if column.name == name => Some(column),
        _ => None,
    });
    if let Some(column) = found {
        change(column);
    }
}

fn has_column(definition: &TableDefinition, name: &str, if_exists: bool) -> Result<bool> {
    if definition.column(name).is_some() {
        return Ok(true);
    }
    if if_exists {
        return Ok(false);
    }
    let near = did_you_mean(name, definition.columns.iter().map(|column| column.name.as_str()));
    bail!(NotFoundColumnInBlock, "column `{name}` is not in table `{}`{near}", definition.full_name())
}

/// Only what a MODIFY COLUMN states is changed.
fn describe(old: &mut ColumnDef, new: &ColumnDef) {
    if new.default.is_some() {
        old.default.clone_from(&new.default);
    }
    if !new.codec.is_empty() {
        old.codec.clone_from(&new.codec);
    }
    if new.comment.is_some() {
        old.comment.clone_from(&new.comment);
    }
}

/// The data would have to be written anew, or a column to begin or end being stored.
fn refuse_other_type(definition: &TableDefinition, new: &ColumnDef) -> Result<()> {
    let Some(old) = definition.column(&new.name) else { return Ok(()) };
    if new.ty.is_some() && column_of(new)?.ty != old.ty {
        bail!(NotImplemented, "MODIFY COLUMN to another type is not implemented");
    }
    let is_stored =
        |kind: Option<DefaultKind>| !matches!(kind, Some(DefaultKind::Alias | DefaultKind::Ephemeral));
    let kind = new.default.as_ref().map(|(kind, _)| *kind).or(old.kind());
    if is_stored(kind) != old.is_stored() {
        bail!(NotImplemented, "MODIFY COLUMN between stored and computed columns is not implemented");
    }
    if new.ttl.is_some() {
        bail!(NotImplemented, "TTL of column `{}` is not implemented", new.name);
    }
    Ok(())
}

fn refuse_in_key(definition: &TableDefinition, name: &str) -> Result<()> {
    if definition.is_in_key(name)? {
        bail!(NotImplemented, "RENAME of column `{name}`, which is in the table's key, is not implemented");
    }
    Ok(())
}

fn insert_position(
    definition: &TableDefinition,
    elements: &[TableElement],
    position: Option<&ColumnPosition>,
) -> Result<usize> {
    match position {
        None => Ok(elements.len()),
        Some(ColumnPosition::First) => Ok(0),
        Some(ColumnPosition::After(name)) => {
            if definition.column(name).is_none() {
                bail!(NoSuchColumnInTable, "there is no column `{name}` to insert after");
            }
            let at = elements.iter().position(|element| column_in(element).is_some_and(|c| c.name == *name));
            Ok(at.map_or(elements.len(), |at| at + 1))
        }
    }
}
