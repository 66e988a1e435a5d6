//! What a key or an index can use of a WHERE clause: sets and ranges of single columns.
//!
//! Every [`ColumnCondition`] must hold for each row that the query wants. What is not understood is
//! left out, which is always right: the filter above the scan sees every row again.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::compute::{SortOptions, concat, sort};
use basalt_base::{Columns, Error, Result};
use basalt_functions::set::InSet;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

/// What the values of one column must be.
#[derive(Clone, Debug)]
pub(crate) struct ColumnCondition {
    /// Position among the table's stored columns.
    pub(crate) column: usize,
    pub(crate) values: ValueSet,
}

/// A set of values, of the column's carrier type, without NULL.
#[derive(Clone, Debug)]
pub(crate) enum ValueSet {
    /// These values: distinct or not, sorted ascending.
    Points(ArrayRef),
    /// Everything between the bounds; a bound is one value and whether it is included.
    Range { low: Option<(ArrayRef, bool)>, high: Option<(ArrayRef, bool)> },
}

/// The conditions that follow from all of `filters` holding.
pub(crate) fn conditions(filters: &[Expr], columns: &Columns) -> Vec<ColumnCondition> {
    let mut found = Vec::new();
    for filter in filters {
        collect(filter, columns, &mut found);
    }
    found
}

fn collect(filter: &Expr, columns: &Columns, found: &mut Vec<ColumnCondition>) {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            collect(left, columns, found);
            collect(right, columns, found);
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            found.extend(either(left, right, columns));
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            found.extend(comparison(left, *op, right, columns));
        }
        Expr::InList(InList { expr, list, negated: false }) => found.extend(in_list(expr, list, columns)),
        Expr::Between(Between { expr, negated: false, low, high }) => {
            found.extend(comparison(expr, Operator::GtEq, low, columns));
            found.extend(comparison(expr, Operator::LtEq, high, columns));
        }
        Expr::ScalarFunction(call) => {
            if let Some(set) = call.func.inner().downcast_ref::<InSet>() {
                found.extend(in_set(set, &call.args, columns));
            }
        }
        _ => {}
    }
}

/// `a = 1 OR a = 2`: the points of both sides, if both are points of one column.
fn either(left: &Expr, right: &Expr, columns: &Columns) -> Option<ColumnCondition> {
    let one = |side: &Expr| {
        let mut found = Vec::new();
        collect(side, columns, &mut found);
        (found.len() == 1).then(|| found.pop()).flatten()
    };
    let (left, right) = (one(left)?, one(right)?);
    match (left.values, right.values) {
        (ValueSet::Points(one), ValueSet::Points(other)) if left.column == right.column => {
            points(left.column, &[one, other])
        }
        _ => None,
    }
}

fn comparison(left: &Expr, op: Operator, right: &Expr, columns: &Columns) -> Option<ColumnCondition> {
    let (column, value, op) = match (position(left, columns), literal(right)) {
        (Some(column), Some(value)) => (column, value, op),
        _ => (position(right, columns)?, literal(left)?, op.swap()?),
    };
    let value = typed(value, column, columns)?;
    let values = match op {
        Operator::Eq => ValueSet::Points(value),
        Operator::Lt => ValueSet::Range { low: None, high: Some((value, false)) },
        Operator::LtEq => ValueSet::Range { low: None, high: Some((value, true)) },
        Operator::Gt => ValueSet::Range { low: Some((value, false)), high: None },
        Operator::GtEq => ValueSet::Range { low: Some((value, true)), high: None },
        _ => return None,
    };
    Some(ColumnCondition { column, values })
}

fn in_list(expr: &Expr, list: &[Expr], columns: &Columns) -> Option<ColumnCondition> {
    let column = position(expr, columns)?;
    let values: Option<Vec<ArrayRef>> =
        list.iter().map(|item| typed(literal(item)?, column, columns)).collect();
    points(column, &values?)
}

fn in_set(set: &InSet, args: &[Expr], columns: &Columns) -> Option<ColumnCondition> {
    let [operand] = args else { return None };
    let column = position(operand, columns)?;
    let values = set.values();
    (values.data_type() == &columns[column].ty.carrier()).then_some(())?;
    points(column, &[Arc::clone(values)])
}

/// The values of `array` sorted ascending, as [`ValueSet::Points`] holds them; it has no NULL.
pub(crate) fn sorted_points(array: &ArrayRef) -> Result<ArrayRef> {
    sort(array, Some(SortOptions { descending: false, nulls_first: true })).map_err(Error::logical)
}

/// The sorted union of `parts`.
fn points(column: usize, parts: &[ArrayRef]) -> Option<ColumnCondition> {
    let parts: Vec<&dyn arrow::array::Array> = parts.iter().map(AsRef::as_ref).collect();
    let all = match parts.first() {
        None => return None,
        Some(first) if parts.len() == 1 && first.is_empty() => new_empty_array(first.data_type()),
        Some(_) => concat(&parts).ok()?,
    };
    let sorted = sort(&all, Some(SortOptions { descending: false, nulls_first: true })).ok()?;
    let known = sorted.slice(sorted.null_count(), sorted.len() - sorted.null_count());
    Some(ColumnCondition { column, values: ValueSet::Points(known) })
}

fn position(expr: &Expr, columns: &Columns) -> Option<usize> {
    match expr {
        Expr::Column(column) => columns.position(&column.name),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// The value as one row of the column's carrier; `None` if it is of another type.
fn typed(value: &ScalarValue, column: usize, columns: &Columns) -> Option<ArrayRef> {
    let array = value.to_array().ok()?;
    (array.data_type() == &columns[column].ty.carrier()).then_some(array)
}
