//! Comparisons: native expressions over two equal carriers.
//!
//! A constant takes the type of what it is compared with wherever its value fits, so that the column
//! stays bare and storage can prune by it. Where it cannot fit, the outcome is known: no `UInt8` is -1.
//! Two columns of different types meet in their common type.

use arrow::datatypes::DataType;
use basalt_base::types::common_type;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{Expr, Operator};

use super::{Binder, convert};
use crate::PlannerContext;
use crate::bound::{Bound, native_cast};

/// Decimal digits that hold every 64-bit integer, signed or not.
const INTEGER_DIGITS: u8 = 20;

/// A constant seen from the type that it is compared with.
pub(super) enum Fitted {
    /// The same value in that type.
    Exact(ScalarValue),
    /// Above (`true`) or below every value of the type.
    Beyond(bool),
    /// Not representable: the comparison needs a wider type.
    Between,
}

impl Binder<'_> {
    pub(super) fn bind_comparison(&self, op: Operator, left: &ast::Expr, right: &ast::Expr) -> Result<Bound> {
        let (left, right) = (self.bind(left)?, self.bind(right)?);
        self.compare(op, left, right)
    }

    pub(super) fn compare(&self, op: Operator, left: Bound, right: Bound) -> Result<Bound> {
        let (left, right) = (left.into_value(), right.into_value());
        let sides = [left.kind(), right.kind()];
        Ok(self.compare_values(op, left, right)?.low_cardinality_as(&sides))
    }

    fn compare_values(&self, op: Operator, left: Bound, right: Bound) -> Result<Bound> {
        let distinct = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
        if left.is_null_literal() || right.is_null_literal() {
            return Ok(compare_with_null(op, left, right));
        }
        if !distinct && let Some(compared) = self.compare_tuples(op, &left, &right)? {
            return Ok(compared);
        }
        if !distinct && (holds_list(&left.ty) || holds_list(&right.ty)) {
            return self.call(function_of(op)?, vec![left, right]);
        }
        let nullable = !distinct && (left.accepts_null() || right.accepts_null());
        let (left, right) = enums_as_numbers(left, right);
        if left.ty.stripped() == right.ty.stripped() {
            return Ok(native_of(left.ty.stripped(), op, left.expr, right.expr, nullable));
        }
        if right.constant().is_some() && left.constant().is_none() {
            return self.compare_constant(op, left, right, nullable);
        }
        if left.constant().is_some() && right.constant().is_none() {
            let swapped = op.swap().unwrap_or(op);
            return self.compare_constant(swapped, right, left, nullable);
        }
        self.compare_widened(op, left, right, nullable)
    }

    fn compare_constant(&self, op: Operator, value: Bound, constant: Bound, nullable: bool) -> Result<Bound> {
        let fitted = match fit(&constant, &value.ty, self.session.ctx) {
            // Nothing equals a name that the enum does not have, or lies below or above it.
            Err(error) if error.code() == ErrorCode::UnknownElementOfEnum && !is_negated(op) => {
                return Ok(decided(op, value, false));
            }
            fitted => fitted?,
        };
        match fitted {
            Some(Fitted::Exact(fitted)) => {
                Ok(native_of(value.ty.stripped(), op, value.expr, Expr::Literal(fitted, None), nullable))
            }
            Some(Fitted::Beyond(above)) => Ok(decided(op, value, is_held(op, above))),
            Some(Fitted::Between) | None => self.compare_widened(op, value, constant, nullable),
        }
    }

    fn compare_widened(&self, op: Operator, left: Bound, right: Bound, nullable: bool) -> Result<Bound> {
        let (left_type, right_type) = (left.ty.stripped(), right.ty.stripped());
        let common = common_type([left_type, right_type]).or_else(|| address_type(left_type, right_type));
        if let Some(common) = common {
            let to = |bound: Bound| {
                let ty = if bound.accepts_null() { common.clone().into_nullable() } else { common.clone() };
                convert(bound, &ty, self.session.ctx)
            };
            return Ok(native_of(&common, op, to(left)?.expr, to(right)?.expr, nullable));
        }
        if left_type.is_integer() && right_type.is_integer() {
            let digits = DataType::Decimal128(INTEGER_DIGITS, 0);
            return Ok(native(
                op,
                native_cast(left.expr, digits.clone()),
                native_cast(right.expr, digits),
                nullable,
            ));
        }
        // A constant string is read as whatever it is compared with.
        if left_type.is_string() && left.constant().is_some() {
            let left = convert(left, &right_type.clone(), self.session.ctx)?;
            return Ok(native(op, left.expr, right.expr, nullable));
        }
        if right_type.is_string() && right.constant().is_some() {
            let right = convert(right, &left_type.clone(), self.session.ctx)?;
            return Ok(native(op, left.expr, right.expr, nullable));
        }
        let is_address = [left_type, right_type].contains(&&SqlType::Ipv6);
        if left_type.carrier() == right_type.carrier() && !left_type.is_string() && !is_address {
            return Ok(native(op, left.expr, right.expr, nullable));
        }
        let what =
            format!("a value of type `{}` cannot be compared with one of type `{}`", left.ty, right.ty);
        let is_text_and_more = [(left_type, right_type), (right_type, left_type)]
            .iter()
            .any(|(text, other)| text.is_string() && !matches!(other, SqlType::Decimal { .. }));
        let code = if is_text_and_more { ErrorCode::NoCommonType } else { ErrorCode::IllegalTypeOfArgument };
        Err(Error::new(code, what))
    }
}

/// IPv6 beside the types whose values become addresses when they are compared with one.
fn address_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let becomes_address =
        |ty: &SqlType| matches!(ty, SqlType::Ipv6 | SqlType::Ipv4 | SqlType::FixedString(16));
    let is_one = [left, right].contains(&&SqlType::Ipv6);
    (is_one && becomes_address(left) && becomes_address(right)).then_some(SqlType::Ipv6)
}

/// Whether values of the type hold arrays or maps. Natively NULL comes first in these, in SQL last.
fn holds_list(ty: &SqlType) -> bool {
    match ty.stripped() {
        SqlType::Array(_) | SqlType::Map(..) => true,
        SqlType::Tuple(elements) => elements.iter().any(|element| holds_list(&element.ty)),
        _ => false,
    }
}

/// The function that compares as the operator does.
fn function_of(op: Operator) -> Result<&'static str> {
    Ok(match op {
        Operator::Eq => "equals",
        Operator::NotEq => "notEquals",
        Operator::Lt => "less",
        Operator::LtEq => "lessOrEquals",
        Operator::Gt => "greater",
        Operator::GtEq => "greaterOrEquals",
        other => return Err(Error::logical(format!("`{other}` is no comparison"))),
    })
}

/// A comparison of two values of type `ty`.
///
/// Nothing but `!=` holds for NaN in SQL, while natively NaN equals itself and lies beyond the
/// infinities: floats are kept between these. The bounds stay plain ranges, for storage to prune by.
fn native_of(ty: &SqlType, op: Operator, left: Expr, right: Expr, nullable: bool) -> Bound {
    let infinity = |sign: f64| match ty {
        SqlType::Float32 => Expr::Literal(ScalarValue::Float32(Some(sign as f32 * f32::INFINITY)), None),
        _ => Expr::Literal(ScalarValue::Float64(Some(sign * f64::INFINITY)), None),
    };
    let is_ordinary = |value: &Expr| match value {
        Expr::Literal(ScalarValue::Float64(Some(number)), _) => !number.is_nan(),
        Expr::Literal(ScalarValue::Float32(Some(number)), _) => !number.is_nan(),
        _ => false,
    };
    let compared = Expr::BinaryExpr(BinaryExpr::new(Box::new(left.clone()), op, Box::new(right.clone())));
    if !ty.is_float() {
        return folded(compared, &left, &right, nullable);
    }
    let between = |value: &Expr| value.clone().gt_eq(infinity(-1.0)).and(value.clone().lt_eq(infinity(1.0)));
    let expr = match op {
        Operator::Eq if is_ordinary(&left) || is_ordinary(&right) => compared,
        Operator::Eq => compared.and(between(&left)),
        Operator::NotEq if is_ordinary(&left) || is_ordinary(&right) => compared,
        Operator::NotEq => compared.or(!between(&left)),
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => [&left, &right]
            .into_iter()
            .filter(|side| !is_ordinary(side))
            .fold(compared, |compared, side| compared.and(between(side))),
        _ => compared,
    };
    folded(expr, &left, &right, nullable)
}

fn native(op: Operator, left: Expr, right: Expr, nullable: bool) -> Bound {
    let expr = Expr::BinaryExpr(BinaryExpr::new(Box::new(left.clone()), op, Box::new(right.clone())));
    folded(expr, &left, &right, nullable)
}

/// `expr`, or its value where both sides are constants.
fn folded(expr: Expr, left: &Expr, right: &Expr, nullable: bool) -> Bound {
    let foldable = matches!((left, right), (Expr::Literal(..), Expr::Literal(..)));
    if foldable && let Ok(value @ ScalarValue::Boolean(_)) = super::evaluate(&expr) {
        return Bound::truth(Expr::Literal(value, None), nullable);
    }
    Bound::truth(expr, nullable)
}

/// `x = NULL` is NULL; `x IS DISTINCT FROM NULL` is an answer.
fn compare_with_null(op: Operator, left: Bound, right: Bound) -> Bound {
    let negated = match op {
        Operator::IsDistinctFrom => true,
        Operator::IsNotDistinctFrom => false,
        _ => return Bound::null(),
    };
    let other = if left.is_null_literal() { right } else { left };
    if other.is_null_literal() {
        return Bound::uint8(u8::from(!negated));
    }
    let expr = if negated { other.expr.is_not_null() } else { other.expr.is_null() };
    Bound::truth(expr, false)
}

/// Whether the comparison with a constant above (or below) every value of the type holds.
fn is_held(op: Operator, above: bool) -> bool {
    match op {
        Operator::Eq | Operator::IsNotDistinctFrom => false,
        Operator::NotEq | Operator::IsDistinctFrom => true,
        Operator::Lt | Operator::LtEq => above,
        _ => !above,
    }
}

fn is_negated(op: Operator) -> bool {
    matches!(op, Operator::NotEq | Operator::IsDistinctFrom)
}

/// The outcome of a comparison that is the same for every value but NULL.
fn decided(op: Operator, value: Bound, outcome: bool) -> Bound {
    let expr = Expr::Literal(ScalarValue::Boolean(Some(outcome)), None);
    let distinct = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
    if distinct || !value.accepts_null() {
        return Bound::truth(expr, false);
    }
    let null = Expr::Literal(ScalarValue::Boolean(None), None);
    Bound::truth(crate::bound::case(vec![(value.expr.is_not_null(), expr)], null), true)
}

/// An enum beside a number or an enum of other names as its number, which is its carrier.
fn enums_as_numbers(left: Bound, right: Bound) -> (Bound, Bound) {
    let is_enum = |bound: &Bound| bound.ty.stripped().enum_number().is_some();
    let is_number = |bound: &Bound| is_enum(bound) || bound.ty.stripped().is_number();
    let is_decimal = |bound: &Bound| matches!(bound.ty.stripped(), SqlType::Decimal { .. });
    let same = left.ty.stripped() == right.ty.stripped();
    if same || !is_number(&left) || !is_number(&right) || is_decimal(&left) || is_decimal(&right) {
        return (left, right);
    }
    let as_number = |bound: Bound| match bound.ty.stripped().enum_number() {
        Some(number) if bound.accepts_null() => Bound::new(bound.expr, number.into_nullable()),
        Some(number) => Bound::new(bound.expr, number),
        None => bound,
    };
    (as_number(left), as_number(right))
}

/// The constant as a value of `ty`; `None` where the types have nothing to do with each other.
pub(super) fn fit(constant: &Bound, ty: &SqlType, ctx: &PlannerContext<'_>) -> Result<Option<Fitted>> {
    let (Some(value), to) = (constant.constant(), ty.stripped()) else {
        return Ok(None);
    };
    let from = constant.ty.stripped();
    if from == to {
        return Ok(Some(Fitted::Exact(value.clone())));
    }
    let integer_target = match to {
        SqlType::DateTime(_) => SqlType::UInt32,
        other => other.clone(),
    };
    if let (Some(number), true) = (integer_value(value), integer_target.is_integer()) {
        return fit_integer(number, &integer_target).map(Some);
    }
    if let Some(target) = to.enum_number()
        && (from.is_integer() || from.enum_number().is_some())
    {
        return integer_value(value).map(|number| fit_integer(number, &target)).transpose();
    }
    if from.is_float() && to.is_integer() {
        return fit_float(value, to);
    }
    if *to == SqlType::Bool
        && let Some(number @ (0 | 1)) = integer_value(value)
    {
        return Ok(Some(Fitted::Exact(ScalarValue::Boolean(Some(number == 1)))));
    }
    if from.is_float() && *to == SqlType::Float32 {
        return fit_float32(value);
    }
    if from.is_number() && matches!(to, SqlType::Decimal { .. }) {
        return fit_decimal(constant, to);
    }
    match (from, to) {
        (SqlType::String, SqlType::FixedString(width)) => Ok(Some(fit_fixed(value, *width))),
        (SqlType::String, SqlType::String) => Ok(Some(Fitted::Exact(value.clone()))),
        (SqlType::String, SqlType::Array(_) | SqlType::Tuple(_) | SqlType::Map(..)) => Ok(None),
        (SqlType::String, _) => {
            let plain = Bound::literal(value.clone(), SqlType::String);
            let converted = convert(plain, to, ctx)?;
            Ok(converted.constant().cloned().map(Fitted::Exact))
        }
        _ => Ok(None),
    }
}

/// The whole number that an integer constant is.
fn integer_value(value: &ScalarValue) -> Option<i128> {
    Some(match value {
        ScalarValue::UInt8(Some(value)) => i128::from(*value),
        ScalarValue::UInt16(Some(value)) => i128::from(*value),
        ScalarValue::UInt32(Some(value)) => i128::from(*value),
        ScalarValue::UInt64(Some(value)) => i128::from(*value),
        ScalarValue::Int8(Some(value)) => i128::from(*value),
        ScalarValue::Int16(Some(value)) => i128::from(*value),
        ScalarValue::Int32(Some(value)) => i128::from(*value),
        ScalarValue::Int64(Some(value)) => i128::from(*value),
        ScalarValue::Boolean(Some(value)) => i128::from(*value),
        _ => return None,
    })
}

fn fit_integer(number: i128, to: &SqlType) -> Result<Fitted> {
    let bits = to.fixed_bytes().unwrap_or_default() as u32 * 8;
    let (least, greatest) = if to.is_unsigned() {
        (0, (1_i128 << bits) - 1)
    } else {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    };
    if number < least || number > greatest {
        return Ok(Fitted::Beyond(number > greatest));
    }
    Ok(Fitted::Exact(match to {
        SqlType::UInt8 => ScalarValue::UInt8(Some(number as u8)),
        SqlType::UInt16 => ScalarValue::UInt16(Some(number as u16)),
        SqlType::UInt32 => ScalarValue::UInt32(Some(number as u32)),
        SqlType::UInt64 => ScalarValue::UInt64(Some(number as u64)),
        SqlType::Int8 => ScalarValue::Int8(Some(number as i8)),
        SqlType::Int16 => ScalarValue::Int16(Some(number as i16)),
        SqlType::Int32 => ScalarValue::Int32(Some(number as i32)),
        SqlType::Int64 => ScalarValue::Int64(Some(number as i64)),
        other => return Err(Error::logical(format!("`{other}` is not an integer type"))),
    }))
}

fn fit_float(value: &ScalarValue, to: &SqlType) -> Result<Option<Fitted>> {
    let number = match value {
        ScalarValue::Float64(Some(number)) => *number,
        ScalarValue::Float32(Some(number)) => f64::from(*number),
        _ => return Ok(None),
    };
    if number.is_nan() || (number.is_finite() && number.fract() != 0.0) {
        return Ok(Some(Fitted::Between));
    }
    if number.abs() > 1e30 {
        return Ok(Some(Fitted::Beyond(number > 0.0)));
    }
    fit_integer(number as i128, to).map(Some)
}

fn fit_float32(value: &ScalarValue) -> Result<Option<Fitted>> {
    let ScalarValue::Float64(Some(wide)) = value else {
        return Ok(None);
    };
    let narrow = *wide as f32;
    let exact = f64::from(narrow) == *wide;
    Ok(Some(if exact { Fitted::Exact(ScalarValue::Float32(Some(narrow))) } else { Fitted::Between }))
}

/// The number's shortest text as a decimal, if no digit is lost.
fn fit_decimal(constant: &Bound, to: &SqlType) -> Result<Option<Fitted>> {
    let (SqlType::Decimal { scale, .. }, Some(value)) = (to, constant.constant()) else {
        return Ok(None);
    };
    let text = match value {
        ScalarValue::Float64(Some(number)) if number.is_finite() => number.to_string(),
        other => match integer_value(other) {
            Some(number) => number.to_string(),
            None => return Ok(None),
        },
    };
    let fraction = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    if fraction > usize::from(*scale) {
        return Ok(Some(Fitted::Between));
    }
    let carrier = to.carrier();
    let Ok(converted) = ScalarValue::Utf8(Some(text)).cast_to(&carrier) else {
        return Ok(Some(Fitted::Between));
    };
    Ok((!converted.is_null()).then_some(Fitted::Exact(converted)))
}

/// The string padded with zero bytes; a longer one fits only if zeroes alone are beyond the width.
fn fit_fixed(value: &ScalarValue, width: usize) -> Fitted {
    let ScalarValue::BinaryView(Some(bytes)) = value else {
        return Fitted::Between;
    };
    if bytes.len() > width {
        return Fitted::Between;
    }
    let mut padded = bytes.clone();
    padded.resize(width, 0);
    Fitted::Exact(ScalarValue::FixedSizeBinary(width as i32, Some(padded)))
}
