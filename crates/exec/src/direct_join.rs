//! A join that looks up the keys of its left side in the right side, without a hash table or a scan.
//!
//! The right side has at most one row per key, so every row of the left side matches at most one row.
//!
//! # Cost
//!
//! One lookup per block of the left side, whatever the size of the right side.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array, make_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{filter_record_batch, take};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DFSchemaRef, DataFusionError, JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::StreamExt;

use crate::error::into_datafusion;
use crate::one_input::OneInput;

/// Rows of the right side for a list of keys.
#[derive(Clone)]
pub struct FoundRows {
    pub rows: RecordBatch,
    /// For each key, in request order: its row in `rows`, or `None` if it was not found.
    pub row_of_key: Vec<Option<u32>>,
}

/// The right side.
pub trait KeyedRows: Send + Sync {
    /// The name of the source, for EXPLAIN.
    fn name(&self) -> String;

    /// Looks up keys without NULL: one array per key column. Keys may repeat.
    fn lookup(&self, keys: &[ArrayRef]) -> basalt_base::Result<FoundRows>;

    /// Whether the cost per key is much lower in lookups of a million keys.
    fn prefers_large_blocks(&self) -> bool;
}

/// The logical node.
#[derive(Clone)]
pub struct DirectJoin {
    pub input: Arc<LogicalPlan>,
    /// Expressions over the left side, one per key column.
    pub keys: Vec<Expr>,
    pub rows: Arc<dyn KeyedRows>,
    /// A condition on the rows of the right side, over [`DirectJoin::row_schema`].
    pub filter: Option<Expr>,
    pub row_schema: DFSchemaRef,
    /// Inner, Left or LeftAnti.
    pub join_type: JoinType,
    /// The schema of the result: the columns of the left side, followed by those of the right side, except for
    /// LeftAnti.
    pub schema: DFSchemaRef,
}

impl DirectJoin {
    fn identity(&self) -> (&LogicalPlan, &[Expr], Option<&Expr>, &DFSchemaRef, JoinType) {
        (&self.input, &self.keys, self.filter.as_ref(), &self.schema, self.join_type)
    }
}

impl fmt::Debug for DirectJoin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_for_explain(f)
    }
}

impl PartialEq for DirectJoin {
    fn eq(&self, other: &DirectJoin) -> bool {
        self.identity() == other.identity() && Arc::ptr_eq(&self.rows, &other.rows)
    }
}

impl Eq for DirectJoin {}

impl Hash for DirectJoin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl PartialOrd for DirectJoin {
    fn partial_cmp(&self, other: &DirectJoin) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for DirectJoin {
    fn name(&self) -> &str {
        "DirectJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.keys.clone()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        write!(f, "DirectJoin: {} {}, keys=[{}]", self.join_type, self.rows.name(), keys.join(", "))
    }

    fn with_exprs_and_inputs(&self, keys: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<DirectJoin> {
        let Ok([input]) = <[LogicalPlan; 1]>::try_from(inputs) else {
            return Err(DataFusionError::Internal("DirectJoin has one input".into()));
        };
        Ok(DirectJoin { input: Arc::new(input), keys, ..self.clone() })
    }
}

/// The operator.
pub struct DirectJoinOperator {
    input: Arc<dyn ExecutionPlan>,
    join: Arc<Joining>,
    properties: Arc<PlanProperties>,
}

impl DirectJoinOperator {
    /// `keys` and `filter` are the physical expressions of those in `node`.
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        node: &DirectJoin,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        filter: Option<Arc<dyn PhysicalExpr>>,
    ) -> Result<DirectJoinOperator> {
        let schema = Arc::clone(node.schema.inner());
        let join = Joining { keys, filter, rows: Arc::clone(&node.rows), join_type: node.join_type, schema };
        DirectJoinOperator::of(input, Arc::new(join))
    }

    /// See [`KeyedRows::prefers_large_blocks`].
    pub fn prefers_large_blocks(&self) -> bool {
        self.join.rows.prefers_large_blocks()
    }

    fn of(input: Arc<dyn ExecutionPlan>, join: Arc<Joining>) -> Result<DirectJoinOperator> {
        // The columns of the left side come first, in the order of its rows.
        let of_left = input.equivalence_properties().clone();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&join.schema)).extend(of_left)?,
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Ok(DirectJoinOperator { input, join, properties: Arc::new(properties) })
    }
}

impl DisplayAs for DirectJoinOperator {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.join.keys.iter().map(ToString::to_string).collect();
        let (kind, name) = (self.join.join_type, self.join.rows.name());
        write!(f, "DirectJoinExec: {kind}, table={name}, keys=[{}]", keys.join(", "))?;
        match &self.join.filter {
            Some(filter) => write!(f, ", filter={filter}"),
            None => Ok(()),
        }
    }
}

impl OneInput for DirectJoinOperator {
    const NAME: &'static str = "DirectJoinExec";

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<DirectJoinOperator> {
        DirectJoinOperator::of(input, Arc::clone(&self.join))
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn expressions(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.join.keys
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let join = Arc::clone(&self.join);
        let input = self.input.execute(partition, context)?;
        let schema = Arc::clone(&join.schema);
        let output = input.map(move |batch| join.joined(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, output)))
    }
}

/// The state of the operator without its input.
struct Joining {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    rows: Arc<dyn KeyedRows>,
    join_type: JoinType,
    schema: SchemaRef,
}

impl Joining {
    fn joined(&self, left: &RecordBatch) -> Result<RecordBatch> {
        let (found, rows) = self.find(left)?;
        let is_found = |wanted: bool| -> BooleanArray {
            (0..found.len()).map(|row| Some(found.is_valid(row) == wanted)).collect()
        };
        let (left, found) = match self.join_type {
            JoinType::LeftAnti => return Ok(filter_record_batch(left, &is_found(false))?),
            JoinType::Inner if found.null_count() > 0 => {
                let left = filter_record_batch(left, &is_found(true))?;
                (left, found.iter().flatten().collect())
            }
            _ => (left.clone(), found),
        };
        let mut columns = left.columns().to_vec();
        // The columns that only the filter uses come after the result columns.
        for column in rows.columns().iter().take(self.schema.fields().len() - columns.len()) {
            columns.push(take(column, &found, None)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(left.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// The matching row for each row of the left side, and the rows.
    fn find(&self, left: &RecordBatch) -> Result<(UInt32Array, RecordBatch)> {
        let mut nulls = None;
        let mut keys = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let key = key.evaluate(left)?.into_array(left.num_rows())?;
            nulls = NullBuffer::union(nulls.as_ref(), key.logical_nulls().as_ref());
            // Values under NULL are looked up, too, and then count as not found.
            keys.push(make_array(key.to_data().into_builder().nulls(None).build()?));
        }
        let FoundRows { rows, row_of_key } = self.rows.lookup(&keys).map_err(into_datafusion)?;
        let passes = match &self.filter {
            Some(filter) => Some(filter.evaluate(&rows)?.into_array(rows.num_rows())?),
            None => None,
        };
        let passes = passes.as_ref().and_then(|passes| passes.as_boolean_opt());
        let meets = |(at, row): (usize, Option<u32>)| {
            let row = row.filter(|_| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at)))?;
            let passed = |passes: &BooleanArray| passes.is_valid(row as usize) && passes.value(row as usize);
            passes.is_none_or(passed).then_some(row)
        };
        Ok((row_of_key.into_iter().enumerate().map(meets).collect(), rows))
    }
}
