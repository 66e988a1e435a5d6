//! Keys: their order, the primary index, and what a condition on them says about a range of rows.
//!
//! - [`element`]: a column of a key, or a value computed of columns.
//! - [`ranges`]: a set of values of one column, as sorted ranges.
//! - [`zero`]: -0 and +0 are one value.
//! - [`primary`]: the first row of each granule.
//! - [`prune`]: which granules can hold a row that a condition wants.
//! - [`bounds`]: smallest and largest value of a column in a part.
//! - [`partition`]: the value of the partition key that the rows of a part share.

pub(crate) mod bounds;
pub(crate) mod element;
pub(crate) mod partition;
pub(crate) mod primary;
pub(crate) mod prune;
pub(crate) mod ranges;
mod zero;
