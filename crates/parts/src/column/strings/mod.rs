//! Strings of a column as codes: numbers of the distinct strings, which one dictionary a file holds.
//!
//! - [`distinct`]: strings to codes, in order of first appearance.
//! - [`coder`]: while a file is written: whether codes pay, and the codes of the rows to come.
//! - [`codes`]: the codes of blocks back to arrays.

pub(crate) mod coder;
pub(crate) mod codes;
pub(crate) mod distinct;
