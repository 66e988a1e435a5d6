//! TTL ... GROUP BY ... SET: expired rows of one key become one row, computed by the aggregate functions of queries.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use basalt_base::zone::Zone;
use basalt_base::{Columns, Error, Result, bail};
use basalt_exec::error::from_datafusion;
use basalt_parts::{Aggregation, AggregationGroups, TtlAction, plain};
use basalt_planner::GroupValue;
use basalt_sql::ast::Expr;
use datafusion::common::DFSchema;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{EmitTo, Expr as LogicalExpr, GroupsAccumulator};
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use super::TableDefinition;
use super::definition::names_column;
use super::planning::plan_alone;

/// The action of `GROUP BY keys SET assignments`.
pub(super) fn group_action(
    definition: &TableDefinition,
    keys: &[Expr],
    assignments: &[(String, Expr)],
) -> Result<TtlAction> {
    check_keys(definition, keys)?;
    let aggregation = PlannedAggregation::plan(definition, assignments)?;
    Ok(TtlAction::Group { key_len: keys.len(), aggregation: Arc::new(aggregation) })
}

/// Rows of one key must be adjacent.
fn check_keys(definition: &TableDefinition, keys: &[Expr]) -> Result<()> {
    let (sort_key, primary_len) = definition.sort_key()?;
    let primary = &sort_key[..primary_len];
    let is_prefix = !keys.is_empty()
        && keys.len() <= primary.len()
        && keys.iter().zip(primary).all(|(key, element)| *key == element.expr);
    if !is_prefix {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        bail!(
            BadTtlExpression,
            "TTL expression GROUP BY key `{}` should be a prefix of the primary key",
            keys.join(", ")
        );
    }
    Ok(())
}

/// Assignments of aggregates over the rows of a group.
#[derive(Debug)]
struct PlannedAggregation {
    reads: Vec<String>,
    writes: Vec<String>,
    /// The columns that are read.
    schema: SchemaRef,
    /// The new values of the columns that are set, in order.
    values: Vec<PlannedValue>,
}

/// The value that a column is set to.
#[derive(Debug)]
struct PlannedValue {
    calls: Vec<PlannedCall>,
    /// The results of the calls.
    results: SchemaRef,
    value: Arc<dyn PhysicalExpr>,
}

/// An aggregate function over the columns that are read.
#[derive(Debug)]
struct PlannedCall {
    aggregate: Arc<AggregateFunctionExpr>,
    filter: Option<Arc<dyn PhysicalExpr>>,
}

/// The groups of one call.
struct CallGroups {
    args: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    groups: Box<dyn GroupsAccumulator>,
}

/// The groups of all calls of a value, with the schema of their results, and the value.
struct ValueGroups {
    calls: Vec<CallGroups>,
    results: SchemaRef,
    value: Arc<dyn PhysicalExpr>,
}

/// Groups whose values are being computed.
struct PlannedGroups {
    schema: SchemaRef,
    values: Vec<ValueGroups>,
}

impl PlannedAggregation {
    fn plan(definition: &TableDefinition, assignments: &[(String, Expr)]) -> Result<PlannedAggregation> {
        let stored = definition.stored();
        let assignments = &with_nullable(definition, assignments)?;
        let mut planned = Vec::with_capacity(assignments.len());
        for (name, expr) in assignments {
            let Some(position) = stored.position(name) else { continue };
            let ty = &stored[position].ty;
            let value = plan_alone(Zone::system(), |ctx| GroupValue::plan(expr, ty, &stored, ctx))?;
            let Some(value) = value else {
                bail!(
                    BadTtlExpression,
                    "invalid expression for assignment of column `{name}`: it should contain an aggregate function"
                );
            };
            planned.push(value);
        }
        let is_read = |name: &str| assignments.iter().any(|(_, expr)| names_column(expr, name));
        let read: Columns = stored.iter().filter(|column| is_read(&column.name)).cloned().collect();
        let values = planned.iter().map(|value| PlannedValue::new(&read, value)).collect::<Result<_>>()?;
        Ok(PlannedAggregation {
            reads: read.iter().map(|column| column.name.clone()).collect(),
            writes: assignments.iter().map(|(name, _)| name.clone()).collect(),
            schema: read.to_arrow(),
            values,
        })
    }
}

/// The assignments and those of columns that have none: a group keeps the values of its first row, but not a NULL
/// where it has another value.
fn with_nullable(
    definition: &TableDefinition,
    assignments: &[(String, Expr)],
) -> Result<Vec<(String, Expr)>> {
    let stored = definition.stored();
    for (index, (name, _)) in assignments.iter().enumerate() {
        check_target(definition, &stored, name)?;
        if assignments[..index].iter().any(|(other, _)| other == name) {
            bail!(BadTtlExpression, "multiple aggregations set for one column `{name}` in TTL expression");
        }
    }
    let key = definition.key_columns()?;
    let is_set = |name: &String| key.contains(name) || assignments.iter().any(|(set, _)| set == name);
    let kept = stored.iter().filter(|column| column.ty.accepts_null() && !is_set(&column.name));
    let kept = kept.map(|column| (column.name.clone(), GroupValue::any_of(&column.name)));
    Ok(assignments.iter().cloned().chain(kept).collect())
}

/// Rows stay in order and in their partition.
fn check_target(definition: &TableDefinition, stored: &Columns, name: &str) -> Result<()> {
    if stored.position(name).is_none() {
        bail!(
            NoSuchColumnInTable,
            "there is no physical column `{name}` in table {}",
            definition.full_name()
        );
    }
    if definition.key_columns()?.iter().any(|key| key == name) {
        return Err(Error::not_implemented(format!(
            "TTL ... GROUP BY ... SET of column `{name}`, which the table's ORDER BY or PARTITION BY reads,"
        )));
    }
    Ok(())
}

impl PlannedValue {
    fn new(read: &Columns, planned: &GroupValue) -> Result<PlannedValue> {
        let calls =
            planned.calls.iter().map(|call| PlannedCall::new(read, call)).collect::<Result<Vec<_>>>()?;
        let field = |(index, call): (usize, &PlannedCall)| {
            let field: Field = call.aggregate.field().as_ref().clone();
            field.with_name(GroupValue::result_name(index)).with_nullable(true)
        };
        let results: SchemaRef =
            Arc::new(Schema::new(calls.iter().enumerate().map(field).collect::<Vec<_>>()));
        let value = physical(&planned.value, &results)?;
        Ok(PlannedValue { calls, results, value })
    }
}

impl PlannedCall {
    fn new(read: &Columns, call: &LogicalExpr) -> Result<PlannedCall> {
        let LogicalExpr::AggregateFunction(call) = call else {
            return Err(Error::logical("a call of an aggregation is no aggregate function"));
        };
        let schema = read.to_arrow();
        let args = call.params.args.iter().map(|arg| physical(arg, &schema)).collect::<Result<Vec<_>>>()?;
        let filter = call.params.filter.as_ref().map(|filter| physical(filter, &schema)).transpose()?;
        let aggregate = AggregateExprBuilder::new(Arc::clone(&call.func), args)
            .schema(schema)
            .alias(call.func.name())
            .build()
            .map_err(from_datafusion)?;
        if !aggregate.groups_accumulator_supported() {
            return Err(Error::not_implemented(format!("{} in TTL ... GROUP BY", call.func.name())));
        }
        Ok(PlannedCall { aggregate: Arc::new(aggregate), filter })
    }

    fn begin(&self) -> Result<CallGroups> {
        Ok(CallGroups {
            args: self.aggregate.expressions(),
            filter: self.filter.clone(),
            groups: self.aggregate.create_groups_accumulator().map_err(from_datafusion)?,
        })
    }
}

fn physical(expr: &LogicalExpr, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
    let df_schema = DFSchema::try_from(schema.as_ref().clone()).map_err(from_datafusion)?;
    let (props, planning) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    create_physical_expr(expr, &df_schema, &props, &planning).map_err(from_datafusion)
}

impl Aggregation for PlannedAggregation {
    fn reads(&self) -> &[String] {
        &self.reads
    }

    fn writes(&self) -> &[String] {
        &self.writes
    }

    fn begin(&self) -> Result<Box<dyn AggregationGroups>> {
        let begun = |value: &PlannedValue| {
            Ok(ValueGroups {
                calls: value.calls.iter().map(PlannedCall::begin).collect::<Result<_>>()?,
                results: Arc::clone(&value.results),
                value: Arc::clone(&value.value),
            })
        };
        let values = self.values.iter().map(begun).collect::<Result<_>>()?;
        Ok(Box::new(PlannedGroups { schema: Arc::clone(&self.schema), values }))
    }
}

impl AggregationGroups for PlannedGroups {
    fn add(&mut self, rows: &RecordBatch, groups: &[usize], count: usize) -> Result<()> {
        let rows = block(&self.schema, rows.columns().iter().map(plain).collect(), rows.num_rows())?;
        let calls = self.values.iter_mut().flat_map(|value| &mut value.calls);
        calls.into_iter().try_for_each(|call| call.add(&rows, groups, count))
    }

    fn take(&mut self, count: usize) -> Result<Vec<ArrayRef>> {
        self.values.iter_mut().map(|value| value.take(count)).collect()
    }
}

impl CallGroups {
    fn add(&mut self, rows: &RecordBatch, groups: &[usize], count: usize) -> Result<()> {
        let args = self.args.iter().map(|arg| evaluate(arg, rows)).collect::<Result<Vec<_>>>()?;
        let filter = self.filter.as_ref().map(|filter| evaluate(filter, rows)).transpose()?;
        let filter: Option<&BooleanArray> = match &filter {
            Some(filter) => {
                let mask = filter.as_boolean_opt();
                Some(mask.ok_or_else(|| Error::logical("the condition of an aggregate is not a mask"))?)
            }
            None => None,
        };
        self.groups.update_batch(&args, groups, filter, count).map_err(from_datafusion)
    }
}

impl ValueGroups {
    /// The values of the first groups, which are forgotten.
    fn take(&mut self, count: usize) -> Result<ArrayRef> {
        let results = self.calls.iter_mut().map(|call| call.groups.evaluate(EmitTo::First(count)));
        let results = results.collect::<Result<Vec<_>, _>>().map_err(from_datafusion)?;
        evaluate(&self.value, &block(&self.results, results, count)?)
    }
}

fn block(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(Error::of_arrow)
}

fn evaluate(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<ArrayRef> {
    expr.evaluate(rows).and_then(|value| value.into_array(rows.num_rows())).map_err(from_datafusion)
}
