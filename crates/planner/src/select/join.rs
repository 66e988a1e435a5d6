//! JOIN: which rows match, and the values for rows without a match.

use basalt_base::{Error, Result, bail};
use basalt_sql::ast::{self, JoinConstraint, JoinKind, JoinStrictness};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Operator};

use super::inner_totals;
use super::relation::{FromNames, stored};
use crate::bound_expr::{BoundExpr, case, contains, is_aggregate, is_unnest, is_window, or_default};
use crate::correlated;
use crate::expr::{Binder, unify};
use crate::float_keys;
use crate::plan::{JoinKeys, plan_error};
use crate::scope::{ColumnValue, Relation, Scope, ScopeColumn};
use crate::session::Session;

/// The condition of a join, split by use.
#[derive(Default)]
struct Condition {
    /// Equalities between an expression of the left side and one of the right side.
    keys: Vec<(Expr, Expr)>,
    others: Vec<Expr>,
}

/// The side of the join that keeps one row per key.
#[derive(Clone, Copy, PartialEq)]
enum Distinct {
    Neither,
    Left,
    Right,
    Both,
}

/// Refuses unsupported joins before their sides are planned.
pub(super) fn check(session: &Session<'_>, join: &ast::Join) -> Result<()> {
    if join.kind == JoinKind::Paste {
        return Err(Error::not_implemented("PASTE JOIN"));
    }
    expect_aliases(session, join)
}

pub(super) fn plan(
    session: &Session<'_>,
    names: FromNames<'_>,
    join: &ast::Join,
    left: Relation,
    right: Relation,
) -> Result<Relation> {
    let left_plan = left.plan.clone();
    let totals = inner_totals::of_join(&left, &right)?;
    let mut scope = left.scope.clone().join(right.scope.clone());
    let left_width = left.scope.columns.len();
    let mut condition = match &join.constraint {
        JoinConstraint::None => Condition::default(),
        JoinConstraint::On(expr) => bind_on(session, names, &scope, expr)?,
        JoinConstraint::Using(_) => Condition::default(),
    };
    let mut merged = Vec::new();
    if let JoinConstraint::Using(names) = &join.constraint {
        (condition.keys, merged) = bind_using(session, &mut scope, left_width, names, join.kind)?;
    }
    let mut condition = split_keys(condition, &left_plan, &right.plan);
    let (join_type, distinct) = shape(join)?;
    if join.kind == JoinKind::Cross || (condition.keys.is_empty() && condition.others.is_empty()) {
        return Ok(Relation { totals, ..cross(join, left, right, scope)? });
    }
    expect_keys(join, &condition, &left.plan, &right.plan)?;
    let plan = connect(left.plan, right.plan, join_type, distinct, &mut condition)?;
    fill_unmatched(session, &mut scope, left_width, join_type)?;
    if join.strictness == Some(JoinStrictness::Semi) && session.settings().join_use_nulls {
        let (left_columns, right_columns) = scope.columns.split_at_mut(left_width);
        let other_side = if join.kind == JoinKind::Right { left_columns } else { right_columns };
        for column in other_side {
            column.ty = column.ty.clone().into_nullable();
        }
    }
    merge_keys(session, &mut scope, merged, join_type);
    Ok(Relation { plan, scope, totals })
}

fn cross(join: &ast::Join, left: Relation, right: Relation, scope: Scope) -> Result<Relation> {
    let needs_condition =
        join.kind != JoinKind::Cross || join.strictness.is_some_and(|s| s != JoinStrictness::All);
    if needs_condition && join.kind != JoinKind::Inner {
        bail!(IncorrectQuery, "a JOIN of this kind needs ON or USING");
    }
    let plan = LogicalPlanBuilder::from(left.plan)
        .cross_join(right.plan)
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)?;
    Ok(Relation { plan, scope, totals: None })
}

/// Refuses joined subqueries and functions without an alias, if the setting demands one.
fn expect_aliases(session: &Session<'_>, join: &ast::Join) -> Result<()> {
    if !session.settings().joined_subquery_requires_alias {
        return Ok(());
    }
    for side in [&join.left, &join.right] {
        let ast::TableExpr::Factor(factor) = side else { continue };
        if let ast::TableFactor::Subquery { alias: None, .. }
        | ast::TableFactor::Function { alias: None, .. } = factor
        {
            bail!(AliasRequired, "a subquery or table function that is joined needs an alias: `... AS name`");
        }
    }
    Ok(())
}

/// Refuses a condition without an equality that uses only the side whose rows are all kept.
fn expect_keys(
    join: &ast::Join,
    condition: &Condition,
    left: &LogicalPlan,
    right: &LogicalPlan,
) -> Result<()> {
    let is_of = |plan: &LogicalPlan| {
        let mut columns = condition.others.iter().flat_map(Expr::column_refs).peekable();
        columns.peek().is_some() && columns.all(|column| plan.schema().has_column(column))
    };
    let (of_left, of_right) = match join.kind {
        JoinKind::Left => (is_of(left), false),
        JoinKind::Right => (false, is_of(right)),
        JoinKind::Full => (is_of(left), is_of(right)),
        _ => return Ok(()),
    };
    if condition.keys.is_empty() && (of_left || of_right) {
        bail!(InvalidJoinOnExpression, "JOIN ON compares no column of one side with one of the other");
    }
    Ok(())
}

/// The DataFusion join for a kind and a strictness.
fn shape(join: &ast::Join) -> Result<(JoinType, Distinct)> {
    let outer = match join.kind {
        JoinKind::Inner | JoinKind::Cross | JoinKind::Paste => JoinType::Inner,
        JoinKind::Left => JoinType::Left,
        JoinKind::Right => JoinType::Right,
        JoinKind::Full => JoinType::Full,
    };
    let of_kind = |name: &str| Error::not_implemented(format!("{name} JOIN of this kind"));
    Ok(match (join.strictness, join.kind) {
        (None | Some(JoinStrictness::All), _) => (outer, Distinct::Neither),
        (Some(JoinStrictness::Any), JoinKind::Left) => (JoinType::Left, Distinct::Right),
        (Some(JoinStrictness::Any), JoinKind::Right) => (JoinType::Right, Distinct::Left),
        (Some(JoinStrictness::Any), JoinKind::Inner) => (JoinType::Inner, Distinct::Both),
        (Some(JoinStrictness::Any), _) => return Err(of_kind("ANY")),
        (Some(JoinStrictness::Semi), JoinKind::Right) => (JoinType::Inner, Distinct::Left),
        (Some(JoinStrictness::Semi), JoinKind::Left | JoinKind::Inner) => (JoinType::Inner, Distinct::Right),
        (Some(JoinStrictness::Semi), _) => return Err(of_kind("SEMI")),
        (Some(JoinStrictness::Anti), JoinKind::Right) => (JoinType::RightAnti, Distinct::Neither),
        (Some(JoinStrictness::Anti), JoinKind::Left | JoinKind::Inner) => {
            (JoinType::LeftAnti, Distinct::Neither)
        }
        (Some(JoinStrictness::Anti), _) => return Err(of_kind("ANTI")),
        (Some(JoinStrictness::Asof), _) => return Err(Error::not_implemented("ASOF JOIN")),
    })
}

fn bind_on(
    session: &Session<'_>,
    names: FromNames<'_>,
    scope: &Scope,
    expr: &ast::Expr,
) -> Result<Condition> {
    let binder = Binder::new(session, names.env, scope, names.aliases, &[]);
    let expr = binder.bind_filter(expr, "JOIN ON")?;
    correlated::refuse(&expr, "JOIN ON")?;
    if contains(&expr, |part| is_aggregate(part) || is_window(part) || is_unnest(part)) {
        return Err(Error::not_implemented("arrayJoin in JOIN ON"));
    }
    let mut others = Vec::new();
    let mut waiting = vec![expr];
    while let Some(expr) = waiting.pop() {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                waiting.extend([*right, *left])
            }
            other => others.push(other),
        }
    }
    // Join keys compare by their bits: NaN equals NaN, and needs no bounds.
    let compared: Vec<Expr> = others.iter().filter_map(equated).cloned().collect();
    others.retain(|expr| !bounded_by_infinity(expr).is_some_and(|value| compared.contains(value)));
    Ok(Condition { keys: Vec::new(), others })
}

/// The left side of an equality.
fn equated(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, .. }) => Some(left),
        _ => None,
    }
}

/// The expression that `expr` bounds by an infinity.
fn bounded_by_infinity(expr: &Expr) -> Option<&Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::LtEq | Operator::GtEq, right }) = expr else {
        return None;
    };
    match right.as_ref() {
        Expr::Literal(ScalarValue::Float64(Some(bound)), _) if bound.is_infinite() => Some(left),
        Expr::Literal(ScalarValue::Float32(Some(bound)), _) if bound.is_infinite() => Some(left),
        _ => None,
    }
}

/// The columns of USING: an equality for each, and one visible column for both.
fn bind_using(
    session: &Session<'_>,
    scope: &mut Scope,
    left_width: usize,
    names: &[String],
    kind: JoinKind,
) -> Result<(JoinKeys, Vec<ScopeColumn>)> {
    let mut keys = Vec::with_capacity(names.len());
    let mut merged = Vec::with_capacity(names.len());
    for name in names {
        let at = |range: std::ops::Range<usize>| {
            let is_it = |column: &ScopeColumn| column.name == *name && !column.only_qualified;
            range.into_iter().find(|&at| is_it(&scope.columns[at]))
        };
        let (Some(left_at), Some(right_at)) = (at(0..left_width), at(left_width..scope.columns.len())) else {
            return Err(scope.unknown(name, std::iter::empty()).within("in JOIN USING"));
        };
        let sides = [&scope.columns[left_at], &scope.columns[right_at]]
            .map(|column| stored(column).map(|expr| BoundExpr::new(expr.clone(), column.ty.clone())));
        let [left_side, right_side] = sides;
        let (unified, ty) = unify(vec![left_side?, right_side?], "JOIN USING", session.ctx)?;
        let [left_key, right_key] = unified.as_slice() else {
            return Err(Error::logical("two keys were unified"));
        };
        let value = match kind {
            JoinKind::Right => right_key.expr.clone(),
            JoinKind::Full => case(
                vec![(left_key.expr.clone().is_not_null(), left_key.expr.clone())],
                right_key.expr.clone(),
            ),
            _ => left_key.expr.clone(),
        };
        keys.push((left_key.expr.clone(), right_key.expr.clone()));
        merged.push(ScopeColumn {
            table: None,
            name: name.clone(),
            ty,
            value: ColumnValue::Plan(value),
            in_asterisk: true,
            only_qualified: false,
            is_constant: false,
        });
        for at in [left_at, right_at] {
            scope.columns[at].only_qualified = true;
            scope.columns[at].in_asterisk = false;
        }
    }
    Ok((keys, merged))
}

/// Moves the columns of USING before all others, which is their place in `*`.
fn merge_keys(session: &Session<'_>, scope: &mut Scope, mut merged: Vec<ScopeColumn>, join_type: JoinType) {
    if join_type == JoinType::Full && session.settings().join_use_nulls {
        for column in &mut merged {
            column.ty = column.ty.clone().into_nullable();
        }
    }
    // A key of an earlier USING without a table is hidden from here on.
    merged.extend(scope.columns.drain(..).filter(|column| column.table.is_some() || !column.only_qualified));
    scope.columns = merged;
}

/// Separates the equalities that compare one side with the other.
fn split_keys(condition: Condition, left: &LogicalPlan, right: &LogicalPlan) -> Condition {
    let is_of = |expr: &Expr, plan: &LogicalPlan| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.iter().all(|column| plan.schema().has_column(column))
    };
    let mut split = Condition { keys: condition.keys, others: Vec::new() };
    for expr in condition.others {
        match &expr {
            Expr::BinaryExpr(BinaryExpr { left: one, op: Operator::Eq, right: other }) => {
                if is_of(one, left) && is_of(other, right) {
                    split.keys.push((one.as_ref().clone(), other.as_ref().clone()));
                } else if is_of(other, left) && is_of(one, right) {
                    split.keys.push((other.as_ref().clone(), one.as_ref().clone()));
                } else {
                    split.others.push(expr);
                }
            }
            _ => split.others.push(expr),
        }
    }
    split
}

fn connect(
    mut left: LogicalPlan,
    mut right: LogicalPlan,
    join_type: JoinType,
    distinct: Distinct,
    condition: &mut Condition,
) -> Result<LogicalPlan> {
    if distinct != Distinct::Neither && !condition.others.is_empty() {
        return Err(Error::not_implemented("ANY or SEMI JOIN with a condition that is not an equality"));
    }
    let keys: Vec<(Expr, Expr)> = condition.keys.drain(..).collect();
    if matches!(distinct, Distinct::Left | Distinct::Both) {
        left = float_keys::limit_by(left, keys.iter().map(|(key, _)| key.clone()).collect(), 0, 1)?;
    }
    if matches!(distinct, Distinct::Right | Distinct::Both) {
        right = float_keys::limit_by(right, keys.iter().map(|(_, key)| key.clone()).collect(), 0, 1)?;
    }
    let mut conditions = Vec::with_capacity(keys.len() + condition.others.len());
    for (left_key, right_key) in keys {
        let left_key = float_keys::key(left_key, left.schema())?;
        conditions.push(left_key.eq(float_keys::key(right_key, right.schema())?));
    }
    conditions.append(&mut condition.others);
    LogicalPlanBuilder::from(left)
        .join_on(right, join_type, conditions)
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)
}

/// Fills the columns of rows without a match: defaults, or NULL under `join_use_nulls`.
fn fill_unmatched(
    session: &Session<'_>,
    scope: &mut Scope,
    left_width: usize,
    join_type: JoinType,
) -> Result<()> {
    let (left_missing, right_missing) = match join_type {
        JoinType::Left | JoinType::LeftAnti => (false, true),
        JoinType::Right | JoinType::RightAnti => (true, false),
        JoinType::Full => (true, true),
        _ => (false, false),
    };
    let absent = matches!(join_type, JoinType::LeftAnti | JoinType::RightAnti);
    let use_nulls = session.settings().join_use_nulls;
    for (at, column) in scope.columns.iter_mut().enumerate() {
        let missing = if at < left_width { left_missing } else { right_missing };
        if !missing {
            continue;
        }
        let ColumnValue::Plan(expr) = &column.value else {
            continue;
        };
        column.is_constant = false;
        if use_nulls {
            column.ty = column.ty.clone().into_nullable();
        }
        let value = if absent {
            let array = column.ty.default_array(1);
            let value = datafusion::common::ScalarValue::try_from_array(&array, 0).map_err(Error::logical)?;
            Expr::Literal(value, None)
        } else {
            or_default(expr.clone(), &column.ty)?
        };
        column.value = ColumnValue::Plan(value);
    }
    Ok(())
}
