//! Conversions between types: natively where DataFusion's cast has the same meaning, by `CAST` otherwise.

use arrow::datatypes::DataType;
use basalt_base::types::common_type;
use basalt_base::{Column, Error, ErrorCode, Result, SqlType};
use basalt_functions::registry;
use basalt_functions::scalar::{Argument, BoundScalar};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;

use super::fold::{evaluate, fold_call};
use crate::PlannerContext;
use crate::bound_expr::{BoundExpr, native_cast};

/// Decimal digits of the largest integer, by its size in bytes.
const INTEGER_DIGITS: [u8; 9] = [0, 3, 5, 5, 10, 10, 10, 10, 20];

/// `bound` as a value of type `to`.
pub(crate) fn convert(bound: BoundExpr, to: &SqlType, ctx: &PlannerContext<'_>) -> Result<BoundExpr> {
    let bound = bound.into_value();
    if means_the_same(&bound.ty, to) {
        return Ok(BoundExpr::new(bound.expr, to.clone()));
    }
    if bound.is_null_literal() && to.accepts_null() {
        let null = ScalarValue::try_from(&to.carrier()).map_err(Error::logical)?;
        return Ok(BoundExpr::literal(null, to.clone()));
    }
    if widens(&bound.ty, to) {
        let is_constant = bound.constant().is_some();
        let expr = native_cast(bound.expr, to.carrier());
        let expr = if is_constant { Expr::Literal(evaluate(&expr)?, None) } else { expr };
        return Ok(BoundExpr::new(expr, to.clone()));
    }
    call_cast("_CAST", bound, to, None, ctx)
}

/// Like [`convert`], but a number out of the type's range is an error.
pub(crate) fn convert_exactly(bound: BoundExpr, to: &SqlType, ctx: &PlannerContext<'_>) -> Result<BoundExpr> {
    let bound = bound.into_value();
    if means_the_same(&bound.ty, to) || widens(&bound.ty, to) {
        return convert(bound, to, ctx);
    }
    call_cast("_accurateCast", bound, to, None, ctx)
}

/// Converts a value for a column, by [`convert`] or [`convert_exactly`]. Errors name the column.
pub(crate) fn convert_for(
    column: &Column,
    is_exact: bool,
    bound: BoundExpr,
    ctx: &PlannerContext<'_>,
) -> Result<BoundExpr> {
    let bound = bound.into_value();
    if means_the_same(&bound.ty, &column.ty) || widens(&bound.ty, &column.ty) {
        return convert(bound, &column.ty, ctx);
    }
    let name = if is_exact { "_accurateCast" } else { "_CAST" };
    call_cast(name, bound, &column.ty, Some(&column.name), ctx)
}

/// The values as values of their common type; `what` names the construct in the error.
pub(crate) fn unify(
    values: Vec<BoundExpr>,
    what: &str,
    ctx: &PlannerContext<'_>,
) -> Result<(Vec<BoundExpr>, SqlType)> {
    let values: Vec<BoundExpr> = values.into_iter().map(BoundExpr::into_value).collect();
    let Some(common) = common_type(values.iter().map(|value| &value.ty)) else {
        let types: Vec<String> = values.iter().map(|value| value.ty.to_string()).collect();
        return Err(Error::new(
            ErrorCode::NoCommonType,
            format!("the values of {what} have no common type: {}", types.join(", ")),
        ));
    };
    let common = if common == SqlType::Nothing { SqlType::Nothing.into_nullable() } else { common };
    let values = values.into_iter().map(|value| convert(value, &common, ctx)).collect::<Result<Vec<_>>>()?;
    Ok((values, common))
}

/// Whether every value of `from` is a value of `to` as it is.
fn means_the_same(from: &SqlType, to: &SqlType) -> bool {
    if from == to {
        return true;
    }
    if from.accepts_null() && !to.accepts_null() {
        return false;
    }
    match (from.stripped(), to.stripped()) {
        (SqlType::DateTime(_), SqlType::DateTime(_)) => true,
        (SqlType::DateTime64 { precision: from, .. }, SqlType::DateTime64 { precision: to, .. }) => {
            from == to
        }
        (from, to) => from == to,
    }
}

/// Whether the number type `to` contains every value of `from`, so that DataFusion's cast cannot fail and its
/// optimizer may look through it.
fn widens(from: &SqlType, to: &SqlType) -> bool {
    if from.accepts_null() && !to.accepts_null() {
        return false;
    }
    let (from, to) = (from.stripped(), to.stripped());
    let numbers = from.is_number() && to.is_number();
    let from_bool = *from == SqlType::Bool && to.is_integer();
    let to_double = *to == SqlType::Float64 && !matches!(from, SqlType::Decimal { .. } | SqlType::Bool);
    let from_decimal = matches!(from, SqlType::Decimal { .. }) && to.is_float();
    numbers
        && *to != SqlType::Bool
        // DataFusion divides by a power of ten, which does not give the nearest float.
        && !from_decimal
        && keeps_digits(from, to)
        && (from_bool || to_double || common_type([from, to]).as_ref() == Some(to))
}

/// Whether a decimal has room for all digits of a number; a common type need not have it.
fn keeps_digits(from: &SqlType, to: &SqlType) -> bool {
    let SqlType::Decimal { precision, scale } = to else { return true };
    let whole = match from {
        SqlType::Decimal { precision, scale } => precision - scale,
        from if from.is_integer() => INTEGER_DIGITS[from.fixed_bytes().unwrap_or_default().min(8)],
        _ => return false,
    };
    whole <= precision - scale
}

/// A call of `name` (`_CAST` or a variant) with the value, the type, and the column for messages.
fn call_cast(
    name: &str,
    bound: BoundExpr,
    to: &SqlType,
    column: Option<&str>,
    ctx: &PlannerContext<'_>,
) -> Result<BoundExpr> {
    let names = std::iter::once(to.to_string()).chain(column.map(str::to_owned));
    let names: Vec<ScalarValue> =
        names.map(|name| ScalarValue::BinaryView(Some(name.into_bytes()))).collect();
    let constant = bound.constant().map(ScalarValue::to_array).transpose().map_err(Error::logical)?;
    let is_constant = constant.is_some();
    let mut args = vec![Argument { ty: bound.ty.clone(), constant }];
    for name in &names {
        let constant = Some(name.to_array().map_err(Error::logical)?);
        args.push(Argument { ty: SqlType::String, constant });
    }
    let (function, ty) = BoundScalar::bind(registry::expect_scalar(name)?, &args, ctx.functions)?;
    let names = names.into_iter().map(|name| Expr::Literal(name, None));
    let args: Vec<Expr> = std::iter::once(bound.expr).chain(names).collect();
    let expr = match fold_call(&function, &args) {
        Some(value) => Expr::Literal(value, None),
        None => Expr::ScalarFunction(ScalarFunction::new_udf(function, args)),
    };
    // A constant that cannot be converted is an error at once; comparisons rely on it.
    if is_constant && !matches!(expr, Expr::Literal(..)) {
        evaluate(&expr)?;
    }
    debug_assert!(
        ty.carrier() == to.carrier() || to.carrier() == DataType::Null,
        "CAST gives what its name says"
    );
    Ok(BoundExpr::new(expr, to.clone()))
}
