//! How few bytes hold a slice of one column, and how fast it comes back: the compression codecs.
//!
//! Slices in, bytes out: nothing here knows of files, Arrow or SQL text.
//!
//! - [`Codec`]: what a codec does; one file implements one codec.
//! - [`CodecSpec`]: one link of `CODEC(Delta(4), LZ4)`: which codec, with which parameter.
//! - [`CodecChain`]: the links in order: encodes through all of them, decodes back, and knows its
//!   eight links' form on disk.
//! - `clause`: reads the clause; `rules` says what makes sense together, as ClickHouse has it.
//!
//! | codec | file | for |
//! |---|---|---|
//! | `NONE` | `none` | bytes that do not compress |
//! | `LZ4` | `lz4` | the default: decodes at several GB/s |
//! | `LZ4HC(level)` | `lz4hc` | the same format, written slower and smaller |
//! | `ZSTD(level)` | `zstandard` | smaller still, decodes at about 1 GB/s |
//! | `Delta(bytes)` | `delta` | neighbours that differ little; a compressor follows |
//! | `DoubleDelta` | `double_delta` | series with a steady step |
//! | `T64` | `t64` | integers of which none is large |
//! | `GCD` | `gcd` | multiples of a number; something that makes small numbers short follows |
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

    /// Appends another encoded form of `input`, if the codec has one; `false` and nothing if not. A
    /// transform's is the longer one, which a compressor behind it may make shorter; a compressor's is
    /// the one for what transforms leave.
    fn encode_alternative(&self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, CodecError> {
        let _ = (input, out);
        Ok(false)
    }

    /// Fills `out`, whose length is that of the original input.
    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError>;

    /// The most bytes that `encode` appends for `input_bytes`.
    fn encoded_bytes_max(&self, input_bytes: usize) -> usize;
}
