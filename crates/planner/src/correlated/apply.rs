//! Computes the correlated subqueries of a clause.

use std::cell::RefCell;
use std::collections::HashSet;

use basalt_base::{Error, Result};
use datafusion::common::{Column as PlanColumn, ScalarValue, TableReference};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder};

use super::call::{Correlated, CorrelatedKind};
use super::unnest::{Domain, Unnested};
use crate::bound_expr::{all_of, collect, contains, is_unnest, is_window, or_default, replace};
use crate::float_keys;
use crate::float_keys::limit_by;
use crate::plan::{self, aliased, plan_error, projected, shared};
use crate::scope::{bare_column, plan_column};
use crate::session::Session;

/// Whether `expr` contains a correlated subquery.
pub(crate) fn is_correlated(expr: &Expr) -> bool {
    contains(expr, |part| Correlated::of(part).is_some())
}

/// Refuses a correlated subquery in a clause that cannot compute it.
pub(crate) fn refuse(expr: &Expr, clause: &str) -> Result<()> {
    match is_correlated(expr) {
        true => Err(Error::not_implemented(format!("a correlated subquery in {clause}"))),
        false => Ok(()),
    }
}

/// Adds columns with the results of the correlated subqueries in `exprs` to `plan`, and returns each call with its
/// column. Columns of `plan` that neither `exprs` nor `others` use are dropped.
pub(crate) fn apply<'e, 'o>(
    session: &Session<'_>,
    plan: LogicalPlan,
    exprs: impl Iterator<Item = &'e Expr> + Clone,
    others: impl Iterator<Item = &'o Expr>,
) -> Result<(LogicalPlan, Vec<(Expr, Expr)>)> {
    let mut calls = Vec::new();
    for expr in exprs.clone() {
        inner_first(expr, &mut calls);
    }
    if calls.is_empty() {
        return Ok((plan, Vec::new()));
    }
    let base = read_twice(plan, exprs, others)?;
    let mut plan = base.clone();
    let mut replacements: Vec<(Expr, Expr)> = Vec::new();
    for call in calls {
        let replaced = replace_inside(&call, &replacements)?;
        let (with_column, column) = apply_one(session, &base, plan, &replaced)?;
        plan = with_column;
        if replaced != call {
            replacements.insert(0, (replaced, column.clone()));
        }
        // The outer call must be replaced before the calls inside it.
        replacements.insert(0, (call, column));
    }
    Ok((plan, replacements))
}

/// The rows of `plan` that satisfy `condition`. The conjuncts without correlated subqueries are applied first, to
/// keep the domains small.
pub(crate) fn filtered<'e>(
    session: &Session<'_>,
    plan: LogicalPlan,
    condition: Expr,
    others: impl Iterator<Item = &'e Expr>,
) -> Result<LogicalPlan> {
    if !is_correlated(&condition) {
        return plan::filtered(plan, condition);
    }
    let (late, early): (Vec<Expr>, Vec<Expr>) =
        split_conjunction_owned(condition).into_iter().partition(is_correlated);
    let plan = match all_of(early) {
        Some(early) => plan::filtered(plan, early)?,
        None => plan,
    };
    let (mut plan, columns) = apply(session, plan, late.iter(), others)?;
    for condition in late {
        plan = plan::filtered(plan, replace(condition, &columns)?)?;
    }
    Ok(plan)
}

/// `plan` in a form that gives the same rows each time it is read. If it may not, the columns that the expressions
/// use are computed once and shared.
fn read_twice<'e, 'o>(
    plan: LogicalPlan,
    exprs: impl Iterator<Item = &'e Expr>,
    others: impl Iterator<Item = &'o Expr>,
) -> Result<LogicalPlan> {
    if is_repeatable(&plan) {
        return Ok(plan);
    }
    let mut named: HashSet<&PlanColumn> = HashSet::new();
    for expr in exprs {
        named.extend(expr.column_refs());
    }
    for expr in others {
        named.extend(expr.column_refs());
    }
    let mut columns = plan.schema().columns();
    columns.retain(|column| named.contains(column));
    Ok(shared(projected(plan, columns.into_iter().map(Expr::Column).collect())?))
}

/// Whether a plan gives the same rows on each run and consists of scans and streaming operators only.
fn is_repeatable(plan: &LogicalPlan) -> bool {
    let streams = matches!(
        plan,
        LogicalPlan::TableScan(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Projection(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Unnest(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::EmptyRelation(_)
    );
    streams
        && !plan.expressions().iter().any(Expr::is_volatile)
        && plan.inputs().into_iter().all(is_repeatable)
}

/// The calls in `expr`, each once, inner calls first.
fn inner_first(expr: &Expr, calls: &mut Vec<Expr>) {
    let mut found = Vec::new();
    collect(expr, |part| Correlated::of(part).is_some(), &mut found);
    for call in found {
        if let Some((_, args)) = Correlated::of(&call) {
            for arg in args {
                inner_first(arg, calls);
            }
        }
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
}

/// The call with `replacements` applied to its arguments.
fn replace_inside(call: &Expr, replacements: &[(Expr, Expr)]) -> Result<Expr> {
    let Expr::ScalarFunction(function) = call else {
        return Ok(call.clone());
    };
    let mut function = function.clone();
    for arg in &mut function.args {
        *arg = replace(std::mem::take(arg), replacements)?;
    }
    Ok(Expr::ScalarFunction(function))
}

/// Adds the results of `call` to `plan`, and returns the expression that replaces the call. The domain is read from
/// `base`, which is `plan` without the results of other calls, unless the arguments need them.
fn apply_one(
    session: &Session<'_>,
    base: &LogicalPlan,
    mut plan: LogicalPlan,
    call: &Expr,
) -> Result<(LogicalPlan, Expr)> {
    let Some((subquery, args)) = Correlated::of(call) else {
        return Err(Error::logical("a call of a correlated subquery was looked for"));
    };
    if args.iter().any(|arg| contains(arg, is_window) || contains(arg, is_unnest)) {
        return Err(Error::not_implemented(
            "a window function or arrayJoin that a correlated subquery names",
        ));
    }
    let values = &args[..subquery.arguments.len()];
    let in_base = |value: &Expr| value.column_refs().iter().all(|column| base.schema().has_column(column));
    let mut rows = base.clone();
    if !values.iter().all(in_base) {
        plan = shared(plan);
        rows = plan.clone();
    }
    let domain = Domain {
        session,
        relation: &subquery.relation,
        arguments: &subquery.arguments,
        plan: distinct_arguments(rows, values, subquery)?,
        shared: RefCell::default(),
    };
    let answers = Answers::of(session, subquery, domain.unnest(subquery.plan.clone())?)?;
    let (plan, args) = with_columns(session, plan, args)?;
    let (values, operands) = args.split_at(subquery.arguments.len());
    let mut on = domain.same_arguments(values, &answers.keys)?;
    for (operand, member) in operands.iter().zip(answers.values) {
        let operand = float_keys::key(operand.clone(), plan.schema())?;
        on.push((operand, float_keys::key(member, answers.plan.schema())?));
    }
    let on: (Vec<Expr>, Vec<Expr>) = on.into_iter().unzip();
    let plan = LogicalPlanBuilder::from(plan)
        .join_with_expr_keys(answers.plan, JoinType::Left, on, None)
        .and_then(LogicalPlanBuilder::build)
        .map_err(plan_error)?;
    let value = match subquery.kind {
        CorrelatedKind::Scalar => or_default(answers.value, &subquery.ty)?,
        CorrelatedKind::Exists | CorrelatedKind::In => answers.value.is_not_null(),
    };
    Ok((plan, value))
}

/// Join keys must be columns of the input, so an argument from an outer query becomes a column of `plan`.
fn with_columns(session: &Session<'_>, plan: LogicalPlan, args: &[Expr]) -> Result<(LogicalPlan, Vec<Expr>)> {
    let mut exprs: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    let before = exprs.len();
    let mut keys = args.to_vec();
    for key in keys.iter_mut().filter(|key| key.column_refs().is_empty()) {
        let name = session.unique("__value");
        exprs.push(std::mem::replace(key, bare_column(&name)).alias(&name));
    }
    let plan = if exprs.len() > before { projected(plan, exprs)? } else { plan };
    Ok((plan, keys))
}

fn distinct_arguments(rows: LogicalPlan, values: &[Expr], subquery: &Correlated) -> Result<LogicalPlan> {
    let named = values.iter().zip(&subquery.arguments);
    float_keys::distinct(projected(
        rows,
        named.map(|(value, argument)| value.clone().alias(&argument.name)).collect(),
    )?)
}

/// The rows of a subquery as they are joined back: at most one for each row of the outer query.
struct Answers {
    plan: LogicalPlan,
    /// Columns with the arguments.
    keys: Vec<Expr>,
    /// Columns to compare with the operands of IN.
    values: Vec<Expr>,
    /// Not NULL where a row was found, or the value of a scalar subquery.
    value: Expr,
}

impl Answers {
    fn of(session: &Session<'_>, subquery: &Correlated, unnested: Unnested) -> Result<Answers> {
        let (relation, mark) = (session.unique("__subquery"), session.unique("__mark"));
        let names: Vec<String> = unnested.keys.iter().map(|_| session.unique("__key")).collect();
        let members: Vec<String> = match subquery.kind {
            CorrelatedKind::In => subquery.columns.iter().map(|_| session.unique("__member")).collect(),
            CorrelatedKind::Scalar | CorrelatedKind::Exists => Vec::new(),
        };
        let keys = unnested.keys.into_iter().zip(&names);
        let mut exprs: Vec<Expr> = keys.map(|(key, name)| Expr::Column(key).alias(name)).collect();
        exprs.extend(subquery.columns.iter().zip(&members).map(|(from, to)| bare_column(from).alias(to)));
        let mut row: Vec<Expr> = names.iter().chain(&members).map(|name| bare_column(name)).collect();
        let plan = match (&subquery.kind, subquery.columns.first()) {
            (CorrelatedKind::Scalar, Some(column)) => {
                exprs.push(bare_column(column).alias(&mark));
                let plan = projected(unnested.plan, exprs)?;
                if unnested.has_one_row { plan } else { limit_by(plan, row, 0, 1)? }
            }
            _ => {
                row.push(Expr::Literal(ScalarValue::UInt8(Some(1)), None).alias(&mark));
                projected(float_keys::distinct(projected(unnested.plan, exprs)?)?, row)?
            }
        };
        let plan = aliased(plan, &relation)?;
        let relation = TableReference::bare(relation);
        let column = |name: &String| plan_column(&relation, name);
        let (keys, values) = (names.iter().map(column).collect(), members.iter().map(column).collect());
        Ok(Answers { plan, keys, values, value: plan_column(&relation, &mark) })
    }
}
