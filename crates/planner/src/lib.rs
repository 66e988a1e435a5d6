//! What does that mean against this catalog? Syntax tree to DataFusion `LogicalPlan`.
//!
//! # Where to look
//!
//! - [`plan_query`]: a whole SELECT.
//! - [`plan_expr`]: an expression over the columns of one table (DEFAULT, keys, filters of mutations).
//! - [`plan_filter`]: a condition over such columns.
//! - [`plan_constant`]: an expression without columns, evaluated.
//! - [`cast`]: converts an expression from one SQL type to another, as INSERT does.
//! - [`GroupValue`]: an expression over aggregates of rows that some code other than a query groups.
//! - [`InverseLookup`]: an optimizer rule: conditions on results of `dictGet`.
//! - `select`: the clauses, in the order in which they apply; `expr`: expressions and their types; `correlated`:
//!   subqueries that use columns of an outer query.
//!
//! # How names are kept apart
//!
//! Every relation of a query has a unique name in the plan (`hits`, `hits_2`), and a column is always referenced by
//! relation and name. The SQL names of columns are in `scope`, never in the plan.

mod bound_expr;
mod catalog;
mod correlated;
mod expr;
mod float_keys;
mod group_value;
mod inverse_lookup;
mod names;
mod plan;
mod planned;
mod scope;
mod select;
mod session;
mod subquery_rows;

pub use catalog::{
    Catalog, PlanSettings, PlannerContext, PostgresPlanning, ResolvedTable, RowFilter, SubqueryRunner,
    TableColumn, TableOptions,
};
pub use expr::COMBINATORS;
pub use group_value::GroupValue;
pub use inverse_lookup::InverseLookup;
pub use names::canonical as column_name;
pub use planned::Planned;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use arrow::array::ArrayRef;
use basalt_base::{Column, Columns, Error, Result, SqlType};
use basalt_sql::ast;
use datafusion::logical_expr::Expr;

use crate::bound_expr::BoundExpr;
use crate::expr::Binder;
use crate::scope::{Aliases, ColumnValue, Env, Scope, ScopeColumn, bare_column};
use crate::session::Session;

/// Plans a query against `ctx`.
pub fn plan_query(query: &ast::Query, ctx: &PlannerContext<'_>) -> Result<Planned> {
    let session = Session::new(ctx);
    let subplan = select::plan_subquery(&session, &Env::default(), query)?;
    if ctx.postgres.is_none() {
        check_twins(&subplan.columns)?;
    }
    Ok(Planned {
        plan: subplan.plan,
        totals: subplan.totals,
        columns: Columns::new(subplan.columns),
        settings: session.into_settings(),
        format: query.format.clone(),
    })
}

/// Refuses columns with one name and different types.
fn check_twins(columns: &[Column]) -> Result<()> {
    let mut types = HashMap::with_capacity(columns.len());
    // Subqueries without an alias share one name in the plan, which no user gave.
    for column in columns.iter().filter(|column| !column.name.starts_with("_subquery")) {
        match types.insert(column.name.as_str(), &column.ty) {
            Some(ty) if *ty != column.ty => basalt_base::bail!(
                AmbiguousColumnName,
                "two columns are called `{}`, one of type `{ty}` and one of type `{}`: give one of them an alias",
                column.name,
                column.ty
            ),
            _ => {}
        }
    }
    Ok(())
}

/// Plans an expression over `columns`, which are unqualified, both in the expression and in the plan.
pub fn plan_expr(expr: &ast::Expr, columns: &Columns, ctx: &PlannerContext<'_>) -> Result<(Expr, SqlType)> {
    let scope = bare_scope(columns);
    let bound = bind_over(&scope, ctx, |binder| binder.bind(expr))?.into_value();
    let later = |part: &Expr| {
        bound_expr::is_aggregate(part) || bound_expr::is_window(part) || bound_expr::is_unnest(part)
    };
    if bound_expr::contains(&bound.expr, later) {
        basalt_base::bail!(
            IllegalAggregation,
            "an aggregate, a window function or arrayJoin in `{}`, which is computed row by row",
            names::canonical(expr)
        );
    }
    correlated::refuse(&bound.expr, "an expression over one table")?;
    Ok((bound.expr, bound.ty))
}

/// Plans a condition over `columns` with the semantics of WHERE: a mask that may be NULL.
pub fn plan_filter(expr: &ast::Expr, columns: &Columns, ctx: &PlannerContext<'_>) -> Result<Expr> {
    let session = Session::new(ctx);
    let (env, aliases, scope) = (Env::default(), Aliases::default(), bare_scope(columns));
    let condition = Binder::new(&session, &env, &scope, &aliases, &[]).bind_filter(expr, "WHERE")?;
    correlated::refuse(&condition, "a condition on one table")?;
    Ok(condition)
}

fn bare_scope(columns: &Columns) -> Scope {
    let columns = columns.iter().map(|column| ScopeColumn {
        table: None,
        name: column.name.clone(),
        ty: column.ty.clone(),
        value: ColumnValue::Plan(bare_column(&column.name)),
        in_asterisk: true,
        only_qualified: false,
        is_constant: false,
    });
    Scope { tables: vec![], columns: columns.collect() }
}

/// Evaluates an expression without columns into an array of one row.
pub fn plan_constant(expr: &ast::Expr, ctx: &PlannerContext<'_>) -> Result<(ArrayRef, SqlType)> {
    let bound = bind_over(&Scope::default(), ctx, |binder| binder.bind_constant(expr))?;
    let value = expr::evaluate(&bound.expr)?;
    Ok((value.to_array().map_err(Error::logical)?, bound.ty))
}

/// `expr` of type `from` as `to`, by the rules of `CAST`.
pub fn cast(expr: Expr, from: &SqlType, to: &SqlType, ctx: &PlannerContext<'_>) -> Result<Expr> {
    Ok(expr::convert(BoundExpr::new(expr, from.clone()), to, ctx)?.expr)
}

/// Like [`cast`], for a column that errors name. If `is_exact`, a number out of the type's range is an error when the
/// expression is evaluated.
pub fn cast_for(
    column: &Column,
    is_exact: bool,
    expr: Expr,
    from: &SqlType,
    ctx: &PlannerContext<'_>,
) -> Result<Expr> {
    Ok(expr::convert_for(column, is_exact, BoundExpr::new(expr, from.clone()), ctx)?.expr)
}

fn bind_over(
    scope: &Scope,
    ctx: &PlannerContext<'_>,
    bind: impl FnOnce(&Binder<'_>) -> Result<BoundExpr>,
) -> Result<BoundExpr> {
    let session = Session::new(ctx);
    let (env, aliases) = (Env::default(), Aliases::default());
    bind(&Binder::new(&session, &env, scope, &aliases, &[]))
}
