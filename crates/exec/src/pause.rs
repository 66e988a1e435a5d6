//! A rule that changes nothing: between two others it asks whether the query may go on.
//!
//! Rules of a large plan take seconds together. They run one after the other on the thread of the query.

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

/// The rule, about plans and about operators.
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
