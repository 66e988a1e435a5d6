//! How few bytes hold a slice of one column, and how fast it comes back: the compression codecs.
//!
//! Slices in, bytes out: nothing here knows of files, Arrow or SQL text.
//!
//! - [`Codec`]: what a codec does; one file implements one codec.
//! - [`CodecSpec`]: one link of `CODEC(Delta(4), LZ4)`: which codec, with which parameter.
//! - [`CodecChain`]: the links in order: encodes through all of them, decodes back, and knows its
//!   eight links' form on disk.
//! - `clause`: reads the clause, with ClickHouse's rules about what makes sense together.
//!
//! | codec | file | for |
//! |---|---|---|
//! | `NONE` | `none` | bytes that do not compress |
//! | `LZ4` | `lz4` | the default: decodes at several GB/s |
//! | `LZ4HC(level)` | `lz4hc` | the same format, written slower and smaller |
//! | `ZSTD(level)` | `zstandard` | smaller still, decodes at about 1 GB/s |
//! | `Delta(bytes)` | `delta` | neighbours that differ little; a compressor follows |
//! | `DoubleDelta` | `double_delta` | series with a steady step |
//!
//! To add a codec: its file, a variant of [`CodecSpec`], and a line in the conformance test.

mod chain;
mod clause;
mod delta;
mod double_delta;
mod error;
mod lz4;
mod lz4hc;
mod none;
mod spec;
mod zstandard;

#[cfg(test)]
mod conformance;

pub use chain::{CHAIN_BYTES, CodecChain, Scratch};
pub use clause::CodecArgument;
pub use error::CodecError;
pub use spec::CodecSpec;

/// The largest input of one call; callers cut longer columns into blocks.
pub const INPUT_BYTES_MAX: usize = 1 << 30;

/// One way to hold bytes in fewer bytes.
///
/// # Contract
///
/// - `decode` of what `encode` wrote, into a slice as long as the input was, gives the input back.
/// - No bytes encode to no bytes.
/// - `decode` of any other bytes fills the slice with something or fails. It never panics and never
///   allocates more than a small multiple of the slice.
pub trait Codec {
    /// Appends the encoded form of `input`, at most [`Codec::encoded_bytes_max`] bytes.
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Fills `out`, whose length is that of the original input.
    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError>;

    /// The most bytes that `encode` appends for `input_bytes`.
    fn encoded_bytes_max(&self, input_bytes: usize) -> usize;
}
