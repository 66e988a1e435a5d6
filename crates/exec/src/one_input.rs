//! The common part of operators with one input.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions,
};

/// The part that differs; [`OneInputExec`] makes an `ExecutionPlan` of it.
pub trait OneInput: DisplayAs + Send + Sync + Sized + 'static {
    const NAME: &'static str;

    /// Whether the order of rows is preserved.
    const KEEPS_ORDER: bool = true;

    /// Whether it needs all rows in one partition.
    const NEEDS_ONE_PARTITION: bool = false;

    /// Whether repartitioning the input pays off.
    const GAINS_FROM_PARTITIONS: bool = !Self::NEEDS_ONE_PARTITION;

    /// Whether it returns a subset of the input's rows.
    const DROPS_ROWS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan>;

    /// The required order of the rows of each partition.
    fn needed_order(&self) -> Option<OrderingRequirements> {
        None
    }

    /// The same operator over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self>;

    /// By default the properties of the input.
    fn properties(&self) -> &Arc<PlanProperties> {
        self.input().properties()
    }

    /// The expressions that it computes over the input's rows.
    fn expressions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &[]
    }

    /// By default passes the input's rows on.
    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input().execute(partition, context)
    }
}

/// The operator.
pub struct OneInputExec<T>(pub T);

impl<T> Deref for OneInputExec<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: OneInput> fmt::Debug for OneInputExec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(DisplayFormatType::Default, f)
    }
}

impl<T: OneInput> DisplayAs for OneInputExec<T> {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(kind, f)
    }
}

impl<T: OneInput> ExecutionPlan for OneInputExec<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![match T::NEEDS_ONE_PARTITION {
            true => Distribution::SinglePartition,
            false => Distribution::UnspecifiedDistribution,
        }])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.0.needed_order()]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![T::KEEPS_ORDER]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![T::GAINS_FROM_PARTITIONS]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.0.input()]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expression in self.0.expressions() {
            if f(expression)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else {
            return Err(DataFusionError::Internal(format!("{} has one input", T::NAME)));
        };
        Ok(Arc::new(OneInputExec(self.0.over(input)?)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![if T::DROPS_ROWS { ChildStats::At(partition) } else { ChildStats::Skip }]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if let (true, Some(input)) = (T::DROPS_ROWS, inputs.first()) {
            statistics.num_rows = input.num_rows.to_inexact();
        }
        Ok(Arc::new(statistics))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.0.run(partition, context)
    }
}

/// `plan` over other inputs.
pub fn over_inputs(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(inputs, options)
}
