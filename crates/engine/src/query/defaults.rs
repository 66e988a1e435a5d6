//! DEFAULT, MATERIALIZED and ALIAS expressions of a table: checked before the table has them.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Column, Columns, Result, bail};
use basalt_planner::{cast, plan_expr};
use basalt_sql::ast::{Expr, Literal};

use super::QueryContext;
use super::catalog_view::Surroundings;
use crate::tables::{ColumnDefinition, TableDefinition, names_column};

/// Plans the expressions of the columns that `is_meant` picks: names and types must fit, and none may need
/// itself.
pub(super) fn check(
    query: &Arc<QueryContext>,
    definition: &TableDefinition,
    is_meant: impl Fn(&str) -> bool,
) -> Result<()> {
    let all: Columns =
        definition.columns.iter().map(|column| Column::new(&column.name, column.ty.clone())).collect();
    let surroundings = Surroundings::of(query, HashMap::new());
    let ctx = surroundings.context();
    for column in definition.columns.iter().filter(|column| is_meant(&column.name)) {
        let Some(expr) = column.default.as_ref().and_then(|default| default.expr.as_ref()) else {
            continue;
        };
        // NULL stands for the default of the type.
        if matches!(expr, Expr::Literal(Literal::Null)) {
            continue;
        }
        check_no_cycle(definition, column)?;
        let planned = plan_expr(expr, &all, &ctx).and_then(|(value, ty)| cast(value, &ty, &column.ty, &ctx));
        planned.map_err(|error| error.within(format!("DEFAULT expression of column `{}`", column.name)))?;
    }
    Ok(())
}

/// Refuses a DEFAULT that needs the column's own value, by way of others or not.
fn check_no_cycle(definition: &TableDefinition, column: &ColumnDefinition) -> Result<()> {
    let expr_of = |column: &ColumnDefinition| column.default.as_ref()?.expr.clone();
    let mut needed: Vec<&ColumnDefinition> = vec![column];
    let mut at = 0;
    while let Some(&next) = needed.get(at) {
        at += 1;
        let Some(expr) = expr_of(next) else { continue };
        if names_column(&expr, &column.name) {
            bail!(CyclicAliases, "the DEFAULT of column `{}` needs its own value", column.name);
        }
        for other in definition.columns.iter().filter(|other| names_column(&expr, &other.name)) {
            if needed.iter().all(|known| known.name != other.name) {
                needed.push(other);
            }
        }
    }
    Ok(())
}
