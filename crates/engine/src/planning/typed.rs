//! A query whose columns are converted to given types by position: what INSERT ... SELECT and the
//! sources of dictionaries run.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_base::{Columns, Result, bail};
use basalt_exec::error::from_datafusion;
use basalt_planner::{PlannerContext, cast_for, plan_query};
use basalt_sql::ast::{self, Statement};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::planning_context::PlanningContext;
use super::runtime::{BlockingBlocks, run_to_blocks};
use crate::execution::Execution;

/// Plans `text` and starts it; the blocks have the carriers of `columns`. In the first `exact_columns`, a number that
/// the column's type does not have is an error. Called from a thread that may block.
pub(crate) fn run_typed(
    query: &Arc<Execution>,
    text: &str,
    columns: &Columns,
    exact_columns: usize,
) -> Result<BlockingBlocks> {
    let Statement::Query(ast) = basalt_sql::parse_statement(text.as_bytes())? else {
        bail!(IncorrectQuery, "`{text}` is no SELECT");
    };
    let planning = PlanningContext::new(query, HashMap::new());
    let plan = plan_typed(&ast, columns, exact_columns, &planning.context())?;
    Ok(run_to_blocks(query, plan))
}

/// Plans a query with its columns converted to those of `columns`, by position, the first `exact_columns`
/// without a change of any number.
pub(crate) fn plan_typed(
    ast: &ast::Query,
    columns: &Columns,
    exact_columns: usize,
    ctx: &PlannerContext<'_>,
) -> Result<LogicalPlan> {
    let planned = plan_query(ast, ctx)?;
    if planned.columns.len() != columns.len() {
        bail!(
            NumberOfColumnsDoesntMatch,
            "the query has {} columns, {} are wanted: {}",
            planned.columns.len(),
            columns.len(),
            columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
        );
    }
    let exprs = planned
        .plan
        .schema()
        .columns()
        .into_iter()
        .zip(planned.columns.iter().zip(columns.iter()))
        .enumerate()
        .map(|(index, (column, (from, to)))| {
            let expr = cast_for(to, index < exact_columns, Expr::Column(column), &from.ty, ctx)
                .map_err(|error| error.within(format!("column `{}`", to.name)))?;
            // Positions as names: a query may have a name twice.
            Ok(expr.alias(index.to_string()))
        })
        .collect::<Result<Vec<_>>>()?;
    LogicalPlanBuilder::from(planned.plan)
        .project(exprs)
        .and_then(LogicalPlanBuilder::build)
        .map_err(from_datafusion)
}
