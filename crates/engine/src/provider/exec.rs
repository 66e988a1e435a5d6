//! The operator at the bottom of a plan: runs a [`BlockSource`].

use std::fmt;
use std::sync::Arc;
use std::task::Poll;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use basalt_base::Error;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, SendableRecordBatchStream,
    SortOrderPushdownResult,
};

use crate::context::QueryContext;
use crate::scan::{BlockIterator, BlockSource};
use crate::tables::Table;

/// How the line of a table begins in EXPLAIN.
const TABLE_LINE: &str = "ReadFromTable:";

/// With more columns, statistics have no bounds.
const BOUNDED_COLUMNS_MAX: usize = 8;

/// Reads a source; a leaf of the physical plan.
pub(crate) struct SourceExec {
    source: Arc<dyn BlockSource>,
    query: Arc<QueryContext>,
    table: Arc<dyn Table>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SourceExec {
    pub(crate) fn new(
        source: Arc<dyn BlockSource>,
        query: Arc<QueryContext>,
        table: Arc<dyn Table>,
        schema: SchemaRef,
    ) -> SourceExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(source.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        SourceExec { source, query, table, schema, properties, metrics }
    }
}

impl SourceExec {
    pub(super) fn source(&self) -> &Arc<dyn BlockSource> {
        &self.source
    }

    /// The same table through another source, whose blocks have `schema`.
    pub(super) fn with_source(&self, source: Arc<dyn BlockSource>, schema: SchemaRef) -> SourceExec {
        SourceExec::new(source, Arc::clone(&self.query), Arc::clone(&self.table), schema)
    }

    /// The same blocks from another source.
    fn resourced(&self, source: Arc<dyn BlockSource>) -> SourceExec {
        let order = self.properties.eq_properties.output_ordering();
        self.with_source(source, Arc::clone(&self.schema)).ordered(order)
    }

    /// The rows of each partition come in this order.
    fn ordered(self, order: Option<LexOrdering>) -> SourceExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&self.schema), order),
            Partitioning::UnknownPartitioning(self.source.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        SourceExec { properties: Arc::new(properties), ..self }
    }
}

impl fmt::Debug for SourceExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceExec({})", self.table.definition().full_name())
    }
}

impl DisplayAs for SourceExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.table.definition().full_name();
        write!(f, "{TABLE_LINE} {name}, {}", self.source.describe())
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
        let counts = !self.source.counts_reads();
        let (query, schema) = (Arc::clone(&self.query), Arc::clone(&self.schema));
        let rows = MetricBuilder::new(&self.metrics).output_rows(partition);
        let mut metered = Metered { blocks, query, schema, counts, _table: Arc::clone(&self.table) };
        let stream = futures::stream::poll_fn(move |ctx| match metered.next() {
            // The iterator never waits: on a block without rows, other tasks get their turn.
            Some(Ok(block)) if block.num_rows() == 0 => {
                ctx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Ok(block)) => {
                rows.add(block.num_rows());
                Poll::Ready(Some(Ok(block)))
            }
            next => Poll::Ready(next),
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _input_stats: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let statistics = match args.partition() {
            None => statistics(self.source.as_ref(), &self.schema),
            Some(_) => Statistics::new_unknown(&self.schema),
        };
        Ok(Arc::new(statistics))
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let column = |key: &PhysicalSortExpr| {
            key.expr.downcast_ref::<Column>().map(|column| (column.index(), key.options))
        };
        let columns: Option<Vec<_>> = order.iter().map(column).collect();
        let Some(columns) = columns else { return Ok(SortOrderPushdownResult::Unsupported) };
        let Some(source) = self.source.in_order(&columns).map_err(external)? else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let order = LexOrdering::new(order.to_vec());
        let inner = Arc::new(self.with_source(source, Arc::clone(&self.schema)).ordered(order));
        Ok(SortOrderPushdownResult::Exact { inner })
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        // Without an order, the first rows of the source need not be those that the limit keeps.
        self.properties.eq_properties.output_ordering()?;
        let source = self.source.with_limit(limit?).ok()??;
        Some(Arc::new(self.resourced(source)))
    }

    /// Every filter that the source takes is gone from the plan above.
    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        pushed: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters: Vec<_> = pushed.parent_filters.iter().map(|parent| Arc::clone(&parent.filter)).collect();
        if filters.is_empty() {
            return Ok(FilterPushdownPropagation::if_all(pushed));
        }
        let Some(source) = self.source.with_filters(&filters).map_err(external)? else {
            return Ok(FilterPushdownPropagation::all_unsupported(pushed));
        };
        let propagation =
            FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::Yes; filters.len()]);
        Ok(propagation.with_updated_node(Arc::new(self.resourced(source))))
    }
}

/// The statistics that aggregates are answered from; without bounds for wide blocks, which have no use for them.
pub(super) fn statistics(source: &dyn BlockSource, schema: &Schema) -> Statistics {
    let mut statistics = Statistics::new_unknown(schema);
    statistics.num_rows = match (source.rows_exactly(), source.rows_estimate()) {
        (Some(rows), _) => Precision::Exact(rows as usize),
        (None, Some(rows)) => Precision::Inexact(rows as usize),
        (None, None) => Precision::Absent,
    };
    let is_exact = matches!(statistics.num_rows, Precision::Exact(_));
    if !is_exact || schema.fields().len() > BOUNDED_COLUMNS_MAX {
        return statistics;
    }
    for (column, statistics) in statistics.column_statistics.iter_mut().enumerate() {
        if let Some(bounds) = source.bounds(column) {
            statistics.min_value = Precision::Exact(bounds.least);
            statistics.max_value = Precision::Exact(bounds.greatest);
            statistics.null_count = Precision::Exact(bounds.null_count as usize);
        }
    }
    statistics
}

/// `text`, which is `plan` printed, with a report on each index of a table below the table's line.
pub(crate) fn explain_indexes(plan: &Arc<dyn ExecutionPlan>, text: &str) -> basalt_base::Result<String> {
    let mut reports = Vec::new();
    collect_reports(plan, &mut reports)?;
    let mut reports = reports.into_iter();
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(line.to_owned());
        let indent = line.len() - line.trim_start().len() + 2;
        if line.trim_start().starts_with(TABLE_LINE) {
            let report = reports.next().unwrap_or_default();
            lines.extend(report.into_iter().map(|line| format!("{:indent$}{line}", "")));
        }
    }
    Ok(lines.join("\n"))
}

/// Reports of the tables in the order in which the plan is printed.
fn collect_reports(plan: &Arc<dyn ExecutionPlan>, reports: &mut Vec<Vec<String>>) -> basalt_base::Result<()> {
    if let Some(table) = plan.downcast_ref::<SourceExec>() {
        reports.push(table.source.index_report()?);
    }
    plan.children().into_iter().try_for_each(|child| collect_reports(child, reports))
}

/// Counts what is read, and stops when the query must.
struct Metered {
    blocks: BlockIterator,
    query: Arc<QueryContext>,
    schema: SchemaRef,
    counts: bool,
    /// Keeps the files of a table that is dropped meanwhile.
    _table: Arc<dyn Table>,
}

impl Iterator for Metered {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if let Err(error) = self.query.check() {
            return Some(Err(external(error)));
        }
        if self.query.has_read_enough() {
            return None;
        }
        let block = match self.blocks.next()? {
            Ok(block) => block,
            Err(error) => return Some(Err(external(error))),
        };
        if self.counts {
            let bytes = block.columns().iter().map(|column| column.get_array_memory_size()).sum::<usize>();
            if let Err(error) = self.query.count_read(block.num_rows() as u64, bytes as u64) {
                return Some(Err(external(error)));
            }
        }
        Some(with_schema(&block, &self.schema))
    }
}

/// The same arrays under the plan's own schema (field names may differ, types may not).
fn with_schema(block: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(block.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), block.columns().to_vec(), &options)?)
}

pub(super) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
