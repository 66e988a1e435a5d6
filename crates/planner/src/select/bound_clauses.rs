//! The bound expressions of the clauses of one SELECT.
//!
//! Every clause is bound over the tables in FROM. As the plan grows (arrays unfolded, groups formed, windows
//! computed), computed parts of the expressions are replaced by the columns that hold them.

use basalt_base::Result;
use basalt_sql::ast;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::items::Item;
use super::{inner_totals, order_by, unnest};
use crate::bound_expr::{BoundExpr, replace};
use crate::correlated;
use crate::expr::Binder;
use crate::session::Session;

/// By Postgres' rules, a bare name in ORDER BY is a column of the result, if there is one of that name.
fn output_column(binder: &Binder<'_>, expr: &ast::Expr, items: &[Item]) -> Option<BoundExpr> {
    binder.session.ctx.postgres?;
    match expr {
        ast::Expr::Identifier(parts) if parts.len() == 1 => {
            let exact = items.iter().find(|item| item.name == parts[0]);
            let found = exact.or_else(|| items.iter().find(|item| item.name.eq_ignore_ascii_case(&parts[0])));
            found.map(|item| item.bound.clone())
        }
        _ => None,
    }
}

#[derive(Clone, Debug)]
pub(super) struct BoundClauses {
    pub(super) items: Vec<Item>,
    /// The distinct keys of GROUP BY.
    pub(super) keys: Vec<BoundExpr>,
    pub(super) having: Option<BoundExpr>,
    pub(super) qualify: Option<BoundExpr>,
    pub(super) order_by: Vec<(BoundExpr, ast::OrderBy)>,
    /// The keys of DISTINCT ON or LIMIT BY.
    pub(super) limit_by: Vec<BoundExpr>,
}

impl BoundClauses {
    pub(super) fn bind(binder: &Binder<'_>, select: &ast::Select, items: Vec<Item>) -> Result<BoundClauses> {
        let condition = |expr: &Option<ast::Expr>| expr.as_ref().map(|expr| binder.bind(expr)).transpose();
        let (having, qualify) = (condition(&select.having)?, condition(&select.qualify)?);
        let mut order_keys = Vec::with_capacity(select.order_by.len());
        for order in &select.order_by {
            let key = match output_column(binder, &order.expr, &items) {
                Some(key) => key,
                None => order_by::bind_key(binder, &order.expr, &items, "ORDER BY")?,
            };
            order_keys.push((key, order.clone()));
        }
        if select.order_by_all {
            let order = ast::OrderBy {
                expr: ast::Expr::Literal(ast::Literal::Null),
                descending: false,
                nulls_first: None,
                collate: None,
                fill: None,
            };
            order_keys.extend(items.iter().map(|item| (item.bound.clone(), order.clone())));
        }
        let keys = match &select.limit_by {
            Some(limit_by) => limit_by.exprs.as_slice(),
            None => select.distinct_on.as_slice(),
        };
        let mut limit_by = Vec::with_capacity(keys.len());
        for key in keys {
            limit_by.push(order_by::bind_key(binder, key, &items, "LIMIT BY")?);
        }
        Ok(BoundClauses { items, keys: Vec::new(), having, qualify, order_by: order_keys, limit_by })
    }

    /// All expressions.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.bounds().map(|bound| &bound.expr)
    }

    fn bounds(&self) -> impl Iterator<Item = &BoundExpr> {
        let items = self.items.iter().map(|item| &item.bound);
        let order_by = self.order_by.iter().map(|(key, _)| key);
        items.chain(&self.keys).chain(&self.having).chain(&self.qualify).chain(order_by).chain(&self.limit_by)
    }

    fn bounds_mut(&mut self) -> impl Iterator<Item = &mut BoundExpr> {
        let items = self.items.iter_mut().map(|item| &mut item.bound);
        let order_by = self.order_by.iter_mut().map(|(key, _)| key);
        items
            .chain(&mut self.keys)
            .chain(&mut self.having)
            .chain(&mut self.qualify)
            .chain(order_by)
            .chain(&mut self.limit_by)
    }

    pub(super) fn replace(&mut self, replacements: &[(Expr, Expr)]) -> Result<()> {
        for bound in self.bounds_mut() {
            let expr = std::mem::take(&mut bound.expr);
            bound.expr = replace(expr, replacements)?;
        }
        Ok(())
    }

    /// Computes the correlated subqueries in `exprs`, which are parts of these clauses.
    pub(super) fn compute_subqueries(
        &mut self,
        session: &Session<'_>,
        plan: LogicalPlan,
        exprs: &[Expr],
    ) -> Result<LogicalPlan> {
        let (plan, columns) = correlated::apply(session, plan, exprs.iter(), self.exprs())?;
        self.replace(&columns)?;
        Ok(plan)
    }

    /// Unfolds arrays outside of aggregates: see [`unnest::unfold`].
    pub(super) fn unfold_arrays(
        &mut self,
        session: &Session<'_>,
        plan: LogicalPlan,
        totals: &mut Option<LogicalPlan>,
    ) -> Result<LogicalPlan> {
        let mut exprs: Vec<Expr> = self.exprs().cloned().collect();
        let (plan, unfolded) = unnest::unfold(session, plan, &mut exprs)?;
        for (bound, expr) in self.bounds_mut().zip(exprs) {
            bound.expr = expr;
        }
        inner_totals::follow(totals, &unfolded)?;
        Ok(plan)
    }
}
