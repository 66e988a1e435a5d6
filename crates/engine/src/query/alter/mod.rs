//! ALTER TABLE: changes of columns and clauses, mutations, partitions.
//!
//! The actions of a statement are taken in order, neighbours of one kind together: changes of columns and
//! clauses make one new definition (`altered.rs`), which is written at once or not at all; UPDATEs and DELETEs
//! are one mutation, or one change in place; an action on partitions is alone in its statement. A new definition holds for stored rows at once:
//! they are converted while they are read, until a mutation or a merge has rewritten them.

mod altered;
mod clauses;
pub(super) mod indexes;
mod names;
mod types;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Error, Result, bail};
use basalt_parts::{MutationStatus, PartSelection};
use basalt_sql::ast::{AlterAction, AlterTable, IndexAction, flatten_actions};

use super::partition;
use crate::catalog::CatalogObject;
use crate::dictionaries::DictionaryEntry;
use crate::execution::Execution;
use crate::mutation;
use crate::names::ObjectKey;
use crate::tables::{Table, TableDefinition, gone, parts_of};
use altered::Altered;

/// Applies the actions and waits for what the settings say.
pub(super) fn alter(
    query: &Arc<Execution>,
    ast: &AlterTable,
    parameters: &HashMap<String, String>,
) -> Result<()> {
    let key = query.key_of(&ast.name);
    if let Some(CatalogObject::Dictionary(entry)) = query.instance.catalog().find(&key.database, &key.name) {
        return alter_dictionary(query, &key, &entry, &ast.actions);
    }
    let actions = if query.settings.flatten_nested {
        Cow::Owned(flatten_actions(&ast.actions))
    } else {
        Cow::Borrowed(ast.actions.as_slice())
    };
    let table = query.instance.catalog().table(&key.database, &key.name, "ALTER")?;
    if table.as_changeable().is_some() {
        return alter_in_place(query, &key, &actions, parameters);
    }
    let mut begun = begin(query, &key, &actions)?;
    begun.mutations.retain(|(kind, _)| match kind {
        Kind::Rows => query.settings.mutations_sync > 0,
        _ => query.settings.alter_sync > 0 || query.settings.mutations_sync > 0,
    });
    begun.mutations.iter().try_for_each(|(_, version)| mutation::wait(query, &key, &begun.table, *version))
}

/// ALTER of a table whose rows are changed in place. This takes as long as the rows take, so only the other actions
/// hold the DDL lock.
fn alter_in_place(
    query: &Arc<Execution>,
    key: &ObjectKey,
    actions: &[AlterAction],
    parameters: &HashMap<String, String>,
) -> Result<()> {
    actions.chunk_by(|a, b| kind(a) == kind(b)).try_for_each(|group| match kind(&group[0]) {
        Kind::Rows => {
            let table = query.instance.catalog().table(&key.database, &key.name, "ALTER")?;
            mutation::change_in_place(query, &table, group, parameters)
        }
        _ => begin(query, key, group).map(|_| ()),
    })
}

/// Only the comment of a dictionary can be altered; CREATE OR REPLACE changes the rest.
fn alter_dictionary(
    query: &Execution,
    key: &ObjectKey,
    entry: &Arc<DictionaryEntry>,
    actions: &[AlterAction],
) -> Result<()> {
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    for action in actions {
        let AlterAction::ModifyComment { comment } = action else {
            return Err(Error::not_implemented(format!("ALTER .. {action} of a dictionary")));
        };
        let previous = entry.set_comment(Some(comment.clone()));
        let object = CatalogObject::Dictionary(Arc::clone(entry));
        if let Err(error) = catalog.put(&key.database, &key.name, object) {
            entry.set_comment(previous);
            return Err(error);
        }
    }
    Ok(())
}

/// The mutations that an ALTER has begun.
struct Begun {
    table: Arc<dyn Table>,
    mutations: Vec<(Kind, u64)>,
}

/// The kind of change that an action makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rows, by a mutation.
    Rows,
    /// The values of a whole column, by a mutation.
    Values,
    /// Whole parts, or the files of an index.
    Parts,
    Definition,
}

fn kind(action: &AlterAction) -> Kind {
    match action {
        AlterAction::Update { .. }
        | AlterAction::Delete { .. }
        | AlterAction::MaterializeColumn { .. }
        | AlterAction::MaterializeTtl { .. }
        | AlterAction::Index(IndexAction::Materialize { .. }) => Kind::Rows,
        AlterAction::ClearColumn { .. } => Kind::Values,
        AlterAction::Partition(_) | AlterAction::Index(IndexAction::Clear { .. }) => Kind::Parts,
        _ => Kind::Definition,
    }
}

/// Whether the action may change when stored rows expire.
fn sets_ttl(action: &AlterAction) -> bool {
    match action {
        AlterAction::ModifyTtl { .. } => true,
        AlterAction::ModifyColumn { column, .. } => column.ttl.is_some(),
        _ => false,
    }
}

/// Applies all actions under the DDL lock, and begins their mutations without waiting for them.
fn begin(query: &Arc<Execution>, key: &ObjectKey, actions: &[AlterAction]) -> Result<Begun> {
    let catalog = query.instance.catalog();
    let _ddl = catalog.ddl();
    let table = catalog.table(&key.database, &key.name, "ALTER")?;
    let mut mutations = Vec::new();
    for group in actions.chunk_by(|a, b| kind(a) == kind(b)) {
        match kind(&group[0]) {
            Kind::Rows => mutations.push((Kind::Rows, mutation::begin(query, table.as_ref(), group)?)),
            Kind::Values => {
                let group = columns_to_clear(table.as_ref(), group)?;
                if !group.is_empty() {
                    mutations.push((Kind::Values, mutation::begin(query, table.as_ref(), &group)?));
                }
            }
            Kind::Parts => group.iter().try_for_each(|action| match action {
                AlterAction::Partition(action) => partition::run(query, table.as_ref(), action),
                AlterAction::Index(IndexAction::Clear { name, if_exists, partition }) => {
                    indexes::clear(query, table.as_ref(), name, (*if_exists, partition.as_ref()))
                }
                _ => Ok(()),
            })?,
            Kind::Definition => {
                let version = change_definition(query, key, &table, group)?;
                mutations.extend(version.map(|version| (Kind::Definition, version)));
                if query.settings.materialize_ttl_after_modify && group.iter().any(sets_ttl) {
                    let command = AlterAction::MaterializeTtl { partition: None };
                    mutations.push((Kind::Rows, mutation::begin(query, table.as_ref(), &[command])?));
                }
            }
        }
    }
    Ok(Begun { table, mutations })
}

/// The CLEAR COLUMN actions whose column is stored. A missing column is an error without IF EXISTS.
fn columns_to_clear(table: &dyn Table, actions: &[AlterAction]) -> Result<Vec<AlterAction>> {
    let definition = table.definition();
    let mut kept = Vec::new();
    let is_cleared = |name: &str| {
        actions
            .iter()
            .any(|action| matches!(action, AlterAction::ClearColumn { name: own, .. } if own == name))
    };
    if definition.columns.iter().all(|column| is_cleared(&column.name)) {
        bail!(BadArguments, "cannot DROP or CLEAR all columns");
    }
    for action in actions {
        let AlterAction::ClearColumn { name, if_exists, .. } = action else { continue };
        if !altered::has_column(&definition, name, *if_exists, "drop")? {
            continue;
        }
        check_no_mutation_uses(table, name, "drop")?;
        if definition.column(name).is_some_and(|column| column.is_stored()) {
            kept.push(action.clone());
        }
    }
    Ok(kept)
}

/// Makes all changes of the definition in one step; returns the mutation that gives stored values their new types.
fn change_definition(
    query: &Arc<Execution>,
    key: &ObjectKey,
    table: &Arc<dyn Table>,
    actions: &[AlterAction],
) -> Result<Option<u64>> {
    let old = table.definition();
    let mut altered = Altered::of(&old);
    for action in actions {
        altered.apply(action)?;
    }
    if altered.is_same() {
        return Ok(None);
    }
    for name in altered.gone_names() {
        check_no_mutation_uses(table.as_ref(), name, altered.verb_of(name))?;
    }
    let definition = Arc::new(altered.definition(unneeded_names(table.as_ref(), &old)?)?);
    check(query, table.as_ref(), &definition, &altered)?;
    let catalog = query.instance.catalog();
    if let Some(parts) = parts_of(table.as_ref()) {
        // An obstacle, such as a full disk, must show before anything has changed.
        for name in gone(&old.create, &definition.create) {
            parts.clear_index(name, &PartSelection::All)?;
        }
        // Parts are read by the definition: once that is written, the change has happened.
        catalog.write_definition(&definition)?;
        table.alter(altered.changes(), definition)?;
    } else {
        table.alter(altered.changes(), definition)?;
        catalog.put(&key.database, &key.name, CatalogObject::Table(Arc::clone(table)))?;
    }
    let retypes = altered.retypes();
    if retypes.is_empty() || table.as_parts().is_none() {
        return Ok(None);
    }
    mutation::begin(query, table.as_ref(), &retypes).map(Some)
}

/// The number of the last change of names that no part needs any more.
fn unneeded_names(table: &dyn Table, definition: &TableDefinition) -> Result<u64> {
    match parts_of(table) {
        // Only with a history: this reads the metadata of every part.
        Some(parts) if !definition.history.changes().is_empty() => Ok(parts.names_seen_by_all()?),
        _ => Ok(0),
    }
}

/// Refuses a definition that the settings of the query or the table do not allow.
fn check(
    query: &Arc<Execution>,
    table: &dyn Table,
    definition: &TableDefinition,
    altered: &Altered<'_>,
) -> Result<()> {
    definition.check_suspicious(Some(&table.definition()), &query.settings)?;
    altered.check_defaults(query, definition)?;
    table.check_definition(definition)
}

/// Refuses to drop or rename a column that an unfinished mutation uses.
fn check_no_mutation_uses(table: &dyn Table, name: &str, verb: &str) -> Result<()> {
    let unfinished = parts_of(table).map(|parts| parts.mutations()).unwrap_or_default();
    let uses = |status: &&MutationStatus| {
        let commands = mutation::commands_of(&status.commands).unwrap_or_default();
        !status.is_done() && commands.iter().any(|command| names::is_used(command, name))
    };
    if let Some(status) = unfinished.iter().find(uses) {
        let id = mutation::mutation_id(status.version);
        bail!(
            BadArguments,
            "cannot {verb} column `{name}` because it's affected by mutation with ID '{id}' which is not \
             finished yet; wait for this mutation, or end it with \"KILL MUTATION WHERE mutation_id = '{id}'\""
        );
    }
    Ok(())
}
