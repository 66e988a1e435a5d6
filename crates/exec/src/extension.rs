//! From our logical nodes to our operators: the planner that DataFusion asks about nodes it does not know.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use crate::limit_by;

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
        let Some(node) = node.as_any().downcast_ref::<limit_by::LimitBy>() else {
            return Ok(None);
        };
        let keys = node
            .keys
            .iter()
            .map(|key| planner.create_physical_expr(key, logical.schema(), session, planning_ctx))
            .collect::<Result<Vec<_>>>()?;
        Ok(Some(Arc::new(limit_by::LimitByExec::new(Arc::clone(physical), keys, node.offset, node.limit))))
    }
}
