//! Comparisons and logic as functions.

mod compare;
mod logic;
mod place;

pub(super) use compare::Comparison;

use super::ScalarFunction;

pub(super) static ALL: &[&dyn ScalarFunction] = &[
    &compare::EQUALS,
    &compare::NOT_EQUALS,
    &compare::LESS,
    &compare::LESS_OR_EQUALS,
    &compare::GREATER,
    &compare::GREATER_OR_EQUALS,
    &logic::AND,
    &logic::OR,
    &logic::XOR,
    &logic::NOT,
];
