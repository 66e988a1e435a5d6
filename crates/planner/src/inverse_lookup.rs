//! `dictGet(d, 'a', key) = value` as a condition on the key. The keys with that value are read from the dictionary
//! while the query is planned, so that the table's index can be used.
//!
//! This is a rule over finished plans, because by then filters are pushed down through views and subqueries. It
//! handles any condition that combines the call with constants only, whatever the operators: the condition is
//! computed over the values of the dictionary. The condition stays as it is if a missing key, with the attribute's
//! default, or a NULL key would satisfy it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, new_null_array};
use arrow::compute::{cast, filter, is_not_null, sort};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use basalt_base::{Error, Result, SqlType};
use basalt_exec::error::from_datafusion;
use basalt_functions::scalar::{AttributeOf, BoundScalar};
use basalt_functions::set::InSet;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::{BinaryExpr, InList, ScalarFunction};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{EmptyRelation, Expr, Filter, LogicalPlan, Operator};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::bound_expr::{all_of, any_of, contains, is_aggregate, is_column, is_unnest, is_window, replace};
use crate::scope::bare_column;

/// Larger dictionaries are not read for a single query.
const ROWS_MAX: u64 = 1_000_000;
/// Longer lists of keys are looked up by hash.
const LIST_MEMBERS_MAX: usize = 64;
/// The column that replaces the call while its condition is computed.
const VALUE: &str = "__attribute";

/// The optimizer rule.
#[derive(Debug)]
pub struct InverseLookup;

impl OptimizerRule for InverseLookup {
    fn name(&self) -> &str {
        "inverse_dictionary_lookup"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> datafusion::common::Result<Transformed<LogicalPlan>> {
        Ok(match plan {
            LogicalPlan::Filter(node) => match rewritten(split_conjunction_owned(node.predicate.clone())) {
                None => Transformed::no(LogicalPlan::Filter(node)),
                Some(conditions) => match all_of(conditions) {
                    None => Transformed::yes(node.input.as_ref().clone()),
                    Some(all) => Transformed::yes(LogicalPlan::Filter(Filter::try_new(all, node.input)?)),
                },
            },
            LogicalPlan::TableScan(mut scan) => match rewritten(scan.filters.clone()) {
                None => Transformed::no(LogicalPlan::TableScan(scan)),
                Some(conditions) if conditions.iter().any(is_never) => {
                    let nothing = EmptyRelation { produce_one_row: false, schema: scan.projected_schema };
                    Transformed::yes(LogicalPlan::EmptyRelation(nothing))
                }
                Some(conditions) => {
                    scan.filters = conditions;
                    Transformed::yes(LogicalPlan::TableScan(scan))
                }
            },
            other => Transformed::no(other),
        })
    }
}

/// The conditions, combined by AND, with lookups rewritten as conditions on keys; `None` if nothing can be rewritten.
fn rewritten(conditions: Vec<Expr>) -> Option<Vec<Expr>> {
    let mut calls: Vec<ScalarFunction> = Vec::new();
    let mut of_call: Vec<Vec<Expr>> = Vec::new();
    let (mut kept, mut changed) = (Vec::new(), false);
    for condition in conditions {
        if let Some(call) = only_call(&condition) {
            // If several conditions use one call, some of them may not be usable alone.
            match calls.iter().position(|known| *known == call) {
                Some(at) => of_call[at].push(condition),
                None => {
                    calls.push(call);
                    of_call.push(vec![condition]);
                }
            }
        } else if let Some(either) = either_rewritten(&condition) {
            kept.push(either);
            changed = true;
        } else {
            kept.push(condition);
        }
    }
    for (call, conditions) in calls.into_iter().zip(of_call) {
        match on_key(&call, &conditions) {
            Some(condition) => {
                kept.push(condition);
                changed = true;
            }
            None => kept.extend(conditions),
        }
    }
    changed.then_some(kept)
}

/// `a OR b`, where each side is rewritten on its own.
fn either_rewritten(condition: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = condition else { return None };
    let side = |side: &Expr| rewritten(split_conjunction_owned(side.clone())).and_then(all_of);
    match (side(left), side(right)) {
        (None, None) => None,
        (one, other) => any_of(vec![
            one.unwrap_or_else(|| left.as_ref().clone()),
            other.unwrap_or_else(|| right.as_ref().clone()),
        ]),
    }
}

/// The lookup that the condition depends on, if it depends on nothing else.
fn only_call(condition: &Expr) -> Option<ScalarFunction> {
    let mut calls = Vec::new();
    crate::bound_expr::collect(condition, |part| attribute_call(part).is_some(), &mut calls);
    let [call] = calls.as_slice() else { return None };
    let without = replace(condition.clone(), &[(call.clone(), Expr::Literal(ScalarValue::Null, None))]);
    let without = without.ok()?;
    let depends: fn(&Expr) -> bool = |part| {
        is_column(part)
            || is_aggregate(part)
            || is_window(part)
            || is_unnest(part)
            || matches!(part, Expr::ScalarSubquery(_) | Expr::OuterReferenceColumn(..) | Expr::Placeholder(_))
    };
    let is_free = !contains(&without, depends) && !without.is_volatile();
    match call {
        Expr::ScalarFunction(call) if is_free => Some(call.clone()),
        _ => None,
    }
}

fn attribute_call(expr: &Expr) -> Option<(&ScalarFunction, &BoundScalar, AttributeOf<'_>)> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let bound = BoundScalar::of(&call.func)?;
    let attribute = bound.attribute().filter(AttributeOf::has_default)?;
    Some((call, bound, attribute))
}

/// All of `conditions` as one condition on the key of `call`; `None` if they cannot be rewritten.
fn on_key(call: &ScalarFunction, conditions: &[Expr]) -> Option<Expr> {
    let expr = Expr::ScalarFunction(call.clone());
    let (call, bound, attribute) = attribute_call(&expr)?;
    if !attribute.can_list_keys(ROWS_MAX) {
        return None;
    }
    let key = key_columns(call, bound, attribute.dictionary().key_types())?;
    let condition = all_of(conditions.to_vec())?;
    let condition = replace(condition, &[(expr.clone(), bare_column(VALUE))]).ok()?;
    let default = &attribute.attribute().default;
    let condition = ValueCondition::compile(&condition, default.data_type()).ok()?;
    let null = new_null_array(default.data_type(), 1);
    // An error may come from a value that the query would never look up.
    let holds = |values: &ArrayRef| condition.holds(values);
    if holds(default).ok()?.value(0) || bound.arg_types()[2].accepts_null() && holds(&null).ok()?.value(0) {
        return None;
    }
    let keys = attribute.keys_where(holds).ok()?;
    membership(&key, keys).ok()
}

/// A condition on one value.
struct ValueCondition {
    condition: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
}

impl ValueCondition {
    fn compile(condition: &Expr, carrier: &DataType) -> datafusion::common::Result<ValueCondition> {
        let schema = Arc::new(Schema::new(vec![Field::new(VALUE, carrier.clone(), true)]));
        let names = DFSchema::try_from(Arc::clone(&schema))?;
        let context = PhysicalPlanningContext::default();
        let condition = create_physical_expr(condition, &names, &ExecutionProps::new(), &context)?;
        Ok(ValueCondition { condition, schema })
    }

    fn holds(&self, values: &ArrayRef) -> Result<BooleanArray> {
        let rows = values.len();
        let block = RecordBatch::try_new(Arc::clone(&self.schema), vec![Arc::clone(values)]);
        let truth = self.condition.evaluate(&block.map_err(Error::logical)?).map_err(from_datafusion)?;
        let truth = truth.into_array(rows).map_err(from_datafusion)?;
        let truth = truth.as_boolean_opt().ok_or_else(|| Error::logical("a condition is a Boolean"))?;
        Ok((0..rows).map(|row| Some(truth.is_valid(row) && truth.value(row))).collect())
    }
}

/// The key argument, as one expression with its type for each key column.
fn key_columns(
    call: &ScalarFunction,
    bound: &BoundScalar,
    types: &[SqlType],
) -> Option<Vec<(Expr, SqlType)>> {
    let (key, ty) = (call.args.get(2)?, bound.arg_types().get(2)?);
    let columns: Vec<(Expr, SqlType)> = match (ty.stripped(), key) {
        (SqlType::Tuple(elements), Expr::ScalarFunction(tuple)) if tuple.name() == "tuple" => {
            tuple.args.iter().cloned().zip(elements.iter().map(|element| element.ty.clone())).collect()
        }
        (SqlType::Tuple(_), _) => return None,
        _ => vec![(key.clone(), ty.clone())],
    };
    let fits = |((_, given), ty): (&(Expr, SqlType), &SqlType)| {
        let given = given.stripped();
        given == ty.stripped() || given.is_integer() && ty.is_integer()
    };
    (columns.len() == types.len() && columns.iter().zip(types).all(fits)).then_some(columns)
}

/// `key IN (keys)`, without keys that the argument's type cannot represent.
fn membership(key: &[(Expr, SqlType)], keys: Vec<ArrayRef>) -> Result<Expr> {
    let mut members = Vec::with_capacity(keys.len());
    for ((_, ty), column) in key.iter().zip(&keys) {
        members.push(cast(column, &ty.carrier()).map_err(Error::of_arrow)?);
    }
    let [(expr, _)] = key else {
        return set(key, members);
    };
    let present = is_not_null(&members[0]).map_err(Error::logical)?;
    let members = filter(&members[0], &present).map_err(Error::of_arrow)?;
    let members = sort(&members, None).map_err(Error::logical)?;
    if members.len() > LIST_MEMBERS_MAX {
        return set(key, vec![members]);
    }
    let mut list = (0..members.len())
        .map(|row| ScalarValue::try_from_array(&members, row).map(|value| Expr::Literal(value, None)))
        .collect::<datafusion::common::Result<Vec<_>>>()
        .map_err(Error::logical)?;
    Ok(match (list.pop(), list.is_empty()) {
        (None, _) => Expr::Literal(ScalarValue::Boolean(Some(false)), None),
        (Some(only), true) => expr.clone().eq(only),
        (Some(last), false) => {
            list.push(last);
            Expr::InList(InList::new(Box::new(expr.clone()), list, false))
        }
    })
}

fn is_never(condition: &Expr) -> bool {
    matches!(condition, Expr::Literal(ScalarValue::Boolean(Some(false)), _))
}

fn set(key: &[(Expr, SqlType)], members: Vec<ArrayRef>) -> Result<Expr> {
    let function = InSet::new(members)?.into_function();
    let args = key.iter().map(|(expr, _)| expr.clone()).collect();
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
}
