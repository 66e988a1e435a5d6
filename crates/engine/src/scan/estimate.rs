//! The cost of a condition for a row, how many rows it keeps, and whether it can fail: estimates that order conditions.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// The guess for one condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// Beyond reading its columns, in the time that decoding a byte takes.
    pub(super) cost: f64,
    /// The share of rows that it keeps.
    pub(super) selectivity: f64,
    /// Whether some value makes it fail.
    pub(super) fallible: bool,
}

/// Comparing numbers, and strings by their first bytes.
const COMPARE_COST: f64 = 0.5;
const STRING_COMPARE_COST: f64 = 8.0;
const FUNCTION_COST: f64 = 20.0;
const SEARCH_COST: f64 = 60.0;
const REGEXP_COST: f64 = 400.0;

/// Functions that cannot fail, with the cost of a call.
const SAFE_FUNCTIONS: &[(&str, f64)] = &[
    ("in", 10.0),
    ("like", SEARCH_COST),
    ("notLike", SEARCH_COST),
    ("ilike", REGEXP_COST),
    ("notILike", REGEXP_COST),
    ("match", REGEXP_COST),
    ("startsWith", STRING_COMPARE_COST),
    ("endsWith", STRING_COMPARE_COST),
    ("empty", COMPARE_COST),
    ("notEmpty", COMPARE_COST),
    ("length", COMPARE_COST),
    ("lengthUTF8", FUNCTION_COST),
    ("lower", FUNCTION_COST),
    ("upper", FUNCTION_COST),
    ("toYear", FUNCTION_COST),
    ("toMonth", FUNCTION_COST),
    ("toDayOfMonth", FUNCTION_COST),
    ("toDayOfWeek", FUNCTION_COST),
    ("toHour", FUNCTION_COST),
    ("toMinute", FUNCTION_COST),
    ("toSecond", FUNCTION_COST),
];

/// Functions of a string and a pattern that answer 0 or 1.
const SEARCHES: &[&str] = &["like", "notLike", "ilike", "notILike", "match", "startsWith", "endsWith"];

/// The depth to which an expression is examined; anything deeper counts as fallible.
const DEPTH_MAX: usize = 64;

pub(super) fn estimate(expr: &Arc<dyn PhysicalExpr>, stored: &Schema) -> Estimate {
    visit(expr, stored, DEPTH_MAX)
}

fn visit(expr: &Arc<dyn PhysicalExpr>, stored: &Schema, depth: usize) -> Estimate {
    let free = Estimate { cost: 0.0, selectivity: 0.5, fallible: depth == 0 };
    if depth == 0 || expr.is::<Column>() || expr.is::<Literal>() {
        return free;
    }
    let children: Vec<Estimate> =
        expr.children().into_iter().map(|child| visit(child, stored, depth - 1)).collect();
    let cost: f64 = children.iter().map(|child| child.cost).sum();
    let fallible = children.iter().any(|child| child.fallible);
    let (own_cost, selectivity, own_fallible) = if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        binary_estimate(binary, &children, stored)
    } else if expr.is::<NotExpr>() {
        (0.0, children.first().map_or(0.5, |child| 1.0 - child.selectivity), false)
    } else if expr.is::<IsNullExpr>() {
        (COMPARE_COST, 0.1, false)
    } else if expr.is::<IsNotNullExpr>() {
        (COMPARE_COST, 0.9, false)
    } else if let Some(list) = expr.downcast_ref::<InListExpr>() {
        (10.0, if list.negated() { 0.9 } else { 0.1 }, false)
    } else if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        call_estimate(call)
    } else {
        (FUNCTION_COST, 0.5, true)
    };
    Estimate { cost: cost + own_cost, selectivity, fallible: fallible || own_fallible }
}

/// The operator's own cost, the share of rows, and whether the operator itself can fail.
fn binary_estimate(binary: &BinaryExpr, children: &[Estimate], stored: &Schema) -> (f64, f64, bool) {
    let share = |at: usize| children.get(at).map_or(0.5, |child| child.selectivity);
    let compare = match binary.left().data_type(stored) {
        Ok(ty) if ty.is_numeric() || ty == DataType::Boolean => COMPARE_COST,
        _ => STRING_COMPARE_COST,
    };
    match binary.op() {
        Operator::And => (COMPARE_COST, share(0) * share(1), false),
        Operator::Or => (COMPARE_COST, 1.0 - (1.0 - share(0)) * (1.0 - share(1)), false),
        Operator::Eq | Operator::IsNotDistinctFrom => match flag_of(binary) {
            Some(kept) => (COMPARE_COST, 1.0 - kept, false),
            None => (compare, 0.05, false),
        },
        Operator::NotEq | Operator::IsDistinctFrom => match flag_of(binary) {
            Some(kept) => (COMPARE_COST, kept, false),
            None => (compare, 0.7, false),
        },
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => (compare, 0.35, false),
        _ => (compare, 0.5, true),
    }
}

/// The share of rows for which a function on the left is not 0: `like(s, '%x%') != 0` is a condition.
fn flag_of(binary: &BinaryExpr) -> Option<f64> {
    let call = binary.left().downcast_ref::<ScalarFunctionExpr>()?;
    (SEARCHES.contains(&call.fun().name()) && binary.right().is::<Literal>()).then(|| call_estimate(call).1)
}

fn call_estimate(call: &ScalarFunctionExpr) -> (f64, f64, bool) {
    let name = call.fun().name();
    let known = SAFE_FUNCTIONS.iter().find(|(known, _)| *known == name);
    // A pattern that comes from a column may be invalid.
    let fails = known.is_none()
        || (SEARCHES.contains(&name) && !call.args().iter().skip(1).all(|arg| arg.is::<Literal>()));
    let selectivity = match name {
        "notLike" | "notILike" | "notEmpty" => 0.9,
        "in" | "like" | "ilike" | "match" | "startsWith" | "endsWith" => 0.1,
        _ => 0.5,
    };
    (known.map_or(FUNCTION_COST, |(_, cost)| *cost), selectivity, fails)
}

/// Whether the text of an expression determines its result: it has only columns, constants, comparisons, logic, and
/// searches for constants.
pub(super) fn is_told_by_text(expr: &Arc<dyn PhysicalExpr>) -> bool {
    is_plain(expr, DEPTH_MAX)
}

fn is_plain(expr: &Arc<dyn PhysicalExpr>, depth: usize) -> bool {
    let is_known = if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        SEARCHES.contains(&call.fun().name()) && call.args().iter().skip(1).all(|arg| arg.is::<Literal>())
    } else if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        matches!(
            binary.op(),
            Operator::Eq
                | Operator::NotEq
                | Operator::Lt
                | Operator::LtEq
                | Operator::Gt
                | Operator::GtEq
                | Operator::And
                | Operator::Or
        )
    } else {
        expr.is::<Column>()
            || expr.downcast_ref::<Literal>().is_some_and(|literal| !literal.value().data_type().is_nested())
            || expr.is::<NotExpr>()
            || expr.is::<IsNullExpr>()
            || expr.is::<IsNotNullExpr>()
    };
    depth > 0 && is_known && expr.children().into_iter().all(|child| is_plain(child, depth - 1))
}
