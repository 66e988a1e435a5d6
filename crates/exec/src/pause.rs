//! A rule without effect: it checks for cancellation between two other rules.
//!
//! The rules of a large plan take seconds in total. They run in sequence on the query's thread.

use std::sync::Arc;

use basalt_base::query::checkpoint;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::error::into_datafusion;

/// The rule, for logical and physical plans.
#[derive(Debug)]
pub(crate) struct Pause;

impl OptimizerRule for Pause {
    fn name(&self) -> &str {
        "pause"
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        checkpoint().map_err(into_datafusion)?;
        Ok(Transformed::no(plan))
    }
}

impl PhysicalOptimizerRule for Pause {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        checkpoint().map_err(into_datafusion)?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "pause"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
