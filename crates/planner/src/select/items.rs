//! The SELECT list: `*` expanded, every item bound and named.

use std::rc::Rc;

use basalt_base::{Result, SqlType, bail};
use basalt_sql::ast;

use crate::bound_expr::BoundExpr;
use crate::expr::Binder;
use crate::scope::Aliases;

/// One column of the result.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) bound: BoundExpr,
    pub(crate) name: String,
}

pub(super) fn bind(binder: &Binder<'_>, items: &[ast::SelectItem]) -> Result<Vec<Item>> {
    let mut bound = Vec::with_capacity(items.len());
    for item in items {
        if let ast::Expr::Asterisk { .. } | ast::Expr::ColumnsMatching(_) = &item.expr {
            let columns = binder.expand_columns(&item.expr)?;
            bound.extend(columns.into_iter().map(|(name, column)| Item { bound: column, name }));
            continue;
        }
        let name = match (&item.alias, &item.expr) {
            (Some(alias), _) => alias.clone(),
            (None, ast::Expr::Identifier(parts)) => binder.identifier_name(parts),
            (None, expr) => binder.result_name(expr),
        };
        let value = match (&item.alias, &item.expr) {
            (Some(_), expr) if binder.session.ctx.postgres.is_some() => binder.bind(expr)?,
            // Bound through its alias, so that inside its own definition the name is the column.
            (Some(alias), _) => binder.alias_value(alias)?,
            (None, expr) => binder.bind(expr)?,
        };
        if value.ty == SqlType::Nothing {
            bail!(
                IllegalTypeOfArgument,
                "column `{name}` of the result would be of type Nothing, without values"
            );
        }
        bound.push(Item { bound: value, name });
    }
    if bound.is_empty() {
        bail!(EmptyListOfColumnsQueried, "no column is left in the SELECT list");
    }
    Ok(bound)
}

/// Collects `(expr AS name)` inside expressions. The walk does not recurse, since the tree may be deep.
pub(super) fn collect_aliases(expr: &ast::Expr, aliases: &mut Aliases) -> Result<()> {
    let mut waiting = vec![expr];
    while let Some(expr) = waiting.pop() {
        if let ast::Expr::Alias { value, name } = expr {
            aliases.define(name, Rc::new(value.as_ref().clone()))?;
        }
        push_parts(expr, &mut waiting);
    }
    Ok(())
}

/// The parts of an expression, without subqueries and windows.
fn push_parts<'e>(expr: &'e ast::Expr, parts: &mut Vec<&'e ast::Expr>) {
    match expr {
        ast::Expr::Unary { operand, .. }
        | ast::Expr::IsNull { operand, .. }
        | ast::Expr::Cast { operand, .. } => {
            parts.push(operand);
        }
        ast::Expr::Binary { left, right, .. } => parts.extend([left.as_ref(), right]),
        ast::Expr::Between { operand, low, high, .. } => parts.extend([operand.as_ref(), low, high]),
        ast::Expr::In { operand, right, .. } => parts.extend([operand.as_ref(), right]),
        ast::Expr::Case { operand, branches, otherwise } => {
            parts.extend(operand.as_deref());
            parts.extend(branches.iter().flat_map(|(when, then)| [when, then]));
            parts.extend(otherwise.as_deref());
        }
        ast::Expr::Ternary { condition, then, otherwise } => {
            parts.extend([condition.as_ref(), then, otherwise]);
        }
        ast::Expr::Array(elements) | ast::Expr::Tuple(elements) => parts.extend(elements),
        ast::Expr::Map(pairs) => parts.extend(pairs.iter().flat_map(|(key, value)| [key, value])),
        ast::Expr::ArrayElement { array, index } => parts.extend([array.as_ref(), index]),
        ast::Expr::TupleElement { tuple: value, .. }
        | ast::Expr::Field { value, .. }
        | ast::Expr::Interval { value, .. }
        | ast::Expr::Alias { value, .. } => parts.push(value),
        ast::Expr::Function(call) => parts.extend(call.args.iter().chain(&call.parameters)),
        ast::Expr::Asterisk { replace, .. } => parts.extend(replace.iter().map(|(expr, _)| expr)),
        ast::Expr::Literal(_)
        | ast::Expr::Identifier(_)
        | ast::Expr::ColumnsMatching(_)
        | ast::Expr::Parameter { .. }
        | ast::Expr::Lambda(_)
        | ast::Expr::Subquery(_)
        | ast::Expr::Exists(_) => {}
    }
}
