//! The operator above an aggregation over numbers of strings: gives its groups the strings.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{SchemaRef, UInt32Type};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use basalt_exec::one_input::OneInput;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    SendableRecordBatchStream,
};
use futures::StreamExt;

use crate::scan::Numbering;

/// Puts strings in place of their numbers.
pub(super) struct DecodeOperator {
    input: Arc<dyn ExecutionPlan>,
    /// The columns that are numbers, and of what.
    strings: Vec<(usize, Arc<Numbering>)>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl DecodeOperator {
    /// `schema` is that of `input` with strings at the columns of `strings`.
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        schema: SchemaRef,
        strings: Vec<(usize, Arc<Numbering>)>,
    ) -> DecodeOperator {
        let is_decoded = |key: &PhysicalSortExpr| reads_any(&key.expr, &strings);
        let order = input.output_ordering().filter(|order| !order.iter().any(is_decoded)).cloned();
        // Equal strings are in one partition, but not in that of their own hash.
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&schema), order),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        DecodeOperator { input, strings, schema, properties: Arc::new(properties) }
    }

    /// The columns that are numbers, and of what.
    pub(super) fn strings(&self) -> &[(usize, Arc<Numbering>)] {
        &self.strings
    }
}

/// Whether the expression needs one of the strings.
pub(super) fn reads_any(expr: &Arc<dyn PhysicalExpr>, strings: &[(usize, Arc<Numbering>)]) -> bool {
    collect_columns(expr).iter().any(|used| strings.iter().any(|(column, _)| *column == used.index()))
}

impl DisplayAs for DecodeOperator {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            self.strings.iter().map(|(column, _)| self.schema.field(*column).name().as_str()).collect();
        write!(f, "DecodeStrings: {}", names.join(", "))
    }
}

impl OneInput for DecodeOperator {
    const NAME: &'static str = "DecodeExec";
    /// It does keep the order, but then the optimizer might move a sort by the strings below it, where they are
    /// numbers.
    const KEEPS_ORDER: bool = false;
    const GAINS_FROM_PARTITIONS: bool = false;

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<DecodeOperator> {
        Ok(DecodeOperator::new(input, Arc::clone(&self.schema), self.strings.clone()))
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let (strings, schema) = (self.strings.clone(), Arc::clone(&self.schema));
        let blocks = input.map(move |block| decoded(&block?, &strings, &schema));
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), blocks)))
    }
}

fn decoded(
    block: &RecordBatch,
    strings: &[(usize, Arc<Numbering>)],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let mut columns = block.columns().to_vec();
    for (column, numbering) in strings {
        let numbers = columns[*column].as_primitive_opt::<UInt32Type>().ok_or_else(|| {
            DataFusionError::Internal("a column of DecodeStrings has no numbers".to_owned())
        })?;
        columns[*column] = Arc::new(numbering.strings(numbers)) as ArrayRef;
    }
    let options = RecordBatchOptions::new().with_row_count(Some(block.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}
