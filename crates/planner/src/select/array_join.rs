//! ARRAY JOIN: one row for each element.

use basalt_base::types::TupleElement;
use basalt_base::{Error, Result, SqlType, bail};
use basalt_sql::ast;
use datafusion::logical_expr::Expr;

use super::relation::FromNames;
use super::unnest::{unnest, unnest_totals};
use crate::bound_expr::{BoundExpr, or_default};
use crate::correlated;
use crate::expr::Binder;
use crate::names::canonical;
use crate::scope::{Aliases, ColumnValue, Env, Relation, Scope, ScopeColumn, bare_column};
use crate::session::Session;

/// A column made by ARRAY JOIN, and the arrays that it unfolds.
struct Unfolded {
    name: String,
    /// The name is new: `*` contains the array, not its element.
    is_alias: bool,
    arrays: Vec<BoundExpr>,
    /// Whether the arrays are the keys and values of a Map.
    is_map: bool,
}

/// The clause over the relation `input` on its left.
pub(super) fn plan(
    session: &Session<'_>,
    names: FromNames<'_>,
    array_join: &ast::ArrayJoin,
    input: Relation,
) -> Result<Relation> {
    let env = names.env;
    let aliases = Aliases::of_env(env);
    let binder = Binder::new(session, env, &input.scope, &aliases, &[]);
    let mut unfolded = Vec::new();
    for item in &array_join.items {
        bind_item(&binder, item, &mut unfolded)?;
    }
    let arrays: Vec<Expr> =
        unfolded.iter().flat_map(|column| &column.arrays).map(|array| array.expr.clone()).collect();
    let names = element_names(session, arrays.len());
    let totals = input.totals.map(|totals| unnest_totals(totals, arrays.clone(), &names)).transpose()?;
    let plan = unnest(input.plan, arrays, &names, array_join.left)?;
    let mut scope = input.scope;
    let mut names = names.into_iter();
    for column in unfolded {
        let columns: Vec<String> = names.by_ref().take(column.arrays.len()).collect();
        replace_column(session, env, &mut scope, column, &columns, array_join.left)?;
    }
    Ok(Relation { plan, scope, totals })
}

fn bind_item(binder: &Binder<'_>, item: &ast::SelectItem, unfolded: &mut Vec<Unfolded>) -> Result<()> {
    if let ast::Expr::Identifier(parts) = &item.expr
        && binder.scope.find(parts)?.is_none()
        && binder.aliases.get(&parts[0]).is_none()
    {
        return bind_nested(binder, parts, item.alias.as_deref(), unfolded);
    }
    let array = binder.bind(&item.expr)?.into_value();
    correlated::refuse(&array.expr, "ARRAY JOIN")?;
    let is_alias = item.alias.is_some() || !matches!(item.expr, ast::Expr::Identifier(_));
    let name = match (&item.alias, &item.expr) {
        (Some(alias), _) => alias.clone(),
        (None, ast::Expr::Identifier(parts)) => parts.last().cloned().unwrap_or_default(),
        (None, expr) => canonical(expr),
    };
    match array.ty.stripped() {
        SqlType::Array(_) => unfolded.push(Unfolded { name, is_alias, arrays: vec![array], is_map: false }),
        SqlType::Map(..) => {
            let arrays =
                vec![binder.call("mapKeys", vec![array.clone()])?, binder.call("mapValues", vec![array])?];
            unfolded.push(Unfolded { name, is_alias, arrays, is_map: true });
        }
        other => bail!(TypeMismatch, "ARRAY JOIN takes an array, not a value of type `{other}`"),
    }
    Ok(())
}

/// `ARRAY JOIN n [AS x]` over a Nested column: unfolds all arrays `n.a` together, as `x.a`.
fn bind_nested(
    binder: &Binder<'_>,
    parts: &[String],
    alias: Option<&str>,
    unfolded: &mut Vec<Unfolded>,
) -> Result<()> {
    let name = parts.last().cloned().unwrap_or_default();
    let prefix = format!("{name}.");
    let before = unfolded.len();
    for column in &binder.scope.columns {
        let Some(element) = column.name.strip_prefix(&prefix) else {
            continue;
        };
        if let SqlType::Array(_) = column.ty.stripped() {
            let name = format!("{}.{element}", alias.unwrap_or(&name));
            let arrays = vec![binder.column(column)?];
            unfolded.push(Unfolded { name, is_alias: alias.is_some(), arrays, is_map: false });
        }
    }
    if unfolded.len() == before {
        return Err(binder.scope.unknown(&parts.join("."), binder.aliases.names()));
    }
    Ok(())
}

/// Replaces the column of the array by the element columns, or adds them if they have a new name.
fn replace_column(
    session: &Session<'_>,
    env: &Env,
    scope: &mut Scope,
    column: Unfolded,
    plan_names: &[String],
    left: bool,
) -> Result<()> {
    let mut elements = Vec::with_capacity(plan_names.len());
    for (array, plan_name) in column.arrays.iter().zip(plan_names) {
        let SqlType::Array(element) = array.ty.stripped() else {
            return Err(Error::logical("ARRAY JOIN over something that is no array"));
        };
        let expr = bare_column(plan_name);
        let expr = if left { or_default(expr, element)? } else { expr };
        elements.push(BoundExpr::new(expr, element.as_ref().clone()));
    }
    if column.is_map {
        let types = ["keys", "values"].iter().zip(&elements);
        let ty = SqlType::Tuple(
            types
                .map(|(name, element)| TupleElement {
                    name: Some((*name).to_owned()),
                    ty: element.ty.clone(),
                })
                .collect(),
        );
        for (old_and_new, element) in [["keys", "Names"], ["values", "Values"]].iter().zip(&elements) {
            for name in old_and_new {
                push(scope, format!("{}.{name}", column.name), element.clone(), true);
            }
        }
        let (nothing, none) = (Scope::default(), Aliases::default());
        let binder = Binder::new(session, env, &nothing, &none, &[]);
        let entry = binder.call("tuple", elements)?;
        push(scope, column.name, BoundExpr::new(entry.expr, ty), column.is_alias);
        return Ok(());
    }
    for element in elements {
        push(scope, column.name.clone(), element, column.is_alias);
    }
    Ok(())
}

/// Adds a column that `*` contains only if it replaces another one. A new name hides a column of a table with that
/// name.
fn push(scope: &mut Scope, name: String, bound: BoundExpr, is_new: bool) {
    let value = ColumnValue::Plan(bound.expr);
    let is_known = |column: &&mut ScopeColumn| column.name == name && (!is_new || column.table.is_none());
    if let Some(known) = scope.columns.iter_mut().find(is_known) {
        known.ty = bound.ty;
        known.value = value;
        return;
    }
    scope.columns.push(ScopeColumn {
        table: None,
        name,
        ty: bound.ty,
        value,
        in_asterisk: false,
        only_qualified: false,
        is_constant: false,
    });
}

fn element_names(session: &Session<'_>, count: usize) -> Vec<String> {
    (0..count).map(|_| session.unique("__element")).collect()
}
