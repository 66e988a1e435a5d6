//! The foundation of every other crate: types, error codes, files real and faulty, clocks, checksums.
//!
//! # Where to look
//!
//! - [`types`]: the SQL types, their names and the Arrow type that carries each one.
//! - [`schema`]: a named, typed column and a list of them.
//! - [`error`]: the one error that reaches a client, and the table of its codes.
//! - [`fs`]: files, real and faulty, and the only way to publish one.
//! - [`chunks`]: eight chunks of bytes at addresses that vector instructions compute.
//! - [`clock`]: the time, real and set by hand.
//! - [`civil`]: calendar days as numbers.
//! - [`zone`]: time zones.
//! - [`allocator`]: charges memory to queries, and returns free pages to the system.
//! - [`query`]: the query that a thread works for, its memory limit and its cancellation.
//! - [`array_bytes`]: estimates the bytes that a copy of values takes.
//! - [`lanes`]: compares several numbers with one.
//! - [`machine`]: the memory limit of the process.
//! - [`open_files`]: the limit of open files.
//! - [`parallel`]: runs work on several threads.
//! - [`dialect`]: the version of ClickHouse that drivers see.
//! - [`prefetch`]: prefetches memory into the cache.
//! - [`processor`]: runs a loop in the form compiled for the processor at hand.
//! - [`re2`]: translates regular expressions from RE2's syntax.
//! - [`region`]: memory in large blocks, and files as memory.
//! - [`string_views`]: arrays of strings as Arrow's views.
//! - [`words`]: vectors of eight 64-bit numbers.
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
pub mod dialect;
pub mod error;
pub mod fs;
pub mod lanes;
pub mod machine;
pub mod open_files;
pub mod parallel;
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
