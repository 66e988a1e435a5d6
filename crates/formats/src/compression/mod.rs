//! Compressed streams: gzip, deflate, zstd, lz4, br, xz and bz2, as files and HTTP bodies have them.
//!
//! # Where to look
//!
//! - [`Compression`]: the names, file extensions and first bytes.
//! - [`Decompressor`]: a `Read` of the plain bytes of a compressed `Read`.
//! - [`Compressor`]: takes plain bytes piece by piece and appends compressed ones to a buffer.
//!
//! # Not here
//!
//! The codecs of columns, which compress slices in memory: crate `codec`. Formats that compress inside of their own
//! files, as Parquet does.

mod compressor;
mod decompressor;
mod method;

pub use compressor::Compressor;
pub use decompressor::Decompressor;
pub use method::Compression;
