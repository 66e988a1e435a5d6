//! Keys: their order, the primary index, and what a condition on them says about a range of rows.
//!
//! - [`ranges`]: a set of values of one column, as sorted ranges.
//! - [`primary`]: the first row of each granule.
//! - [`prune`]: which granules can hold a row that a condition wants.
//! - [`bounds`]: smallest and largest value of a column in a part.

pub(crate) mod bounds;
pub(crate) mod primary;
pub(crate) mod prune;
pub(crate) mod ranges;
