//! What every other crate agrees on: types, error codes, files that may lie, clocks, checksums.
//!
//! # Where to look
//!
//! - [`types`]: the SQL types, their names and the Arrow type that carries each one.
//! - [`schema`]: a named, typed column and a list of them.
//! - [`error`]: the one error that reaches a client, and the table of its codes.
//! - [`fs`]: files, real and faulty, and the only way to publish one.
//! - [`chunks`]: eight chunks of bytes at places that vectors compute.
//! - [`clock`]: the time, real and set by hand.
//! - [`civil`]: calendar days as numbers.
//! - [`zone`]: time zones.
//! - [`allocator`]: counts what queries hold; memory that is free and not given back.
//! - [`query`]: the query that a thread works for, its memory and its end.
//! - [`array_bytes`]: what copies of values take.
//! - [`lanes`]: compares numbers side by side with one.
//! - [`machine`]: memory that the process may have.
//! - [`open_files`]: how many files the process may have open.
//! - [`prefetch`]: asks the processor for memory ahead of its use.
//! - [`processor`]: runs a loop in the form for the processor at hand.
//! - [`re2`]: regular expressions as SQL has them.
//! - [`region`]: memory in large blocks, and files as memory.
//! - [`string_views`]: arrays of strings as Arrow's views.
//! - [`words`]: eight numbers that are computed with together.
//! - CRC-32C, in [`checksum`]; SipHash, in [`siphash`].
//!
//! # Not here
//!
//! No SQL text, no DataFusion, no tokio, no RocksDB.

pub mod allocator;
pub mod array_bytes;
pub mod checksum;
pub mod chunks;
pub mod civil;
pub mod clock;
pub mod error;
pub mod fs;
pub mod lanes;
pub mod machine;
pub mod open_files;
pub mod prefetch;
pub mod processor;
pub mod query;
pub mod re2;
pub mod region;
pub mod schema;
pub mod siphash;
pub mod string_views;
pub mod suggest;
pub mod types;
pub mod words;
pub mod zone;

pub use error::{Error, ErrorCode, FileAction, Result};
pub use schema::{Column, Columns};
pub use types::SqlType;
