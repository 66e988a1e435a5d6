//! Maps our logical nodes to our operators, for nodes that DataFusion does not know.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use crate::one_input::OneInputExec;
use crate::set_operation::{SetOperation, SetOperationExec, Side};
use crate::{direct_join, limit_by, row_order, shared};

/// DataFusion's physical planner, extended by our operators.
#[derive(Debug, Default)]
pub(crate) struct OperatorPlanner;

#[async_trait]
impl QueryPlanner for OperatorPlanner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(OperatorPlanner)]);
        match one_row(&planner, logical_plan, session)? {
            Some(operators) => Ok(operators),
            None => planner.create_physical_plan(logical_plan, session).await,
        }
    }
}

/// The operators of a plan that computes one row from nothing. Physical rules cannot improve it, and running them
/// would take longer than the row.
fn one_row(
    planner: &dyn PhysicalPlanner,
    plan: &LogicalPlan,
    session: &dyn Session,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    match plan {
        LogicalPlan::EmptyRelation(relation) if relation.produce_one_row => {
            Ok(Some(Arc::new(PlaceholderRowExec::new(Arc::clone(relation.schema.inner())))))
        }
        LogicalPlan::Projection(projection) => {
            let Some(input) = one_row(planner, &projection.input, session)? else { return Ok(None) };
            let (from, context) = (projection.input.schema(), PhysicalPlanningContext::default());
            let exprs = projection.expr.iter().zip(projection.schema.fields()).map(|(expr, field)| {
                let expr = planner.create_physical_expr(expr, from, session, &context)?;
                Ok(ProjectionExpr { expr, alias: field.name().clone() })
            });
            let exprs = exprs.collect::<Result<Vec<_>>>()?;
            Ok(Some(Arc::new(ProjectionExec::try_new(exprs, input)?)))
        }
        _ => Ok(None),
    }
}

#[async_trait]
impl ExtensionPlanner for OperatorPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        planning_ctx: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let over = |expr: &Expr, schema: &DFSchema| {
            planner.create_physical_expr(expr, schema, session, planning_ctx)
        };
        if let Some(node) = node.as_any().downcast_ref::<SetOperation>() {
            let half = node.keys.len() / logical_inputs.len();
            let sides = logical_inputs.iter().zip(physical_inputs).zip(node.keys.chunks(half.max(1)));
            let sides = sides.map(|((logical, input), keys)| {
                let keys = keys.iter().map(|key| over(key, logical.schema())).collect::<Result<Vec<_>>>()?;
                Ok(Side { input: Arc::clone(input), keys })
            });
            let Ok([left, right]) = <[Side; 2]>::try_from(sides.collect::<Result<Vec<_>>>()?) else {
                return Ok(None);
            };
            return Ok(Some(Arc::new(SetOperationExec::new(node.operation, left, right))));
        }
        let ([logical], [physical]) = (logical_inputs, physical_inputs) else {
            return Ok(None);
        };
        let keys =
            |keys: &[Expr]| keys.iter().map(|key| over(key, logical.schema())).collect::<Result<Vec<_>>>();
        let input = Arc::clone(physical);
        if let Some(node) = node.as_any().downcast_ref::<limit_by::LimitBy>() {
            let operator = limit_by::LimitByOperator::new(input, keys(&node.keys)?, node.offset, node.limit);
            return Ok(Some(Arc::new(OneInputExec(operator))));
        }
        if let Some(node) = node.as_any().downcast_ref::<shared::Shared>() {
            return Ok(Some(Arc::new(OneInputExec(shared::SharedOperator::new(input, node)))));
        }
        if node.as_any().is::<row_order::InOrder>() {
            return row_order::marked(input).map(Some);
        }
        if let Some(node) = node.as_any().downcast_ref::<direct_join::DirectJoin>() {
            let filter = node.filter.as_ref().map(|filter| over(filter, &node.row_schema)).transpose()?;
            let operator = direct_join::DirectJoinOperator::new(input, node, keys(&node.keys)?, filter)?;
            return Ok(Some(Arc::new(OneInputExec(operator))));
        }
        Ok(None)
    }
}
