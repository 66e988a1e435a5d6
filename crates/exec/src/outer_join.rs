//! Stops assumptions about the rows of an outer join's input, which do not hold for rows without a match.
//!
//! DataFusion assumes that the properties of an input (constant or equal columns, order) hold for a join of it, even
//! if the join adds rows without a match, and removes a sort by such a column. The rule inserts an operator without
//! properties.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};

use crate::each_operator::EachOperator;
use crate::one_input::{OneInput, OneInputExec, over_inputs};

/// The rule, to be applied before join sides are swapped and sorts are removed.
pub(crate) const PADDED_SIDES: EachOperator = EachOperator::new("padded_sides", |node| {
    if let Some(input) = grouping_sets_over(node) {
        return over_inputs(node, vec![unclaimed(&input, true)]).map(Some);
    }
    let Some(join_type) = join_type(node) else { return Ok(None) };
    let (left, right) = match join_type {
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        JoinType::Full => (true, true),
        _ => return Ok(None),
    };
    let sides: Vec<_> = node.children().into_iter().zip([left, right]).collect();
    if !sides.iter().any(|(side, is_padded)| *is_padded && claims(side)) {
        return Ok(None);
    }
    let sides = sides.into_iter().map(|(side, is_padded)| unclaimed(side, is_padded)).collect();
    over_inputs(node, sides).map(Some)
});

/// The input of an aggregation with several grouping sets, if it has properties. A set omits keys, and its rows have
/// other values there than the input.
fn grouping_sets_over(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let aggregate = plan.downcast_ref::<AggregateExec>()?;
    (aggregate.group_expr().has_grouping_set() && claims(aggregate.input()))
        .then(|| Arc::clone(aggregate.input()))
}

fn join_type(plan: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    let hash = plan.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let merge = || plan.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type);
    hash.or_else(|| plan.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type())).or_else(merge)
}

/// Whether the properties of `side` do not hold for rows without a match.
fn claims(side: &Arc<dyn ExecutionPlan>) -> bool {
    !side.equivalence_properties().eq_group().is_empty()
}

fn unclaimed(side: &Arc<dyn ExecutionPlan>, is_padded: bool) -> Arc<dyn ExecutionPlan> {
    match is_padded && claims(side) {
        true => Arc::new(OneInputExec(UnclaimedOperator::new(Arc::clone(side)))),
        false => Arc::clone(side),
    }
}

/// The operator: passes rows on and declares no properties.
struct UnclaimedOperator {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl UnclaimedOperator {
    fn new(input: Arc<dyn ExecutionPlan>) -> UnclaimedOperator {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        UnclaimedOperator { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for UnclaimedOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UnclaimedExec")
    }
}

impl OneInput for UnclaimedOperator {
    const NAME: &'static str = "UnclaimedExec";
    const KEEPS_ORDER: bool = false;
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<UnclaimedOperator> {
        Ok(UnclaimedOperator::new(input))
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
}
