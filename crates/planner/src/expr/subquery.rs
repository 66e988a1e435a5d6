//! Subqueries as values: run while planning, or correlated with the outer query.

use std::rc::Rc;

use basalt_base::types::common_type;
use basalt_base::{Error, Result, SqlType, bail};
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, LogicalPlan};

use super::in_set::{no_common_type, null_if_left_is};
use super::{Binder, convert};
use crate::bound_expr::BoundExpr;
use crate::correlated::{Correlated, CorrelatedKind, Outer};
use crate::plan::{Subplan, projected};
use crate::scope::bare_column;
use crate::select::plan_subquery;
use crate::subquery_rows::SubqueryRows;

/// A subquery in an expression.
pub(super) enum Subquery {
    Answered(Rc<SubqueryRows>),
    /// It uses columns of the outer query.
    Correlated(Box<Subplan>, Rc<Outer>),
}

impl Binder<'_> {
    /// Plans a subquery and, unless it is correlated, runs it: once, even if the text repeats in the query.
    pub(super) fn subquery(&self, query: &ast::Query) -> Result<Subquery> {
        if let Some(known) = self.session.answered(query) {
            return Ok(Subquery::Answered(known));
        }
        let outer = Rc::new(Outer::of(self, self.expanding.borrow().clone()));
        let planned = plan_subquery(self.session, &self.env.inside(&outer), query)?;
        if !outer.arguments().is_empty() {
            return Ok(Subquery::Correlated(Box::new(planned), outer));
        }
        let answer = Rc::new(SubqueryRows::run(planned.plan, planned.columns, self.session.ctx.runner)?);
        if !outer.is_named() {
            self.session.remember(query, &answer);
        }
        Ok(Subquery::Answered(answer))
    }

    /// `(SELECT ...)` as a value: NULL if it has no row, a tuple if it has several columns.
    pub(super) fn bind_scalar_subquery(&self, query: &ast::Query) -> Result<BoundExpr> {
        match self.subquery(query)? {
            Subquery::Answered(answer) => self.scalar_of(&answer),
            Subquery::Correlated(planned, outer) => scalar_correlated(query, *planned, &outer),
        }
    }

    fn scalar_of(&self, answer: &SubqueryRows) -> Result<BoundExpr> {
        if answer.rows > 1 {
            bail!(ScalarSubqueryTooManyRows, "a scalar subquery has {} rows", answer.rows);
        }
        if answer.rows == 0 {
            let ty = match answer.columns.as_slice() {
                [column] if matches!(column.ty, SqlType::Array(_) | SqlType::Map(..)) => bail!(
                    ScalarSubqueryTooManyRows,
                    "a scalar subquery has no row, and its type `{}` has no NULL",
                    column.ty
                ),
                [column] if !matches!(column.ty, SqlType::Tuple(_)) => column.ty.clone().into_nullable(),
                _ => SqlType::Nothing.into_nullable(),
            };
            let null = ScalarValue::try_from(&ty.carrier()).map_err(Error::logical)?;
            return Ok(BoundExpr::literal(null, ty));
        }
        let values = (0..answer.columns.len())
            .map(|column| answer.value(column, 0).map(|(value, ty)| BoundExpr::literal(value, ty)))
            .collect::<Result<Vec<_>>>()?;
        match <[BoundExpr; 1]>::try_from(values) {
            // The type is that of a query without rows.
            Ok([value]) if matches!(value.ty, SqlType::LowCardinality(_)) => Ok(value),
            Ok([value]) => Ok(BoundExpr::new(value.expr, value.ty.into_nullable())),
            Err(values) => self.call("tuple", values),
        }
    }

    pub(super) fn bind_exists(&self, query: &ast::Query) -> Result<BoundExpr> {
        match self.subquery(query)? {
            Subquery::Answered(answer) => Ok(BoundExpr::uint8(u8::from(answer.rows > 0))),
            Subquery::Correlated(planned, _) if has_one_row(&planned.plan) => Ok(BoundExpr::uint8(1)),
            Subquery::Correlated(planned, outer) => {
                let rows = (planned.plan, planned.names);
                let call =
                    Correlated::call(CorrelatedKind::Exists, query, rows, SqlType::UInt8, &outer, Vec::new());
                Ok(BoundExpr::truth(call, false))
            }
        }
    }

    /// `left IN (SELECT ...)` with a correlated subquery.
    pub(super) fn in_correlated(
        &self,
        left: Vec<BoundExpr>,
        query: &ast::Query,
        planned: Subplan,
        outer: &Outer,
        negated: bool,
    ) -> Result<BoundExpr> {
        let left = self.spread(left, planned.columns.len())?;
        let (mut operands, mut members) = (Vec::new(), Vec::new());
        for ((left, column), name) in left.iter().zip(&planned.columns).zip(&planned.names) {
            let Some(ty) = common_type([&left.ty, &column.ty]) else {
                return Err(no_common_type(&column.ty, &left.ty));
            };
            operands.push(convert(left.clone(), &ty, self.session.ctx)?.into_value().expr);
            let member = BoundExpr::new(bare_column(name), column.ty.clone());
            members.push(convert(member, &ty, self.session.ctx)?.into_value().expr.alias(name));
        }
        let rows = (projected(planned.plan, members)?, planned.names);
        let call = Correlated::call(CorrelatedKind::In, query, rows, SqlType::UInt8, outer, operands);
        let is_member: Expr = if negated { !call } else { call };
        Ok(null_if_left_is(&left, BoundExpr::truth(is_member, false)))
    }
}

/// Whether the plan has exactly one row: an aggregation without keys has one even for empty input.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(node) => node.group_expr.is_empty(),
        LogicalPlan::Projection(node) => has_one_row(&node.input),
        LogicalPlan::SubqueryAlias(node) => has_one_row(&node.input),
        LogicalPlan::Sort(node) => has_one_row(&node.input),
        _ => false,
    }
}

fn scalar_correlated(query: &ast::Query, planned: Subplan, outer: &Outer) -> Result<BoundExpr> {
    let [column] = planned.columns.as_slice() else {
        bail!(
            NumberOfColumnsDoesntMatch,
            "a correlated scalar subquery has {} columns",
            planned.columns.len()
        );
    };
    let ty = column.ty.clone().into_nullable();
    let rows = (planned.plan, planned.names);
    let call = Correlated::call(CorrelatedKind::Scalar, query, rows, ty.clone(), outer, Vec::new());
    Ok(BoundExpr::new(call, ty))
}
