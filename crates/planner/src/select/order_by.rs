//! ORDER BY: the position of NULL and NaN, and keys given by position.

use basalt_base::{Result, SqlType, bail};
use basalt_functions::native_order;
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, SortExpr};

use super::items::Item;
use crate::bound_expr::BoundExpr;
use crate::expr::Binder;

/// The sort keys of DataFusion for one key. NULL comes last in both directions unless the query says otherwise, and
/// NaN comes with NULL. As the greatest float, NaN is already last in one direction; in the other it needs a key of
/// its own.
pub(crate) fn sort_key(key: BoundExpr, order: &ast::OrderBy) -> Vec<SortExpr> {
    let key = key.into_value();
    let nulls_first = order.nulls_first.unwrap_or(false);
    let mut keys = Vec::with_capacity(2);
    let nan_is_first_by_itself = order.descending;
    if key.ty.stripped().is_float() && nan_is_first_by_itself != nulls_first {
        let infinity = match key.ty.stripped() {
            SqlType::Float32 => ScalarValue::Float32(Some(f32::INFINITY)),
            _ => ScalarValue::Float64(Some(f64::INFINITY)),
        };
        let is_nan = ordered(key.clone()).expr.gt(Expr::Literal(infinity, None));
        keys.push(SortExpr::new(is_nan, !nulls_first, nulls_first));
    }
    keys.push(SortExpr::new(ordered(key).expr, !order.descending, nulls_first));
    keys
}

/// A key of PARTITION BY. Its rows are found by sorting, where the two zeroes are equal.
pub(crate) fn partition_key(key: BoundExpr) -> Expr {
    let key = key.into_value();
    match key.ty.stripped().is_float() && key.constant().is_none() {
        true => ordered(key).expr,
        false => key.expr,
    }
}

/// A value whose native order is the order of its type.
pub(crate) fn ordered(value: BoundExpr) -> BoundExpr {
    let ty = value.ty.stripped();
    if *ty != SqlType::Uuid && !ty.is_float() {
        return value;
    }
    if let Some(ScalarValue::FixedSizeBinary(width, Some(bytes))) = value.constant() {
        let mut swapped = bytes.clone();
        swapped.rotate_left(bytes.len() / 2);
        return BoundExpr::literal(ScalarValue::FixedSizeBinary(*width, Some(swapped)), value.ty);
    }
    let call = ScalarFunction::new_udf(native_order(), vec![value.expr]);
    BoundExpr::new(Expr::ScalarFunction(call), value.ty)
}

/// A key of ORDER BY or LIMIT BY; a number is the position of an item.
pub(super) fn bind_key(
    binder: &Binder<'_>,
    expr: &ast::Expr,
    items: &[Item],
    clause: &str,
) -> Result<BoundExpr> {
    match position(expr, items.len(), clause)? {
        Some(at) => Ok(items[at].bound.clone()),
        None => binder.bind(expr),
    }
}

/// The item for a bare number, counted from the first item, or from the last if negative.
pub(super) fn position(expr: &ast::Expr, items: usize, clause: &str) -> Result<Option<usize>> {
    let (written, is_from_end) = match expr {
        ast::Expr::Literal(ast::Literal::UInt(position)) => (*position, false),
        ast::Expr::Literal(ast::Literal::Int(position)) => (position.unsigned_abs(), *position < 0),
        ast::Expr::Unary { op: ast::UnaryOp::Minus, operand } => match operand.as_ref() {
            ast::Expr::Literal(ast::Literal::UInt(position)) => (*position, true),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    match usize::try_from(written) {
        Ok(position) if (1..=items).contains(&position) => {
            Ok(Some(if is_from_end { items - position } else { position - 1 }))
        }
        _ => bail!(
            BadArguments,
            "position {}{written} in {clause} is not one of the {items} columns",
            if is_from_end { "-" } else { "" }
        ),
    }
}
