//! Constants: as in ClickHouse, a number has the smallest type that holds it.

use basalt_base::{Error, ErrorCode, Result, SqlType};
use basalt_sql::ast::Literal;
use datafusion::common::ScalarValue;

use crate::bound_expr::BoundExpr;

/// The constant with its type.
pub(super) fn bind(literal: &Literal) -> Result<BoundExpr> {
    Ok(match literal {
        Literal::Null => BoundExpr::null(),
        Literal::Bool(value) => BoundExpr::literal(ScalarValue::Boolean(Some(*value)), SqlType::Bool),
        Literal::UInt(value) => unsigned(*value),
        Literal::Int(value) if *value >= 0 => unsigned(value.unsigned_abs()),
        Literal::Int(value) => signed(*value),
        Literal::Number(text) => float(parse_float(text)?),
        Literal::String(bytes) => string(bytes),
    })
}

/// `-literal` is one constant, because `-1` is an `Int8` and not a negated `UInt8`.
pub(super) fn bind_negative(literal: &Literal) -> Result<Option<BoundExpr>> {
    Ok(match literal {
        Literal::UInt(0) => Some(unsigned(0)),
        Literal::UInt(value) if *value <= i64::MIN.unsigned_abs() => {
            Some(signed(0_i64.wrapping_sub_unsigned(*value)))
        }
        Literal::UInt(value) => Some(float(-(*value as f64))),
        Literal::Number(text) => Some(float(-parse_float(text)?)),
        _ => None,
    })
}

pub(super) fn string(bytes: &[u8]) -> BoundExpr {
    BoundExpr::literal(ScalarValue::BinaryView(Some(bytes.to_vec())), SqlType::String)
}

fn unsigned(value: u64) -> BoundExpr {
    let (value, ty) = if let Ok(value) = u8::try_from(value) {
        (ScalarValue::UInt8(Some(value)), SqlType::UInt8)
    } else if let Ok(value) = u16::try_from(value) {
        (ScalarValue::UInt16(Some(value)), SqlType::UInt16)
    } else if let Ok(value) = u32::try_from(value) {
        (ScalarValue::UInt32(Some(value)), SqlType::UInt32)
    } else {
        (ScalarValue::UInt64(Some(value)), SqlType::UInt64)
    };
    BoundExpr::literal(value, ty)
}

fn signed(value: i64) -> BoundExpr {
    let (value, ty) = if let Ok(value) = i8::try_from(value) {
        (ScalarValue::Int8(Some(value)), SqlType::Int8)
    } else if let Ok(value) = i16::try_from(value) {
        (ScalarValue::Int16(Some(value)), SqlType::Int16)
    } else if let Ok(value) = i32::try_from(value) {
        (ScalarValue::Int32(Some(value)), SqlType::Int32)
    } else {
        (ScalarValue::Int64(Some(value)), SqlType::Int64)
    };
    BoundExpr::literal(value, ty)
}

fn float(value: f64) -> BoundExpr {
    BoundExpr::literal(ScalarValue::Float64(Some(value)), SqlType::Float64)
}

fn parse_float(text: &str) -> Result<f64> {
    text.parse().map_err(|_| Error::new(ErrorCode::CannotParseNumber, format!("`{text}` is not a number")))
}

/// A position as a constant for `tupleElement`.
pub(super) fn bind_index(index: u64) -> Result<BoundExpr> {
    bind(&Literal::UInt(index))
}
