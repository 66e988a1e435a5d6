//! Bytes in TSV, CSV, JSON and the like to column blocks, and back.
//!
//! # Where to look
//!
//! - [`open_reader`], [`open_writer`]: a format by its name; `registry.rs` has the table of names.
//! - [`text`]: the text of single values, which every text format is made of.
//! - [`settings`]: what can be set.
//! - `chunks.rs`: an input cut into chunks of whole rows, parsed on one thread or on several.
//!
//! # Not here
//!
//! Files, sockets and compression: a reader takes any `Read`, a writer appends to a buffer. The
//! `DEFAULT` expressions of a table: a [`Block`] says which values were not in the input.

mod block;
mod chunks;
mod copy;
mod csv_read;
mod header;
mod infer;
mod json_read;
mod json_write;
mod lines;
mod pretty;
mod registry;
mod rows;
pub mod settings;
mod tabular_write;
pub mod text;
mod tsv_read;
mod values_read;
mod values_write;
mod vertical;

pub use block::{Block, BlockReader, BlockWriter, Defaulted, ExpressionEvaluator, Statistics};
pub use copy::{CopyDirection, CopyOptions};
pub use infer::infer_schema;
pub use registry::{
    FormatInfo, find, format_of_file_name, formats, open_reader, open_reader_with, open_writer,
};
pub use settings::{FormatSettings, TextSettings};

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
