//! Keys: their order, the primary index, and pruning by conditions on them.
//!
//! - [`element`]: a column or an [`expression`] of a key.
//! - [`row_format`]: values as bytes in the order of values.
//! - [`ranges`]: a set of values of one column, as sorted ranges.
//! - [`zero`]: -0 and +0 are one value.
//! - [`primary`]: the primary index with the first row of each granule.
//! - [`prune`]: the granules that may have a row that fulfils a condition.
//! - [`bounds`]: the smallest and the largest value of a column in a part.
//! - [`partition`]: the value of the partition key, which the rows of a part share.

pub(crate) mod bounds;
pub(crate) mod element;
pub(crate) mod expression;
pub(crate) mod partition;
pub(crate) mod primary;
pub(crate) mod prune;
pub(crate) mod ranges;
pub(crate) mod row_format;
mod zero;
