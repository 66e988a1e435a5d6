//! The operator at the bottom of a plan: runs a [`BlockSource`].

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use basalt_base::Error;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt;

use super::{BlockIterator, BlockSource};
use crate::query::QueryContext;

/// Reads a source; a leaf of the physical plan.
pub(crate) struct SourceExec {
    source: Arc<dyn BlockSource>,
    query: Arc<QueryContext>,
    table: String,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl SourceExec {
    pub(crate) fn new(
        source: Arc<dyn BlockSource>,
        query: Arc<QueryContext>,
        table: String,
        schema: SchemaRef,
    ) -> SourceExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(source.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        SourceExec { source, query, table, schema, properties: Arc::new(properties) }
    }
}

impl fmt::Debug for SourceExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceExec({})", self.table)
    }
}

impl DisplayAs for SourceExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadFromTable: {}, {}", self.table, self.source.describe())
    }
}

impl ExecutionPlan for SourceExec {
    fn name(&self) -> &str {
        "SourceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let blocks = self.source.open(partition).map_err(external)?;
        let metered = Metered { blocks, query: Arc::clone(&self.query), schema: Arc::clone(&self.schema) };
        let stream = futures::stream::iter(metered).boxed();
        // The iterator never waits: without a budget it would keep its worker from other tasks.
        let schema = Arc::clone(&self.schema);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}

/// Counts what is read, and stops when the query must.
struct Metered {
    blocks: BlockIterator,
    query: Arc<QueryContext>,
    schema: SchemaRef,
}

impl Iterator for Metered {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Err(error) = self.query.check() {
            return Some(Err(external(error)));
        }
        let block = match self.blocks.next()? {
            Ok(block) => block,
            Err(error) => return Some(Err(external(error))),
        };
        let bytes = block.columns().iter().map(|column| column.get_array_memory_size()).sum::<usize>();
        if let Err(error) = self.query.count_read(block.num_rows() as u64, bytes as u64) {
            return Some(Err(external(error)));
        }
        Some(with_schema(&block, &self.schema))
    }
}

/// The same arrays under the plan's own schema (field names may differ, types may not).
fn with_schema(block: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(block.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), block.columns().to_vec(), &options)?)
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
