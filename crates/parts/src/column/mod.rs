//! One column of one part: its arrays as bytes, and the file that holds them.
//!
//! From the inside out:
//!
//! - [`section`]: one stream of bytes (values, lengths, null mask), encoded.
//! - [`encoder`] and [`decoder`]: the arrays of a type as sections, and back. Adding a carrier type is
//!   one arm in each.
//! - [`decimals`]: decimals of few digits in fewer bytes than in memory.
//! - [`footer`]: the last bytes of a column file.
//! - [`writer`], [`file`](mod@file) and [`reader`]: the column file.
//! - [`pieces`]: rows of a column file by way of [`cache`], which keeps decoded blocks.
//! - [`strings`]: strings of few kinds as codes.
//! - [`plain`]: strings behind a dictionary as plain ones.

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
