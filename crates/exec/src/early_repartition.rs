//! A rule for physical plans: repartitions rows before they become wide or many.
//!
//! A round-robin repartition coalesces small blocks to the usual number of rows. It would undo the work of
//! [`crate::cut_lists`] and [`crate::wide_constants`], which keep blocks small.

use std::sync::Arc;

use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use crate::cut_lists::CutListsOperator;
use crate::each_operator::EachOperator;
use crate::one_input::{OneInputExec, over_inputs};
use crate::wide_constants::CutRowsOperator;

/// The rule, to be applied after blocks are cut.
pub(crate) const EARLY_REPARTITION: EachOperator = EachOperator::new("early_repartition", |node| {
    let chain = chain_to_cut(node);
    let Some(last) = chain.last() else { return Ok(None) };
    let moved = over_inputs(node, last.children().into_iter().cloned().collect())?;
    chain.into_iter().rev().try_fold(moved, |input, above| over_inputs(above, vec![input])).map(Some)
});

/// The operators from the input of the round-robin repartition `node` down to the last one that cuts blocks; empty if
/// there is none.
fn chain_to_cut(node: &Arc<dyn ExecutionPlan>) -> Vec<&Arc<dyn ExecutionPlan>> {
    let repartition = node.downcast_ref::<RepartitionExec>();
    let dealing = repartition.filter(|one| matches!(one.partitioning(), Partitioning::RoundRobinBatch(_)));
    let (mut chain, mut wanted) = (Vec::new(), 0);
    let mut next = dealing.map(RepartitionExec::input);
    while let Some(plan) = next {
        let cuts = plan.is::<OneInputExec<CutListsOperator>>() || plan.is::<OneInputExec<CutRowsOperator>>();
        let passes = plan.is::<ProjectionExec>() || plan.is::<FilterExec>() || plan.is::<UnnestExec>();
        if !cuts && !passes {
            break;
        }
        chain.push(plan);
        if cuts {
            wanted = chain.len();
        }
        next = plan.children().first().copied();
    }
    chain.truncate(wanted);
    chain
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::common::config::ConfigOptions;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_optimizer::PhysicalOptimizerRule;
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::empty::EmptyExec;

    use super::*;

    fn projected(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let column: Arc<dyn datafusion::physical_plan::PhysicalExpr> = Arc::new(Column::new("a", 0));
        Arc::new(ProjectionExec::try_new(vec![(column, "a".to_owned())], input).unwrap())
    }

    fn check(input: Arc<dyn ExecutionPlan>, expected: &[&str]) {
        let repartitioned =
            RepartitionExec::try_new(projected(input), Partitioning::RoundRobinBatch(4)).unwrap();
        let plan = EARLY_REPARTITION.optimize(Arc::new(repartitioned), &ConfigOptions::default()).unwrap();
        let text = displayable(plan.as_ref()).indent(false).to_string();
        let names: Vec<&str> = text.lines().map(|line| line.trim().split(':').next().unwrap()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn rows_are_repartitioned_below_the_operator_that_cuts_blocks() {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::UInt64, false)]));
        let rows: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(schema));
        let cut: Arc<dyn ExecutionPlan> = Arc::new(OneInputExec(CutRowsOperator::new(Arc::clone(&rows), 2)));
        check(Arc::clone(&rows), &["RepartitionExec", "ProjectionExec", "EmptyExec"]);
        check(
            projected(cut),
            &["ProjectionExec", "ProjectionExec", "CutRowsExec", "RepartitionExec", "EmptyExec"],
        );
    }
}
