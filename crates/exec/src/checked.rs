//! Joins that stop when their query is cancelled, and yield to other tasks.
//!
//! A join may produce many rows from few, or compare many pairs and keep none. During this time it does not read its
//! sources, which check for cancellation. [`CHECKED_JOINS`] puts an operator above every join and unnest that checks
//! once per block, and adds a check to the conditions of joins.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use basalt_base::query::checkpoint;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::StreamExt;

use crate::each_operator::EachOperator;
use crate::error::into_datafusion;
use crate::one_input::{OneInput, OneInputExec};

/// The optimizer rule.
pub(crate) const CHECKED_JOINS: EachOperator = EachOperator::new("checked_joins", |node| {
    let Some(input) = checked(node)? else { return Ok(None) };
    Ok(Some(Arc::new(OneInputExec(CheckedOperator { input }))))
});

/// `node` with a condition that checks for cancellation, if it is an operator that multiplies rows.
fn checked(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return match join.filter() {
            Some(filter) => Ok(Some(join.builder().with_filter(Some(checking(filter))).build_exec()?)),
            None => Ok(Some(Arc::clone(node))),
        };
    }
    if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        return match join.filter() {
            Some(filter) => {
                let join =
                    NestedLoopJoinExecBuilder::from(join).with_filter(Some(checking(filter))).build()?;
                Ok(Some(Arc::new(join)))
            }
            None => Ok(Some(Arc::clone(node))),
        };
    }
    let multiplies =
        node.downcast_ref::<CrossJoinExec>().is_some() || node.downcast_ref::<UnnestExec>().is_some();
    Ok(multiplies.then(|| Arc::clone(node)))
}

fn checking(filter: &JoinFilter) -> JoinFilter {
    let condition = Arc::new(Checking(Arc::clone(filter.expression())));
    JoinFilter::new(condition, filter.column_indices().to_vec(), Arc::clone(filter.schema()))
}

/// The operator, which passes blocks through.
struct CheckedOperator {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for CheckedOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedExec")
    }
}

impl OneInput for CheckedOperator {
    const NAME: &'static str = "CheckedExec";
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<CheckedOperator> {
        Ok(CheckedOperator { input })
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let blocks = self.input.execute(partition, context)?;
        let checked = blocks.map(|block| {
            checkpoint().map_err(into_datafusion)?;
            block
        });
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), checked))))
    }
}

/// A condition that first checks for cancellation.
#[derive(Debug)]
struct Checking(Arc<dyn PhysicalExpr>);

impl PartialEq for Checking {
    fn eq(&self, other: &Checking) -> bool {
        self.0.eq(&other.0)
    }
}

impl Eq for Checking {}

impl Hash for Checking {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Checking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhysicalExpr for Checking {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.0.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.0.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.0.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        checkpoint().map_err(into_datafusion)?;
        self.0.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.0]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(match children.pop() {
            Some(condition) => Arc::new(Checking(condition)),
            None => self,
        })
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}
