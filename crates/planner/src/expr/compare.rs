//! Comparisons: native expressions over two equal carriers.
//!
//! A constant is placed among the values of the other side's type (`fit`), so that the column stays bare and storage
//! can prune by it: over whole numbers `x < 1.5` is `x <= 1`, and no `UInt8` is -1. Two columns of different types
//! are compared in their common type, or by a function that compares them as they are.

use arrow::datatypes::DataType;
use basalt_base::types::common_type;
use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_sql::ast;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::BinaryExpr;
use datafusion::logical_expr::{Expr, Operator};

use super::fit::{Fitted, fit};
use super::{Binder, convert};
use crate::bound_expr::{BoundExpr, case, native_cast};
use crate::select::ordered;

/// Decimal digits that hold every 64-bit integer, signed or not.
const INTEGER_DIGITS: u8 = 20;
/// Decimal digits of the width that holds the ticks of a time.
const TICKS_DIGITS: u8 = 18;

impl Binder<'_> {
    pub(super) fn bind_comparison(
        &self,
        op: Operator,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<BoundExpr> {
        let (left_value, right_value) = (self.bind(left)?, self.bind(right)?);
        self.infer_parameter(left, &right_value.ty);
        self.infer_parameter(right, &left_value.ty);
        let (left_value, right_value) = match (self.array_literal(left), self.array_literal(right)) {
            (Some(array), _) if holds_list(&right_value.ty) => (self.bind(&array)?, right_value),
            (_, Some(array)) if holds_list(&left_value.ty) => (left_value, self.bind(&array)?),
            _ => (left_value, right_value),
        };
        self.compare(op, left_value, right_value)
    }

    /// `'{1,2}'` in the dialect of Postgres, as the text of an array of ours.
    fn array_literal(&self, expr: &ast::Expr) -> Option<ast::Expr> {
        self.session.ctx.postgres?;
        match expr {
            ast::Expr::Literal(ast::Literal::String(text)) if text.starts_with(b"{") => {
                Some(ast::Expr::Literal(ast::Literal::String(basalt_sql::postgres_array_literal(text))))
            }
            _ => None,
        }
    }

    pub(super) fn compare(&self, op: Operator, left: BoundExpr, right: BoundExpr) -> Result<BoundExpr> {
        let (left, right) = (left.into_value(), right.into_value());
        let sides = [left.kind(), right.kind()];
        Ok(self.compare_values(op, left, right)?.low_cardinality_as(&sides))
    }

    fn compare_values(&self, op: Operator, left: BoundExpr, right: BoundExpr) -> Result<BoundExpr> {
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
        let (left, right) = as_numbers(left, right);
        if left.ty.stripped() == right.ty.stripped() {
            let (left, right) = (compared(op, left), compared(op, right));
            return Ok(native_of(left.ty.stripped(), op, left.expr, right.expr, nullable));
        }
        if right.constant().is_some()
            && let Some(compared) = self.compare_constant(op, &left, &right, nullable)?
        {
            return Ok(compared);
        }
        if left.constant().is_some()
            && let swapped = op.swap().unwrap_or(op)
            && let Some(compared) = self.compare_constant(swapped, &right, &left, nullable)?
        {
            return Ok(compared);
        }
        self.compare_widened(op, left, right, nullable)
    }

    /// `None` if the constant has no place among the values of the other side's type.
    fn compare_constant(
        &self,
        op: Operator,
        value: &BoundExpr,
        constant: &BoundExpr,
        nullable: bool,
    ) -> Result<Option<BoundExpr>> {
        let fitted = match fit(constant, &value.ty, self.session.ctx) {
            // A name that the enum does not have is neither equal to, nor below or above, any value.
            Err(error) if error.code() == ErrorCode::UnknownElementOfEnum && !is_negated(op) => {
                Some(Fitted::Unordered)
            }
            fitted => fitted?,
        };
        let Some(fitted) = fitted else { return Ok(None) };
        // With two comparisons, a volatile value would be computed twice.
        if matches!(fitted, Fitted::Several { .. }) && value.expr.is_volatile() {
            return Ok(None);
        }
        self.compare_placed(op, value, fitted, nullable)
    }

    /// The comparison with a constant that is placed among the values of the type.
    fn compare_placed(
        &self,
        op: Operator,
        value: &BoundExpr,
        fitted: Fitted,
        nullable: bool,
    ) -> Result<Option<BoundExpr>> {
        let against = |op, limit: ScalarValue| {
            let limit = BoundExpr::literal(limit, value.ty.stripped().clone());
            let (value, limit) = (compared(op, value.clone()), compared(op, limit));
            native_of(value.ty.stripped(), op, value.expr, limit.expr, nullable)
        };
        let within = |first, last| {
            self.logic(true, vec![against(Operator::GtEq, first), against(Operator::LtEq, last)])
        };
        Ok(Some(match (fitted, op) {
            (Fitted::Exact(fitted), _) => against(op, fitted),
            (Fitted::Above(floor), Operator::Lt | Operator::LtEq) => against(Operator::LtEq, floor),
            (Fitted::Above(floor), Operator::Gt | Operator::GtEq) => against(Operator::Gt, floor),
            (Fitted::Several { first, .. }, Operator::Lt | Operator::GtEq) => against(op, first),
            (Fitted::Several { last, .. }, Operator::LtEq | Operator::Gt) => against(op, last),
            (Fitted::Several { first, last, .. }, Operator::Eq) => within(first, last)?,
            (Fitted::Several { first, last, .. }, Operator::NotEq) => self.negate(within(first, last)?)?,
            (Fitted::Several { .. }, _) => return Ok(None),
            (Fitted::Beyond(above), Operator::Lt | Operator::LtEq) => decided(op, value, above),
            (Fitted::Beyond(above), Operator::Gt | Operator::GtEq) => decided(op, value, !above),
            (Fitted::Above(_) | Fitted::Beyond(_) | Fitted::Unordered, _) => {
                decided(op, value, is_negated(op))
            }
        }))
    }

    /// A time of ticks next to a number: the time as a decimal.
    fn ticks_as_decimals(&self, left: BoundExpr, right: BoundExpr) -> Result<(BoundExpr, BoundExpr)> {
        let as_decimal = |time: BoundExpr, other: &SqlType| match time.ty.stripped() {
            &SqlType::DateTime64 { precision: scale, .. } if other.stripped().is_number() => {
                let decimal = SqlType::Decimal { precision: TICKS_DIGITS, scale };
                let to = if time.accepts_null() { decimal.into_nullable() } else { decimal };
                convert(time, &to, self.session.ctx)
            }
            _ => Ok(time),
        };
        let types = (left.ty.clone(), right.ty.clone());
        Ok((as_decimal(left, &types.1)?, as_decimal(right, &types.0)?))
    }

    fn compare_widened(
        &self,
        op: Operator,
        left: BoundExpr,
        right: BoundExpr,
        nullable: bool,
    ) -> Result<BoundExpr> {
        let (left, right) = self.ticks_as_decimals(left, right)?;
        let (left_type, right_type) = (left.ty.stripped(), right.ty.stripped());
        if let (true, Ok(function)) = (are_compared_by_function(left_type, right_type), function_of(op)) {
            return self.call(function, vec![left, right]);
        }
        if let Some(common) = compared_type(left_type, right_type) {
            let to = |bound: BoundExpr| {
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
        // A constant string is read as a value of the other side's type.
        if left_type.is_string() && left.constant().is_some() {
            let left = convert(left, &right_type.clone(), self.session.ctx)?;
            return Ok(native(op, left.expr, right.expr, nullable));
        }
        if right_type.is_string() && right.constant().is_some() {
            let right = convert(right, &left_type.clone(), self.session.ctx)?;
            return Ok(native(op, left.expr, right.expr, nullable));
        }
        let what =
            format!("a value of type `{}` cannot be compared with one of type `{}`", left.ty, right.ty);
        let is_text_and_more = [(left_type, right_type), (right_type, left_type)]
            .iter()
            .any(|(text, other)| text.is_string() && !matches!(other, SqlType::Decimal { .. }));
        let are_intervals = matches!((left_type, right_type), (SqlType::Interval(_), SqlType::Interval(_)));
        let code = if is_text_and_more || are_intervals {
            ErrorCode::NoCommonType
        } else {
            ErrorCode::IllegalTypeOfArgument
        };
        Err(Error::new(code, what))
    }
}

/// Whether no type can represent the values of both sides exactly: large whole numbers with floats, and strings whose
/// trailing zero bytes do not count.
fn are_compared_by_function(left: &SqlType, right: &SqlType) -> bool {
    let is_large = |ty: &SqlType| matches!(ty, SqlType::Int64 | SqlType::UInt64);
    let is_wide = |ty: &SqlType| ty.wide().is_some();
    let is_unlike = |ty: &SqlType| ty.is_float() || matches!(ty, SqlType::Decimal { .. });
    let is_fixed = |ty: &SqlType| matches!(ty, SqlType::FixedString(_));
    let pair = |one: &SqlType, other: &SqlType| {
        is_large(one) && other.is_float()
            || is_wide(one) && (is_unlike(other) || other.is_whole() && common_type([one, other]).is_none())
            || is_fixed(one) && other.is_string()
    };
    pair(left, right) || pair(right, left)
}

/// The common type for the comparison.
fn compared_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    match (left, right) {
        // The last days are beyond the last second of a DateTime.
        (SqlType::Date, SqlType::DateTime(zone)) | (SqlType::DateTime(zone), SqlType::Date) => {
            Some(SqlType::DateTime64 { precision: 0, zone: zone.clone() })
        }
        _ => common_type([left, right]).or_else(|| address_type(left, right)),
    }
}

/// IPv6, if one side is IPv6 and the other becomes an address in a comparison with it.
fn address_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let becomes_address =
        |ty: &SqlType| matches!(ty, SqlType::Ipv6 | SqlType::Ipv4 | SqlType::FixedString(16));
    let is_one = [left, right].contains(&&SqlType::Ipv6);
    (is_one && becomes_address(left) && becomes_address(right)).then_some(SqlType::Ipv6)
}

/// Whether values of the type contain arrays or maps. Natively, NULL sorts first inside these; in SQL it sorts last.
fn holds_list(ty: &SqlType) -> bool {
    match ty.stripped() {
        SqlType::Array(_) | SqlType::Map(..) => true,
        SqlType::Tuple(elements) => elements.iter().any(|element| holds_list(&element.ty)),
        _ => false,
    }
}

/// The function that is equivalent to the operator.
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
/// In SQL only `!=` holds for NaN, while natively NaN equals itself and is greater than infinity. Conditions on
/// floats are therefore bounded by the infinities. The bounds stay plain ranges, so that storage can prune by them.
fn native_of(ty: &SqlType, op: Operator, left: Expr, right: Expr, nullable: bool) -> BoundExpr {
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
    let are_columns = !matches!(left, Expr::Literal(..)) && !matches!(right, Expr::Literal(..));
    let is_known = left.clone().is_not_null().and(right.clone().is_not_null());
    let expr = match op {
        // A join recognizes equalities only in their plain form.
        Operator::Eq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => expr,
        // NaN compared with NULL is NULL; the bounds alone would make it false.
        _ if nullable && are_columns => {
            case(vec![(is_known, expr)], Expr::Literal(ScalarValue::Boolean(None), None))
        }
        _ => expr,
    };
    folded(expr, &left, &right, nullable)
}

fn native(op: Operator, left: Expr, right: Expr, nullable: bool) -> BoundExpr {
    let expr = Expr::BinaryExpr(BinaryExpr::new(Box::new(left.clone()), op, Box::new(right.clone())));
    folded(expr, &left, &right, nullable)
}

/// `expr`, or its value if both sides are constants.
fn folded(expr: Expr, left: &Expr, right: &Expr, nullable: bool) -> BoundExpr {
    let foldable = matches!((left, right), (Expr::Literal(..), Expr::Literal(..)));
    if foldable && let Ok(value @ ScalarValue::Boolean(_)) = super::evaluate(&expr) {
        return BoundExpr::truth(Expr::Literal(value, None), nullable);
    }
    BoundExpr::truth(expr, nullable)
}

/// `x = NULL` is NULL; `x IS DISTINCT FROM NULL` is true or false.
fn compare_with_null(op: Operator, left: BoundExpr, right: BoundExpr) -> BoundExpr {
    let negated = match op {
        Operator::IsDistinctFrom => true,
        Operator::IsNotDistinctFrom => false,
        _ => return BoundExpr::null(),
    };
    let other = if left.is_null_literal() { right } else { left };
    if other.is_null_literal() {
        return BoundExpr::uint8(u8::from(!negated));
    }
    let expr = if negated { other.expr.is_not_null() } else { other.expr.is_null() };
    BoundExpr::truth(expr, false)
}

/// A UUID as a value whose native order is that of UUIDs, for operators other than equality.
fn compared(op: Operator, value: BoundExpr) -> BoundExpr {
    let is_order = matches!(op, Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq);
    if is_order && *value.ty.stripped() == SqlType::Uuid { ordered(value) } else { value }
}

fn is_negated(op: Operator) -> bool {
    matches!(op, Operator::NotEq | Operator::IsDistinctFrom)
}

/// The result of a comparison that is the same for every value except NULL.
fn decided(op: Operator, value: &BoundExpr, outcome: bool) -> BoundExpr {
    let expr = Expr::Literal(ScalarValue::Boolean(Some(outcome)), None);
    let distinct = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
    if distinct || !value.accepts_null() {
        return BoundExpr::truth(expr, false);
    }
    let null = Expr::Literal(ScalarValue::Boolean(None), None);
    BoundExpr::truth(crate::bound_expr::case(vec![(value.expr.clone().is_not_null(), expr)], null), true)
}

/// Compares by number where one side is an enum next to a number or an enum with other names, a time next to a
/// number, or an address next to a whole number: the carrier is that number.
fn as_numbers(left: BoundExpr, right: BoundExpr) -> (BoundExpr, BoundExpr) {
    let (of_left, of_right) = (number_of(&left.ty, &right.ty), number_of(&right.ty, &left.ty));
    let as_number = |bound: BoundExpr, number: Option<SqlType>| match number {
        Some(number) if bound.accepts_null() => BoundExpr::new(bound.expr, number.into_nullable()),
        Some(number) => BoundExpr::new(bound.expr, number),
        None => bound,
    };
    (as_number(left, of_left), as_number(right, of_right))
}

/// The number type that carries `ty`, if values of `ty` compare as numbers with values of `other`.
fn number_of(ty: &SqlType, other: &SqlType) -> Option<SqlType> {
    let (ty, other) = (ty.stripped(), other.stripped());
    let is_plain = other.is_whole() || other.is_number() && !matches!(other, SqlType::Decimal { .. });
    match ty {
        SqlType::DateTime(_) if is_plain => Some(SqlType::UInt32),
        SqlType::Ipv4 if other.is_integer() => Some(SqlType::UInt32),
        SqlType::Interval(_) if is_plain => Some(SqlType::Int64),
        _ if is_plain || other.enum_number().is_some() && ty != other => ty.enum_number(),
        _ => None,
    }
}
