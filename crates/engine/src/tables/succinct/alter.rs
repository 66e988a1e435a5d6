//! What ALTER may change: columns are added at the end, and what is not stored is described otherwise.

use super::super::table::ColumnChange;
use super::super::{TableDefinition, index_in};

/// An error is the change that is refused.
pub(super) fn check_alter(
    old: &TableDefinition,
    changes: &[ColumnChange],
    new: &TableDefinition,
) -> Result<(), String> {
    for change in changes {
        match change {
            ColumnChange::Add { .. } | ColumnChange::Describe => {}
            ColumnChange::Drop { name } => return Err(format!("DROP COLUMN `{name}`")),
            ColumnChange::Rename { from, .. } => return Err(format!("RENAME COLUMN `{from}`")),
            ColumnChange::Retype { name } => return Err(format!("another type of column `{name}`")),
        }
    }
    check_columns(old, new)?;
    let clauses = |definition: &TableDefinition| {
        let indexes = definition.create.elements.iter().filter_map(index_in);
        indexes.map(ToString::to_string).collect::<Vec<_>>()
    };
    if clauses(old) != clauses(new) {
        return Err("ADD, DROP or MODIFY INDEX".to_owned());
    }
    if old.create.settings != new.create.settings {
        return Err("MODIFY or RESET SETTING".to_owned());
    }
    Ok(())
}

/// The stored columns are the old ones in their order, then new ones.
fn check_columns(old: &TableDefinition, new: &TableDefinition) -> Result<(), String> {
    let (old, new) = (old.stored(), new.stored());
    for (at, column) in old.iter().enumerate() {
        match new.get(at) {
            Some(found) if found.name == column.name && found.ty == column.ty => {}
            Some(found) if found.name == column.name => {
                return Err(format!("another type of column `{}`", column.name));
            }
            _ if new.position(&column.name).is_none() => {
                return Err(format!("an ALIAS in place of the stored column `{}`", column.name));
            }
            _ => return Err("a column before one that is stored already".to_owned()),
        }
    }
    Ok(())
}
