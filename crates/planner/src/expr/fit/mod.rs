//! A constant seen from the type of the value that it is compared with.
//!
//! The one place that decides how a constant meets a value of another type: comparisons, BETWEEN and IN ask it, and
//! what they make of the answer is all that sets, keys, zone maps, indexes and dictionaries get to see.
//!
//! Invariant (order): [`Fitted`] is exact. A constant is never cut to fit; where the type does not have it, its
//! place between the values of the type is told instead.

mod constant;
mod number;
mod text;
mod time;

use datafusion::common::ScalarValue;

pub(super) use constant::fit;

/// Where a constant lies among the values of a type.
#[derive(Debug, PartialEq)]
pub(super) enum Fitted {
    /// The same value in that type.
    Exact(ScalarValue),
    /// All values from the first to the last are equal to it. A set takes the one that is written alike, if any is.
    Several { first: ScalarValue, last: ScalarValue, alike: Option<ScalarValue> },
    /// Above this value and below the next one.
    Above(ScalarValue),
    /// Above (`true`) or below every value of the type.
    Beyond(bool),
    /// Neither equal to a value of the type nor below or above one.
    Unordered,
}
