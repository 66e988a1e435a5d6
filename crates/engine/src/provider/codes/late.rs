//! Strings as late as possible: a rule that moves [`DecodeOperator`] above filters, projections and limits of
//! the groups, where few groups are left.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use basalt_exec::one_input::{OneInput, OneInputExec};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::decode::{DecodeOperator, reads_any};
use crate::scan::Numbering;

/// The rule.
#[derive(Debug)]
pub(crate) struct LateStrings;

impl PhysicalOptimizerRule for LateStrings {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match above(&node)? {
            Some(decode) => Ok(Transformed::yes(Arc::new(OneInputExec(decode)) as Arc<dyn ExecutionPlan>)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "LateStrings"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `node` below the strings, if it is right above them and does not look at them.
fn above(node: &Arc<dyn ExecutionPlan>) -> Result<Option<DecodeOperator>> {
    let [child] = node.children()[..] else { return Ok(None) };
    let Some(decode) = child.downcast_ref::<OneInputExec<DecodeOperator>>() else { return Ok(None) };
    let schema = node.schema();
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return Ok(above_sort(sort, decode, schema));
    }
    if let Some(filter) = node.downcast_ref::<FilterExec>() {
        return above_filter(filter, decode, schema);
    }
    match node.downcast_ref::<ProjectionExec>() {
        Some(projection) => above_projection(projection, decode, schema),
        None => Ok(None),
    }
}

/// A sort that keeps all rows would only move longer ones.
fn above_sort(sort: &SortExec, decode: &DecodeOperator, schema: SchemaRef) -> Option<DecodeOperator> {
    let reads = sort.expr().iter().any(|key| reads_any(&key.expr, decode.strings()));
    let limit = sort.fetch().filter(|_| !reads)?;
    let below = SortExec::new(sort.expr().clone(), Arc::clone(decode.input()))
        .with_fetch(Some(limit))
        .with_preserve_partitioning(sort.preserve_partitioning());
    Some(DecodeOperator::new(Arc::new(below), schema, decode.strings().to_vec()))
}

fn above_filter(
    filter: &FilterExec,
    decode: &DecodeOperator,
    schema: SchemaRef,
) -> Result<Option<DecodeOperator>> {
    let is_plain = filter.projection().is_none() && filter.fetch().is_none();
    if !is_plain || reads_any(filter.predicate(), decode.strings()) {
        return Ok(None);
    }
    let predicate = Arc::clone(filter.predicate());
    let below = FilterExecBuilder::new(predicate, Arc::clone(decode.input())).build()?;
    Ok(Some(DecodeOperator::new(Arc::new(below), schema, decode.strings().to_vec())))
}

fn above_projection(
    projection: &ProjectionExec,
    decode: &DecodeOperator,
    schema: SchemaRef,
) -> Result<Option<DecodeOperator>> {
    let mut strings: Vec<(usize, Arc<Numbering>)> = Vec::new();
    for (at, item) in projection.expr().iter().enumerate() {
        if !reads_any(&item.expr, decode.strings()) {
            continue;
        }
        let Some(column) = item.expr.downcast_ref::<Column>() else { return Ok(None) };
        let numbering = decode.strings().iter().find(|(string, _)| *string == column.index());
        strings.extend(numbering.map(|(_, numbering)| (at, Arc::clone(numbering))));
    }
    let below = ProjectionExec::try_new(projection.expr().to_vec(), Arc::clone(decode.input()))?;
    Ok(Some(DecodeOperator::new(Arc::new(below), schema, strings)))
}
