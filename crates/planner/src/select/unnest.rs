//! Unnest nodes: one row for each element of arrays, for ARRAY JOIN and arrayJoin().

use basalt_base::Result;
use basalt_exec::in_step::InStep;
use datafusion::common::{Column as PlanColumn, NullHandling, UnnestOptions};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use crate::bound_expr::{collect, contains, is_aggregate, is_unnest, is_window, replace};
use crate::plan::{plan_error, projected};
use crate::scope::bare_column;
use crate::session::Session;

/// Unfolds arrays together; `names` are the names of the element columns.
pub(super) fn unnest(
    plan: LogicalPlan,
    mut arrays: Vec<Expr>,
    names: &[String],
    keep_empty: bool,
) -> Result<LogicalPlan> {
    let mut exprs: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    if arrays.len() > 1 {
        let checked = ScalarFunction::new_udf(InStep::function(), arrays.clone());
        arrays[0] = Expr::ScalarFunction(checked);
    }
    exprs.extend(arrays.into_iter().zip(names).map(|(array, name)| array.alias(name)));
    let handling = if keep_empty { NullHandling::PreserveAndExpandEmpty } else { NullHandling::Drop };
    let options = UnnestOptions::new().with_null_handling(handling);
    let columns = names.iter().map(PlanColumn::new_unqualified).collect();
    LogicalPlanBuilder::from(projected(plan, exprs)?)
        .unnest_columns_with_options(columns, options)
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// Unfolds the row of totals, which stays one row with the first elements.
pub(super) fn unnest_totals(totals: LogicalPlan, arrays: Vec<Expr>, names: &[String]) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(unnest(totals, arrays, names, true)?)
        .limit(0, Some(1))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// Unfolds every `arrayJoin(...)` in `exprs` that is not inside an aggregate or a window. Calls with the same
/// argument are one; calls with different arguments multiply. Also returns the replacements.
pub(super) fn unfold(
    session: &Session<'_>,
    mut plan: LogicalPlan,
    exprs: &mut [Expr],
) -> Result<(LogicalPlan, Vec<(Expr, Expr)>)> {
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
        let name = session.unique("__element");
        plan = unnest(plan, vec![unnested.expr.as_ref().clone()], std::slice::from_ref(&name), false)?;
        replacements.push((call, bare_column(&name)));
    }
    for expr in exprs {
        *expr = replace(std::mem::take(expr), &replacements)?;
    }
    Ok((plan, replacements))
}
