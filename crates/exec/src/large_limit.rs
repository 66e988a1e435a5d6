//! A rule for physical plans: an ORDER BY with a large LIMIT sorts all rows.
//!
//! DataFusion keeps the first rows of a limit in memory and cannot spill them. A sort can spill.

use std::sync::Arc;

use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::each_operator::EachOperator;

/// The maximum LIMIT plus OFFSET for which rows are kept in memory.
const ROWS_KEPT_MAX: usize = 1 << 18;

/// The optimizer rule.
pub(crate) const LARGE_LIMIT: EachOperator = EachOperator::new("large_limit", |node| {
    let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(rows) = sort.fetch().filter(|&rows| rows > ROWS_KEPT_MAX) else { return Ok(None) };
    let whole = SortExec::new(sort.expr().clone(), Arc::clone(sort.input()))
        .with_preserve_partitioning(sort.preserve_partitioning());
    Ok(Some(Arc::new(LocalLimitExec::new(Arc::new(whole), rows))))
});

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::common::config::ConfigOptions;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
    use datafusion::physical_optimizer::PhysicalOptimizerRule;
    use datafusion::physical_plan::empty::EmptyExec;

    use super::*;

    fn check(rows: usize, expected: bool) {
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::UInt64, false)]));
        let key = PhysicalSortExpr::new_default(Arc::new(Column::new("a", 0)));
        let order = LexOrdering::new(vec![key]).unwrap();
        let sort = SortExec::new(order, Arc::new(EmptyExec::new(schema))).with_fetch(Some(rows));
        let plan = LARGE_LIMIT.optimize(Arc::new(sort), &ConfigOptions::default()).unwrap();
        assert_eq!(plan.downcast_ref::<LocalLimitExec>().is_some(), expected);
        assert_eq!(plan.fetch(), Some(rows));
    }

    #[test]
    fn only_a_limit_of_many_rows_sorts_all() {
        check(10, false);
        check(ROWS_KEPT_MAX, false);
        check(ROWS_KEPT_MAX + 1, true);
    }
}
