//! A rule for physical plans: large blocks below operators that look up keys in a key/value table.
//!
//! `dictGet` of a DIRECT dictionary, and a direct join, ask for the keys of a block at once. A key/value table finds a
//! million keys at once in half the time that they take in blocks of the usual size.

use std::sync::Arc;

use basalt_exec::direct_join::DirectJoinOperator;
use basalt_exec::each_operator::EachOperator;
use basalt_exec::gather::GatherOperator;
use basalt_exec::one_input::{OneInputExec, over_inputs};
use basalt_functions::scalar::BoundScalar;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

/// The rule.
pub(crate) const LARGE_LOOKUPS: EachOperator = EachOperator::new("large_lookups", |node| {
    // Below a LIMIT, only the first rows are wanted.
    if node.fetch().is_some() || !looks_up(node)? {
        return Ok(None);
    }
    let gathered = |child: &Arc<_>| Arc::new(OneInputExec(GatherOperator::new(Arc::clone(child)))) as _;
    over_inputs(node, node.children().into_iter().map(gathered).collect()).map(Some)
});

/// Whether the operator itself looks up keys in a table that prefers large blocks.
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
