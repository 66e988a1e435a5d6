//! INTERSECT and EXCEPT: the rows of the left side that are, or are not, in the right side, in their order.
//!
//! First the rows of the right side are counted, then the left side is streamed. With ALL, a row of the right side
//! matches one row of the left; with DISTINCT, all equal rows. NULL equals NULL.
//!
//! # Cost
//!
//! One hash lookup per row of each side; the bytes of the row plus about 40 for each distinct row of the right side,
//! with EXCEPT DISTINCT also of the left side. Charged to the query's memory limit.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchemaRef, DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};

/// The bytes of a counter in the table, without its row.
const COUNTER_BYTES: usize = 40;

/// Which rows of the left side pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    IntersectAll,
    IntersectDistinct,
    ExceptAll,
    ExceptDistinct,
}

/// The logical node; its schema is that of the left side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetOperation {
    pub operation: Operation,
    pub left: Arc<LogicalPlan>,
    pub right: Arc<LogicalPlan>,
    /// The expressions that are compared: those of the left side, followed by as many of the right side.
    pub keys: Vec<Expr>,
}

impl PartialOrd for SetOperation {
    fn partial_cmp(&self, other: &SetOperation) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for SetOperation {
    fn name(&self) -> &str {
        "SetOperation"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.left.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        self.keys.clone()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetOperation: {:?}", self.operation)
    }

    fn with_exprs_and_inputs(&self, keys: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<SetOperation> {
        let Ok([left, right]) = <[LogicalPlan; 2]>::try_from(inputs) else {
            return Err(DataFusionError::Internal("SetOperation has two inputs".into()));
        };
        Ok(SetOperation { operation: self.operation, left: Arc::new(left), right: Arc::new(right), keys })
    }
}

/// A side: its rows, and the expressions to compare.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) input: Arc<dyn ExecutionPlan>,
    pub(crate) keys: Vec<Arc<dyn PhysicalExpr>>,
}

/// The operator.
#[derive(Debug)]
pub(crate) struct SetOperationExec {
    operation: Operation,
    left: Side,
    right: Side,
}

impl SetOperationExec {
    pub(crate) fn new(operation: Operation, left: Side, right: Side) -> SetOperationExec {
        SetOperationExec { operation, left, right }
    }
}

impl DisplayAs for SetOperationExec {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SetOperationExec: {:?}", self.operation)
    }
}

impl ExecutionPlan for SetOperationExec {
    fn name(&self) -> &'static str {
        "SetOperationExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        // Only drops rows: order and equivalences are those of the left side.
        self.left.input.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition, Distribution::SinglePartition])
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true, false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left.input, &self.right.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expression in self.left.keys.iter().chain(&self.right.keys) {
            if f(expression)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([left, right]) = <[Arc<dyn ExecutionPlan>; 2]>::try_from(children) else {
            return Err(DataFusionError::Internal("SetOperationExec has two inputs".into()));
        };
        let over = |side: &Side, input| Side { input, keys: side.keys.clone() };
        let (left, right) = (over(&self.left, left), over(&self.right, right));
        Ok(Arc::new(SetOperationExec::new(self.operation, left, right)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.left.input.schema();
        let fields = (self.left.keys.iter())
            .map(|key| Ok(SortField::new(key.data_type(&schema)?)))
            .collect::<Result<Vec<_>>>()?;
        let mut counters = Counters {
            operation: self.operation,
            converter: RowConverter::new(fields)?,
            counts: HashMap::new(),
            reservation: MemoryConsumer::new("SetOperation").register(context.memory_pool()),
        };
        let mut right = self.right.input.execute(partition, Arc::clone(&context))?;
        let left = self.left.input.execute(partition, context)?;
        let (left_keys, right_keys) = (self.left.keys.clone(), self.right.keys.clone());
        let output = stream::once(async move {
            while let Some(batch) = right.next().await {
                counters.count(&right_keys, &batch?)?;
            }
            Ok::<_, DataFusionError>(left.map(move |batch| counters.keep(&left_keys, &batch?)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, output.try_flatten())))
    }
}

/// For each distinct row, the number of rows of the right side that are not matched yet.
struct Counters {
    operation: Operation,
    converter: RowConverter,
    counts: HashMap<Box<[u8]>, u64>,
    reservation: MemoryReservation,
}

impl Counters {
    /// Counts rows of the right side.
    fn count(&mut self, keys: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<()> {
        self.each(keys, batch, |counters, row, grown| {
            *counters.count_of(row, grown) += 1;
            true
        })?;
        Ok(())
    }

    /// The rows of a left batch that pass.
    fn keep(&mut self, keys: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<RecordBatch> {
        let kept = self.each(keys, batch, Counters::stays)?;
        Ok(filter_record_batch(batch, &kept)?)
    }

    fn stays(&mut self, row: &[u8], grown: &mut usize) -> bool {
        let is_there = self.counts.get(row).is_some_and(|count| *count > 0);
        match self.operation {
            Operation::IntersectAll | Operation::ExceptAll => {
                if let Some(count) = self.counts.get_mut(row) {
                    *count = count.saturating_sub(1);
                }
                is_there == (self.operation == Operation::IntersectAll)
            }
            Operation::IntersectDistinct => {
                if let Some(count) = self.counts.get_mut(row) {
                    *count = 0;
                }
                is_there
            }
            Operation::ExceptDistinct => {
                if !is_there {
                    *self.count_of(row, grown) += 1;
                }
                !is_there
            }
        }
    }

    fn count_of(&mut self, row: &[u8], grown: &mut usize) -> &mut u64 {
        self.counts.entry(row.into()).or_insert_with(|| {
            *grown += row.len() + COUNTER_BYTES;
            0
        })
    }

    /// The result of `answer` for each row; `answer` adds the bytes by which the table has grown.
    fn each(
        &mut self,
        keys: &[Arc<dyn PhysicalExpr>],
        batch: &RecordBatch,
        mut answer: impl FnMut(&mut Counters, &[u8], &mut usize) -> bool,
    ) -> Result<BooleanArray> {
        let columns = keys
            .iter()
            .map(|key| key.evaluate(batch)?.into_array(batch.num_rows()))
            .collect::<Result<Vec<_>>>()?;
        let rows = self.converter.convert_columns(&columns)?;
        let mut grown = 0;
        let answers = rows.iter().map(|row| Some(answer(self, row.as_ref(), &mut grown))).collect();
        self.reservation.try_grow(grown)?;
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{AsArray, UInt32Array};
    use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt32Type};
    use datafusion::datasource::{MemTable, provider_as_source};
    use datafusion::execution::runtime_env::RuntimeEnv;
    use datafusion::logical_expr::{Extension, LogicalPlanBuilder, col};
    use datafusion::physical_plan::collect;

    use super::*;
    use crate::session::{Rules, SessionLimits, session_state};

    fn scan(name: &str, values: &[u32]) -> LogicalPlan {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::UInt32, false)]));
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt32Array::from(values.to_vec()))])
                .unwrap();
        let table = MemTable::try_new(schema, vec![vec![batch]]).unwrap();
        LogicalPlanBuilder::scan(name, provider_as_source(Arc::new(table)), None).unwrap().build().unwrap()
    }

    fn check(operation: Operation, expected: &[u32]) {
        let left = Arc::new(scan("l", &[2, 1, 1, 1, 2, 3, 4, 4]));
        let right = Arc::new(scan("r", &[1, 2, 2, 2, 1, 3, 5]));
        let node = SetOperation { operation, left, right, keys: vec![col("l.x"), col("r.x")] };
        let plan = LogicalPlan::Extension(Extension { node: Arc::new(node) });
        let limits = SessionLimits { target_partitions: 2, batch_rows: 8 };
        let state =
            session_state(limits, Arc::new(RuntimeEnv::default()), Rules::default()).expect("a session");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches = runtime.block_on(async {
            let physical = state.create_physical_plan(&plan).await.unwrap();
            collect(physical, state.task_ctx()).await.unwrap()
        });
        let rows: Vec<u32> = batches
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<UInt32Type>().values().to_vec())
            .collect();
        assert_eq!(rows, expected, "{operation:?}");
    }

    #[test]
    fn all_pairs_rows_one_by_one() {
        check(Operation::IntersectAll, &[2, 1, 1, 2, 3]);
        check(Operation::ExceptAll, &[1, 4, 4]);
    }

    #[test]
    fn distinct_keeps_the_first_row_of_each_kind() {
        check(Operation::IntersectDistinct, &[2, 1, 3]);
        check(Operation::ExceptDistinct, &[4]);
    }
}
