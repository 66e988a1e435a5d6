//! The values of a DEFAULT for rows that are older than their column.

use std::sync::Arc;

use basalt_base::types::quote_string;
use basalt_base::zone::Zone;
use basalt_base::{Error, Result, SqlType};
use basalt_parts::Fill;
use basalt_planner::{plan_constant, plan_expr};
use basalt_sql::{ast, parse_expr, parse_type, quote_name};

use super::key::PlannedKey;
use super::planning::plan_alone;
use super::{ColumnDefinition, TableDefinition};

/// The longest chain of columns that are computed from each other.
const NESTED_MAX: usize = 64;

/// The value of the column's DEFAULT, or how it is computed from other columns; `None` where there is none, or
/// where it needs more than the table, such as a dictionary.
pub(super) fn fill_of(definition: &TableDefinition, column: &ColumnDefinition) -> Result<Option<Fill>> {
    let declared = column.default.as_ref().and_then(|default| default.expr.clone());
    let Some(expr) = declared.or_else(|| empty_elements(definition, column)) else {
        return Ok(None);
    };
    let expr = &expr;
    let ty = parse_type(column.ty.to_string().as_bytes()).map_err(Error::logical)?;
    let cast = |expr: ast::Expr| ast::Expr::Cast { operand: Box::new(expr), ty: ty.clone() };
    if !depends_on_surroundings(expr) {
        let constant = plan_alone(Zone::utc(), |context| plan_constant(&cast(expr.clone()), context));
        if let Ok((value, _)) = constant {
            return Ok(Some(Fill::Value(value)));
        }
    }
    let stored = definition.stored();
    let expr = cast(with_stored_columns(definition, expr));
    let planned = plan_alone(Zone::system(), |context| plan_expr(&expr, &stored, context));
    let Ok((planned, ty)) = planned else { return Ok(None) };
    Ok(Some(Fill::Computed(Arc::new(PlannedKey::of(&stored, expr.to_string(), ty, &planned)?))))
}

/// An array of default elements, as long as the one of an earlier column of the same Nested.
///
/// Only an earlier column, so that no two columns are computed from each other.
fn empty_elements(definition: &TableDefinition, column: &ColumnDefinition) -> Option<ast::Expr> {
    let (parent, _) = column.name.split_once('.')?;
    let is_sibling = |other: &&ColumnDefinition| {
        let other_parent = other.name.split_once('.').map(|(parent, _)| parent);
        other_parent == Some(parent) && matches!(other.ty, SqlType::Array(_)) && other.is_stored()
    };
    let earlier = definition.columns.iter().take_while(|other| other.name != column.name);
    let sibling = earlier.filter(|_| matches!(column.ty, SqlType::Array(_))).find(is_sibling)?;
    let text = format!(
        "arrayResize(CAST([], {}), length({}))",
        quote_string(&column.ty.to_string()),
        quote_name(&sibling.name)
    );
    parse_expr(text.as_bytes()).ok()
}

/// The expression over stored columns only: an ALIAS as what it stands for, an EPHEMERAL column, which no
/// row has, as its default.
fn with_stored_columns(definition: &TableDefinition, expr: &ast::Expr) -> ast::Expr {
    let mut expr = expr.clone();
    let replacement = |name: &str| {
        let column = definition.column(name).filter(|column| !column.is_stored())?;
        let ty = parse_type(column.ty.to_string().as_bytes()).ok()?;
        let value = column.default.as_ref().and_then(|default| default.expr.clone());
        let of_type = if column.ty.stripped().is_string() {
            ast::Literal::String(Vec::new())
        } else {
            ast::Literal::UInt(0)
        };
        let value = value.unwrap_or(ast::Expr::Literal(of_type));
        Some(ast::Expr::Cast { operand: Box::new(value), ty })
    };
    for _ in 0..NESTED_MAX {
        let mut names_computed = |part: &ast::Expr| match part {
            ast::Expr::Identifier(parts) => replacement(&parts.join(".")).is_some(),
            _ => false,
        };
        if !expr.any(&mut names_computed) {
            break;
        }
        expr.replace_columns(&replacement);
    }
    expr
}

/// Whether the expression calls any function: its result may depend on time, zone or chance.
fn depends_on_surroundings(expr: &ast::Expr) -> bool {
    let text = expr.to_string();
    text.contains('(') && !text.starts_with('\'')
}
