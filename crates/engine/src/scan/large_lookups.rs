//! Large blocks under what looks keys up in a key/value table: a rule for physical plans.
//!
//! `dictGet` of a DIRECT dictionary, and a direct join, ask for the keys of a block at once. A key/value
//! table finds a million keys for half of what it takes for as many in blocks of the usual size.

use std::sync::Arc;

use basalt_exec::direct_join::DirectJoinOperator;
use basalt_exec::gather::GatherOperator;
use basalt_exec::one_input::OneInputExec;
use basalt_functions::scalar::BoundScalar;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

/// The rule.
#[derive(Debug)]
pub(crate) struct LargeLookups;

impl PhysicalOptimizerRule for LargeLookups {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            // Under a LIMIT, the first rows are wanted and no others.
            if node.fetch().is_some() || !looks_up(&node)? {
                return Ok(Transformed::no(node));
            }
            let children = node.children().into_iter();
            let gathered =
                |child: &Arc<_>| Arc::new(OneInputExec(GatherOperator::new(Arc::clone(child)))) as _;
            let children = children.map(gathered).collect();
            Ok(Transformed::yes(node.replace_children(
                children,
                ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
            )?))
        })
        .data()
    }

    fn name(&self) -> &str {
        "LargeLookups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the operator itself asks for keys, of a table that likes many.
fn looks_up(node: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    if let Some(join) = node.downcast_ref::<OneInputExec<DirectJoinOperator>>() {
        return Ok(join.prefers_large_blocks());
    }
    let evaluates = node.downcast_ref::<ProjectionExec>().is_some()
        || node.downcast_ref::<FilterExec>().is_some()
        || node
            .downcast_ref::<AggregateExec>()
            .is_some_and(|aggregate| aggregate.mode().input_mode() == AggregateInputMode::Raw);
    if !evaluates {
        return Ok(false);
    }
    let mut found = false;
    node.apply_expressions(&mut |expr| {
        expr.apply(|expr| {
            found |= is_large_lookup(expr);
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

fn is_large_lookup(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let call = expr.downcast_ref::<ScalarFunctionExpr>();
    call.and_then(|call| BoundScalar::of(call.fun())).is_some_and(BoundScalar::prefers_large_blocks)
}
