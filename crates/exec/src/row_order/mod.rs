//! ORDER BY below something whose answer depends on the order of its rows.
//!
//! DataFusion takes a sort away where no operator above asks for its order, and deals rows to threads where
//! that is faster. `groupArray`, `any`, DISTINCT and window functions without ORDER BY ask for nothing and yet
//! answer by the order in which rows come. [`kept`] marks the sort below them with a node of ours, [`InOrder`];
//! the [`rules`] see to it that its rows come up to the operator that needs them as one stream.
//!
//! # Cost
//!
//! Such an aggregation runs on one thread, and its input is sorted: only where the query says so.

pub mod rules;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Distinct, Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};

use crate::limit_by::LimitBy;
use crate::one_input::OneInput;

/// `plan` with its rows in the order of its ORDER BY. A plan without ORDER BY is returned as it is.
pub fn kept(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !is_sorted(&plan) {
        return Ok(plan);
    }
    let marked = plan.transform_down(|plan| {
        Ok(match plan {
            LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => {
                let node = Arc::new(InOrder { input: Arc::new(plan) });
                Transformed::new(LogicalPlan::Extension(Extension { node }), true, TreeNodeRecursion::Stop)
            }
            other if keeps_order(&other) => Transformed::no(other),
            other => Transformed::new(other, false, TreeNodeRecursion::Stop),
        })
    });
    Ok(marked?.data)
}

/// Whether the rows of `plan` come from a sort that is not marked yet.
fn is_sorted(mut plan: &LogicalPlan) -> bool {
    loop {
        match plan {
            LogicalPlan::Sort(_) => return true,
            other if keeps_order(other) => match other.inputs().as_slice() {
                [input] => plan = *input,
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// Whether rows leave the node in the order in which they come.
fn keeps_order(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Distinct(Distinct::All(_)) => true,
        LogicalPlan::Extension(extension) => extension.node.as_any().is::<LimitBy>(),
        _ => false,
    }
}

/// The logical node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InOrder {
    pub input: Arc<LogicalPlan>,
}

impl PartialOrd for InOrder {
    fn partial_cmp(&self, other: &InOrder) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for InOrder {
    fn name(&self) -> &str {
        "InOrder"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    /// A filter leaves the rows that it keeps in their order.
    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        std::collections::HashSet::new()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InOrder")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<InOrder> {
        let Ok([input]) = <[LogicalPlan; 1]>::try_from(inputs) else {
            return Err(DataFusionError::Internal("InOrder has one input".into()));
        };
        Ok(InOrder { input: Arc::new(input) })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }
}

/// The operator: asks for the order that its input had when the plan was made, and hands the rows on.
pub struct InOrderOperator {
    input: Arc<dyn ExecutionPlan>,
    order: Option<LexOrdering>,
}

impl InOrderOperator {
    pub fn new(input: Arc<dyn ExecutionPlan>) -> InOrderOperator {
        let order = input.output_ordering().cloned();
        InOrderOperator { input, order }
    }
}

impl DisplayAs for InOrderOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InOrderExec")
    }
}

impl OneInput for InOrderOperator {
    const NAME: &'static str = "InOrderExec";
    const NEEDS_ONE_PARTITION: bool = true;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn needed_order(&self) -> Option<OrderingRequirements> {
        self.order.clone().map(OrderingRequirements::from)
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<InOrderOperator> {
        Ok(InOrderOperator { input, order: self.order.clone() })
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
