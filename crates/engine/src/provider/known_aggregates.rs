//! Aggregates over a whole table that its metadata answers, such as `count()` or `max(EventDate)`: a rule
//! that puts their values in place of the scan.
//!
//! DataFusion has such a rule for physical plans, which also answers counts under conditions that the source has
//! evaluated. This rule runs before all others: planning the scan of a wide table and throwing it away takes longer
//! than the rest of such a query.

use std::sync::Arc;

use basalt_functions::aggregate::BoundAggregate;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue, Statistics};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, LogicalPlan, LogicalPlanBuilder, Projection, StatisticsArgs, TableScan,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};

use super::table_scan::TableScanProvider;

/// The rule.
#[derive(Debug)]
pub(crate) struct KnownAggregates;

impl OptimizerRule for KnownAggregates {
    fn name(&self) -> &str {
        "known_aggregates"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        Ok(match known(aggregate)? {
            Some(values) => Transformed::yes(values),
            None => Transformed::no(plan),
        })
    }
}

/// One row with the values of all aggregates; `None` if metadata does not know them all.
fn known(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    if !aggregate.group_expr.is_empty() || aggregate.aggr_expr.is_empty() {
        return Ok(None);
    }
    let Some(calls) = aggregate.aggr_expr.iter().map(Call::of).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let columns: Vec<&str> = calls.iter().filter_map(|call| call.column).collect();
    let Some(scan) = scan_below(&aggregate.input, columns.is_empty()) else { return Ok(None) };
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = provider.downcast_ref::<TableScanProvider>() else { return Ok(None) };
    let Some(statistics) = table.metadata(&columns)? else { return Ok(None) };
    let value = |call: &Call<'_>| call.value(&statistics, &columns);
    let Some(values) = calls.iter().map(value).collect::<Option<Vec<Expr>>>() else { return Ok(None) };
    let input = Arc::new(LogicalPlanBuilder::empty(true).build()?);
    let projection = Projection::try_new_with_schema(values, input, Arc::clone(&aggregate.schema))?;
    Ok(Some(LogicalPlan::Projection(projection)))
}

/// The scan of a whole table that has exactly the rows of `plan`. Its columns have the same names, unless `only_rows`.
fn scan_below(plan: &LogicalPlan, only_rows: bool) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) => (scan.filters.is_empty() && scan.fetch.is_none()).then_some(scan),
        LogicalPlan::SubqueryAlias(alias) => scan_below(&alias.input, only_rows),
        LogicalPlan::Projection(projection) if only_rows => scan_below(&projection.input, only_rows),
        _ => None,
    }
}

/// The call of an aggregate function with a constant or with one column.
struct Call<'a> {
    function: &'a AggregateUDF,
    constant: Option<&'a ScalarValue>,
    column: Option<&'a str>,
    name: String,
}

impl Call<'_> {
    fn of(expr: &Expr) -> Option<Call<'_>> {
        let (call, name) = match expr {
            Expr::Alias(alias) => (alias.expr.as_ref(), alias.name.clone()),
            other => (other, other.schema_name().to_string()),
        };
        let Expr::AggregateFunction(call) = call else { return None };
        let function = call.func.inner().downcast_ref::<BoundAggregate>()?;
        let params = &call.params;
        if !function.answers_from_metadata()
            || params.filter.is_some()
            || params.distinct
            || !params.order_by.is_empty()
        {
            return None;
        }
        let (constant, column) = match &params.args[..] {
            [Expr::Literal(value, _)] => (Some(value), None),
            [Expr::Column(column)] => (None, Some(column.name.as_str())),
            _ => return None,
        };
        Some(Call { function: &call.func, constant, column, name })
    }

    /// The value according to the statistics of a table's `columns`.
    fn value(&self, statistics: &Statistics, columns: &[&str]) -> Option<Expr> {
        let argument: Arc<dyn PhysicalExpr> = match (self.constant, self.column) {
            (Some(value), _) => Arc::new(Literal::new(value.clone())),
            (None, name) => {
                let name = name?;
                Arc::new(Column::new(name, columns.iter().position(|column| *column == name)?))
            }
        };
        let args = StatisticsArgs {
            statistics,
            return_type: &self.function.return_type(&[]).ok()?,
            is_distinct: false,
            exprs: &[argument],
        };
        let value = self.function.value_from_stats(&args)?;
        Some(Expr::Literal(value, None).alias(&self.name))
    }
}
