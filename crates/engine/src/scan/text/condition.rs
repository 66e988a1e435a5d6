//! What a filter tells of the strings of a column.
//!
//! As in [`condition`](crate::scan::conditions), what is not understood is left out. NULL passes no test.

use arrow::array::{AsArray, BinaryViewArray};
use arrow::compute::concat;
use basalt_base::{Columns, SqlType};
use basalt_functions::set::InSet;
use datafusion::logical_expr::expr::{Case, InList};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

use super::call::{of_call, of_extract};
use super::test::TextTest;
use crate::scan::compared_call::ComparedCall;
use crate::scan::condition::bytes;

/// A test of the strings of one column that follows from a filter.
#[derive(Clone, Debug)]
pub(crate) struct TextCondition {
    /// Position among the table's stored columns.
    pub(crate) column: usize,
    /// The filter that it follows from: position among [`ScanRequest::filters`](crate::scan::ScanRequest).
    pub(crate) filter: usize,
    /// Whether a row that passes meets the whole filter: the filter need not be evaluated then.
    pub(crate) is_exact: bool,
    pub(crate) test: TextTest,
}

/// A test that each row passes for which an expression holds.
pub(super) struct Implied {
    pub(super) column: usize,
    /// Whether the expression holds for each row that passes.
    pub(super) is_exact: bool,
    pub(super) test: TextTest,
}

/// The tests that follow from each of `filters` holding. A filter that fails for a row may lead to a test that the row
/// does not pass.
pub(crate) fn text_conditions(filters: &[Expr], columns: &Columns) -> Vec<TextCondition> {
    let of_filter = |(filter, expr)| {
        let condition =
            move |Implied { column, is_exact, test }| TextCondition { column, filter, is_exact, test };
        implied(expr, columns).into_iter().map(condition)
    };
    filters.iter().enumerate().flat_map(of_filter).collect()
}

fn implied(expr: &Expr, columns: &Columns) -> Vec<Implied> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let both = [left, right].into_iter().flat_map(|side| implied(side, columns));
            both.map(|found| Implied { is_exact: false, ..found }).collect()
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => any_of(expr, columns),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match ComparedCall::of(expr) {
            Some(compared) => of_call(&compared, columns).into_iter().collect(),
            None => of_comparison(left, *op, right, columns),
        },
        Expr::InList(InList { expr, list, negated: false }) => {
            in_list(expr, list, columns).into_iter().collect()
        }
        Expr::ScalarFunction(call) => match InSet::of(&call.func) {
            Some(set) => in_set(set, &call.args, columns),
            None => Vec::new(),
        },
        Expr::Case(case) => unless_null(case, columns),
        _ => Vec::new(),
    }
}

/// The position of a column whose values are strings of any length, or NULL.
pub(super) fn text_column(expr: &Expr, columns: &Columns) -> Option<usize> {
    let Expr::Column(column) = expr else { return None };
    columns.position(&column.name).filter(|&at| *columns[at].ty.stripped() == SqlType::String)
}

/// The bytes of a literal that is a string.
pub(super) fn text_of(expr: &Expr) -> Option<Vec<u8>> {
    match expr {
        Expr::Literal(value, _) => bytes(value),
        _ => None,
    }
}

fn of_comparison(left: &Expr, op: Operator, right: &Expr, columns: &Columns) -> Vec<Implied> {
    let (operand, text) = match (text_of(left), text_of(right)) {
        (None, Some(text)) => (left, text),
        (Some(text), None) => (right, text),
        _ => return Vec::new(),
    };
    if let Expr::ScalarFunction(call) = operand {
        return of_extract(call, op, text, columns);
    }
    match text_column(operand, columns) {
        Some(column) if op == Operator::Eq => {
            let test = TextTest::OneOf(BinaryViewArray::from_iter_values([text]));
            vec![Implied { column, is_exact: true, test }]
        }
        _ => Vec::new(),
    }
}

/// NULL in a list equals nothing.
fn in_list(operand: &Expr, list: &[Expr], columns: &Columns) -> Option<Implied> {
    let column = text_column(operand, columns)?;
    let texts = list.iter().filter(|item| !matches!(item, Expr::Literal(value, _) if value.is_null()));
    let texts = texts.map(text_of).collect::<Option<Vec<_>>>()?;
    Some(Implied { column, is_exact: true, test: TextTest::OneOf(BinaryViewArray::from_iter_values(texts)) })
}

/// Each element of a tuple is one of those that the tuples of the set have there.
fn in_set(set: &InSet, args: &[Expr], columns: &Columns) -> Vec<Implied> {
    let of_element = |(operand, values): (&Expr, &arrow::array::ArrayRef)| {
        let column = text_column(operand, columns)?;
        let test = TextTest::OneOf(values.as_binary_view_opt()?.clone());
        Some(Implied { column, is_exact: args.len() == 1, test })
    };
    args.iter().zip(set.columns()).filter_map(of_element).collect()
}

/// `CASE WHEN c IS NOT NULL THEN c IN set ELSE NULL END`.
fn unless_null(case: &Case, columns: &Columns) -> Vec<Implied> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
    let [(when, then)] = case.when_then_expr.as_slice() else { return Vec::new() };
    let Expr::IsNotNull(operand) = when.as_ref() else { return Vec::new() };
    if case.expr.is_some() || !case.else_expr.as_deref().is_none_or(is_null) {
        return Vec::new();
    }
    let column = text_column(operand, columns);
    let found = implied(then, columns).into_iter();
    found.map(|found| Implied { is_exact: found.is_exact && Some(found.column) == column, ..found }).collect()
}

/// The tests of the columns that all sides of an OR test.
fn any_of(expr: &Expr, columns: &Columns) -> Vec<Implied> {
    let mut sides = Vec::new();
    collect_sides(expr, &mut sides);
    let mut sides: Vec<Vec<Implied>> = sides.into_iter().map(|side| implied(side, columns)).collect();
    let Some(first) = sides.first() else { return Vec::new() };
    let mut candidates: Vec<usize> = first.iter().map(|found| found.column).collect();
    candidates.sort_unstable();
    candidates.dedup();
    candidates.into_iter().filter_map(|column| any_on(column, &mut sides)).collect()
}

fn collect_sides<'e>(expr: &'e Expr, sides: &mut Vec<&'e Expr>) {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            collect_sides(left, sides);
            collect_sides(right, sides);
        }
        side => sides.push(side),
    }
}

/// Takes the tests of `column` out of `sides`.
fn any_on(column: usize, sides: &mut [Vec<Implied>]) -> Option<Implied> {
    let mut tests = Vec::with_capacity(sides.len());
    let mut is_exact = true;
    for side in sides {
        let at = side.iter().position(|found| found.column == column && !found.test.is_distance())?;
        let found = side.swap_remove(at);
        is_exact &= found.is_exact;
        tests.push(found.test);
    }
    let sets = tests.iter().map(|test| match test {
        TextTest::OneOf(strings) => Some(strings as &dyn arrow::array::Array),
        _ => None,
    });
    let test = match sets.collect::<Option<Vec<_>>>() {
        Some(sets) => TextTest::OneOf(concat(&sets).ok()?.as_binary_view_opt()?.clone()),
        None => TextTest::Any(tests),
    };
    Some(Implied { column, is_exact, test })
}
