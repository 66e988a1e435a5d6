//! Formats that hold columns of Arrow types: Arrow files and streams, and Parquet.
//!
//! # Where to look
//!
//! - `outgoing.rs`: our columns as the Arrow arrays that ClickHouse writes.
//! - `foreign_type.rs`, `incoming.rs`, `conversion.rs`: the SQL type of a foreign Arrow type, foreign arrays as ours, and
//!   ours as those of the table.
//! - `matching.rs`: which column of a file is which column of the table.
//! - `ipc_read.rs`, `ipc_write.rs`, `parquet_read.rs`, `parquet_schema.rs`, `parquet_write.rs`: the formats.
//! - `damage.rs`: the border at which panics of the libraries become errors.

mod conversion;
mod damage;
mod foreign_type;
mod incoming;
mod ipc_message;
mod ipc_read;
mod ipc_write;
mod matching;
mod outgoing;
mod parquet_read;
mod parquet_schema;
mod parquet_write;
mod settings;

pub(crate) use ipc_read::{infer as infer_ipc, open_file, open_stream};
pub(crate) use ipc_write::IpcWriter;
pub(crate) use parquet_read::{ParquetInput, infer_parquet, infer_parquet_file, open_parquet};
pub(crate) use parquet_write::ParquetWriter;
pub use settings::ColumnarSettings;

#[cfg(test)]
mod tests;
