//! A query's conditions on the values of expressions, in the form that skip indexes can check.

use arrow::array::ArrayRef;

use crate::key::ranges::KeyRanges;

/// A condition that every row of the result fulfils.
#[derive(Clone, Debug)]
pub enum Predicate {
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    /// The values of `operand` pass this test.
    Value {
        operand: Operand,
        test: ValueTest,
    },
    /// No known condition.
    Any,
}

/// The operand of a condition: a column, or an expression over columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// By its name.
    Column(String),
    /// The expression by its text, see [`KeyExpression::text`](crate::KeyExpression::text).
    Expression(String),
}

/// A test of a value.
#[derive(Clone, Debug)]
pub enum ValueTest {
    /// In these ranges: `<`, BETWEEN and the like.
    Ranges(KeyRanges),
    /// Equal to one of these: `=` and IN. The array has no NULL.
    Points(ArrayRef),
    /// An array with one of these elements: `has`, `hasAny`. The array has no NULL.
    Elements(ArrayRef),
    /// A string that contains all these substrings in order: LIKE, `startsWith` and `endsWith`.
    Substrings(Vec<Substring>),
    /// A string that contains this token: `hasToken`.
    Token(Vec<u8>),
}

/// A substring in a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substring {
    pub bytes: Vec<u8>,
    /// The string begins with it.
    pub is_start: bool,
    /// The string ends with it.
    pub is_end: bool,
}

impl Predicate {
    /// Whether the condition can hold, if `may_match` decides it for the values of an operand.
    pub(crate) fn may_hold(&self, may_match: &impl Fn(&Operand, &ValueTest) -> bool) -> bool {
        match self {
            Predicate::And(all) => all.iter().all(|one| one.may_hold(may_match)),
            Predicate::Or(any) => any.iter().any(|one| one.may_hold(may_match)),
            Predicate::Value { operand, test } => may_match(operand, test),
            Predicate::Any => true,
        }
    }

    /// Whether the condition has a test that `understands` accepts.
    pub(crate) fn is_checkable(&self, understands: &impl Fn(&Operand, &ValueTest) -> bool) -> bool {
        match self {
            Predicate::And(all) => all.iter().any(|one| one.is_checkable(understands)),
            // One side without a known condition makes the whole unknown.
            Predicate::Or(any) => any.iter().all(|one| one.is_checkable(understands)),
            Predicate::Value { operand, test } => understands(operand, test),
            Predicate::Any => false,
        }
    }

    /// The values of `operand` where the condition holds; `None` if they may be any.
    pub(crate) fn ranges_of(&self, operand: &Operand) -> Option<KeyRanges> {
        match self {
            Predicate::And(all) => {
                let known = all.iter().filter_map(|one| one.ranges_of(operand));
                known.reduce(|left, right| left.intersect(&right))
            }
            Predicate::Or(any) => {
                let known: Option<Vec<KeyRanges>> = any.iter().map(|one| one.ranges_of(operand)).collect();
                known?.into_iter().reduce(|left, right| left.union(&right))
            }
            Predicate::Value { operand: of, test } if of == operand => match test {
                ValueTest::Ranges(ranges) => Some(ranges.clone()),
                ValueTest::Points(points) => KeyRanges::points(points).ok(),
                _ => None,
            },
            Predicate::Value { .. } | Predicate::Any => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(operand: &str, text: &str) -> Predicate {
        let operand = Operand::Column(operand.to_owned());
        Predicate::Value { operand, test: ValueTest::Token(text.as_bytes().to_vec()) }
    }

    #[test]
    fn what_is_said_of_other_expressions_may_always_hold() {
        let is_a = |operand: &Operand| *operand == Operand::Column("a".to_owned());
        let check = |predicate: Predicate, may_hold: bool, is_checkable: bool| {
            assert_eq!(predicate.may_hold(&|operand, _| !is_a(operand)), may_hold, "{predicate:?}");
            assert_eq!(predicate.is_checkable(&|operand, _| is_a(operand)), is_checkable, "{predicate:?}");
        };
        check(token("a", "x"), false, true);
        check(token("b", "x"), true, false);
        check(Predicate::And(vec![token("a", "x"), token("b", "x")]), false, true);
        check(Predicate::Or(vec![token("a", "x"), token("b", "x")]), true, false);
        check(Predicate::Or(vec![token("a", "x"), token("a", "y")]), false, true);
        check(Predicate::Any, true, false);
    }
}
