//! Rows that a plan reads in several places but computes once, so that all places see the same rows.
//!
//! A second run of a plan may give other rows: it draws new random numbers, and a LIMIT may select others. The first
//! place that is read runs the plan and stores the rows for the others.
//!
//! # Cost
//!
//! All rows are held in memory, charged to the query, until the plan is dropped; they are computed in one partition.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchemaRef, DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::lock::Mutex;
use futures::{TryFutureExt, TryStreamExt, stream};

use crate::one_input::OneInput;

/// The logical node. A clone of it reads the same rows.
#[derive(Clone, Debug)]
pub struct Shared {
    input: Arc<LogicalPlan>,
    rows: Arc<SharedRows>,
}

impl Shared {
    pub fn new(input: LogicalPlan) -> Shared {
        Shared { input: Arc::new(input), rows: Arc::default() }
    }

    pub fn input(&self) -> &LogicalPlan {
        &self.input
    }

    /// Whether both read the same rows.
    pub fn is_same(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows)
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Shared) -> bool {
        self.is_same(other) && self.input == other.input
    }
}

impl Eq for Shared {}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
    }
}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Shared) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Shared {
    fn name(&self) -> &str {
        "Shared"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Shared> {
        let Ok([input]) = <[LogicalPlan; 1]>::try_from(inputs) else {
            return Err(DataFusionError::Internal("Shared has one input".into()));
        };
        Ok(Shared { input: Arc::new(input), rows: Arc::clone(&self.rows) })
    }

    /// All columns, since another place may need columns that this one does not.
    fn necessary_children_exprs(&self, _output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![(0..self.input.schema().fields().len()).collect()])
    }
}

/// The rows, after the first place was read.
#[derive(Default)]
struct SharedRows(Mutex<Option<Kept>>);

struct Kept {
    batches: Vec<RecordBatch>,
    /// Accounts for the batches.
    _reservation: MemoryReservation,
}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRows")
    }
}

impl SharedRows {
    /// The rows. Runs `input` if they are not there yet.
    async fn read(
        &self,
        input: Arc<dyn ExecutionPlan>,
        context: Arc<TaskContext>,
    ) -> Result<Vec<RecordBatch>> {
        let mut rows = self.0.lock().await;
        if let Some(kept) = rows.as_ref() {
            return Ok(kept.batches.clone());
        }
        let reservation = MemoryConsumer::new("Shared").register(context.memory_pool());
        let mut stream = input.execute(0, context)?;
        let mut batches = Vec::new();
        while let Some(batch) = stream.try_next().await? {
            reservation.try_grow(batch.get_array_memory_size())?;
            batches.push(batch);
        }
        *rows = Some(Kept { batches: batches.clone(), _reservation: reservation });
        Ok(batches)
    }
}

/// The operator.
pub(crate) struct SharedOperator {
    input: Arc<dyn ExecutionPlan>,
    rows: Arc<SharedRows>,
    properties: Arc<PlanProperties>,
}

impl SharedOperator {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, node: &Shared) -> SharedOperator {
        SharedOperator::over_rows(input, Arc::clone(&node.rows))
    }

    fn over_rows(input: Arc<dyn ExecutionPlan>, rows: Arc<SharedRows>) -> SharedOperator {
        // Another place may have run the plan, with another order of rows.
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            input.boundedness(),
        );
        SharedOperator { input, rows, properties: Arc::new(properties) }
    }
}

impl DisplayAs for SharedOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedExec")
    }
}

impl OneInput for SharedOperator {
    const NAME: &'static str = "SharedExec";
    const KEEPS_ORDER: bool = false;
    const NEEDS_ONE_PARTITION: bool = true;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<SharedOperator> {
        Ok(SharedOperator::over_rows(input, Arc::clone(&self.rows)))
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn run(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (rows, input) = (Arc::clone(&self.rows), Arc::clone(&self.input));
        let batches = async move { rows.read(input, context).await };
        let batches = batches.map_ok(|batches| stream::iter(batches.into_iter().map(Ok)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), batches.try_flatten_stream())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use datafusion::arrow::array::{AsArray, UInt64Array};
    use datafusion::arrow::datatypes::{DataType, UInt64Type};
    use datafusion::execution::runtime_env::RuntimeEnv;
    use datafusion::logical_expr::{
        ColumnarValue, Extension, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
        Signature, Volatility,
    };
    use datafusion::physical_plan::collect;

    use super::*;
    use crate::session::{Rules, SessionLimits, session_state};

    static CALLS: AtomicU64 = AtomicU64::new(0);

    /// A different number at each call.
    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Counter(Signature);

    impl ScalarUDFImpl for Counter {
        fn name(&self) -> &str {
            "counter"
        }

        fn signature(&self) -> &Signature {
            &self.0
        }

        fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
            Ok(DataType::UInt64)
        }

        fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
            let first = CALLS.fetch_add(args.number_rows as u64, Ordering::Relaxed);
            let numbers = UInt64Array::from_iter_values(first..first + args.number_rows as u64);
            Ok(ColumnarValue::Array(Arc::new(numbers)))
        }
    }

    #[test]
    fn all_places_read_the_same_rows() {
        let counter = ScalarUDF::new_from_impl(Counter(Signature::exact(vec![], Volatility::Volatile)));
        let rows = LogicalPlanBuilder::empty(true).project(vec![counter.call(vec![]).alias("n")]);
        let node = Shared::new(rows.unwrap().build().unwrap());
        let place = || LogicalPlan::Extension(Extension { node: Arc::new(node.clone()) });
        let plan = LogicalPlanBuilder::from(place()).union(place()).unwrap().build().unwrap();
        let limits = SessionLimits { target_partitions: 2, batch_rows: 8 };
        let state =
            session_state(limits, Arc::new(RuntimeEnv::default()), Rules::default()).expect("a session");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batches = runtime.block_on(async {
            let physical = state.create_physical_plan(&plan).await.unwrap();
            collect(physical, state.task_ctx()).await.unwrap()
        });
        let column = |batch: &RecordBatch| batch.column(0).as_primitive::<UInt64Type>().values().to_vec();
        let numbers: Vec<u64> = batches.iter().flat_map(column).collect();
        assert_eq!(numbers, [0, 0]);
    }
}
