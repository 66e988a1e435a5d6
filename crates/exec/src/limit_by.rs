//! `LIMIT offset, n BY keys`: for each distinct key, the first `n` rows after `offset`.
//!
//! Streams: each row is passed on or dropped in its order of arrival. The state is one counter per distinct key.
//!
//! # Cost
//!
//! One hash lookup per row; the bytes of the key plus about 40 for each distinct key, charged to the query's memory
//! limit.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::BooleanArray;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{DFSchemaRef, DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use crate::one_input::OneInput;

/// The bytes of a counter in the table, without its key.
const COUNTER_BYTES: usize = 40;

/// The logical node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitBy {
    pub input: Arc<LogicalPlan>,
    pub keys: Vec<Expr>,
    pub offset: u64,
    pub limit: u64,
}

impl PartialOrd for LimitBy {
    fn partial_cmp(&self, other: &LimitBy) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for LimitBy {
    fn name(&self) -> &str {
        "LimitBy"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        self.keys.clone()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        write!(f, "LimitBy: limit={}, offset={}, keys=[{}]", self.limit, self.offset, keys.join(", "))
    }

    fn with_exprs_and_inputs(&self, keys: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<LimitBy> {
        let Ok([input]) = <[LogicalPlan; 1]>::try_from(inputs) else {
            return Err(DataFusionError::Internal("LimitBy has one input".into()));
        };
        Ok(LimitBy { input: Arc::new(input), keys, offset: self.offset, limit: self.limit })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }
}

/// The operator.
pub struct LimitByOperator {
    input: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    offset: u64,
    limit: u64,
}

impl LimitByOperator {
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        offset: u64,
        limit: u64,
    ) -> LimitByOperator {
        LimitByOperator { input, keys, offset, limit }
    }
}

impl DisplayAs for LimitByOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        write!(f, "LimitByExec: limit={}, offset={}, keys=[{}]", self.limit, self.offset, keys.join(", "))
    }
}

impl OneInput for LimitByOperator {
    const NAME: &'static str = "LimitByExec";
    const NEEDS_ONE_PARTITION: bool = true;
    const DROPS_ROWS: bool = true;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<LimitByOperator> {
        Ok(LimitByOperator::new(input, self.keys.clone(), self.offset, self.limit))
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        // Only drops rows: order and equivalences are those of the input, which has one partition.
        self.input.properties()
    }

    fn expressions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.keys
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.input.schema();
        let fields = self
            .keys
            .iter()
            .map(|key| Ok(SortField::new(key.data_type(&schema)?)))
            .collect::<Result<Vec<_>>>()?;
        let mut counters = Counters {
            keys: self.keys.clone(),
            converter: RowConverter::new(fields)?,
            seen: HashMap::new(),
            passes: self.offset..self.offset.saturating_add(self.limit),
            reservation: MemoryConsumer::new("LimitBy").register(context.memory_pool()),
        };
        let input = self.input.execute(partition, context)?;
        let output = input.map(move |batch| counters.keep(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, output)))
    }
}

/// The number of rows so far for every key.
struct Counters {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    converter: RowConverter,
    seen: HashMap<Box<[u8]>, u64>,
    /// The range of rows of a key that pass, counted from 0.
    passes: std::ops::Range<u64>,
    reservation: MemoryReservation,
}

impl Counters {
    /// The rows of `batch` that pass.
    fn keep(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self
            .keys
            .iter()
            .map(|key| key.evaluate(batch)?.into_array(batch.num_rows()))
            .collect::<Result<Vec<_>>>()?;
        let rows = self.converter.convert_columns(&columns)?;
        let mut grown = 0;
        let kept: BooleanArray = rows
            .iter()
            .map(|row| {
                let bytes = row.as_ref();
                let ordinal = match self.seen.get_mut(bytes) {
                    Some(count) => {
                        *count += 1;
                        *count
                    }
                    None => {
                        grown += bytes.len() + COUNTER_BYTES;
                        self.seen.insert(bytes.into(), 0);
                        0
                    }
                };
                Some(self.passes.contains(&ordinal))
            })
            .collect();
        self.reservation.try_grow(grown)?;
        Ok(filter_record_batch(batch, &kept)?)
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

    /// Runs `LIMIT offset, limit BY key` over rows (key, value), where value is the position.
    fn check(keys: Vec<u32>, offset: u64, limit: u64, expected: Vec<u32>) {
        let schema = Arc::new(Schema::new(vec![
            Field::new("key", DataType::UInt32, false),
            Field::new("value", DataType::UInt32, false),
        ]));
        let values = UInt32Array::from_iter_values(0..keys.len() as u32);
        let batch = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![Arc::new(UInt32Array::from(keys)), Arc::new(values)],
        )
        .unwrap();
        let table = MemTable::try_new(schema, vec![vec![batch]]).unwrap();
        let scan = LogicalPlanBuilder::scan("t", provider_as_source(Arc::new(table)), None).unwrap();
        let node =
            LimitBy { input: Arc::new(scan.build().unwrap()), keys: vec![col("t.key")], offset, limit };
        let plan = LogicalPlan::Extension(Extension { node: Arc::new(node) });
        let plan = LogicalPlanBuilder::from(plan).project(vec![col("t.value")]).unwrap().build().unwrap();
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
        assert_eq!(rows, expected);
    }

    #[test]
    fn keeps_the_first_rows_of_every_key() {
        check(vec![1, 1, 2, 1, 2, 3], 0, 1, vec![0, 2, 5]);
        check(vec![1, 1, 2, 1, 2, 3], 0, 2, vec![0, 1, 2, 4, 5]);
    }

    #[test]
    fn skips_the_offset_of_every_key() {
        check(vec![1, 1, 2, 1, 2, 3], 1, 1, vec![1, 4]);
        check(vec![1, 1], 0, 0, vec![]);
    }
}
