//! `IN` with non-constant members, as `has([members], value)`.
//!
//! The members are cast to the type of the left side. For NULL on the left the result is NULL; a tuple that contains
//! NULL is no member.

use basalt_base::types::common_type;
use basalt_base::{Result, SqlType};
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;

use super::{Binder, convert};
use crate::bound_expr::{BoundExpr, all_of, case, contains, is_aggregate, is_column, is_unnest, is_window};

impl Binder<'_> {
    /// Whether an element is not constant.
    pub(super) fn any_varies(&self, elements: &[ast::Expr]) -> Result<bool> {
        for element in elements {
            let varies = match element {
                ast::Expr::Literal(_) => false,
                ast::Expr::Tuple(parts) => self.any_varies(parts)?,
                other => varies(&self.bind(other)?.expr),
            };
            if varies {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `left IN (elements)`.
    pub(super) fn in_values(
        &self,
        left: Vec<BoundExpr>,
        elements: &[ast::Expr],
        negated: bool,
    ) -> Result<BoundExpr> {
        let is_tuple = left.len() > 1;
        // `(a, b) IN (x, y)` has one member, a tuple.
        let is_one_tuple = is_tuple && !elements.iter().any(|element| matches!(element, ast::Expr::Tuple(_)));
        let members = match (is_one_tuple, elements) {
            (true, [_, _, ..]) => vec![self.call("tuple", self.bind_list(elements)?)?],
            _ => self.bind_list(elements)?,
        };
        let left = self.single(left)?;
        let members = self.as_array(&left, members)?;
        self.has_member(left, members, negated)
    }

    /// `left IN right`, where the right side is not constant: an array or tuple of members, or one member.
    pub(super) fn in_value(
        &self,
        left: Vec<BoundExpr>,
        right: BoundExpr,
        negated: bool,
    ) -> Result<BoundExpr> {
        let left = self.single(left)?;
        let members = match (right.ty.stripped().clone(), left.ty.stripped()) {
            (SqlType::Array(_), SqlType::Array(_)) | (SqlType::Tuple(_), SqlType::Tuple(_)) => vec![right],
            (SqlType::Array(element), _) => {
                let ty = SqlType::array_of(member_type(&left, [element.as_ref()]));
                let members = convert(right, &ty, self.session.ctx)?;
                return self.has_member(left, members, negated);
            }
            (SqlType::Tuple(elements), _) => (1..=elements.len() as u64)
                .map(|index| self.tuple_element_at(right.clone(), index))
                .collect::<Result<Vec<_>>>()?,
            _ => vec![right],
        };
        let members = self.as_array(&left, members)?;
        self.has_member(left, members, negated)
    }

    fn as_array(&self, left: &BoundExpr, members: Vec<BoundExpr>) -> Result<BoundExpr> {
        let ty = member_type(left, members.iter().map(|member| &member.ty));
        let members = members
            .into_iter()
            .map(|member| convert(member, &ty, self.session.ctx))
            .collect::<Result<Vec<_>>>()?;
        self.call("array", members)
    }

    fn single(&self, left: Vec<BoundExpr>) -> Result<BoundExpr> {
        match <[BoundExpr; 1]>::try_from(left) {
            Ok([value]) => Ok(value),
            Err(values) => self.call("tuple", values),
        }
    }

    fn has_member(&self, left: BoundExpr, members: BoundExpr, negated: bool) -> Result<BoundExpr> {
        let mut conditions = Vec::new();
        if let SqlType::Tuple(elements) = left.ty.stripped().clone() {
            for (at, _) in elements.iter().enumerate().filter(|(_, element)| element.ty.accepts_null()) {
                let element = self.tuple_element_at(left.clone(), at as u64 + 1)?.into_value();
                conditions.push(element.expr.is_not_null());
            }
        }
        let is_null = left.accepts_null().then(|| left.expr.clone().is_null());
        conditions.push(self.call("has", vec![members, left])?.into_condition()?);
        let mut answer =
            all_of(conditions).unwrap_or_else(|| Expr::Literal(ScalarValue::Boolean(None), None));
        if negated {
            answer = !answer;
        }
        if let Some(is_null) = is_null {
            answer = case(vec![(is_null, Expr::Literal(ScalarValue::Boolean(None), None))], answer);
        }
        Ok(BoundExpr::truth(answer, true))
    }
}

/// The type of members next to `left`: the common type, or else their own. Nullable if the type can be.
fn member_type<'t>(left: &'t BoundExpr, members: impl IntoIterator<Item = &'t SqlType>) -> SqlType {
    let own = left.ty.stripped();
    let types: Vec<&SqlType> =
        std::iter::once(own).chain(members.into_iter().map(SqlType::stripped)).collect();
    common_type(types).unwrap_or_else(|| own.clone()).into_nullable()
}

/// Whether the value of an expression may differ between rows.
fn varies(expr: &Expr) -> bool {
    contains(expr, |part| is_column(part) || is_aggregate(part) || is_window(part) || is_unnest(part))
}
