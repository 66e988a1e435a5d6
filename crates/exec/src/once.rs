//! Columns with random values are computed once; no operator above computes them again.
//!
//! DataFusion pushes filters through a projection by inlining its expressions, which would draw random numbers again.
//! The rule puts an operator above such projections that stops filters.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};

use crate::each_operator::EachOperator;
use crate::one_input::{OneInput, OneInputExec};

/// The rule, to be applied before filters are pushed down.
pub(crate) const COMPUTED_ONCE: EachOperator = EachOperator::new("computed_once", |node| {
    let has_random = node.downcast_ref::<ProjectionExec>().is_some_and(has_random_columns);
    Ok(has_random.then(|| Arc::new(OneInputExec(OnceOperator { input: Arc::clone(node) })) as _))
});

fn has_random_columns(projection: &ProjectionExec) -> bool {
    projection.expr().iter().any(|column| is_volatile(&column.expr))
}

/// The operator.
pub(crate) struct OnceOperator {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for OnceOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnceExec")
    }
}

impl OneInput for OnceOperator {
    const NAME: &'static str = "OnceExec";
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<OnceOperator> {
        Ok(OnceOperator { input })
    }
}
