//! From our logical nodes to our operators: the planner that DataFusion asks about nodes it does not know.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use crate::{direct_join, limit_by};

/// DataFusion's physical planner with our operators beside its own.
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
        planner.create_physical_plan(logical_plan, session).await
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
        let ([logical], [physical]) = (logical_inputs, physical_inputs) else {
            return Ok(None);
        };
        let over = |expr: &Expr, schema: &DFSchema| {
            planner.create_physical_expr(expr, schema, session, planning_ctx)
        };
        let keys =
            |keys: &[Expr]| keys.iter().map(|key| over(key, logical.schema())).collect::<Result<Vec<_>>>();
        let input = Arc::clone(physical);
        if let Some(node) = node.as_any().downcast_ref::<limit_by::LimitBy>() {
            let operator = limit_by::LimitByExec::new(input, keys(&node.keys)?, node.offset, node.limit);
            return Ok(Some(Arc::new(operator)));
        }
        if let Some(node) = node.as_any().downcast_ref::<direct_join::DirectJoin>() {
            let filter = node.filter.as_ref().map(|filter| over(filter, &node.row_schema)).transpose()?;
            let operator = direct_join::DirectJoinExec::new(input, node, keys(&node.keys)?, filter);
            return Ok(Some(Arc::new(operator)));
        }
        Ok(None)
    }
}
