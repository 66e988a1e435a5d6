//! One column of a part: the bytes of its arrays, and the file with them.
//!
//! From the inside out:
//!
//! - [`section`]: one stream of bytes (values, lengths, null mask), encoded.
//! - [`encoder`] and [`decoder`]: the arrays of a type as sections, and back. Adding a carrier type is one arm in
//!   each.
//! - [`decimals`]: decimals of few digits in fewer bytes than in memory.
//! - [`footer`]: the last bytes of a column file.
//! - [`writer`], [`file`](mod@file) and [`reader`]: the column file.
//! - [`pieces`]: reads rows of a column file through the [`cache`] of decoded blocks.
//! - [`strings`]: dictionary coding of strings with few distinct values.
//! - [`plain`]: dictionary arrays as plain string arrays.

pub(crate) mod cache;
mod decimals;
pub(crate) mod decoder;
pub(crate) mod encoder;
pub(crate) mod file;
pub(crate) mod footer;
pub(crate) mod pieces;
pub(crate) mod plain;
pub(crate) mod reader;
pub(crate) mod section;
pub(crate) mod strings;
pub(crate) mod writer;
