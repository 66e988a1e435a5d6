//! A query: its SELECTs, clause by clause in the order in which they apply.

use std::rc::Rc;

use basalt_base::{Error, Result, bail};
use basalt_functions::prewhere::Prewhere;
use basalt_sql::ast;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::bound_clauses::BoundClauses;
use super::relation::FromNames;
use super::{assembly, from, group_by, inner_totals, items, random, set_operation, totals, unnest};
use crate::bound_expr::{all_of, replace};
use crate::correlated;
use crate::expr::Binder;
use crate::names::canonical;
use crate::plan::Subplan;
use crate::scope::{Aliases, Env, Scope, ScopeTable};
use crate::session::Session;

/// Plans a subquery or the outermost query.
pub(crate) fn plan_subquery(session: &Session<'_>, env: &Env, query: &ast::Query) -> Result<Subplan> {
    let _depth = session.enter_query()?;
    let planned = plan_body(session, env, &query.body)?;
    session.add_settings(&query.settings);
    Ok(planned)
}

/// Plans one SELECT, a query in parentheses, or a set operation.
pub(crate) fn plan_body(session: &Session<'_>, env: &Env, body: &ast::SetExpr) -> Result<Subplan> {
    match body {
        ast::SetExpr::Select(select) => plan_select(session, env, select),
        ast::SetExpr::Nested(query) => plan_subquery(session, env, query),
        ast::SetExpr::Operation { op, left, right } => set_operation::plan(session, env, *op, left, right),
    }
}

fn plan_select(session: &Session<'_>, env: &Env, select: &ast::Select) -> Result<Subplan> {
    refuse_missing(select)?;
    let _settings = session.enter_settings(&select.settings)?;
    let env = &env.extended(&select.with);
    let aliases = aliases_of(env, select, session.ctx.postgres.is_some())?;
    let names = FromNames { env, aliases: &aliases };
    let relation = from::plan(session, names, select.from.as_ref())?;
    if select.prewhere.is_some() {
        check_prewhere(&relation.scope)?;
    }
    let binder = Binder::new(session, env, &relation.scope, &aliases, &select.windows);
    let items = items::bind(&binder, &select.items)?;
    binder.check_windows()?;
    let mut filters = Vec::new();
    if let Some(filter) = &select.prewhere {
        filters.extend(Prewhere::mark(binder.bind_filter(filter, "PREWHERE")?));
    }
    if let Some(filter) = &select.filter {
        if matches!(filter, ast::Expr::Asterisk { .. } | ast::Expr::ColumnsMatching(_)) {
            bail!(
                UnexpectedExpression,
                "`{}` is a list of columns: WHERE takes a condition",
                canonical(filter)
            );
        }
        filters.push(binder.bind_filter(filter, "WHERE")?);
    }
    let mut clauses = BoundClauses::bind(&binder, select, items)?;
    let sets = group_by::bind_keys(&binder, select, &mut clauses)?;
    let mut totals = relation.totals;
    let mut plan = match all_of(filters) {
        Some(filter) => filter_rows(session, relation.plan, filter, &mut clauses, &mut totals)?,
        None => relation.plan,
    };
    plan = clauses.unfold_arrays(session, plan, &mut totals)?;
    let grouped = group_by::plan(session, &sets, select.with_totals, &mut clauses, plan, &mut totals)?;
    if select.with_totals {
        totals = Some(totals::plan(session, &grouped, &clauses)?);
    }
    session.add_settings(&select.settings);
    assembly::plan(&binder, select, clauses, grouped.plan, totals)
}

/// WHERE. Later clauses reuse the arrays that it unfolds and the random values that it draws.
fn filter_rows(
    session: &Session<'_>,
    plan: LogicalPlan,
    mut filter: Expr,
    clauses: &mut BoundClauses,
    totals: &mut Option<LogicalPlan>,
) -> Result<LogicalPlan> {
    let (plan, drawn) = random::draw(session, plan, std::iter::once(&filter))?;
    filter = replace(filter, &drawn)?;
    let (plan, unfolded) = unnest::unfold(session, plan, std::slice::from_mut(&mut filter))?;
    clauses.replace(&drawn)?;
    clauses.replace(&unfolded)?;
    inner_totals::follow(totals, &drawn)?;
    inner_totals::follow(totals, &unfolded)?;
    correlated::filtered(session, plan, filter, clauses.exprs())
}

/// Refuses clauses that the parser accepts and the planner does not support.
fn refuse_missing(select: &ast::Select) -> Result<()> {
    if select.with_recursive {
        return Err(Error::not_implemented("WITH RECURSIVE"));
    }
    if !select.interpolate.is_empty() || select.order_by.iter().any(|order| order.fill.is_some()) {
        return Err(Error::not_implemented("WITH FILL"));
    }
    if let Some(order) = select.order_by.iter().find(|order| order.collate.is_some()) {
        return Err(Error::not_implemented(format!("COLLATE in ORDER BY {}", canonical(&order.expr))));
    }
    if select.items.is_empty() {
        bail!(SyntaxError, "a SELECT needs at least one expression");
    }
    Ok(())
}

/// PREWHERE needs a table that reads its columns one after another.
fn check_prewhere(scope: &Scope) -> Result<()> {
    if scope.tables.iter().any(|table| table.has_prewhere) {
        return Ok(());
    }
    let names: Vec<String> = scope.tables.iter().map(ScopeTable::display).collect();
    let what = match names.join(", ") {
        names if names.is_empty() => "a SELECT without a table".to_owned(),
        names => format!("`{names}`"),
    };
    bail!(IllegalPrewhere, "{what} does not support PREWHERE, which is for MergeTree tables: use WHERE")
}

/// Every alias of this SELECT: from WITH, the list, and `(x AS name)` anywhere.
fn aliases_of(env: &Env, select: &ast::Select, is_postgres: bool) -> Result<Aliases> {
    let mut own = Aliases::default();
    for cte in &select.with {
        if let ast::Cte::Expr { name, value } = cte {
            own.define(name, Rc::new(value.clone()))?;
        }
    }
    for item in &select.items {
        items::collect_aliases(&item.expr, &mut own)?;
        match &item.alias {
            // By Postgres' rules, columns of the result may share a name.
            Some(alias) if is_postgres && own.get(alias).is_some() => {}
            Some(alias) => own.define(alias, Rc::new(item.expr.clone()))?,
            None => {}
        }
    }
    let conditions = select.prewhere.iter().chain(&select.filter).chain(&select.having);
    for expr in conditions.chain(select.order_by.iter().map(|order| &order.expr)) {
        items::collect_aliases(expr, &mut own)?;
    }
    let mut aliases = Aliases::of_env(env);
    aliases.extend(own);
    Ok(aliases)
}
