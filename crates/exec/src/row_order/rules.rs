//! The rules that keep the rows of a marked sort in one stream.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};

use super::InOrderOperator;
use crate::each_operator::EachOperator;
use crate::limit_by::LimitByOperator;
use crate::once::OnceOperator;
use crate::one_input::{OneInputExec, over_inputs};

/// Does not split an aggregation of ordered rows. To be applied before operators are parallelized.
pub(crate) const WHOLE_AGGREGATES: EachOperator = EachOperator::new("whole_aggregates", whole);

/// Ordered rows are not repartitioned and merged again, nor are those of a single stream below a LIMIT. To be applied
/// when operators are in place.
pub(crate) const ONE_STREAM: EachOperator = EachOperator::top_down("one_stream", |plan| {
    let is_limit = plan.is::<CoalescePartitionsExec>() && plan.fetch().is_some();
    match plan.children().as_slice() {
        [child] if is_limit => match straight(child, is_stream)? {
            Some(child) => over_inputs(plan, vec![child]).map(Some),
            None => Ok(None),
        },
        _ if puts_together(plan) => straight(plan, is_mark),
        _ => Ok(None),
    }
});

/// Merges the two phases of an aggregation over ordered rows.
fn whole(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(last) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let Some(first) = last.input().downcast_ref::<AggregateExec>() else { return Ok(None) };
    let is_last = matches!(last.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned);
    if !is_last || *first.mode() != AggregateMode::Partial || !is_in_order(first.input()) {
        return Ok(None);
    }
    let whole = AggregateExec::try_new(
        AggregateMode::Single,
        first.group_expr().clone(),
        first.aggr_expr().to_vec(),
        first.filter_expr().to_vec(),
        Arc::clone(first.input()),
        first.input_schema(),
    )?;
    Ok(Some(Arc::new(whole.with_limit_options(last.limit_options()))))
}

/// Whether rows come from a marked sort, in its order.
fn is_in_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut plan = plan;
    loop {
        if is_mark(plan) {
            return true;
        }
        match plan.children().as_slice() {
            [child] if keeps_order(plan) => plan = *child,
            _ => return false,
        }
    }
}

/// The chain of operators down to the ordered rows, without repartitions and merges.
fn straight(
    plan: &Arc<dyn ExecutionPlan>,
    is_end: fn(&Arc<dyn ExecutionPlan>) -> bool,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if is_end(plan) {
        return Ok(Some(Arc::clone(plan)));
    }
    let (children, is_exchange) = (plan.children(), puts_together(plan) || deals_out(plan));
    let [child] = children.as_slice() else { return Ok(None) };
    if !is_exchange && !keeps_order(plan) {
        return Ok(None);
    }
    let Some(child) = straight(child, is_end)? else { return Ok(None) };
    if is_exchange {
        return Ok(Some(child));
    }
    over_inputs(plan, vec![child]).map(Some)
}

/// Whether it is one stream of rows, or a marked sort, so that LIMIT takes its first rows.
fn is_stream(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_one = plan.output_partitioning().partition_count() == 1;
    is_mark(plan) || (plan.children().is_empty() && is_one)
}

fn is_mark(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<OneInputExec<InOrderOperator>>()
}

fn keeps_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<ProjectionExec>()
        || plan.is::<FilterExec>()
        || plan.is::<UnnestExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<OneInputExec<LimitByOperator>>()
        || plan.is::<OneInputExec<OnceOperator>>()
        || plan.downcast_ref::<AggregateExec>().is_some_and(is_distinct)
}

/// DISTINCT is an aggregation without aggregates: its groups are in the order of their first rows.
fn is_distinct(aggregate: &AggregateExec) -> bool {
    *aggregate.mode() == AggregateMode::Single && aggregate.aggr_expr().is_empty()
}

fn puts_together(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_it = plan.is::<CoalescePartitionsExec>() || plan.is::<SortPreservingMergeExec>();
    is_it && plan.fetch().is_none()
}

fn deals_out(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let repartition = plan.downcast_ref::<RepartitionExec>();
    repartition.is_some_and(|deal| matches!(deal.partitioning(), Partitioning::RoundRobinBatch(_)))
}
