//! FROM: tables, table functions, subqueries and WITH queries as relations.

use std::rc::Rc;

use basalt_base::{Column, Result, bail};
use basalt_functions::prewhere::Prewhere;
use basalt_sql::ast;
use datafusion::common::TableReference;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};

use super::query::plan_subquery;
use super::relation::{FromNames, derived, one_row};
use super::{array_join, join};
use crate::bound_expr::BoundExpr;
use crate::expr::{Binder, convert};
use crate::plan::{Subplan, filtered, plan_error, projected};
use crate::scope::{
    Aliases, ColumnValue, CteQuery, Env, Relation, Scope, ScopeColumn, ScopeTable, plan_column,
};
use crate::session::Session;
use crate::{ResolvedTable, RowFilter, TableOptions};

/// More rows than a table can have.
const ROWS_MAX: usize = usize::MAX >> 1;

pub(super) fn plan(
    session: &Session<'_>,
    names: FromNames<'_>,
    from: Option<&ast::TableExpr>,
) -> Result<Relation> {
    match from {
        Some(expr) => plan_expr(session, names, expr),
        None => Ok(one_row()),
    }
}

fn plan_expr(session: &Session<'_>, names: FromNames<'_>, expr: &ast::TableExpr) -> Result<Relation> {
    let _depth = session.enter_expr()?;
    match expr {
        ast::TableExpr::Factor(factor) => plan_factor(session, names.env, factor),
        ast::TableExpr::Join(join) => {
            join::check(session, join)?;
            let left = plan_expr(session, names, &join.left)?;
            let right = plan_expr(session, names, &join.right)?;
            join::plan(session, names, join, left, right)
        }
        ast::TableExpr::ArrayJoin(array_join) => {
            let input = plan_expr(session, names, &array_join.input)?;
            array_join::plan(session, names, array_join, input)
        }
    }
}

fn plan_factor(session: &Session<'_>, env: &Env, factor: &ast::TableFactor) -> Result<Relation> {
    match factor {
        ast::TableFactor::Table { name, alias, is_final, sample } => {
            let cte = if name.database.is_none() { env.query(&name.name) } else { None };
            if let Some(cte) = cte {
                if *is_final || sample.is_some() {
                    bail!(UnsupportedMethod, "`{name}` is a query of WITH: FINAL and SAMPLE are for tables");
                }
                return plan_cte(session, &cte, alias.as_deref());
            }
            let options = TableOptions { is_final: *is_final, sample: sample.clone() };
            let resolved = session.ctx.catalog.table(name, &options)?;
            // By Postgres' rules, an alias hides the table's own name for good.
            let keeps_name = alias.is_some() && session.ctx.postgres.is_none();
            let table = ScopeTable {
                database: name.database.clone(),
                name: alias.clone().unwrap_or_else(|| name.name.clone()),
                original: keeps_name.then(|| name.name.clone()),
                has_prewhere: false,
            };
            plan_resolved(session, resolved, table)
        }
        ast::TableFactor::Function { call, alias } => {
            let resolved = session.ctx.catalog.table_function(call, session.ctx)?;
            let name = alias.clone().unwrap_or_else(|| call.name.clone());
            plan_resolved(session, resolved, ScopeTable { name, ..ScopeTable::default() })
        }
        ast::TableFactor::Subquery { query, alias } => {
            let planned = plan_subquery(session, env, query)?;
            let table = ScopeTable { name: alias.clone().unwrap_or_default(), ..ScopeTable::default() };
            derived(session, planned, table)
        }
        ast::TableFactor::Renamed { factor, columns } => {
            let mut relation = plan_factor(session, env, factor)?;
            rename_scope(&mut relation.scope, columns)?;
            Ok(relation)
        }
    }
}

/// `AS t (a, b)`: renames the columns of `*`.
fn rename_scope(scope: &mut Scope, names: &[String]) -> Result<()> {
    let columns = scope.columns.iter_mut().filter(|column| column.in_asterisk).collect::<Vec<_>>();
    if columns.len() != names.len() {
        let (expected, given) = (columns.len(), names.len());
        bail!(BadArguments, "{given} names after the alias of a table with {expected} columns");
    }
    for (column, name) in columns.into_iter().zip(names) {
        column.name.clone_from(name);
    }
    Ok(())
}

fn plan_cte(session: &Session<'_>, cte: &Rc<CteQuery>, alias: Option<&str>) -> Result<Relation> {
    session.count_expansion()?;
    let mut planned = plan_subquery(session, &cte.env, &cte.query)?;
    if !cte.columns.is_empty() {
        rename(&mut planned.columns, &cte.columns, &cte.name)?;
    }
    let name = alias.unwrap_or(&cte.name).to_owned();
    derived(session, planned, ScopeTable { name, ..ScopeTable::default() })
}

fn rename(columns: &mut [Column], names: &[String], what: &str) -> Result<()> {
    if columns.len() != names.len() {
        bail!(BadArguments, "`{what}` names {} columns, its query has {}", names.len(), columns.len());
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    Ok(())
}

fn plan_resolved(session: &Session<'_>, resolved: ResolvedTable, mut table: ScopeTable) -> Result<Relation> {
    match resolved {
        ResolvedTable::View { query, columns } => {
            session.count_expansion()?;
            let planned = plan_subquery(session, &Env::default(), &query)?;
            let planned = as_columns(session, planned, &columns)?;
            derived(session, planned, table)
        }
        ResolvedTable::Source { columns, source, filter, row_filter, has_prewhere } => {
            table.has_prewhere = has_prewhere;
            let relation = TableReference::bare(session.unique(&table.name));
            let plan = LogicalPlanBuilder::scan(relation.clone(), source, None)
                .and_then(LogicalPlanBuilder::build)
                .map_err(plan_error)?;
            let columns = columns
                .into_iter()
                .map(|column| ScopeColumn {
                    table: Some(0),
                    value: match column.value {
                        None => ColumnValue::Plan(plan_column(&relation, &column.column.name)),
                        Some(expr) => ColumnValue::Alias(Rc::new(expr)),
                    },
                    name: column.column.name,
                    ty: column.column.ty,
                    in_asterisk: column.in_asterisk,
                    only_qualified: false,
                    is_constant: false,
                })
                .collect();
            let scope = Scope { tables: vec![table], columns };
            let plan = restricted(session, plan, &scope, row_filter, filter)?;
            Ok(Relation { plan, scope, totals: None })
        }
    }
}

/// The rows of a table that row policies and SAMPLE leave.
fn restricted(
    session: &Session<'_>,
    mut plan: LogicalPlan,
    scope: &Scope,
    row_filter: Option<RowFilter>,
    filter: Option<Box<ast::Expr>>,
) -> Result<LogicalPlan> {
    if row_filter.is_none() && filter.is_none() {
        return Ok(plan);
    }
    let (env, aliases) = (Env::default(), Aliases::default());
    let binder = Binder::new(session, &env, scope, &aliases, &[]);
    if let Some(RowFilter { condition, comes_first }) = row_filter {
        let condition = binder.bind_filter(&condition, "a row policy")?;
        plan = filtered(plan, Prewhere::mark_of_policy(condition))?;
        if !comes_first {
            // A condition is not moved below a LIMIT.
            plan = LogicalPlanBuilder::from(plan)
                .limit(0, Some(ROWS_MAX))
                .and_then(LogicalPlanBuilder::build)
                .map_err(plan_error)?;
        }
    }
    match filter {
        Some(filter) => filtered(plan, binder.bind_filter(&filter, "SAMPLE")?),
        None => Ok(plan),
    }
}

/// The rows of a view under the names and types of its CREATE statement.
fn as_columns(session: &Session<'_>, planned: Subplan, columns: &[Column]) -> Result<Subplan> {
    if columns.is_empty() || planned.columns == columns {
        return Ok(planned);
    }
    let mut renamed = planned.columns.clone();
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    rename(&mut renamed, &names, "the view")?;
    let exprs = planned
        .names
        .iter()
        .zip(planned.columns.iter().zip(columns))
        .map(|(name, (from, to))| {
            let value = BoundExpr::new(crate::scope::bare_column(name), from.ty.clone());
            Ok(convert(value, &to.ty, session.ctx)?.expr.alias(name))
        })
        .collect::<Result<Vec<_>>>()?;
    let totals = planned.totals.clone().map(|totals| projected(totals, exprs.clone())).transpose()?;
    let plan = projected(planned.plan.clone(), exprs)?;
    Ok(Subplan { plan, totals, columns: columns.to_vec(), ..planned })
}
