//! Conditions that a skip index can use: values and ranges, and also parts of strings and elements of arrays.
//!
//! As in [`condition`](super::condition), unsupported conditions are left out.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::SqlType;
use basalt_parts::{KeyRanges, Predicate, Substring, ValueTest};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::compared_call::ComparedCall;
use super::condition::{Condition, ValueSet, bytes, conditions_on, literal, typed};
use super::operand::{Operands, Subject};

/// The predicate that all of `filters` imply.
pub(crate) fn predicate(filters: &[Expr], operands: Operands<'_>) -> Predicate {
    Predicate::And(filters.iter().map(|filter| of(filter, operands)).collect())
}

fn of(filter: &Expr, operands: Operands<'_>) -> Predicate {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            Predicate::And(vec![of(left, operands), of(right, operands)])
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            Predicate::Or(vec![of(left, operands), of(right, operands)])
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::NotEq, right }) => {
            of_condition_call(filter, operands).unwrap_or_else(|| not_equal(left, right, operands))
        }
        Expr::ScalarFunction(call) => match call_of(call, operands) {
            Some(found) => found,
            None => of_values(filter, operands),
        },
        _ => of_values(filter, operands),
    }
}

fn of_values(filter: &Expr, operands: Operands<'_>) -> Predicate {
    let found = conditions_on(filter, operands);
    Predicate::And(found.iter().map(|condition| of_condition(condition, operands)).collect())
}

fn of_condition(condition: &Condition, operands: Operands<'_>) -> Predicate {
    let test = match &condition.values {
        ValueSet::Points(points) => ValueTest::Points(Arc::clone(points)),
        ValueSet::Range { low, high } => {
            let Ok(ranges) = KeyRanges::between(bound(low), bound(high)) else { return Predicate::Any };
            ValueTest::Ranges(ranges)
        }
    };
    Predicate::Value { operand: operands.name(condition.subject), test }
}

fn bound(bound: &Option<(ArrayRef, bool)>) -> Bound<&ArrayRef> {
    match bound {
        None => Bound::Unbounded,
        Some((value, true)) => Bound::Included(value),
        Some((value, false)) => Bound::Excluded(value),
    }
}

/// A function that answers 0 or 1 as a condition, which is `f(x) != 0`.
fn of_condition_call(filter: &Expr, operands: Operands<'_>) -> Option<Predicate> {
    let compared = ComparedCall::of(filter).filter(ComparedCall::is_condition)?;
    call_of(compared.call, operands)
}

/// `x != 1`.
fn not_equal(left: &Expr, right: &Expr, operands: Operands<'_>) -> Predicate {
    let other_than = |value: &ScalarValue, subject: Subject| {
        let ranges = KeyRanges::points(&typed(value, subject, operands)?).ok()?.complement();
        Some(Predicate::Value { operand: operands.name(subject), test: ValueTest::Ranges(ranges) })
    };
    let found = match (operands.find(left), literal(right)) {
        (Some(subject), Some(value)) => other_than(value, subject),
        _ => operands.find(right).zip(literal(left)).and_then(|(subject, value)| other_than(value, subject)),
    };
    found.unwrap_or(Predicate::Any)
}

/// The predicate that a call of a function implies when it returns 1.
fn call_of(call: &ScalarFunction, operands: Operands<'_>) -> Option<Predicate> {
    let (operand, value) = match call.args.as_slice() {
        [operand, Expr::Literal(value, _)] => (operand, value),
        // `has([1, 2], x)` says the same as `x IN (1, 2)`.
        [Expr::Literal(list, _), operand] if call.func.name() == "has" => {
            let (subject, points) = (operands.find(operand)?, elements(list)?);
            let fits = *points.data_type() == operands.ty(subject).carrier() && points.null_count() == 0;
            let operand = operands.name(subject);
            return fits.then_some(Predicate::Value { operand, test: ValueTest::Points(points) });
        }
        _ => return None,
    };
    let subject = match call.func.name() {
        "mapContains" => operands.find_call("mapKeys", operand)?,
        _ => operands.find(operand)?,
    };
    let ty = operands.ty(subject);
    let passes = |test: ValueTest| Predicate::Value { operand: operands.name(subject), test };
    Some(match call.func.name() {
        "like" => passes(ValueTest::Substrings(substrings_of_like(&bytes(value)?))),
        "startsWith" => passes(substring(bytes(value)?, true, false)),
        "endsWith" => passes(substring(bytes(value)?, false, true)),
        "hasToken" => passes(ValueTest::Token(bytes(value)?)),
        "has" | "indexOf" | "mapContains" => {
            passes(ValueTest::Elements(of_element(value.to_array().ok()?, ty)?))
        }
        "hasAny" => passes(ValueTest::Elements(of_element(elements(value)?, ty)?)),
        "hasAll" => {
            let all = of_element(elements(value)?, ty)?;
            let each = (0..all.len()).map(|at| passes(ValueTest::Elements(all.slice(at, 1))));
            Predicate::And(each.collect())
        }
        _ => return None,
    })
}

fn substring(bytes: Vec<u8>, is_start: bool, is_end: bool) -> ValueTest {
    ValueTest::Substrings(vec![Substring { bytes, is_start, is_end }])
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

/// The stretches between the wildcards of a LIKE pattern.
fn substrings_of_like(pattern: &[u8]) -> Vec<Substring> {
    let mut substrings = Vec::new();
    let mut substring = Substring { bytes: Vec::new(), is_start: true, is_end: false };
    let mut at = 0;
    while let Some(&byte) = pattern.get(at) {
        at += 1;
        match (byte, pattern.get(at)) {
            (b'%' | b'_', _) => {
                let next = Substring { bytes: Vec::new(), is_start: false, is_end: false };
                substrings.push(std::mem::replace(&mut substring, next));
            }
            // Before any other byte, a backslash stands for itself.
            (b'\\', Some(&escaped @ (b'%' | b'_' | b'\\'))) => {
                substring.bytes.push(escaped);
                at += 1;
            }
            _ => substring.bytes.push(byte),
        }
    }
    substring.is_end = true;
    substrings.push(substring);
    substrings.retain(|substring| !substring.bytes.is_empty());
    substrings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_cut_at_its_wildcards() {
        let check = |pattern: &str, expected: &[(&str, bool, bool)]| {
            let substring = |&(text, is_start, is_end): &(&str, bool, bool)| Substring {
                bytes: text.as_bytes().to_vec(),
                is_start,
                is_end,
            };
            let expected: Vec<Substring> = expected.iter().map(substring).collect();
            assert_eq!(substrings_of_like(pattern.as_bytes()), expected, "{pattern}");
        };
        check("%word%", &[("word", false, false)]);
        check("a%b", &[("a", true, false), ("b", false, true)]);
        check("exact", &[("exact", true, true)]);
        check("%50\\%_off", &[("50%", false, false), ("off", false, true)]);
        check("%", &[]);
    }
}
