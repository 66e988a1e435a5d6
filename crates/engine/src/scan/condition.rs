//! Conditions that a key or an index can use: sets and ranges of single columns and expressions.
//!
//! Every [`ColumnCondition`] must hold for each row that the query wants. Unsupported conditions are left out, which is
//! always correct: the filter above the scan checks every row again.

use std::sync::Arc;

use arrow::array::{ArrayRef, UInt64Array, new_empty_array};
use arrow::compute::{SortOptions, concat, partition, sort, take};
use basalt_base::{Columns, Error, Result};
use basalt_functions::set::InSet;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

use super::compared_call::ComparedCall;
use super::monotonic::{Increasing, Reach};
use super::operand::{Operands, Subject};
use super::text_prefix;

/// The values that one column must have.
#[derive(Clone, Debug)]
pub(crate) struct ColumnCondition {
    /// Position among the table's stored columns.
    pub(crate) column: usize,
    pub(crate) values: ValueSet,
}

/// A set of values, of the column's carrier type, without NULL.
#[derive(Clone, Debug)]
pub(crate) enum ValueSet {
    /// These values, once each and ascending.
    Points(ArrayRef),
    /// Everything between the bounds; a bound is one value and whether it is included.
    Range { low: Option<(ArrayRef, bool)>, high: Option<(ArrayRef, bool)> },
}

/// A condition on a column, or on an expression that the table keeps.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) subject: Subject,
    pub(super) values: ValueSet,
}

/// The conditions on columns that follow from all of `filters` holding.
pub(crate) fn conditions(filters: &[Expr], columns: &Columns) -> Vec<ColumnCondition> {
    let operands = Operands { columns, expressions: &[] };
    let found = filters.iter().flat_map(|filter| conditions_on(filter, operands));
    let of_column = |condition: Condition| match condition.subject {
        Subject::Column(column) => Some(ColumnCondition { column, values: condition.values }),
        Subject::Expression(_) => None,
    };
    found.filter_map(of_column).collect()
}

/// The conditions that follow from `filter` holding.
pub(super) fn conditions_on(filter: &Expr, operands: Operands<'_>) -> Vec<Condition> {
    let mut found = Vec::new();
    collect(filter, operands, &mut found);
    found
}

fn collect(filter: &Expr, operands: Operands<'_>, found: &mut Vec<Condition>) {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            collect(left, operands, found);
            collect(right, operands, found);
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            found.extend(either(left, right, operands));
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            comparison(left, *op, right, operands, found);
            found.extend(ComparedCall::of(filter).and_then(|call| text_prefix::of_call(&call, operands)));
        }
        Expr::InList(InList { expr, list, negated: false }) => found.extend(in_list(expr, list, operands)),
        Expr::Between(Between { expr, negated: false, low, high }) => {
            comparison(expr, Operator::GtEq, low, operands, found);
            comparison(expr, Operator::LtEq, high, operands, found);
        }
        Expr::ScalarFunction(call) => {
            if let Some(set) = call.func.inner().downcast_ref::<InSet>() {
                in_set(set, &call.args, operands, found);
            }
        }
        _ => {}
    }
}

/// `a = 1 OR a = 2`: the points of both sides, if both are points of one operand.
fn either(left: &Expr, right: &Expr, operands: Operands<'_>) -> Option<Condition> {
    let one = |side: &Expr| {
        let mut found = Vec::new();
        collect(side, operands, &mut found);
        (found.len() == 1).then(|| found.pop()).flatten()
    };
    let (left, right) = (one(left)?, one(right)?);
    match (left.values, right.values) {
        (ValueSet::Points(one), ValueSet::Points(other)) if left.subject == right.subject => {
            points(left.subject, &[one, other])
        }
        _ => None,
    }
}

fn comparison(left: &Expr, op: Operator, right: &Expr, operands: Operands<'_>, found: &mut Vec<Condition>) {
    let (operand, value, op) = match (literal(left), literal(right), op.swap()) {
        (None, Some(value), _) => (left, value, op),
        (Some(value), None, Some(op)) => (right, value, op),
        _ => return,
    };
    if let Some(subject) = operands.find(operand) {
        found.extend(typed(value, subject, operands).and_then(|value| compared(subject, op, value)));
    }
    found.extend(on_argument(operand, op, value, operands.columns));
}

fn compared(subject: Subject, op: Operator, value: ArrayRef) -> Option<Condition> {
    let values = match op {
        Operator::Eq => ValueSet::Points(value),
        Operator::Lt => ValueSet::Range { low: None, high: Some((value, false)) },
        Operator::LtEq => ValueSet::Range { low: None, high: Some((value, true)) },
        Operator::Gt => ValueSet::Range { low: Some((value, false)), high: None },
        Operator::GtEq => ValueSet::Range { low: Some((value, true)), high: None },
        _ => return None,
    };
    Some(Condition { subject, values })
}

/// `toDate(t) = '2024-01-01'`: the condition on the column, if `operand` never falls when the column grows.
fn on_argument(operand: &Expr, op: Operator, value: &ScalarValue, columns: &Columns) -> Option<Condition> {
    let (column, increasing) = Increasing::of(operand, columns)?;
    let value = value.to_array().ok()?;
    // The values of the column in `from` that are not in `up_to`.
    let (from, up_to) = match op {
        Operator::Eq => (increasing.from(&value, false)?, increasing.from(&value, true)?),
        Operator::Lt => (Reach::All, increasing.from(&value, false)?),
        Operator::LtEq => (Reach::All, increasing.from(&value, true)?),
        Operator::Gt => (increasing.from(&value, true)?, Reach::None),
        Operator::GtEq => (increasing.from(&value, false)?, Reach::None),
        _ => return None,
    };
    let values = match (from, up_to) {
        (Reach::None, _) | (_, Reach::All) => {
            ValueSet::Points(new_empty_array(&columns[column].ty.carrier()))
        }
        (Reach::All, Reach::None) => return None,
        (Reach::All, Reach::From(high)) => ValueSet::Range { low: None, high: Some((high, false)) },
        (Reach::From(low), Reach::None) => ValueSet::Range { low: Some((low, true)), high: None },
        (Reach::From(low), Reach::From(high)) => {
            ValueSet::Range { low: Some((low, true)), high: Some((high, false)) }
        }
    };
    Some(Condition { subject: Subject::Column(column), values })
}

fn in_list(expr: &Expr, list: &[Expr], operands: Operands<'_>) -> Option<Condition> {
    let subject = operands.find(expr)?;
    let values: Option<Vec<ArrayRef>> =
        list.iter().map(|item| typed(literal(item)?, subject, operands)).collect();
    points(subject, &values?)
}

/// Each element of a tuple is one of those that the tuples of the set have there.
fn in_set(set: &InSet, args: &[Expr], operands: Operands<'_>, found: &mut Vec<Condition>) {
    for (operand, values) in args.iter().zip(set.columns()) {
        let Some(subject) = operands.find(operand) else { continue };
        if *values.data_type() == operands.ty(subject).carrier() {
            found.extend(points(subject, &[Arc::clone(values)]));
        }
    }
}

/// The values of `array` once each and ascending, as [`ValueSet::Points`] holds them; it has no NULL.
pub(crate) fn sorted_points(array: &ArrayRef) -> Result<ArrayRef> {
    let sorted = sort(array, Some(SortOptions { descending: false, nulls_first: true }));
    distinct(&sorted.map_err(Error::logical)?)
}

/// The values of a sorted array once each.
fn distinct(sorted: &ArrayRef) -> Result<ArrayRef> {
    let runs = partition(std::slice::from_ref(sorted)).map_err(Error::of_arrow)?.ranges();
    if runs.len() == sorted.len() {
        return Ok(Arc::clone(sorted));
    }
    let firsts = UInt64Array::from_iter_values(runs.iter().map(|run| run.start as u64));
    take(sorted, &firsts, None).map_err(Error::of_arrow)
}

/// The sorted union of `parts`.
fn points(subject: Subject, parts: &[ArrayRef]) -> Option<Condition> {
    let parts: Vec<&dyn arrow::array::Array> = parts.iter().map(AsRef::as_ref).collect();
    let all = match parts.first() {
        None => return None,
        Some(first) if parts.len() == 1 && first.is_empty() => new_empty_array(first.data_type()),
        Some(_) => concat(&parts).ok()?,
    };
    let sorted = sort(&all, Some(SortOptions { descending: false, nulls_first: true })).ok()?;
    let known = sorted.slice(sorted.null_count(), sorted.len() - sorted.null_count());
    Some(Condition { subject, values: ValueSet::Points(distinct(&known).ok()?) })
}

pub(super) fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// The bytes of a string; `None` if it is NULL or of another type.
pub(super) fn bytes(value: &ScalarValue) -> Option<Vec<u8>> {
    match value {
        ScalarValue::BinaryView(bytes) | ScalarValue::Binary(bytes) | ScalarValue::LargeBinary(bytes) => {
            bytes.clone()
        }
        _ => None,
    }
}

/// The value as one row of the operand's carrier; `None` if it is of another type.
pub(super) fn typed(value: &ScalarValue, subject: Subject, operands: Operands<'_>) -> Option<ArrayRef> {
    let array = value.to_array().ok()?;
    (array.data_type() == &operands.ty(subject).carrier()).then_some(array)
}
