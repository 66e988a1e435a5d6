//! UNION, INTERSECT and EXCEPT: columns correspond by position and get common types.

use std::sync::Arc;

use basalt_base::types::common_type;
use basalt_base::{Column, Error, Result, SqlType, bail};
use basalt_exec::row_order;
use basalt_exec::set_operation::{Operation, SetOperation};
use basalt_sql::ast::{SetExpr, SetOperator};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, Union};

use super::query::plan_body;
use crate::bound_expr::BoundExpr;
use crate::expr::convert;
use crate::float_keys;
use crate::plan::{Subplan, plan_error, projected};
use crate::scope::{Env, bare_column};
use crate::session::Session;

pub(super) fn plan(
    session: &Session<'_>,
    env: &Env,
    op: SetOperator,
    left: &SetExpr,
    right: &SetExpr,
) -> Result<Subplan> {
    let op = resolve(session, op)?;
    // The left spine of a chain of one operator is planned without recursion.
    let mut operands = vec![right];
    let mut rest = left;
    while let SetExpr::Operation { op: inner, left, right } = rest
        && resolve(session, *inner)? == op
        && matches!(op, SetOperator::UnionAll | SetOperator::UnionDistinct)
    {
        operands.push(right);
        rest = left;
    }
    operands.push(rest);
    operands.reverse();
    let _depth = session.enter_query()?;
    let sides = operands.into_iter().map(|side| plan_body(session, env, side)).collect::<Result<Vec<_>>>()?;
    let (sides, columns, names) = align(session, sides)?;
    let (plans, totals): (Vec<LogicalPlan>, Vec<Option<LogicalPlan>>) = sides.into_iter().unzip();
    let plan = combine(op, plans)?;
    // The totals of the first side are the totals of the result.
    let constants = vec![false; columns.len()];
    Ok(Subplan { plan, columns, names, constants, totals: totals.into_iter().flatten().next() })
}

/// Resolves `UNION` without ALL or DISTINCT.
fn resolve(session: &Session<'_>, op: SetOperator) -> Result<SetOperator> {
    if op != SetOperator::Union {
        return Ok(op);
    }
    match session.settings().union_default_mode.to_ascii_uppercase().as_str() {
        "ALL" => Ok(SetOperator::UnionAll),
        "DISTINCT" => Ok(SetOperator::UnionDistinct),
        _ => bail!(
            ExpectedAllOrDistinct,
            "UNION alone is ambiguous; write UNION ALL or UNION DISTINCT, or set `union_default_mode`"
        ),
    }
}

/// The rows of a side, and its totals.
type Side = (LogicalPlan, Option<LogicalPlan>);

/// Converts the sides to common names and types.
fn align(session: &Session<'_>, sides: Vec<Subplan>) -> Result<(Vec<Side>, Vec<Column>, Vec<String>)> {
    let Some(first) = sides.first() else {
        return Err(Error::logical("a set operation without sides"));
    };
    let width = first.columns.len();
    if let Some(other) = sides.iter().find(|side| side.columns.len() != width) {
        bail!(
            UnionResultStructuresMismatch,
            "the sides of a set operation have {width} and {} columns",
            other.columns.len()
        );
    }
    let columns = (0..width).map(|at| common_column(&sides, at)).collect::<Result<Vec<_>>>()?;
    let names = first.names.clone();
    let plans = sides
        .into_iter()
        .map(|side| {
            let exprs = (0..width)
                .map(|at| {
                    let value = BoundExpr::new(bare_column(&side.names[at]), side.columns[at].ty.clone());
                    Ok(convert(value, &columns[at].ty, session.ctx)?.expr.alias(&names[at]))
                })
                .collect::<Result<Vec<_>>>()?;
            let totals = side.totals.map(|totals| projected(totals, exprs.clone())).transpose()?;
            Ok((projected(side.plan, exprs)?, totals))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok((plans, columns, names))
}

fn common_column(sides: &[Subplan], at: usize) -> Result<Column> {
    let types = sides.iter().map(|side| &side.columns[at].ty);
    let name = &sides[0].columns[at].name;
    let Some(ty) = common_type(types) else {
        let types: Vec<String> = sides.iter().map(|side| side.columns[at].ty.to_string()).collect();
        bail!(NoCommonType, "column `{name}` has no common type on all sides: {}", types.join(", "));
    };
    Ok(Column::new(name, if ty == SqlType::Nothing { ty.into_nullable() } else { ty }))
}

fn combine(op: SetOperator, sides: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    let union = |sides: Vec<LogicalPlan>| {
        Union::try_new_with_loose_types(sides.into_iter().map(Arc::new).collect())
            .map(LogicalPlan::Union)
            .map_err(plan_error)
    };
    match op {
        SetOperator::UnionAll | SetOperator::Union => union(sides),
        SetOperator::UnionDistinct => float_keys::distinct(union(sides)?),
        SetOperator::IntersectAll => matched(Operation::IntersectAll, sides),
        SetOperator::IntersectDistinct => matched(Operation::IntersectDistinct, sides),
        SetOperator::ExceptAll => matched(Operation::ExceptAll, sides),
        SetOperator::ExceptDistinct => matched(Operation::ExceptDistinct, sides),
    }
}

/// The rows of the first side that are, or are not, in the second.
fn matched(operation: Operation, sides: Vec<LogicalPlan>) -> Result<LogicalPlan> {
    let Ok([left, right]) = <[LogicalPlan; 2]>::try_from(sides) else {
        return Err(Error::logical("INTERSECT and EXCEPT have two sides"));
    };
    let mut keys = Vec::with_capacity(2 * left.schema().fields().len());
    for side in [&left, &right] {
        for column in side.schema().columns() {
            keys.push(float_keys::key(Expr::Column(column), side.schema())?);
        }
    }
    let left = row_order::kept(left).map_err(plan_error)?;
    let node = SetOperation { operation, left: Arc::new(left), right: Arc::new(right), keys };
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}
