//! Keys that all have the same number of bytes.
//!
//! - [`integers`]: up to eight bytes, as ascending integers; consecutive ones take no bytes.
//! - [`array`]: up to [`FIXED_BYTES_MAX`] bytes, one after the other.

mod array;
mod integers;
#[cfg(test)]
mod tests;

pub(super) use array::{ArrayBuilder, ArrayIndex};
pub(super) use integers::{IntegersBuilder, IntegersIndex};

/// The longest keys of a fixed size.
pub(super) const FIXED_BYTES_MAX: usize = 32;
/// The longest keys that are integers.
pub(super) const INTEGER_BYTES_MAX: usize = size_of::<u64>();

/// The names in the directory.
pub(super) const DENSE: &str = "dense";
pub(super) const ASCENDING: &str = "ascending";
pub(super) const ARRAY: &str = "array";
