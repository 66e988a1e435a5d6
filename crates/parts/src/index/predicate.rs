//! What a query says of the values of an expression: what a skip index can check.

use arrow::array::ArrayRef;

use crate::key::ranges::KeyRanges;

/// A condition that holds for every row that a query wants.
#[derive(Clone, Debug)]
pub enum Predicate {
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    /// The values of `operand`, an expression as the engine writes it, are wanted so.
    Value {
        operand: String,
        wanted: Wanted,
    },
    /// Nothing is known.
    Any,
}

/// What the value of an expression must be.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// In these ranges: `<`, BETWEEN and their kin.
    Ranges(KeyRanges),
    /// One of these: `=` and IN. The array has no NULL.
    Points(ArrayRef),
    /// An array that has one of these elements: `has`, `hasAny`. The array has no NULL.
    Elements(ArrayRef),
    /// A string in which all these pieces are, in order: LIKE, `startsWith` and `endsWith`.
    Pieces(Vec<Piece>),
    /// A string that has this token: `hasToken`.
    Token(Vec<u8>),
}

/// A stretch of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// The string begins with it.
    pub is_start: bool,
    /// The string ends with it.
    pub is_end: bool,
}

impl Predicate {
    /// Whether the condition can hold, when `may_match` says it of the values of `operand`.
    pub(crate) fn may_hold(&self, operand: &str, may_match: &impl Fn(&Wanted) -> bool) -> bool {
        match self {
            Predicate::And(all) => all.iter().all(|one| one.may_hold(operand, may_match)),
            Predicate::Or(any) => any.iter().any(|one| one.may_hold(operand, may_match)),
            Predicate::Value { operand: of, wanted } => of != operand || may_match(wanted),
            Predicate::Any => true,
        }
    }

    /// Whether the condition says anything of `operand` that a type of index understands.
    pub(crate) fn speaks_of(&self, operand: &str, understands: &impl Fn(&Wanted) -> bool) -> bool {
        match self {
            Predicate::And(all) => all.iter().any(|one| one.speaks_of(operand, understands)),
            // One side that says nothing makes the whole say nothing.
            Predicate::Or(any) => any.iter().all(|one| one.speaks_of(operand, understands)),
            Predicate::Value { operand: of, wanted } => of == operand && understands(wanted),
            Predicate::Any => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(operand: &str, text: &str) -> Predicate {
        Predicate::Value { operand: operand.to_owned(), wanted: Wanted::Token(text.as_bytes().to_vec()) }
    }

    #[test]
    fn what_is_said_of_other_expressions_may_always_hold() {
        let never = |_: &Wanted| false;
        let check = |predicate: Predicate, may_hold: bool, speaks: bool| {
            assert_eq!(predicate.may_hold("a", &never), may_hold, "{predicate:?}");
            assert_eq!(predicate.speaks_of("a", &|_| true), speaks, "{predicate:?}");
        };
        check(token("a", "x"), false, true);
        check(token("b", "x"), true, false);
        check(Predicate::And(vec![token("a", "x"), token("b", "x")]), false, true);
        check(Predicate::Or(vec![token("a", "x"), token("b", "x")]), true, false);
        check(Predicate::Or(vec![token("a", "x"), token("a", "y")]), false, true);
        check(Predicate::Any, true, false);
    }
}
