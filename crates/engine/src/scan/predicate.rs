//! What a skip index can use of a WHERE clause: beside values and ranges, what is in strings and arrays.
//!
//! As in [`condition`](super::condition), what is not understood is left out.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::{Columns, SqlType};
use basalt_parts::{KeyRanges, Piece, Predicate, Wanted};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::condition::{ColumnCondition, ValueSet, conditions};

/// What follows from all of `filters` holding.
pub(super) fn predicate(filters: &[Expr], columns: &Columns) -> Predicate {
    Predicate::And(filters.iter().map(|filter| of(filter, columns)).collect())
}

fn of(filter: &Expr, columns: &Columns) -> Predicate {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            Predicate::And(vec![of(left, columns), of(right, columns)])
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            Predicate::Or(vec![of(left, columns), of(right, columns)])
        }
        // A function that answers 0 or 1 as a condition.
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::NotEq, right }) if is_zero(right) => {
            of(left, columns)
        }
        Expr::ScalarFunction(call) => match call_of(call, columns) {
            Some(found) => found,
            None => of_values(filter, columns),
        },
        _ => of_values(filter, columns),
    }
}

fn of_values(filter: &Expr, columns: &Columns) -> Predicate {
    let found = conditions(std::slice::from_ref(filter), columns);
    Predicate::And(found.iter().map(|condition| of_condition(condition, columns)).collect())
}

fn of_condition(condition: &ColumnCondition, columns: &Columns) -> Predicate {
    let wanted = match &condition.values {
        ValueSet::Points(points) => Wanted::Points(Arc::clone(points)),
        ValueSet::Range { low, high } => {
            let Ok(ranges) = KeyRanges::between(bound(low), bound(high)) else { return Predicate::Any };
            Wanted::Ranges(ranges)
        }
    };
    Predicate::Value { operand: columns[condition.column].name.clone(), wanted }
}

fn bound(bound: &Option<(ArrayRef, bool)>) -> Bound<&ArrayRef> {
    match bound {
        None => Bound::Unbounded,
        Some((value, true)) => Bound::Included(value),
        Some((value, false)) => Bound::Excluded(value),
    }
}

/// What a call of a function on a column says when it answers 1.
fn call_of(call: &ScalarFunction, columns: &Columns) -> Option<Predicate> {
    let [Expr::Column(column), Expr::Literal(value, _)] = call.args.as_slice() else { return None };
    let ty = &columns[columns.position(&column.name)?].ty;
    let wanted = match call.func.name() {
        "like" => Wanted::Pieces(pieces_of_like(&bytes(value)?)),
        "startsWith" => Wanted::Pieces(vec![Piece { bytes: bytes(value)?, is_start: true, is_end: false }]),
        "endsWith" => Wanted::Pieces(vec![Piece { bytes: bytes(value)?, is_start: false, is_end: true }]),
        "hasToken" => Wanted::Token(bytes(value)?),
        "has" => Wanted::Elements(of_element(value.to_array().ok()?, ty)?),
        "hasAny" => Wanted::Elements(of_element(elements(value)?, ty)?),
        _ => return None,
    };
    Some(Predicate::Value { operand: column.name.clone(), wanted })
}

/// The values, if they are of the type of the column's elements and none is NULL.
fn of_element(values: ArrayRef, ty: &SqlType) -> Option<ArrayRef> {
    let SqlType::Array(element) = ty else { return None };
    (*values.data_type() == element.carrier() && values.null_count() == 0).then_some(values)
}

fn elements(value: &ScalarValue) -> Option<ArrayRef> {
    let list = value.to_array().ok()?;
    match list.data_type() {
        DataType::List(_) if list.is_valid(0) => Some(list.as_list::<i32>().value(0)),
        _ => None,
    }
}

fn bytes(value: &ScalarValue) -> Option<Vec<u8>> {
    match value {
        ScalarValue::BinaryView(bytes) | ScalarValue::Binary(bytes) | ScalarValue::LargeBinary(bytes) => {
            bytes.clone()
        }
        _ => None,
    }
}

fn is_zero(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else { return false };
    matches!(
        value,
        ScalarValue::UInt8(Some(0))
            | ScalarValue::UInt64(Some(0))
            | ScalarValue::Int32(Some(0))
            | ScalarValue::Int64(Some(0))
    )
}

/// The stretches between the wildcards of a LIKE pattern.
fn pieces_of_like(pattern: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut piece = Piece { bytes: Vec::new(), is_start: true, is_end: false };
    let mut at = 0;
    while let Some(&byte) = pattern.get(at) {
        at += 1;
        match (byte, pattern.get(at)) {
            (b'%' | b'_', _) => {
                let next = Piece { bytes: Vec::new(), is_start: false, is_end: false };
                pieces.push(std::mem::replace(&mut piece, next));
            }
            // Before any other byte a backslash is a backslash.
            (b'\\', Some(&escaped @ (b'%' | b'_' | b'\\'))) => {
                piece.bytes.push(escaped);
                at += 1;
            }
            _ => piece.bytes.push(byte),
        }
    }
    piece.is_end = true;
    pieces.push(piece);
    pieces.retain(|piece| !piece.bytes.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_cut_at_its_wildcards() {
        let check = |pattern: &str, expected: &[(&str, bool, bool)]| {
            let piece = |&(text, is_start, is_end): &(&str, bool, bool)| Piece {
                bytes: text.as_bytes().to_vec(),
                is_start,
                is_end,
            };
            let expected: Vec<Piece> = expected.iter().map(piece).collect();
            assert_eq!(pieces_of_like(pattern.as_bytes()), expected, "{pattern}");
        };
        check("%word%", &[("word", false, false)]);
        check("a%b", &[("a", true, false), ("b", false, true)]);
        check("exact", &[("exact", true, true)]);
        check("%50\\%_off", &[("50%", false, false), ("off", false, true)]);
        check("%", &[]);
    }
}
