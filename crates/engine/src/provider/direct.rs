//! A rule against spreading few rows over many threads, which then wait for each other.
//!
//! DataFusion spreads the blocks of a source with one partition over all threads unless it knows the
//! exact number of rows, which is not known after a filter. A source of ours has as many partitions as
//! are worth it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::Partitioning;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::repartition::RepartitionExec;

use super::exec::SourceExec;

/// With more rows, a single partition is worth spreading.
const ROWS_MAX: u64 = 1 << 19;

/// The rule.
#[derive(Debug)]
pub(crate) struct DirectSources;

impl PhysicalOptimizerRule for DirectSources {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match spread_source(&node) {
            Some(source) => Ok(Transformed::yes(source)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "DirectSources"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The small source whose blocks `node` distributes round-robin.
fn spread_source(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let spread = node.downcast_ref::<RepartitionExec>()?;
    let deals_out = matches!(spread.partitioning(), Partitioning::RoundRobinBatch(_));
    let source = spread.input().downcast_ref::<SourceExec>()?.source();
    let is_small = source.rows_estimate().is_some_and(|rows| rows <= ROWS_MAX);
    (deals_out && is_small).then(|| Arc::clone(spread.input()))
}
