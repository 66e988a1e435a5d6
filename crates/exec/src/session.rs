//! The session in which plans are optimized and run: our rules, and the limits as arguments.
//!
//! `planner` gives plans their types, so there are no analyzer rules: type coercion would only change types (and turn
//! byte strings into text). The list contains those of DataFusion's optimizer rules that can apply to our plans:
//! subqueries are run or joined before planning ends, and there are no `DISTINCT` aggregates.

use std::sync::Arc;

use basalt_base::{Error, Result};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::optimizer::OptimizerRule;
use datafusion::optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion::optimizer::eliminate_filter::EliminateFilter;
use datafusion::optimizer::eliminate_join::EliminateJoin;
use datafusion::optimizer::eliminate_limit::EliminateLimit;
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::filter_null_join_keys::FilterNullJoinKeys;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::optimize_unions::OptimizeUnions;
use datafusion::optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::push_down_limit::PushDownLimit;
use datafusion::optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionConfig;

use crate::checked::CHECKED_JOINS;
use crate::cut_lists::CUT_LISTS;
use crate::early_repartition::EARLY_REPARTITION;
use crate::extension::OperatorPlanner;
use crate::large_limit::LARGE_LIMIT;
use crate::once::COMPUTED_ONCE;
use crate::outer_join::PADDED_SIDES;
use crate::pause::Pause;
use crate::row_order::rules::{ONE_STREAM, WHOLE_AGGREGATES};
use crate::wide_constants::WIDE_CONSTANTS;

/// The early and late rules of the caller are placed before this rule.
const EARLY_BEFORE_RULE: &str = "join_selection";
const LATE_BEFORE_RULE: &str = "EnsureCooperative";

/// A rule that rewrites a plan before its operators are chosen.
pub type PlanRule = Arc<dyn OptimizerRule + Send + Sync>;

type OperatorRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Rules for operators and functions that this crate does not know.
#[derive(Default)]
pub struct Rules {
    /// For logical plans, before all other rules.
    pub first: Vec<PlanRule>,
    /// For logical plans, after filters are pushed down.
    pub plan: Vec<PlanRule>,
    /// For logical plans, after all other rules: unused columns are removed.
    pub last: Vec<PlanRule>,
    /// For physical plans, before operators are parallelized.
    pub early: Vec<OperatorRule>,
    /// For physical plans with operators in place, before dynamic filters are pushed down.
    pub late: Vec<OperatorRule>,
}

/// The parallelism and batch size of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// The maximum number of threads of one operator.
    pub target_partitions: usize,
    /// The rows of a batch.
    pub batch_rows: usize,
}

/// A session with our rules and those of the caller. `runtime` has the memory pool and the spill directory.
pub fn session_state(limits: SessionLimits, runtime: Arc<RuntimeEnv>, rules: Rules) -> Result<SessionState> {
    let config = SessionConfig::new()
        .with_target_partitions(limits.target_partitions.max(1))
        .with_batch_size(limits.batch_rows.max(1))
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false);
    Ok(SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_analyzer_rules(vec![])
        .with_optimizer_rules(optimizer_rules(rules.first, rules.plan, rules.last))
        .with_physical_optimizer_rules(operator_rules(rules.early, rules.late)?)
        .with_query_planner(Arc::new(OperatorPlanner))
        .build())
}

/// DataFusion's rules, with ours and the caller's inserted.
fn operator_rules(mut early: Vec<OperatorRule>, mut late: Vec<OperatorRule>) -> Result<Vec<OperatorRule>> {
    let ours: [OperatorRule; 3] =
        [Arc::new(COMPUTED_ONCE), Arc::new(WHOLE_AGGREGATES), Arc::new(PADDED_SIDES)];
    early.splice(0..0, ours);
    let ours: [OperatorRule; 4] =
        [Arc::new(CUT_LISTS), Arc::new(WIDE_CONSTANTS), Arc::new(EARLY_REPARTITION), Arc::new(ONE_STREAM)];
    late.splice(0..0, ours);
    late.push(Arc::new(LARGE_LIMIT));
    let mut rules = PhysicalOptimizer::new().rules;
    for (added, before) in [(early, EARLY_BEFORE_RULE), (late, LATE_BEFORE_RULE)] {
        let place = rules.iter().position(|rule| rule.name() == before);
        let place = place.ok_or_else(|| Error::logical(format!("no rule is called `{before}`")))?;
        rules.splice(place..place, added);
    }
    rules.push(Arc::new(CHECKED_JOINS));
    let with_pause = |rule| [rule, Arc::new(Pause) as OperatorRule];
    Ok(rules.into_iter().flat_map(with_pause).collect())
}

/// In the order of DataFusion, because each rule relies on those before it.
fn optimizer_rules(first: Vec<PlanRule>, added: Vec<PlanRule>, last: Vec<PlanRule>) -> Vec<PlanRule> {
    let mut rules = first;
    let known: [PlanRule; 14] = [
        Arc::new(OptimizeUnions::new()),
        Arc::new(SimplifyExpressions::new()),
        Arc::new(ReplaceDistinctWithAggregate::new()),
        Arc::new(EliminateJoin::new()),
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(EliminateDuplicatedExpr::new()),
        Arc::new(EliminateFilter::new()),
        Arc::new(EliminateCrossJoin::new()),
        Arc::new(EliminateLimit::new()),
        Arc::new(PropagateEmptyRelation::new()),
        Arc::new(FilterNullJoinKeys::default()),
        Arc::new(EliminateOuterJoin::new()),
        Arc::new(PushDownLimit::new()),
        Arc::new(PushDownFilter::new()),
    ];
    rules.extend(known);
    rules.extend(added);
    rules.push(Arc::new(CommonSubexprEliminate::new()));
    rules.push(Arc::new(OptimizeProjections::new()));
    rules.extend(last);
    let with_pause = |rule| [rule, Arc::new(Pause) as PlanRule];
    rules.into_iter().flat_map(with_pause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our rules are placed by the names of DataFusion's rules; this test fails if one is renamed.
    #[test]
    fn the_rules_that_ours_stand_before_are_there() {
        operator_rules(Vec::new(), Vec::new()).expect("both rules have their names");
    }
}
