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
//! [`DecimalScale`] is the arithmetic of `ALP`, for floats that are read one at a time.
//!
//! To add a codec: its file, a variant of [`CodecSpec`], and a line in the conformance test.

mod alp;
mod auto;
mod bits;
mod chain;
mod clause;
mod codec;
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

pub use alp::{AlpScheme, DecimalScale};
pub use auto::Values;
pub use chain::{CHAIN_BYTES, CodecChain, Scratch};
pub use clause::CodecArgument;
pub use codec::{Codec, INPUT_BYTES_MAX};
pub use error::CodecError;
pub use onpair::{TOKEN_BYTES_MAX, TokenMatcher, Tokens};
pub use spec::CodecSpec;
pub use t64::Planes;
