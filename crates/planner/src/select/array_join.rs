//! ARRAY JOIN and arrayJoin(): one row for each element.

use basalt_base::types::TupleElement;
use basalt_base::{Error, Result, SqlType, bail};
use basalt_exec::in_step::InStep;
use basalt_sql::ast;
use datafusion::common::{Column as PlanColumn, NullHandling, UnnestOptions};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::{from, plan_error, projected};
use crate::bound::{Bound, collect, contains, is_aggregate, is_unnest, is_window, or_default, replace};
use crate::expr::Binder;
use crate::names::canonical;
use crate::scope::{Aliases, ColumnValue, Env, Relation, Scope, ScopeColumn, bare_column};
use crate::session::Session;

/// A column that the ARRAY JOIN clause makes, and the arrays it takes.
struct Unfolded {
    name: String,
    arrays: Vec<Bound>,
    /// The names of the elements where the arrays are those of a Map.
    is_map: bool,
}

pub(super) fn plan(session: &Session<'_>, env: &Env, array_join: &ast::ArrayJoin) -> Result<Relation> {
    let input = from::plan_expr(session, env, &array_join.input)?;
    let aliases = Aliases::of_env(env);
    let binder = Binder::new(session, env, &input.scope, &aliases, &[]);
    let mut unfolded = Vec::new();
    for item in &array_join.items {
        bind_item(&binder, item, &mut unfolded)?;
    }
    let arrays = unfolded.iter().flat_map(|column| &column.arrays).map(|array| array.expr.clone()).collect();
    let (plan, names) = unnest(session, input.plan, arrays, array_join.left)?;
    let mut scope = input.scope;
    let mut names = names.into_iter();
    for column in unfolded {
        let columns: Vec<String> = names.by_ref().take(column.arrays.len()).collect();
        replace_column(session, env, &mut scope, column, &columns, array_join.left)?;
    }
    Ok(Relation { plan, scope })
}

fn bind_item(binder: &Binder<'_>, item: &ast::SelectItem, unfolded: &mut Vec<Unfolded>) -> Result<()> {
    if let ast::Expr::Identifier(parts) = &item.expr
        && binder.scope.find(parts)?.is_none()
        && binder.aliases.get(&parts[0]).is_none()
    {
        return bind_nested(binder, parts, item.alias.as_deref(), unfolded);
    }
    let array = binder.bind(&item.expr)?.into_value();
    let name = match (&item.alias, &item.expr) {
        (Some(alias), _) => alias.clone(),
        (None, ast::Expr::Identifier(parts)) => parts.last().cloned().unwrap_or_default(),
        (None, expr) => canonical(expr),
    };
    match array.ty.stripped() {
        SqlType::Array(_) => unfolded.push(Unfolded { name, arrays: vec![array], is_map: false }),
        SqlType::Map(..) => {
            let arrays =
                vec![binder.call("mapKeys", vec![array.clone()])?, binder.call("mapValues", vec![array])?];
            unfolded.push(Unfolded { name, arrays, is_map: true });
        }
        other => bail!(TypeMismatch, "ARRAY JOIN takes an array, not a value of type `{other}`"),
    }
    Ok(())
}

/// `ARRAY JOIN n [AS x]` over a Nested column: every array `n.a` in step, as `x.a`.
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
            unfolded.push(Unfolded { name, arrays: vec![binder.column(column)?], is_map: false });
        }
    }
    if unfolded.len() == before {
        return Err(binder.scope.unknown(&parts.join("."), binder.aliases.names()));
    }
    Ok(())
}

/// Puts the element columns in place of the array's, or behind the others if they have a new name.
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
        elements.push(Bound::new(expr, element.as_ref().clone()));
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
                push(scope, format!("{}.{name}", column.name), element.clone(), false);
            }
        }
        let (nothing, none) = (Scope::default(), Aliases::default());
        let binder = Binder::new(session, env, &nothing, &none, &[]);
        let entry = binder.call("tuple", elements)?;
        push(scope, column.name, Bound::new(entry.expr, ty), true);
        return Ok(());
    }
    for element in elements {
        push(scope, column.name.clone(), element, true);
    }
    Ok(())
}

fn push(scope: &mut Scope, name: String, bound: Bound, in_asterisk: bool) {
    let value = ColumnValue::Plan(bound.expr);
    if let Some(known) = scope.columns.iter_mut().find(|column| column.name == name) {
        known.ty = bound.ty;
        known.value = value;
        return;
    }
    scope.columns.push(ScopeColumn {
        table: None,
        name,
        ty: bound.ty,
        value,
        in_asterisk,
        only_qualified: false,
    });
}

/// Unfolds arrays in step; answers with the plan and the names of the element columns.
fn unnest(
    session: &Session<'_>,
    plan: LogicalPlan,
    mut arrays: Vec<Expr>,
    keep_empty: bool,
) -> Result<(LogicalPlan, Vec<String>)> {
    let mut exprs: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let names: Vec<String> = arrays.iter().map(|_| session.unique("__element")).collect();
    if arrays.len() > 1 {
        let checked = ScalarFunction::new_udf(InStep::function(), arrays.clone());
        arrays[0] = Expr::ScalarFunction(checked);
    }
    exprs.extend(arrays.into_iter().zip(&names).map(|(array, name)| array.alias(name)));
    let handling = if keep_empty { NullHandling::PreserveAndExpandEmpty } else { NullHandling::Drop };
    let options = UnnestOptions::new().with_null_handling(handling);
    let columns = names.iter().map(PlanColumn::new_unqualified).collect();
    let plan = LogicalPlanBuilder::from(projected(plan, exprs)?)
        .unnest_columns_with_options(columns, options)
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)?;
    Ok((plan, names))
}

/// Unfolds every `arrayJoin(...)` that lies in `exprs` outside of what is computed later; calls with the
/// same argument are one, calls with different arguments multiply.
pub(super) fn unfold(
    session: &Session<'_>,
    mut plan: LogicalPlan,
    exprs: &mut [Expr],
) -> Result<LogicalPlan> {
    let mut calls = Vec::new();
    for expr in exprs.iter() {
        collect(expr, is_unnest, &mut calls);
    }
    let waits = |call: &Expr| contains(call, is_aggregate) || contains(call, is_window);
    let mut replacements = Vec::new();
    for call in calls.into_iter().filter(|call| !waits(call)) {
        let Expr::Unnest(unnested) = &call else {
            continue;
        };
        let (unfolded, names) = unnest(session, plan, vec![unnested.expr.as_ref().clone()], false)?;
        plan = unfolded;
        let [name] = names.as_slice() else {
            return Err(Error::logical("one array was unfolded"));
        };
        let column = bare_column(name);
        replacements.push((call, column));
    }
    for expr in exprs {
        *expr = replace(std::mem::take(expr), &replacements)?;
    }
    Ok(plan)
}
