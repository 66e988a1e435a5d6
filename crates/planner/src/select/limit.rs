//! LIMIT, OFFSET and LIMIT BY: constant counts.

use std::sync::Arc;

use basalt_base::{Result, bail};
use basalt_exec::limit_by::LimitBy;
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder};

use super::plan_error;
use crate::expr::{Binder, evaluate};
use crate::names::canonical;

/// The count that a constant expression gives; `None` without an expression.
pub(super) fn count(binder: &Binder<'_>, expr: Option<&ast::Expr>, clause: &str) -> Result<Option<u64>> {
    let Some(expr) = expr else {
        return Ok(None);
    };
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
    let rows = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    LogicalPlanBuilder::from(plan)
        .limit(rows(offset.unwrap_or(0)), limit.map(rows))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// The first rows of those that share `keys`.
pub(super) fn by(input: LogicalPlan, keys: Vec<Expr>, offset: u64, limit: u64) -> LogicalPlan {
    let node = LimitBy { input: Arc::new(input), keys, offset, limit };
    LogicalPlan::Extension(Extension { node: Arc::new(node) })
}
