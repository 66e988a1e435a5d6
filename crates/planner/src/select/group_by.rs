//! GROUP BY and HAVING, then the window functions.

use std::collections::HashSet;

use basalt_base::{Error, Result, bail};
use basalt_exec::row_order;
use basalt_functions::aggregate::AggregateFunction;
use basalt_functions::registry;
use basalt_sql::ast;
use datafusion::common::Column as PlanColumn;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::GroupingSet;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::bound_clauses::BoundClauses;
use super::order_by::position;
use super::{injective, inner_totals, random};
use crate::bound_expr::{
    BoundExpr, collect, contains, is_aggregate, is_column, is_unnest, is_window, native_cast, or_default,
};
use crate::correlated::is_correlated;
use crate::expr::Binder;
use crate::float_keys;
use crate::plan::{filtered, plan_error};
use crate::scope::bare_column;
use crate::session::Session;

/// The plan after GROUP BY and HAVING, and the aggregation it came from.
pub(super) struct Grouped {
    pub(super) plan: LogicalPlan,
    pub(super) aggregation: Option<Aggregation>,
}

/// One aggregation, which WITH TOTALS repeats over all rows.
pub(super) struct Aggregation {
    pub(super) input: LogicalPlan,
    pub(super) keys: Vec<Key>,
    /// With the names of their result columns.
    pub(super) aggregates: Vec<Expr>,
    pub(super) has_having: bool,
}

/// One key of the aggregation.
#[derive(Clone)]
pub(super) struct Key {
    /// An expression over the input.
    pub(super) bound: BoundExpr,
    /// A column of the output.
    pub(super) column: PlanColumn,
}

impl Key {
    /// The key in the Aggregate node: a bare column keeps its name.
    fn expr(&self) -> Expr {
        match &self.bound.expr {
            column @ Expr::Column(_) => column.clone(),
            other => other.clone().alias(&self.column.name),
        }
    }
}

/// Binds the keys into `clauses` and returns how they form grouping sets.
pub(super) fn bind_keys(
    binder: &Binder<'_>,
    select: &ast::Select,
    clauses: &mut BoundClauses,
) -> Result<Sets> {
    let mut bind = |exprs: &[ast::Expr]| -> Result<Vec<usize>> {
        let mut positions = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let parts = match expr {
                ast::Expr::Tuple(parts) => parts.as_slice(),
                other => std::slice::from_ref(other),
            };
            for part in parts {
                let keys = match position(part, clauses.items.len(), "GROUP BY")? {
                    Some(at) => vec![clauses.items[at].bound.clone()],
                    None => binder.bind_list(std::slice::from_ref(part))?,
                };
                positions.extend(keys.into_iter().map(|key| add_key(clauses, key)));
            }
        }
        Ok(positions)
    };
    Ok(match &select.group_by {
        None => Sets::None,
        Some(ast::GroupBy::Exprs(exprs)) => {
            bind(exprs)?;
            Sets::Plain
        }
        Some(ast::GroupBy::Rollup(exprs)) => Sets::Rollup(each_once(bind(exprs)?)),
        Some(ast::GroupBy::Cube(exprs)) => Sets::Cube(each_once(bind(exprs)?)),
        Some(ast::GroupBy::GroupingSets(sets)) => {
            Sets::Listed(sets.iter().map(|set| bind(set).map(each_once)).collect::<Result<Vec<_>>>()?)
        }
        Some(ast::GroupBy::All) => {
            let later = |expr: &Expr| contains(expr, is_aggregate) || contains(expr, is_window);
            let keys: Vec<BoundExpr> = clauses
                .items
                .iter()
                .map(|item| item.bound.clone())
                .filter(|bound| !later(&bound.expr))
                .collect();
            for key in keys {
                add_key(clauses, key);
            }
            Sets::Plain
        }
    })
}

/// How the keys form grouping sets. Numbers are positions among the keys.
pub(super) enum Sets {
    None,
    Plain,
    Rollup(Vec<usize>),
    Cube(Vec<usize>),
    Listed(Vec<Vec<usize>>),
}

/// Removes repeated keys of a set.
fn each_once(positions: Vec<usize>) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(positions.len());
    positions.into_iter().filter(|&position| seen.insert(position)).collect()
}

fn add_key(clauses: &mut BoundClauses, key: BoundExpr) -> usize {
    // Constants of different types are different keys, even if their values are equal.
    let is_same =
        |known: &BoundExpr| known.expr == key.expr && (key.constant().is_none() || known.ty == key.ty);
    let known = clauses.keys.iter().position(is_same);
    known.unwrap_or_else(|| {
        clauses.keys.push(key);
        clauses.keys.len() - 1
    })
}

pub(super) fn plan(
    session: &Session<'_>,
    sets: &Sets,
    with_totals: bool,
    clauses: &mut BoundClauses,
    input: LogicalPlan,
    totals: &mut Option<LogicalPlan>,
) -> Result<Grouped> {
    let input = subqueries_below(session, clauses, input)?;
    let keys = std::mem::take(&mut clauses.keys);
    let mut calls = Vec::new();
    for expr in clauses.exprs() {
        collect(expr, is_aggregate, &mut calls);
    }
    let aggregates = !calls.is_empty() || !matches!(sets, Sets::None);
    if with_totals && matches!(sets, Sets::Listed(_)) {
        return Err(Error::not_implemented("WITH TOTALS together with GROUPING SETS"));
    }
    if with_totals && clauses.having.is_some() && matches!(sets, Sets::Rollup(_) | Sets::Cube(_)) {
        return Err(Error::not_implemented("WITH TOTALS together with ROLLUP or CUBE and HAVING"));
    }
    if with_totals && !aggregates {
        return Err(Error::not_implemented("WITH TOTALS without aggregation"));
    }
    let mut grouped = Grouped { plan: input, aggregation: None };
    if aggregates {
        *totals = None;
        let keys = match sets {
            // In totals and in smaller sets a key has the default of the call's type, not of the dictionary key.
            Sets::Plain if !with_totals => injective::hoisted(session, keys),
            _ => keys,
        };
        grouped.plan = random::draw_in_aggregates(session, clauses, &mut calls, grouped.plan)?;
        grouped = aggregate(session, sets, keys, calls, clauses, grouped.plan)?;
    }
    let (drawn_from, drawn) = random::draw(session, grouped.plan, clauses.exprs())?;
    grouped.plan = drawn_from;
    clauses.replace(&drawn)?;
    inner_totals::follow(totals, &drawn)?;
    let rest: Vec<Expr> = clauses.exprs().filter(|expr| is_correlated(expr)).cloned().collect();
    if (with_totals || totals.is_some()) && !rest.is_empty() {
        return Err(Error::not_implemented("a correlated subquery together with WITH TOTALS"));
    }
    grouped.plan = clauses.compute_subqueries(session, grouped.plan, &rest)?;
    if let Some(having) = clauses.having.take() {
        grouped.plan = filtered(grouped.plan, having.into_filter()?)?;
        if let Some(aggregation) = &mut grouped.aggregation {
            aggregation.has_having = true;
        }
    }
    grouped.plan = clauses.unfold_arrays(session, grouped.plan, totals)?;
    grouped.plan = windows(clauses, grouped.plan, totals)?;
    if let Some(qualify) = clauses.qualify.take() {
        grouped.plan = filtered(grouped.plan, qualify.into_filter()?)?;
    }
    Ok(grouped)
}

/// Computes the correlated subqueries in keys and in arguments of aggregate functions.
fn subqueries_below(
    session: &Session<'_>,
    clauses: &mut BoundClauses,
    input: LogicalPlan,
) -> Result<LogicalPlan> {
    if !clauses.exprs().any(is_correlated) {
        return Ok(input);
    }
    let mut parts: Vec<Expr> = clauses.keys.iter().map(|key| key.expr.clone()).collect();
    for expr in clauses.exprs() {
        collect(expr, is_aggregate, &mut parts);
    }
    clauses.compute_subqueries(session, input, &parts)
}

fn aggregate(
    session: &Session<'_>,
    sets: &Sets,
    bounds: Vec<BoundExpr>,
    calls: Vec<Expr>,
    clauses: &mut BoundClauses,
    input: LogicalPlan,
) -> Result<Grouped> {
    let nulled = !matches!(sets, Sets::None | Sets::Plain);
    let input = match calls.iter().any(depends_on_order) {
        true => row_order::kept(input).map_err(plan_error)?,
        false => input,
    };
    let mut keys = Vec::with_capacity(bounds.len());
    let mut replacements = Vec::new();
    let mut aggregates = Vec::with_capacity(calls.len());
    for call in calls {
        let name = session.unique("__aggregate");
        aggregates.push(call.clone().alias(&name));
        replacements.push((call, bare_column(&name)));
    }
    for bound in bounds {
        keys.push(key(session, bound, nulled, &mut replacements)?);
    }
    let group_exprs = group_exprs(session, sets, &keys);
    let plan = float_keys::aggregate(input.clone(), group_exprs, aggregates.clone())?;
    clauses.replace(&replacements)?;
    check_columns(clauses, &plan)?;
    let aggregation = Aggregation { input, keys, aggregates, has_having: false };
    Ok(Grouped { plan, aggregation: Some(aggregation) })
}

fn depends_on_order(call: &Expr) -> bool {
    let Expr::AggregateFunction(call) = call else { return false };
    registry::aggregate(call.func.name()).is_some_and(AggregateFunction::depends_on_order)
}

/// A key of the node, and the column that replaces it in the expressions above.
fn key(
    session: &Session<'_>,
    bound: BoundExpr,
    nulled: bool,
    replacements: &mut Vec<(Expr, Expr)>,
) -> Result<Key> {
    if contains(&bound.expr, is_aggregate) || contains(&bound.expr, is_window) {
        bail!(IllegalAggregation, "an aggregate or window function in GROUP BY");
    }
    let truth = bound.is_truth.then(|| bound.expr.clone());
    let value = bound.into_value();
    let column = match &value.expr {
        Expr::Column(column) => column.clone(),
        _ => PlanColumn::new_unqualified(session.unique("__key")),
    };
    let mut output = Expr::Column(column.clone());
    if nulled {
        output = or_default(output, &value.ty)?;
    }
    // A constant stays: replacing it would replace every equal constant.
    if !matches!(value.expr, Expr::Literal(..)) {
        replacements.push((value.expr.clone(), output.clone()));
        if let Some(truth) = truth {
            replacements.push((truth, native_cast(output, arrow::datatypes::DataType::Boolean)));
        }
    }
    Ok(Key { bound: value, column })
}

fn group_exprs(session: &Session<'_>, sets: &Sets, keys: &[Key]) -> Vec<Expr> {
    let exprs = |positions: &[usize]| -> Vec<Expr> { positions.iter().map(|&at| keys[at].expr()).collect() };
    match sets {
        Sets::None => Vec::new(),
        Sets::Plain => {
            let kept: Vec<Expr> =
                keys.iter().filter(|key| key.bound.constant().is_none()).map(Key::expr).collect();
            let needs_rows = session.settings().empty_result_for_aggregation_by_constant_keys_on_empty_set;
            if kept.is_empty() && needs_rows {
                // GROUP BY a constant: one group, or none if there are no rows.
                let constant = Expr::Literal(ScalarValue::UInt8(Some(0)), None);
                return vec![constant.alias(session.unique("__key"))];
            }
            kept
        }
        Sets::Rollup(positions) => vec![Expr::GroupingSet(GroupingSet::Rollup(exprs(positions)))],
        Sets::Cube(positions) => vec![Expr::GroupingSet(GroupingSet::Cube(exprs(positions)))],
        Sets::Listed(sets) => {
            vec![Expr::GroupingSet(GroupingSet::GroupingSets(sets.iter().map(|set| exprs(set)).collect()))]
        }
    }
}

/// Only the keys and results of an aggregation are visible above it.
fn check_columns(clauses: &BoundClauses, plan: &LogicalPlan) -> Result<()> {
    let mut columns = Vec::new();
    for expr in clauses.exprs() {
        collect(expr, is_column, &mut columns);
    }
    for expr in columns {
        if let Expr::Column(column) = &expr
            && !plan.schema().has_column(column)
        {
            bail!(
                NotAnAggregate,
                "column `{}` is neither in GROUP BY nor inside an aggregate function",
                column.name
            );
        }
    }
    Ok(())
}

/// Computes the window functions of the clauses.
fn windows(
    clauses: &mut BoundClauses,
    plan: LogicalPlan,
    totals: &mut Option<LogicalPlan>,
) -> Result<LogicalPlan> {
    let mut calls = Vec::new();
    for expr in clauses.exprs() {
        collect(expr, is_window, &mut calls);
    }
    if calls.is_empty() {
        return Ok(plan);
    }
    if calls.iter().any(|call| contains(call, is_unnest)) {
        return Err(Error::not_implemented("arrayJoin inside a window function"));
    }
    let replacements: Vec<(Expr, Expr)> =
        calls.iter().map(|call| (call.clone(), bare_column(&call.schema_name().to_string()))).collect();
    let totals_windows = |plan: LogicalPlan| LogicalPlanBuilder::window_plan(plan, calls.clone());
    *totals = totals.take().map(totals_windows).transpose().map_err(plan_error)?;
    // As in ClickHouse, windows that need no sort come last and see the rows in the order of the other windows.
    let (sorting, others): (Vec<Expr>, Vec<Expr>) = calls.into_iter().partition(sorts);
    let mut plan = match sorting.is_empty() {
        true => row_order::kept(plan),
        false => LogicalPlanBuilder::window_plan(plan, sorting),
    };
    if !others.is_empty() {
        plan = plan.and_then(|plan| LogicalPlanBuilder::window_plan(plan, others));
    }
    let plan = plan.map_err(plan_error)?;
    clauses.replace(&replacements)?;
    Ok(plan)
}

fn sorts(call: &Expr) -> bool {
    let Expr::WindowFunction(call) = call else { return false };
    !call.params.order_by.is_empty() || !call.params.partition_by.is_empty()
}
