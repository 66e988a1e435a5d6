//! ORDER BY below operators whose result depends on the order of rows.
//!
//! DataFusion removes a sort if no operator above requires its order, and distributes rows to threads where that is
//! faster. `groupArray`, `any`, DISTINCT and window functions without ORDER BY require nothing, but their results
//! depend on the order of rows. [`kept`] marks the sort below them with a node of ours, [`InOrder`]; the [`rules`]
//! ensure that its rows reach the operator as one stream.
//!
//! # Cost
//!
//! Such an aggregation runs on one thread over sorted input, but only if the query has the ORDER BY.

pub mod rules;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, DataFusionError, Result};
use datafusion::logical_expr::{Distinct, Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};

use crate::limit_by::LimitBy;
use crate::one_input::{OneInput, OneInputExec, over_inputs};

/// Marks the sort of `plan`, if it has an ORDER BY.
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

/// Whether the rows of `plan` come from a sort that is not yet marked.
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

/// Whether the node preserves the order of its input.
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

    /// A filter preserves the order of the rows that pass.
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

/// The operator over `input`: below projections, which may drop the columns that rows are sorted by.
pub fn marked(input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(projection) = input.downcast_ref::<ProjectionExec>() {
        let below = marked(Arc::clone(projection.input()))?;
        return over_inputs(&input, vec![below]);
    }
    Ok(Arc::new(OneInputExec(InOrderOperator::new(input))))
}

/// The operator: requires the order that its input had when the plan was made, and passes rows on.
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
}
