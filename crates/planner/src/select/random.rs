//! Random functions: a call is computed once per row, even if its text or alias repeats in the SELECT.

use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};

use basalt_base::Result;
use basalt_functions::scalar::BoundScalar;

use super::bound_clauses::BoundClauses;
use crate::bound_expr::{collect, contains, is_aggregate, is_unnest, is_window, replace};
use crate::plan::projected;
use crate::scope::bare_column;
use crate::session::Session;

/// Adds columns for the random calls in `exprs` to `plan`. Returns the replacements for the calls.
pub(super) fn draw<'e>(
    session: &Session<'_>,
    plan: LogicalPlan,
    exprs: impl Iterator<Item = &'e Expr>,
) -> Result<(LogicalPlan, Vec<(Expr, Expr)>)> {
    let mut calls = Vec::new();
    for expr in exprs {
        collect(expr, is_random, &mut calls);
    }
    let is_later =
        |call: &Expr| [is_aggregate, is_window, is_unnest].iter().any(|what| contains(call, *what));
    calls.retain(|call| !is_later(call));
    if calls.is_empty() {
        return Ok((plan, Vec::new()));
    }
    let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let mut replacements = Vec::with_capacity(calls.len());
    for call in calls {
        let name = session.unique("__random");
        columns.push(call.clone().alias(&name));
        replacements.push((call, bare_column(&name)));
    }
    Ok((projected(plan, columns)?, replacements))
}

/// Like [`draw`], for calls inside aggregates. Calls outside of aggregates are computed once per group.
pub(super) fn draw_in_aggregates(
    session: &Session<'_>,
    clauses: &mut BoundClauses,
    calls: &mut [Expr],
    plan: LogicalPlan,
) -> Result<LogicalPlan> {
    let (plan, drawn) = draw(session, plan, calls.iter())?;
    if drawn.is_empty() {
        return Ok(plan);
    }
    let mut replacements = Vec::new();
    for call in calls {
        let replaced = replace(call.clone(), &drawn)?;
        if replaced != *call {
            replacements.push((std::mem::replace(call, replaced.clone()), replaced));
        }
    }
    clauses.replace(&replacements)?;
    Ok(plan)
}

fn is_random(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    call.func.signature().volatility == Volatility::Volatile
        && BoundScalar::of(&call.func).is_none_or(BoundScalar::is_random)
}
