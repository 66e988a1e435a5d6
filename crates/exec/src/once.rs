//! Columns that hold something random: they are computed once, and no operator above gets to compute them again.
//!
//! DataFusion hands filters down through a projection by putting its expressions into them; a random number
//! would be drawn anew. The rule puts an operator above such projections that lets no filter through.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use crate::one_input::{OneInput, OneInputExec};

/// The rule; before filters of operators are handed down.
#[derive(Debug)]
pub(crate) struct ComputedOnce;

impl PhysicalOptimizerRule for ComputedOnce {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let is_random = plan.downcast_ref::<ProjectionExec>().is_some_and(holds_chance);
            Ok(match is_random {
                true => Transformed::yes(Arc::new(OneInputExec(OnceOperator { input: plan })) as _),
                false => Transformed::no(plan),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "computed_once"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn holds_chance(projection: &ProjectionExec) -> bool {
    projection.expr().iter().any(|column| is_volatile(&column.expr))
}

/// The operator.
pub(crate) struct OnceOperator {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for OnceOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnceExec")
    }
}

impl OneInput for OnceOperator {
    const NAME: &'static str = "OnceExec";
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<OnceOperator> {
        Ok(OnceOperator { input })
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
