//! Compression codecs for slices of a column.
//!
//! Slices in, bytes out: nothing here depends on files, Arrow or SQL text.
//!
//! - [`Codec`]: the contract; one file implements one codec.
//! - [`CodecSpec`]: one link of `CODEC(Delta(4), LZ4)`: a codec and its parameter.
//! - [`CodecChain`]: the links in order: encodes through all of them, decodes back, and has a description of up to
//!   eight links on disk.
//! - `clause` parses the clause; `rules` checks which links make sense together, as ClickHouse does.
//!
//! | codec | file | for |
//! |---|---|---|
//! | `NONE` | `none` | bytes that do not compress |
//! | `LZ4` | `lz4` | the default: decodes at several GB/s |
//! | `LZ4HC(level)` | `lz4hc` | the same format, written slower and smaller |
//! | `ZSTD(level)` | `zstandard` | smaller still, decodes at about 1 GB/s |
//! | `Delta(bytes)` | `delta` | neighbours that differ little; a compressor follows |
//! | `DoubleDelta` | `double_delta` | series with a steady step |
//! | `T64` | `t64` | integers with unused high bits |
//! | `GCD` | `gcd` | multiples of a number; a codec for small numbers follows |
//! | `Gorilla(bytes)` | `gorilla` | floats that change slowly |
//! | `FPC(level)` | `fpc` | floats that follow a pattern |
//! | `ALP` | `alp` | floats that were decimals |
//! | `FSST` | `fsst` | text; rows can be decoded alone |
//! | `AUTO` | `auto` | a chain of the others, chosen for the values |
//!
//! `onpair` is no link of a chain: it holds strings that are read one at a time, as dictionaries do.
//!
//! To add a codec: its file, a variant of [`CodecSpec`], and a line in the conformance test.

mod alp;
mod auto;
mod bits;
mod chain;
mod clause;
mod delta;
mod double_delta;
mod error;
mod fpc;
mod fsst;
mod gcd;
mod gorilla;
mod lz4;
mod lz4hc;
mod none;
mod onpair;
mod packed;
mod rules;
mod spec;
mod t64;
mod value;
mod zstandard;

#[cfg(test)]
mod conformance;

pub use alp::AlpScheme;
pub use auto::Values;
pub use chain::{CHAIN_BYTES, CodecChain, Scratch};
pub use clause::CodecArgument;
pub use error::CodecError;
pub use onpair::{TOKEN_BYTES_MAX, TokenMatcher, Tokens};
pub use spec::CodecSpec;
pub use t64::Planes;

/// The largest input of one call; callers cut longer columns into blocks.
pub const INPUT_BYTES_MAX: usize = 1 << 30;

/// A codec: encodes bytes to fewer bytes, and back.
///
/// # Contract
///
/// - `decode` of an encoding, into a slice as long as the input was, gives the input back.
/// - Empty input has an empty encoding.
/// - `decode` of any other bytes fills the slice with something or fails. It never panics and never allocates more
///   than a small multiple of the slice.
pub trait Codec {
    /// Appends the encoded form of `input`, at most [`Codec::encoded_bytes_max`] bytes.
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError>;

    /// Appends another encoding of `input`, if the codec has one; otherwise returns `false` and appends nothing. A
    /// transform's alternative is longer, but a following compressor may make it shorter. A compressor's
    /// alternative is for the output of transforms.
    fn encode_alternative(&self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, CodecError> {
        let _ = (input, out);
        Ok(false)
    }

    /// Fills `out`, whose length is that of the original input.
    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError>;

    /// The maximum number of bytes that `encode` appends for `input_bytes`.
    fn encoded_bytes_max(&self, input_bytes: usize) -> usize;
}
