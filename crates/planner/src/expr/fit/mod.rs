//! Places a constant among the values of another type.
//!
//! This is the one place that decides how a constant compares with a value of another type. Comparisons, BETWEEN and
//! IN use it, and sets, keys, zone maps, indexes and dictionaries see only their results.
//!
//! Invariant (order): [`Fitted`] is exact. A constant is never rounded to fit: if the type does not have its value,
//! the result is its position between two values of the type.

mod constant;
mod fitted;
mod number;
mod text;
mod time;
mod wide;

pub(super) use constant::fit;
pub(super) use fitted::Fitted;
