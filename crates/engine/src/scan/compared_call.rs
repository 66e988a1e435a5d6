//! A filter that compares the result of a function with a whole number.
//!
//! A function that answers 0 or 1 is a condition as `f(x) != 0`; a query may also say `f(x) = 1` or `f(x) > 0`.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// `call op number`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComparedCall<'e> {
    pub(super) call: &'e ScalarFunction,
    pub(super) op: Operator,
    pub(super) number: i128,
}

impl<'e> ComparedCall<'e> {
    pub(super) fn of(filter: &'e Expr) -> Option<ComparedCall<'e>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return None };
        match (left.as_ref(), right.as_ref()) {
            (Expr::ScalarFunction(call), Expr::Literal(value, _)) => {
                Some(ComparedCall { call, op: *op, number: whole(value)? })
            }
            (Expr::Literal(value, _), Expr::ScalarFunction(call)) => {
                Some(ComparedCall { call, op: op.swap()?, number: whole(value)? })
            }
            _ => None,
        }
    }

    /// Whether the filter is what a call alone is as a condition.
    pub(super) fn is_condition(&self) -> bool {
        self.op == Operator::NotEq && self.number == 0
    }

    /// Whether the filter holds if the call returns `result`.
    pub(super) fn holds(&self, result: i128) -> bool {
        match self.op {
            Operator::Eq => result == self.number,
            Operator::NotEq => result != self.number,
            Operator::Lt => result < self.number,
            Operator::LtEq => result <= self.number,
            Operator::Gt => result > self.number,
            Operator::GtEq => result >= self.number,
            _ => false,
        }
    }

    /// Whether the filter holds for every result above 0, and not for 0.
    pub(super) fn holds_for_all_but_zero(&self) -> bool {
        let has_no_gap = matches!(self.op, Operator::Gt | Operator::GtEq) || self.is_condition();
        has_no_gap && self.holds(1) && !self.holds(0)
    }
}

/// The value of an integer literal.
fn whole(value: &ScalarValue) -> Option<i128> {
    Some(match *value {
        ScalarValue::UInt8(value) => value?.into(),
        ScalarValue::UInt16(value) => value?.into(),
        ScalarValue::UInt32(value) => value?.into(),
        ScalarValue::UInt64(value) => value?.into(),
        ScalarValue::Int8(value) => value?.into(),
        ScalarValue::Int16(value) => value?.into(),
        ScalarValue::Int32(value) => value?.into(),
        ScalarValue::Int64(value) => value?.into(),
        _ => return None,
    })
}
