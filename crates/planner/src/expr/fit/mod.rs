//! A constant seen from the type of the value that it is compared with.
//!
//! The one place that decides how a constant meets a value of another type: comparisons, BETWEEN and IN ask it, and
//! what they make of the answer is all that sets, keys, zone maps, indexes and dictionaries get to see.
//!
//! Invariant (order): [`Fitted`] is exact. A constant is never cut to fit; where the type does not have it, its
//! place between the values of the type is told instead.

mod constant;
mod fitted;
mod number;
mod text;
mod time;

pub(super) use constant::fit;
pub(super) use fitted::Fitted;
