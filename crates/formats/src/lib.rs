//! Formats of text (TSV, CSV, JSON and others), of ClickHouse's drivers (Native, RowBinary) and of other tools (Arrow,
//! Parquet): parses bytes to column blocks, and writes blocks as bytes.
//!
//! # Where to look
//!
//! - [`open_reader`], [`open_writer`]: a format by its name; `registry/table.rs` has the table of names.
//! - [`text`]: the text of single values, on which every format is built.
//! - [`settings`]: the format settings.
//! - [`compression`]: compressed files and bodies.
//! - [`native`]: the blocks of Native, also for protocols that send them.
//! - `binary`: values in binary form, on which Native and RowBinary are built.
//! - `columnar`: Arrow and Parquet.
//! - `chunks.rs`: cuts an input into chunks of whole rows, and parses them on one thread or on several.
//!
//! # Not here
//!
//! Files and sockets: a reader takes any `Read`, a writer appends to a buffer. Also not the `DEFAULT`
//! expressions of a table: a [`Block`] says which values were missing in the input.

mod binary;
mod block;
mod chunks;
mod columnar;
pub mod compression;
mod copy;
mod csv_read;
mod custom;
mod header;
mod infer;
mod json;
mod lines;
mod markdown_write;
pub mod native;
mod one_read;
mod pretty;
mod registry;
mod row_binary;
mod rows;
pub mod settings;
mod sql_insert_write;
mod tabular_write;
pub mod text;
mod tskv_read;
mod tsv_read;
mod values_read;
mod values_write;
mod vertical;
mod xml_write;

pub use block::{
    Block, BlockReader, BlockSource, BlockWriter, Callbacks, Defaulted, ExpressionEvaluator, Statistics,
    TypeConverter,
};
pub use columnar::ColumnarSettings;
pub use copy::{CopyDirection, CopyOptions};
pub use infer::{infer_schema, infer_schema_of_file};
pub use registry::{
    FormatInfo, find, format_of_file_name, formats, open_file_reader, open_reader, open_reader_with,
    open_writer, reads_in_place, reads_single_columns,
};
pub use settings::{FormatSettings, TextSettings};

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod recorded_binary;
#[cfg(test)]
mod tests;
