//! ALTER TABLE ... INDEX: which skip indexes a table has, and which of its parts have them.

use std::sync::Arc;

use basalt_base::suggest::did_you_mean;
use basalt_base::{Result, bail};
use basalt_parts::PartSelection;
use basalt_sql::ast::{ColumnPosition, CreateTable, IndexAction, IndexDef, PartitionRef, TableElement};

use crate::query::{QueryContext, partition};
use crate::tables::Table;

/// Makes the change in the CREATE statement; `false` where IF [NOT] EXISTS leaves nothing to do.
pub(super) fn change(create: &mut CreateTable, action: &IndexAction) -> Result<bool> {
    match action {
        IndexAction::Add { index, if_not_exists, position } => {
            if create.elements.iter().filter_map(index_in).any(|other| other.name == index.name) {
                if *if_not_exists {
                    return Ok(false);
                }
                bail!(
                    IllegalColumn,
                    "cannot add index `{0}`: index with this name already exists",
                    index.name
                );
            }
            let at = insert_position(&create.elements, position.as_ref())?;
            create.elements.insert(at, TableElement::Index(index.clone()));
        }
        IndexAction::Drop { name, if_exists } => {
            if !has_index(create, name, *if_exists, "drop")? {
                return Ok(false);
            }
            create.elements.retain(|element| index_in(element).is_none_or(|index| index.name != *name));
        }
        // These change parts, not the definition.
        IndexAction::Clear { .. } | IndexAction::Materialize { .. } => return Ok(false),
    }
    Ok(true)
}

/// The names of indexes that `old` has and `new` has not.
pub(super) fn gone<'a>(old: &'a CreateTable, new: &'a CreateTable) -> impl Iterator<Item = &'a str> {
    let is_kept = |name: &str| new.elements.iter().filter_map(index_in).any(|index| index.name == name);
    let names = old.elements.iter().filter_map(index_in).map(|index| index.name.as_str());
    names.filter(move |name| !is_kept(name))
}

/// `CLEAR INDEX name [IN PARTITION ..]`.
pub(super) fn clear(
    query: &Arc<QueryContext>,
    table: &dyn Table,
    name: &str,
    (if_exists, place): (bool, Option<&PartitionRef>),
) -> Result<()> {
    let Some(parts) = table.parts_of() else { return Err(table.refuses("CLEAR INDEX")) };
    if !has_index(&table.definition().create, name, if_exists, "clear")? {
        return Ok(());
    }
    let which = match place {
        None => PartSelection::All,
        Some(place) => partition::selection(query, parts, place)?,
    };
    Ok(parts.clear_index(name, &which)?)
}

/// Whether the table has the index; an error if it has not, and `if_exists` does not allow for that.
pub(in crate::query) fn has_index(
    create: &CreateTable,
    name: &str,
    if_exists: bool,
    verb: &str,
) -> Result<bool> {
    let names = || create.elements.iter().filter_map(index_in).map(|index| index.name.as_str());
    if names().any(|other| other == name) {
        return Ok(true);
    }
    if if_exists {
        return Ok(false);
    }
    let near = did_you_mean(name, names());
    bail!(BadArguments, "wrong index name: cannot find index `{name}` to {verb}{near}")
}

/// Indexes stand behind the columns.
fn insert_position(elements: &[TableElement], position: Option<&ColumnPosition>) -> Result<usize> {
    let is_index = |element: &TableElement| index_in(element).is_some();
    match position {
        None => {
            let last = elements.iter().rposition(is_index);
            let columns = elements.iter().rposition(|element| matches!(element, TableElement::Column(_)));
            Ok(last.or(columns).map_or(0, |at| at + 1))
        }
        Some(ColumnPosition::First) => {
            let columns = elements.iter().rposition(|element| matches!(element, TableElement::Column(_)));
            Ok(elements.iter().position(is_index).or(columns.map(|at| at + 1)).unwrap_or_default())
        }
        Some(ColumnPosition::After(name)) => {
            let found =
                elements.iter().position(|element| index_in(element).is_some_and(|i| i.name == *name));
            match found {
                Some(at) => Ok(at + 1),
                None => {
                    bail!(BadArguments, "wrong index name: cannot find index `{name}` to insert after")
                }
            }
        }
    }
}

fn index_in(element: &TableElement) -> Option<&IndexDef> {
    match element {
        TableElement::Index(index) => Some(index),
        _ => None,
    }
}
