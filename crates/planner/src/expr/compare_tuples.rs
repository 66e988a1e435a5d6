//! Comparisons of tuples with NULL, UUIDs or floats, or with elements that have no common type.

use basalt_base::types::common_type;
use basalt_base::{Result, SqlType};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;

use super::Binder;
use crate::bound_expr::BoundExpr;

impl Binder<'_> {
    /// Compares such tuples element by element, so that a comparison with NULL is NULL. `None` for other tuples,
    /// which are compared as a whole.
    pub(super) fn compare_tuples(
        &self,
        op: Operator,
        left: &BoundExpr,
        right: &BoundExpr,
    ) -> Result<Option<BoundExpr>> {
        let (SqlType::Tuple(of_left), SqlType::Tuple(of_right)) = (left.ty.stripped(), right.ty.stripped())
        else {
            return Ok(None);
        };
        let is_apart = holds(&left.ty, is_apart)
            || holds(&right.ty, is_apart)
            || common_type([left.ty.stripped(), right.ty.stripped()]).is_none();
        if !is_apart || of_left.len() != of_right.len() || of_left.is_empty() {
            return Ok(None);
        }
        let strict = match op {
            Operator::LtEq => Operator::Lt,
            Operator::GtEq => Operator::Gt,
            other => other,
        };
        let mut compared: Option<BoundExpr> = None;
        for index in (1..=of_left.len() as u64).rev() {
            let pair = || -> Result<_> {
                Ok((
                    self.tuple_element_at(left.clone(), index)?,
                    self.tuple_element_at(right.clone(), index)?,
                ))
            };
            let element = |op| pair().and_then(|(left, right)| self.compare(op, left, right));
            let (first, equal) = match compared {
                None => (element(op)?, None),
                Some(_) => (element(strict)?, Some(element(Operator::Eq)?)),
            };
            // A comparison with the constant NULL is NULL, whatever the other elements are.
            if first.is_null_literal() {
                let null = ScalarValue::UInt8(None);
                return Ok(Some(BoundExpr::literal(null, SqlType::UInt8.into_nullable())));
            }
            compared = Some(match (compared, equal, op) {
                (Some(rest), _, Operator::Eq) => self.logic(true, vec![first, rest])?,
                (Some(rest), _, Operator::NotEq) => self.logic(false, vec![first, rest])?,
                (Some(rest), Some(equal), _) => {
                    let decided_later = self.logic(true, vec![equal, rest])?;
                    self.logic(false, vec![first, decided_later])?
                }
                _ => first,
            });
        }
        Ok(compared)
    }
}

/// Whether values of the type do not compare by their bytes: NULL; UUIDs, whose second half comes first; floats, with
/// NaN and two zeroes.
fn is_apart(ty: &SqlType) -> bool {
    ty.accepts_null() || *ty.stripped() == SqlType::Uuid || ty.stripped().is_float()
}

/// Whether `wanted` holds for a type inside a tuple.
fn holds(ty: &SqlType, wanted: fn(&SqlType) -> bool) -> bool {
    match ty.stripped() {
        SqlType::Tuple(elements) => {
            elements.iter().any(|element| wanted(&element.ty) || holds(&element.ty, wanted))
        }
        _ => false,
    }
}
