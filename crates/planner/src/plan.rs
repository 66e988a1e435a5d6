//! The plan of a subquery, and the nodes that every part of the planner puts on top of a plan.

use std::sync::Arc;

use basalt_base::{Column, Error, Result};
use basalt_exec::shared::Shared;
use datafusion::common::TableReference;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder};

/// A planned query inside another one.
#[derive(Clone, Debug)]
pub(crate) struct Subplan {
    pub(crate) plan: LogicalPlan,
    /// Result names and types; the plan's own names are [`Subplan::names`].
    pub(crate) columns: Vec<Column>,
    /// The unique name of each column in the plan.
    pub(crate) names: Vec<String>,
    /// Which columns are constants.
    pub(crate) constants: Vec<bool>,
    pub(crate) totals: Option<LogicalPlan>,
}

/// The pairs of keys that a join compares: left and right.
pub(crate) type JoinKeys = Vec<(Expr, Expr)>;

/// Converts an error of DataFusion's plan builder.
pub(crate) fn plan_error(error: datafusion::common::DataFusionError) -> Error {
    basalt_exec::error::from_datafusion(error)
}

/// `plan` with a filter on top.
pub(crate) fn filtered(plan: LogicalPlan, condition: Expr) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan).filter(condition).and_then(LogicalPlanBuilder::build).map_err(plan_error)
}

/// `plan` with a projection on top.
pub(crate) fn projected(plan: LogicalPlan, exprs: Vec<Expr>) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan).project(exprs).and_then(LogicalPlanBuilder::build).map_err(plan_error)
}

/// `plan` as a relation called `name`.
pub(crate) fn aliased(plan: LogicalPlan, name: &str) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan)
        .alias(TableReference::bare(name))
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// `plan` as a node whose rows are computed once, however often the node occurs in a plan.
pub(crate) fn shared(plan: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(Shared::new(plan)) })
}
