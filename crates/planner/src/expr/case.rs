//! `CASE`, `if`, `multiIf` and `? :`: lazy branches of one common type.

use basalt_base::{Result, SqlType};
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator};

use super::{Binder, unify};
use crate::bound_expr::{self, BoundExpr};

impl Binder<'_> {
    pub(super) fn bind_case(
        &self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Result<BoundExpr> {
        let Some(operand) = operand else {
            let branches: Vec<_> = branches.iter().map(|(when, then)| (when, then)).collect();
            return self.bind_if(&branches, otherwise);
        };
        let operand = self.bind(operand)?;
        let mut conditions = Vec::with_capacity(branches.len());
        let mut values = Vec::with_capacity(branches.len() + 1);
        for (when, then) in branches {
            let when = self.compare(Operator::Eq, operand.clone(), self.bind(when)?)?;
            conditions.push(when.into_condition()?);
            values.push(self.bind(then)?);
        }
        values.push(otherwise.map_or(Ok(BoundExpr::null()), |otherwise| self.bind(otherwise))?);
        self.choose(conditions, values)
    }

    /// The value of the first branch whose condition holds.
    pub(super) fn bind_if(
        &self,
        branches: &[(&ast::Expr, &ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Result<BoundExpr> {
        let mut conditions = Vec::with_capacity(branches.len());
        let mut values = Vec::with_capacity(branches.len() + 1);
        for (when, then) in branches {
            conditions.push(self.bind(when)?.into_condition()?);
            values.push(self.bind(then)?);
        }
        values.push(otherwise.map_or(Ok(BoundExpr::null()), |otherwise| self.bind(otherwise))?);
        self.choose(conditions, values)
    }

    /// One condition for every value except the last.
    pub(super) fn choose(&self, conditions: Vec<Expr>, values: Vec<BoundExpr>) -> Result<BoundExpr> {
        let truths = values.iter().all(|value| value.is_truth);
        if truths {
            let nullable = values.iter().any(BoundExpr::accepts_null);
            return Ok(BoundExpr::truth(pick(conditions, values), nullable));
        }
        let (values, ty) = unify(with_all_bytes(values), "a conditional expression", self.session.ctx)?;
        Ok(BoundExpr::new(pick(conditions, values), ty))
    }
}

/// String values of several types as String, with the zero bytes of FixedString kept.
fn with_all_bytes(values: Vec<BoundExpr>) -> Vec<BoundExpr> {
    let is_fixed = |value: &BoundExpr| matches!(value.ty.stripped(), SqlType::FixedString(_));
    let types: Vec<&SqlType> =
        values.iter().filter(|value| !value.is_null_literal()).map(|value| value.ty.stripped()).collect();
    let differ = types.windows(2).any(|pair| pair[0] != pair[1]);
    if !differ || !types.iter().all(|ty| ty.is_string()) {
        return values;
    }
    let as_string = |value: BoundExpr| {
        if !is_fixed(&value) {
            return value;
        }
        let ty = if value.accepts_null() { SqlType::String.into_nullable() } else { SqlType::String };
        match value.constant() {
            Some(ScalarValue::FixedSizeBinary(_, bytes)) => {
                BoundExpr::literal(ScalarValue::BinaryView(bytes.clone()), ty)
            }
            _ => BoundExpr::new(bound_expr::native_cast(value.expr, SqlType::String.carrier()), ty),
        }
    };
    values.into_iter().map(as_string).collect()
}

/// Decides constant conditions at once.
fn pick(conditions: Vec<Expr>, values: Vec<BoundExpr>) -> Expr {
    let mut values: Vec<Expr> = values.into_iter().map(|value| value.expr).collect();
    let mut otherwise = values.pop().unwrap_or(Expr::Literal(ScalarValue::Null, None));
    let mut branches = Vec::with_capacity(conditions.len());
    for (condition, value) in conditions.into_iter().zip(values) {
        match condition {
            Expr::Literal(ScalarValue::Boolean(Some(true)), _) => {
                otherwise = value;
                break;
            }
            Expr::Literal(ScalarValue::Boolean(_), _) => {}
            condition => branches.push((condition, value)),
        }
    }
    if branches.is_empty() { otherwise } else { bound_expr::case(branches, otherwise) }
}
