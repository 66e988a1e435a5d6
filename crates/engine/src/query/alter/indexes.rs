//! ALTER TABLE ... INDEX: which skip indexes a table has, and which of its parts have them.

use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_parts::PartSelection;
use basalt_sql::ast::{ColumnPosition, CreateTable, IndexAction, PartitionRef, TableElement};

use crate::execution::Execution;
use crate::planning::selection;
use crate::tables::{Table, has_index, index_in, parts_of};

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

/// `CLEAR INDEX name [IN PARTITION ..]`.
pub(super) fn clear(
    query: &Arc<Execution>,
    table: &dyn Table,
    name: &str,
    (if_exists, place): (bool, Option<&PartitionRef>),
) -> Result<()> {
    let Some(parts) = parts_of(table) else { return Err(table.refuses("CLEAR INDEX")) };
    if !has_index(&table.definition().create, name, if_exists, "clear")? {
        return Ok(());
    }
    let which = match place {
        None => PartSelection::All,
        Some(place) => selection(query, parts, place)?,
    };
    Ok(parts.clear_index(name, &which)?)
}

/// Indexes come after the columns.
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
