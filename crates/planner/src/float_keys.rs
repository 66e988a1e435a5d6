//! Floats as keys of groups, DISTINCT and joins. For DataFusion the two zeroes are one key; ClickHouse compares the
//! bits.

use std::sync::Arc;

use basalt_base::Result;
use basalt_exec::limit_by::LimitBy;
use basalt_functions::{bits_of_float, float_of_bits};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::expr::{GroupingSet, ScalarFunction};
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, Extension, LogicalPlan, LogicalPlanBuilder};

use crate::plan::plan_error;

/// The expression that replaces `expr` as a key; `expr` is over the columns of `schema`.
pub(crate) fn key(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let ty = expr.get_type(schema).map_err(plan_error)?;
    Ok(if is_float(&ty) { bits(expr) } else { expr })
}

/// The aggregation of `input`, with the columns that DataFusion's Aggregate has.
pub(crate) fn aggregate(input: LogicalPlan, keys: Vec<Expr>, aggregates: Vec<Expr>) -> Result<LogicalPlan> {
    let mut wrapped = Vec::new();
    let keys = keys
        .into_iter()
        .map(|key| match key {
            Expr::GroupingSet(set) => in_set(set, input.schema(), &mut wrapped).map(Expr::GroupingSet),
            key => named_key(key, input.schema(), &mut wrapped),
        })
        .collect::<Result<Vec<_>>>()?;
    let plan = Aggregate::try_new(Arc::new(input), keys, aggregates)
        .map(LogicalPlan::Aggregate)
        .map_err(plan_error)?;
    unwrapped(plan, &wrapped)
}

/// The distinct rows of `plan`.
pub(crate) fn distinct(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut wrapped = Vec::new();
    let columns = plan
        .schema()
        .columns()
        .into_iter()
        .map(|column| named_key(Expr::Column(column), plan.schema(), &mut wrapped))
        .collect::<Result<Vec<_>>>()?;
    let mut builder = LogicalPlanBuilder::from(plan);
    if !wrapped.is_empty() {
        builder = builder.project(columns).map_err(plan_error)?;
    }
    let plan = builder.distinct().and_then(LogicalPlanBuilder::build).map_err(plan_error)?;
    unwrapped(plan, &wrapped)
}

/// `LIMIT BY`: rows `offset` to `offset + limit` of each group of rows with equal `keys`.
pub(crate) fn limit_by(input: LogicalPlan, keys: Vec<Expr>, offset: u64, limit: u64) -> Result<LogicalPlan> {
    let keys = keys.into_iter().map(|expr| key(expr, input.schema())).collect::<Result<Vec<_>>>()?;
    let node = LimitBy { input: Arc::new(input), keys, offset, limit };
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

fn in_set(set: GroupingSet, schema: &DFSchema, wrapped: &mut Vec<Column>) -> Result<GroupingSet> {
    let mut list = |keys: Vec<Expr>| -> Result<Vec<Expr>> {
        keys.into_iter().map(|key| named_key(key, schema, wrapped)).collect()
    };
    Ok(match set {
        GroupingSet::Rollup(keys) => GroupingSet::Rollup(list(keys)?),
        GroupingSet::Cube(keys) => GroupingSet::Cube(list(keys)?),
        GroupingSet::GroupingSets(sets) => {
            GroupingSet::GroupingSets(sets.into_iter().map(list).collect::<Result<Vec<_>>>()?)
        }
    })
}

/// A key under its name. Adds the names of float keys to `wrapped`.
fn named_key(expr: Expr, schema: &DFSchema, wrapped: &mut Vec<Column>) -> Result<Expr> {
    if !is_float(&expr.get_type(schema).map_err(plan_error)?) {
        return Ok(expr);
    }
    let (relation, name) = expr.qualified_name();
    let column = Column::new(relation.clone(), &name);
    if !wrapped.contains(&column) {
        wrapped.push(column);
    }
    Ok(bits(expr.unalias()).alias_qualified(relation, name))
}

/// `plan` with the columns `wrapped` converted back to floats.
fn unwrapped(plan: LogicalPlan, wrapped: &[Column]) -> Result<LogicalPlan> {
    if wrapped.is_empty() {
        return Ok(plan);
    }
    let columns: Vec<Expr> = plan
        .schema()
        .columns()
        .into_iter()
        .map(|column| match wrapped.contains(&column) {
            true => {
                let (relation, name) = (column.relation.clone(), column.name.clone());
                let call = ScalarFunction::new_udf(float_of_bits(), vec![Expr::Column(column)]);
                Expr::ScalarFunction(call).alias_qualified(relation, name)
            }
            false => Expr::Column(column),
        })
        .collect();
    LogicalPlanBuilder::from(plan).project(columns).and_then(LogicalPlanBuilder::build).map_err(plan_error)
}

/// The bits of a float.
pub(crate) fn bits(expr: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(bits_of_float(), vec![expr]))
}

fn is_float(ty: &DataType) -> bool {
    matches!(ty, DataType::Float32 | DataType::Float64)
}
