//! Dictionary coding of a string column: blocks have codes, the file has one dictionary of the distinct strings.
//!
//! - [`distinct`]: strings to codes, in order of first appearance.
//! - [`coder`]: decides while a file is written whether to code, and codes its rows.
//! - [`codes`]: decodes coded blocks to dictionary arrays.

pub(crate) mod coder;
pub(crate) mod codes;
pub(crate) mod distinct;
