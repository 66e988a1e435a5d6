//! Keys that all have the same number of bytes.
//!
//! - [`integers`]: up to eight bytes, as ascending integers; consecutive ones take no bytes.
//! - [`array`]: up to [`FIXED_BYTES_MAX`] bytes, one after the other.
//! - [`layout`]: names and sizes.

mod array;
mod integers;
mod layout;
#[cfg(test)]
mod tests;

pub(super) use array::{ArrayBuilder, ArrayIndex};
pub(super) use integers::{IntegersBuilder, IntegersIndex};
pub(super) use layout::{ARRAY, ASCENDING, DENSE, FIXED_BYTES_MAX, INTEGER_BYTES_MAX};
