//! `SELECT * ... ORDER BY x LIMIT n` without reading every column of every row.
//!
//! The rule [`LateColumns`] lets a sort with a limit see the sort keys and the place of each row alone;
//! [`FetchOperator`] above it reads the other columns of the few rows that are left.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef, UInt64Type};
use arrow::record_batch::RecordBatch;
use basalt_exec::one_input::{OneInput, OneInputExec};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    SendableRecordBatchStream,
};
use futures::TryStreamExt;

use super::exec::SourceExec;
use crate::scan::BlockSource;

/// For more rows than this, reading their granules one by one may cost more than reading on.
const ROWS_MAX: usize = 100;

/// The rule.
#[derive(Debug)]
pub(crate) struct LateColumns;

impl PhysicalOptimizerRule for LateColumns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| match late(&node)? {
            Some(rewritten) => Ok(Transformed::new(rewritten, true, TreeNodeRecursion::Jump)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "LateColumns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `node` with a fetch on top, if it is a sort with a small limit right above a table with columns
/// that the sort does not need.
fn late(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let merge = node.downcast_ref::<SortPreservingMergeExec>();
    let below = merge.map_or(node, |merge| merge.input());
    let Some(sort) = below.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(table) = sort.input().downcast_ref::<SourceExec>() else { return Ok(None) };
    let is_single = node.output_partitioning().partition_count() == 1;
    let Some(limit) = sort.fetch().filter(|limit| is_single && *limit <= ROWS_MAX) else { return Ok(None) };
    let keys: Vec<usize> =
        sort.expr().iter().flat_map(|key| collect_columns(&key.expr)).map(|column| column.index()).collect();
    let deferred = table.source().deferrable(&keys);
    if deferred.is_empty() {
        return Ok(None);
    }
    let kept: Vec<usize> = (0..table.schema().fields().len()).filter(|at| !deferred.contains(at)).collect();
    let narrow = table.source().narrowed(&kept).map_err(external)?;
    let schema = narrowed_schema(&table.schema(), &kept);
    let order = over_kept(sort.expr(), &kept)?;
    let source = Arc::new(table.with_source(narrow, schema));
    let sort = SortExec::new(order.clone(), source)
        .with_fetch(Some(limit))
        .with_preserve_partitioning(sort.preserve_partitioning());
    let input: Arc<dyn ExecutionPlan> = match merge {
        Some(merge) => {
            Arc::new(SortPreservingMergeExec::new(order, Arc::new(sort)).with_fetch(merge.fetch()))
        }
        None => Arc::new(sort),
    };
    let properties = Arc::clone(node.properties());
    let table = Arc::new(table.with_source(Arc::clone(table.source()), table.schema()));
    Ok(Some(Arc::new(OneInputExec(FetchOperator { input, table, kept, deferred, properties }))))
}

fn narrowed_schema(schema: &SchemaRef, kept: &[usize]) -> SchemaRef {
    let mut fields: Vec<_> = kept.iter().map(|&at| schema.field(at).clone()).collect();
    fields.push(arrow::datatypes::Field::new("_row", arrow::datatypes::DataType::UInt64, false));
    Arc::new(Schema::new(fields))
}

/// The order, whose columns are counted among `kept`.
fn over_kept(order: &LexOrdering, kept: &[usize]) -> Result<LexOrdering> {
    let place = |expr: Arc<dyn PhysicalExpr>| {
        let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        let at = kept.iter().position(|&at| at == column.index()).ok_or_else(|| internal("a sort key"))?;
        Ok(Transformed::yes(Arc::new(Column::new(column.name(), at)) as Arc<dyn PhysicalExpr>))
    };
    let keys = order
        .iter()
        .map(|key| {
            let expr = Arc::clone(&key.expr).transform_up(place).data()?;
            Ok(PhysicalSortExpr { expr, options: key.options })
        })
        .collect::<Result<Vec<_>>>()?;
    LexOrdering::new(keys).ok_or_else(|| internal("a sort without keys"))
}

/// Reads further columns of the rows whose places its input returns.
struct FetchOperator {
    input: Arc<dyn ExecutionPlan>,
    /// The table of the input's rows, with all columns; it stays readable if it is dropped meanwhile.
    table: Arc<SourceExec>,
    /// Output columns that come with the input, in its order; the last input column is the place.
    kept: Vec<usize>,
    /// Output columns that are read here.
    deferred: Vec<usize>,
    /// The properties of the original sort, whose columns the output has.
    properties: Arc<PlanProperties>,
}

impl FetchOperator {
    fn widen(
        source: &dyn BlockSource,
        schema: &SchemaRef,
        (kept, deferred): (&[usize], &[usize]),
        rows: &RecordBatch,
    ) -> Result<RecordBatch> {
        let places = rows.columns().last().and_then(|column| column.as_primitive_opt::<UInt64Type>());
        let places = places.ok_or_else(|| internal("the place of a row"))?;
        let fetched = source.fetch(places, deferred).map_err(external)?;
        let mut columns: Vec<Option<ArrayRef>> = vec![None; schema.fields().len()];
        for (&at, column) in kept.iter().zip(rows.columns()).chain(deferred.iter().zip(fetched.columns())) {
            columns[at] = Some(Arc::clone(column));
        }
        let columns: Option<Vec<_>> = columns.into_iter().collect();
        let columns = columns.ok_or_else(|| internal("a column of a late fetch"))?;
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }
}

impl DisplayAs for FetchOperator {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.properties.eq_properties.schema();
        let names: Vec<&str> = self.deferred.iter().map(|&at| schema.field(at).name().as_str()).collect();
        write!(f, "FetchColumns: {}", names.join(", "))
    }
}

impl OneInput for FetchOperator {
    const NAME: &'static str = "FetchExec";

    fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<FetchOperator> {
        Ok(FetchOperator {
            input,
            table: Arc::clone(&self.table),
            kept: self.kept.clone(),
            deferred: self.deferred.clone(),
            properties: Arc::clone(&self.properties),
        })
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn run(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let (table, schema) = (Arc::clone(&self.table), Arc::clone(self.properties.eq_properties.schema()));
        let (kept, deferred) = (self.kept.clone(), self.deferred.clone());
        let stream_schema = Arc::clone(&schema);
        let rows = async move {
            let narrow = input.schema();
            let blocks: Vec<RecordBatch> = input.try_collect().await?;
            let rows = concat_batches(&narrow, &blocks)?;
            FetchOperator::widen(&**table.source(), &schema, (&kept, &deferred), &rows)
        };
        let stream = futures::stream::once(rows);
        Ok(Box::pin(RecordBatchStreamAdapter::new(stream_schema, stream)))
    }
}

fn internal(what: &str) -> DataFusionError {
    DataFusionError::Internal(format!("{what} is missing"))
}

fn external(error: basalt_base::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
