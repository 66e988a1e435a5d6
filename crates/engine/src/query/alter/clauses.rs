//! Changes of the clauses after the column list: ORDER BY, SETTINGS.

use basalt_base::{Result, bail};
use basalt_sql::ast::{ColumnDef, CreateTable, Expr, OrderBy, Setting, TableElement};

use crate::settings::MergeTreeSettings;
use crate::tables::{KeyClause, TableDefinition, names_column};

/// Settings that are fixed when the table is made.
const FIXED: &[&str] = &["index_granularity", "index_granularity_bytes"];

/// MODIFY ORDER BY: stored rows must be in the new order already. So only columns in `added` may join the key, because
/// they have one value in all stored rows. The primary key stays.
pub(super) fn modify_order_by(
    create: &mut CreateTable,
    old: &TableDefinition,
    added: &[String],
    order_by: &[OrderBy],
) -> Result<()> {
    let (before, primary_key_len) = old.sort_key()?;
    let mut kept = before.iter().peekable();
    for item in order_by {
        let is_same = |clause: &&KeyClause| clause.expr == item.expr && clause.descending == item.descending;
        if kept.next_if(is_same).is_none() {
            check_new_element(create, added, &item.expr)?;
        }
    }
    if create.primary_key.is_none() {
        let primary = before.iter().take(primary_key_len).map(|clause| clause.expr.clone());
        create.primary_key = Some(primary.collect());
    }
    create.order_by = Some(order_by.to_vec());
    Ok(())
}

fn check_new_element(create: &CreateTable, added: &[String], expr: &Expr) -> Result<()> {
    for column in create.elements.iter().filter_map(column_in) {
        if !names_column(expr, &column.name) {
            continue;
        }
        if !added.contains(&column.name) {
            bail!(
                BadArguments,
                "existing column `{}` is used in the expression that was added to the sorting key; you can add \
                 expressions that use only the newly added columns",
                column.name
            );
        }
        if column.default.is_some() {
            bail!(
                BadArguments,
                "newly added column `{}` has a default expression, so adding expressions that use it to the \
                 sorting key is forbidden",
                column.name
            );
        }
    }
    Ok(())
}

pub(super) fn modify_settings(create: &mut CreateTable, settings: &[Setting]) -> Result<()> {
    for setting in settings {
        check_not_fixed(create, &setting.name)?;
        create.settings.retain(|old| old.name != setting.name);
        create.settings.push(setting.clone());
    }
    Ok(())
}

pub(super) fn reset_settings(create: &mut CreateTable, names: &[String]) -> Result<()> {
    for name in names {
        check_not_fixed(create, name)?;
        if !MergeTreeSettings::is_known(name) {
            bail!(BadArguments, "cannot reset setting '{name}' because it doesn't exist for this engine");
        }
        create.settings.retain(|old| old.name != *name);
    }
    Ok(())
}

fn check_not_fixed(create: &CreateTable, name: &str) -> Result<()> {
    if FIXED.contains(&name) {
        let engine = create.engine.as_ref().map_or("", |engine| engine.name.as_str());
        bail!(ReadonlySetting, "setting '{name}' is readonly for storage '{engine}'");
    }
    Ok(())
}

/// The column, if the element is one.
pub(super) fn column_in(element: &TableElement) -> Option<&ColumnDef> {
    match element {
        TableElement::Column(column) => Some(column),
        _ => None,
    }
}
