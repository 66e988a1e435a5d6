//! The end of a SELECT: projection, DISTINCT, ORDER BY, LIMIT BY, LIMIT.
//!
//! Keys of ORDER BY and LIMIT BY that are not result columns are added to the projection and dropped at the end.

use std::collections::HashSet;

use basalt_base::{Column, Result};
use basalt_exec::row_order;
use basalt_sql::ast;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SortExpr};

use super::bound_clauses::BoundClauses;
use super::limit;
use super::order_by::sort_key;
use crate::bound_expr::BoundExpr;
use crate::expr::Binder;
use crate::float_keys;
use crate::plan::{Subplan, plan_error, projected};
use crate::scope::bare_column;

/// The columns that the projection computes.
struct Projection {
    names: Vec<String>,
    values: Vec<BoundExpr>,
    /// The number of result columns; the columns after them are keys.
    results: usize,
}

impl Projection {
    /// The column with `key`; adds one unless a result column has it.
    fn column_of(&mut self, key: BoundExpr) -> BoundExpr {
        let key = key.into_value();
        if key.constant().is_some() {
            return key;
        }
        let at = match self.values.iter().position(|value| value.expr == key.expr) {
            Some(at) => at,
            None => {
                self.names.push(format!("__sort_{}", self.names.len()));
                self.values.push(key.clone());
                self.values.len() - 1
            }
        };
        BoundExpr::new(bare_column(&self.names[at]), key.ty)
    }

    fn exprs(&self) -> Vec<Expr> {
        self.values.iter().zip(&self.names).map(|(value, name)| value.expr.clone().alias(name)).collect()
    }

    fn result_columns(&self) -> Vec<Expr> {
        self.names[..self.results].iter().map(|name| bare_column(name)).collect()
    }
}

pub(super) fn plan(
    binder: &Binder<'_>,
    select: &ast::Select,
    clauses: BoundClauses,
    input: LogicalPlan,
    totals: Option<LogicalPlan>,
) -> Result<Subplan> {
    let BoundClauses { items, order_by, limit_by, .. } = clauses;
    let values: Vec<BoundExpr> = items.iter().map(|item| item.bound.clone().into_value()).collect();
    let columns: Vec<Column> =
        items.iter().zip(&values).map(|(item, value)| Column::new(&item.name, value.ty.clone())).collect();
    let constants = values.iter().map(|value| value.constant().is_some()).collect();
    let names = distinct_names(&columns);
    let results = names.len();
    let mut projection = Projection { names, values, results };
    let totals = totals.map(|totals| projected(totals, projection.exprs())).transpose()?;
    let sort: Vec<SortExpr> = order_by
        .into_iter()
        .map(|(key, order)| (projection.column_of(key), order))
        .filter(|(key, _)| key.constant().is_none())
        .flat_map(|(key, order)| sort_key(key, &order))
        .collect();
    let limit_keys: Vec<Expr> = limit_by.into_iter().map(|key| projection.column_of(key).expr).collect();
    let mut plan = projected(input, projection.exprs())?;
    let mut has_hidden = projection.names.len() > projection.results;
    if select.distinct {
        plan = row_order::kept(plan).map_err(plan_error)?;
        plan = if has_hidden {
            float_keys::limit_by(plan, projection.result_columns(), 0, 1)?
        } else {
            float_keys::distinct(plan)?
        };
    }
    if !sort.is_empty() {
        plan = LogicalPlanBuilder::from(plan)
            .sort(sort.clone())
            .and_then(LogicalPlanBuilder::build)
            .map_err(plan_error)?;
    }
    plan = apply_limit_by(binder, select, limit_keys, plan)?;
    if select.with_ties {
        plan = limit::with_ties(binder, select, sort, plan)?;
        has_hidden = true;
    } else {
        plan = limit::apply(binder, select, plan)?;
    }
    if has_hidden {
        plan = projected(plan, projection.result_columns())?;
    }
    projection.names.truncate(results);
    Ok(Subplan { plan, columns, names: projection.names, constants, totals })
}

fn apply_limit_by(
    binder: &Binder<'_>,
    select: &ast::Select,
    keys: Vec<Expr>,
    plan: LogicalPlan,
) -> Result<LogicalPlan> {
    let (offset, limit) = match &select.limit_by {
        Some(limit_by) => {
            let offset = limit::count(binder, limit_by.offset.as_ref(), "OFFSET of LIMIT BY")?;
            let limit = limit::count(binder, Some(&limit_by.limit), "LIMIT BY")?;
            (offset.unwrap_or(0), limit.unwrap_or(u64::MAX))
        }
        None if !select.distinct_on.is_empty() => (0, 1),
        None => return Ok(plan),
    };
    // ORDER BY decides which rows come first.
    let plan = row_order::kept(plan).map_err(plan_error)?;
    float_keys::limit_by(plan, keys, offset, limit)
}

/// The names of the columns, with a number appended to repeated ones.
pub(super) fn distinct_names(columns: &[Column]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(columns.len());
    let wanted: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    columns
        .iter()
        .map(|column| {
            let mut name = column.name.clone();
            let mut count = 1;
            while name.is_empty() || taken.contains(&name) || (count > 1 && wanted.contains(name.as_str())) {
                count += 1;
                name = format!("{}_{count}", column.name);
            }
            taken.insert(name.clone());
            name
        })
        .collect()
}
