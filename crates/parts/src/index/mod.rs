//! Zone maps and skip indexes, with which a query skips granules.
//!
//! - [`zones`]: zone maps of every column with an ordered type; [`zone_file`]: their file in a part; [`zeros`]: the
//!   values that zones count as zero.
//! - [`predicate`]: a query's conditions on the values of expressions.
//! - [`summary`]: the contract of a skip index; [`kind`]: the registry of its types, with one module each:
//!   [`min_max`], [`set`], [`bloom_filter`], [`ngram_filter`], [`token_filter`]; the last three use [`bits`] and
//!   [`text`].
//! - [`skip_index`]: an index of a table; [`skip_file`]: its file in a part.

pub(crate) mod bits;
pub(crate) mod bloom_filter;
#[cfg(test)]
mod conformance;
pub(crate) mod kind;
pub(crate) mod min_max;
pub(crate) mod ngram_filter;
pub(crate) mod predicate;
pub(crate) mod set;
pub(crate) mod skip_file;
pub(crate) mod skip_index;
pub(crate) mod summary;
pub(crate) mod text;
pub(crate) mod token_filter;
pub(crate) mod zeros;
pub(crate) mod zone_file;
pub(crate) mod zones;
