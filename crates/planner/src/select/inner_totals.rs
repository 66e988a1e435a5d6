//! The totals of a subquery in FROM. They are also the totals of the query around it, unless that one aggregates.
//!
//! They pass through the same expressions and joins as the rows, but not through filters, sorts and limits.

use basalt_base::Result;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::unnest::unnest_totals;
use crate::plan::{plan_error, projected};
use crate::scope::Relation;

/// The totals of a join: the totals of both sides, with default values for a side without totals.
pub(super) fn of_join(left: &Relation, right: &Relation) -> Result<Option<LogicalPlan>> {
    if left.totals.is_none() && right.totals.is_none() {
        return Ok(None);
    }
    let side = |side: &Relation| match &side.totals {
        Some(totals) => Ok(totals.clone()),
        None => default_row(side.plan.schema()),
    };
    LogicalPlanBuilder::from(side(left)?)
        .cross_join(side(right)?)
        .and_then(LogicalPlanBuilder::build)
        .map(Some)
        .map_err(plan_error)
}

fn default_row(schema: &DFSchema) -> Result<LogicalPlan> {
    let nothing = LogicalPlanBuilder::empty(true).build().map_err(plan_error)?;
    let values = schema.iter().map(|(relation, field)| {
        let value = ScalarValue::new_default(field.data_type()).map_err(plan_error)?;
        Ok(Expr::Literal(value, None).alias_qualified(relation.cloned(), field.name()))
    });
    projected(nothing, values.collect::<Result<Vec<_>>>()?)
}

/// Adds the values that the plan of the rows computed to the totals: random values and array elements.
pub(super) fn follow(totals: &mut Option<LogicalPlan>, computed: &[(Expr, Expr)]) -> Result<()> {
    for (from, to) in computed {
        let (Some(plan), Expr::Column(column)) = (totals.take(), to) else { return Ok(()) };
        let name = std::slice::from_ref(&column.name);
        *totals = Some(match from {
            Expr::Unnest(array) => unnest_totals(plan, vec![array.expr.as_ref().clone()], name)?,
            other => {
                let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
                columns.push(other.clone().alias(&column.name));
                projected(plan, columns)?
            }
        });
    }
    Ok(())
}
