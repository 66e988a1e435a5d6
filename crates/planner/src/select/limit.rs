//! LIMIT, OFFSET and LIMIT BY: constant counts.

use basalt_base::{Result, bail};
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::functions_window::{rank, row_number};
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, SortExpr, WindowFrame, WindowFunctionDefinition, WindowUDF,
};

use crate::expr::{Binder, evaluate};
use crate::names::canonical;
use crate::plan::{filtered, plan_error};
use crate::scope::bare_column;

/// The value of a constant count; `None` without an expression.
pub(super) fn count(binder: &Binder<'_>, expr: Option<&ast::Expr>, clause: &str) -> Result<Option<u64>> {
    let Some(expr) = expr else {
        return Ok(None);
    };
    if binder.bind(expr)?.expr.is_volatile() {
        bail!(InvalidLimitExpression, "{clause} takes a constant, not `{}`", canonical(expr));
    }
    let bound = binder.bind_constant(expr)?;
    let value = evaluate(&bound.expr)?;
    let number = match value.cast_to(&arrow::datatypes::DataType::UInt64) {
        Ok(ScalarValue::UInt64(number)) if bound.ty.stripped().is_integer() => number,
        _ => None,
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => bail!(
            InvalidLimitExpression,
            "{clause} takes a whole number that is not negative, not `{}`",
            canonical(expr)
        ),
    }
}

pub(super) fn apply(binder: &Binder<'_>, select: &ast::Select, plan: LogicalPlan) -> Result<LogicalPlan> {
    let limit = count(binder, select.limit.as_ref(), "LIMIT")?;
    let offset = count(binder, select.offset.as_ref(), "OFFSET")?;
    if limit.is_none() && offset.is_none() {
        return Ok(plan);
    }
    // The plan counts rows in Int64: a larger limit means all rows.
    let rows = |count: u64| i64::try_from(count).unwrap_or(i64::MAX) as usize;
    LogicalPlanBuilder::from(plan)
        .limit(rows(offset.unwrap_or(0)), limit.map(rows))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// `LIMIT n WITH TIES`: includes the rows after the last one that have equal ORDER BY `keys`. The columns it computes
/// come after the columns of `plan`.
pub(super) fn with_ties(
    binder: &Binder<'_>,
    select: &ast::Select,
    keys: Vec<SortExpr>,
    plan: LogicalPlan,
) -> Result<LogicalPlan> {
    if select.order_by.is_empty() && !select.order_by_all {
        bail!(WithTiesWithoutOrderBy, "WITH TIES needs ORDER BY");
    }
    let limit = count(binder, select.limit.as_ref(), "LIMIT")?.unwrap_or(u64::MAX);
    let offset = count(binder, select.offset.as_ref(), "OFFSET")?.unwrap_or(0);
    // A row is kept if its rank is within the limit: it is before the last row, or a tie.
    let (rank, row) = (position(rank::rank_udwf(), &keys), position(row_number::row_number_udwf(), &keys));
    let column = |call: &Expr| bare_column(&call.schema_name().to_string());
    let number = |count: u64| Expr::Literal(ScalarValue::UInt64(Some(count)), None);
    let keeps =
        column(&rank).lt_eq(number(offset.saturating_add(limit))).and(column(&row).gt(number(offset)));
    let plan = LogicalPlanBuilder::window_plan(plan, [rank, row]).map_err(plan_error)?;
    let plan = filtered(plan, keeps)?;
    if keys.is_empty() {
        return Ok(plan);
    }
    LogicalPlanBuilder::from(plan).sort(keys).and_then(LogicalPlanBuilder::build).map_err(plan_error)
}

/// A window function without arguments over all rows.
fn position(function: std::sync::Arc<WindowUDF>, keys: &[SortExpr]) -> Expr {
    let params = WindowFunctionParams {
        args: Vec::new(),
        partition_by: Vec::new(),
        order_by: keys.to_vec(),
        window_frame: WindowFrame::new((!keys.is_empty()).then_some(false)),
        filter: None,
        null_treatment: None,
        distinct: false,
    };
    Expr::WindowFunction(Box::new(WindowFunction {
        fun: WindowFunctionDefinition::WindowUDF(function),
        params,
    }))
}
