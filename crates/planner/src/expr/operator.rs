//! Operators: logic stays native, arithmetic becomes the call of its function.

use basalt_base::types::IntervalUnit;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_sql::ast::{self, BinaryOp, UnaryOp};
use datafusion::logical_expr::Operator;

use super::{Binder, convert};
use crate::bound_expr::{BoundExpr, all_of, any_of};
use crate::names::{chain, function_of};

impl Binder<'_> {
    pub(super) fn bind_unary(&self, op: UnaryOp, operand: &ast::Expr) -> Result<BoundExpr> {
        match op {
            UnaryOp::Minus => {
                if let ast::Expr::Literal(literal) = operand
                    && let Some(negative) = super::literal::bind_negative(literal)?
                {
                    return Ok(negative);
                }
                let operand = self.bind(operand)?;
                self.call("negate", vec![operand])
            }
            UnaryOp::Not => self.negate(self.bind(operand)?),
        }
    }

    pub(super) fn bind_binary(&self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<BoundExpr> {
        let comparison = |operator| self.bind_comparison(operator, left, right);
        match op {
            BinaryOp::And | BinaryOp::Or => {
                let operands = chain(op, left, right);
                let operands =
                    operands.into_iter().map(|operand| self.bind(operand)).collect::<Result<Vec<_>>>()?;
                self.logic(op == BinaryOp::And, operands)
            }
            BinaryOp::Equals => comparison(Operator::Eq),
            BinaryOp::NotEquals => comparison(Operator::NotEq),
            BinaryOp::Less => comparison(Operator::Lt),
            BinaryOp::LessOrEquals => comparison(Operator::LtEq),
            BinaryOp::Greater => comparison(Operator::Gt),
            BinaryOp::GreaterOrEquals => comparison(Operator::GtEq),
            BinaryOp::IsDistinctFrom => comparison(Operator::IsDistinctFrom),
            BinaryOp::IsNotDistinctFrom => comparison(Operator::IsNotDistinctFrom),
            BinaryOp::Plus | BinaryOp::Minus => {
                let (left_value, right_value) = (self.bind(left)?, self.bind(right)?);
                self.infer_parameter(left, &right_value.ty);
                self.infer_parameter(right, &left_value.ty);
                self.sum(op, left_value, right_value)
            }
            BinaryOp::Concat => {
                let operands = chain(op, left, right);
                let operands =
                    operands.into_iter().map(|operand| self.bind(operand)).collect::<Result<Vec<_>>>()?;
                self.call("concat", operands)
            }
            other => {
                let (left_value, right_value) = (self.bind(left)?, self.bind(right)?);
                self.infer_parameter(left, &right_value.ty);
                self.infer_parameter(right, &left_value.ty);
                self.call(function_of(other), vec![left_value, right_value])
            }
        }
    }

    /// AND or OR of all operands; of type Bool if an operand is a Bool that is not Nullable.
    pub(super) fn logic(&self, is_and: bool, operands: Vec<BoundExpr>) -> Result<BoundExpr> {
        let nullable = operands.iter().any(BoundExpr::accepts_null);
        let bools = operands.iter().any(|operand| operand.ty == SqlType::Bool);
        let conditions = operands.into_iter().map(BoundExpr::into_condition).collect::<Result<Vec<_>>>()?;
        let combined = if is_and { all_of(conditions) } else { any_of(conditions) };
        let expr = combined.ok_or_else(|| Error::logical("AND without operands"))?;
        Ok(if bools { bool_bound(expr, nullable) } else { BoundExpr::truth(expr, nullable) })
    }

    pub(super) fn negate(&self, operand: BoundExpr) -> Result<BoundExpr> {
        let nullable = operand.accepts_null();
        let is_bool = operand.ty.stripped() == &SqlType::Bool;
        let args = [operand.kind()];
        let expr = !operand.into_condition()?;
        let negated = if is_bool { bool_bound(expr, nullable) } else { BoundExpr::truth(expr, nullable) };
        Ok(negated.low_cardinality_as(&args))
    }

    pub(super) fn bind_between(
        &self,
        operand: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<BoundExpr> {
        let operand = self.bind(operand)?;
        self.infer_parameter(low, &operand.ty);
        self.infer_parameter(high, &operand.ty);
        let (low, high) = (self.bind(low)?, self.bind(high)?);
        let (below, above) =
            if negated { (Operator::Lt, Operator::Gt) } else { (Operator::GtEq, Operator::LtEq) };
        let bounds = vec![self.compare(below, operand.clone(), low)?, self.compare(above, operand, high)?];
        self.logic(!negated, bounds)
    }

    pub(super) fn bind_is_null(&self, operand: &ast::Expr, negated: bool) -> Result<BoundExpr> {
        let operand = self.bind(operand)?;
        Ok(self.is_null(operand, negated))
    }

    pub(super) fn is_null(&self, operand: BoundExpr, negated: bool) -> BoundExpr {
        if !operand.accepts_null() {
            return BoundExpr::uint8(u8::from(negated));
        }
        let expr = if negated { operand.expr.is_not_null() } else { operand.expr.is_null() };
        BoundExpr::truth(expr, false)
    }

    /// `INTERVAL value unit`: a number of units.
    pub(super) fn bind_interval(&self, value: &ast::Expr, unit: IntervalUnit) -> Result<BoundExpr> {
        let value = self.bind(value)?;
        if let SqlType::Interval(_) = value.ty.stripped() {
            return convert(value, &SqlType::Interval(unit), self.session.ctx);
        }
        self.interval(value, unit)
    }

    pub(super) fn interval(&self, value: BoundExpr, unit: IntervalUnit) -> Result<BoundExpr> {
        if value.is_null_literal() {
            return convert(value, &SqlType::Interval(unit).into_nullable(), self.session.ctx);
        }
        let wide = match value.ty.stripped() {
            SqlType::UInt64 | SqlType::String => self.cast_by_function(value, &SqlType::Int64)?,
            ty if ty.is_integer() => {
                let to = if value.accepts_null() { SqlType::Int64.into_nullable() } else { SqlType::Int64 };
                convert(value, &to, self.session.ctx)?
            }
            other => {
                return Err(Error::new(
                    ErrorCode::IllegalTypeOfArgument,
                    format!("the length of an interval is a whole number, not a value of type `{other}`"),
                ));
            }
        };
        let ty = SqlType::Interval(unit);
        let ty = if wide.accepts_null() { ty.into_nullable() } else { ty };
        Ok(BoundExpr::new(wide.expr, ty))
    }

    /// `+` and `-`, including dates with intervals.
    pub(super) fn sum(&self, op: BinaryOp, left: BoundExpr, right: BoundExpr) -> Result<BoundExpr> {
        let (moment, amount, unit) = match (left.ty.stripped(), right.ty.stripped()) {
            (_, &SqlType::Interval(unit)) => (left, right, unit),
            (&SqlType::Interval(unit), _) if op == BinaryOp::Plus => (right, left, unit),
            _ => return self.call(function_of(op), vec![left, right]),
        };
        let verb = if op == BinaryOp::Plus { "add" } else { "subtract" };
        let number = if amount.accepts_null() { SqlType::Int64.into_nullable() } else { SqlType::Int64 };
        let amount = BoundExpr::new(amount.expr, number);
        self.call(&format!("{verb}{unit}s"), vec![moment, amount])
    }
}

fn bool_bound(expr: datafusion::logical_expr::Expr, nullable: bool) -> BoundExpr {
    BoundExpr::new(expr, if nullable { SqlType::Bool.into_nullable() } else { SqlType::Bool })
}
