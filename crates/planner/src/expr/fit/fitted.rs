//! The position of a constant among the values of a type.

use datafusion::common::ScalarValue;

/// Where a constant lies among the values of a type.
#[derive(Debug, PartialEq)]
pub(in crate::expr) enum Fitted {
    /// The same value in that type.
    Exact(ScalarValue),
    /// Every value from the first to the last is equal to it. A set takes the value with the same notation, if there
    /// is one.
    Several { first: ScalarValue, last: ScalarValue, alike: Option<ScalarValue> },
    /// Above this value and below the next one.
    Above(ScalarValue),
    /// Above (`true`) or below every value of the type.
    Beyond(bool),
    /// Neither equal to a value of the type nor below or above one.
    Unordered,
}
