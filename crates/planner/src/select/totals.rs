//! WITH TOTALS: the same aggregates over all rows, as one extra row.
//!
//! The keys of that row have default values. With HAVING, only rows of groups that pass it count, as in `totals_mode
//! = 'after_having_exclusive'`.

use std::sync::Arc;

use basalt_base::{Error, Result};
use datafusion::common::{JoinType, ScalarValue, TableReference};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder};

use super::bound_clauses::BoundClauses;
use super::group_by::{Aggregation, Grouped};
use crate::bound_expr::{contains, default_value, is_unnest, is_window};
use crate::float_keys;
use crate::plan::{aliased, plan_error, projected};
use crate::scope::plan_column;
use crate::session::Session;

/// The plan of the totals, with the columns of the grouped plan.
pub(super) fn plan(session: &Session<'_>, grouped: &Grouped, clauses: &BoundClauses) -> Result<LogicalPlan> {
    let Some(aggregation) = &grouped.aggregation else {
        return Err(Error::not_implemented("WITH TOTALS without aggregation"));
    };
    if clauses.exprs().any(|expr| contains(expr, is_window) || contains(expr, is_unnest)) {
        return Err(Error::not_implemented("WITH TOTALS together with window functions"));
    }
    let input = match aggregation.has_having && !aggregation.keys.is_empty() {
        true => rows_of_groups(session, aggregation, grouped)?,
        false => aggregation.input.clone(),
    };
    let plan = if aggregation.aggregates.is_empty() {
        datafusion::logical_expr::LogicalPlanBuilder::empty(true).build().map_err(plan_error)?
    } else {
        Aggregate::try_new(Arc::new(input), vec![], aggregation.aggregates.clone())
            .map(LogicalPlan::Aggregate)
            .map_err(plan_error)?
    };
    let mut exprs: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    for key in &aggregation.keys {
        let default = default_value(&key.bound.ty)?;
        exprs.push(match &key.column.relation {
            Some(relation) => default.alias_qualified(Some(relation.clone()), &key.column.name),
            None => default.alias(&key.column.name),
        });
    }
    projected(plan, exprs)
}

/// The rows whose groups are in the grouped plan.
fn rows_of_groups(
    session: &Session<'_>,
    aggregation: &Aggregation,
    grouped: &Grouped,
) -> Result<LogicalPlan> {
    let alias = session.unique("__groups");
    let relation = TableReference::bare(alias.as_str());
    let mut keys = Vec::with_capacity(aggregation.keys.len());
    let mut conditions = Vec::with_capacity(aggregation.keys.len());
    for (at, key) in aggregation.keys.iter().filter(|key| key.bound.constant().is_none()).enumerate() {
        let name = format!("key_{at}");
        let group = float_keys::key(Expr::Column(key.column.clone()), grouped.plan.schema())?;
        keys.push(group.alias(&name));
        let left = float_keys::key(key.bound.expr.clone(), aggregation.input.schema())?;
        let right = plan_column(&relation, &name);
        conditions.push(if key.bound.accepts_null() {
            left.clone().eq(right.clone()).or(left.is_null().and(right.is_null()))
        } else {
            left.eq(right)
        });
    }
    if keys.is_empty() {
        // Constant keys make one group: it has all rows, or HAVING removed it.
        let one = Expr::Literal(ScalarValue::UInt8(Some(1)), None);
        conditions.push(plan_column(&relation, "key").eq(one.clone()));
        keys.push(one.alias("key"));
    }
    let groups = aliased(projected(grouped.plan.clone(), keys)?, &alias)?;
    LogicalPlanBuilder::from(aggregation.input.clone())
        .join_on(groups, JoinType::LeftSemi, conditions)
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}
