//! How many rows the LIMIT of a query took its rows from: `rows_before_limit_at_least` of JSON formats.

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;

/// Whether the rows of `plan` are those of a LIMIT.
pub fn is_limited(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Limit(_) => true,
        LogicalPlan::Projection(projection) => is_limited(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_limited(&alias.input),
        _ => false,
    }
}

/// The rows that the operator below a LIMIT at the top of `plan` gave, once the plan has run; 0 if the operator
/// counts no rows.
///
/// Without the LIMIT there would be at least this many rows: a LIMIT stops its input early.
pub fn rows_before_limit(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let mut node = plan;
    while keeps_rows(node) {
        let [child] = node.children()[..] else { return 0 };
        node = child;
    }
    node.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0) as u64
}

/// Whether the node gives the rows of its input, in some order and perhaps only the first ones.
fn keeps_rows(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.is::<ProjectionExec>()
        || node.is::<SortExec>()
        || node.is::<SortPreservingMergeExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<CooperativeExec>()
        || node.is::<GlobalLimitExec>()
        || node.is::<LocalLimitExec>()
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, UInt64Array};
    use datafusion::arrow::record_batch::RecordBatch;
    use datafusion::prelude::{SessionContext, col};

    use super::*;

    async fn check(limited: bool, expected: u64) {
        let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..100));
        let block = RecordBatch::try_from_iter([("number", numbers)]).unwrap();
        let context = SessionContext::new();
        let rows = context.read_batch(block).unwrap();
        let rows = rows.filter(col("number").lt(datafusion::prelude::lit(40_u64))).unwrap();
        let rows = rows.sort(vec![col("number").sort(false, true)]).unwrap();
        let rows = if limited { rows.limit(1, Some(3)).unwrap() } else { rows };
        assert_eq!(is_limited(rows.logical_plan()), limited);
        let plan = rows.create_physical_plan().await.unwrap();
        datafusion::physical_plan::collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
        assert_eq!(rows_before_limit(&plan), expected);
    }

    #[tokio::test]
    async fn rows_are_counted_below_the_sort_and_the_limit() {
        check(true, 40).await;
        check(false, 40).await;
    }
}
