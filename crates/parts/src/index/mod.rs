//! What lets a query skip granules.
//!
//! - [`zones`]: zone maps, of every column whose type has an order; [`zone_file`]: where a part keeps them;
//!   [`zeros`]: the values that zones count.
//! - [`predicate`]: what a query says of the values of an expression.
//! - [`kind`]: the types of skip indexes, a module each: [`min_max`], [`set`], [`bloom_filter`],
//!   [`ngram_filter`], [`token_filter`]; the last three over [`bits`] and [`text`].
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
pub(crate) mod text;
pub(crate) mod token_filter;
pub(crate) mod zeros;
pub(crate) mod zone_file;
pub(crate) mod zones;
