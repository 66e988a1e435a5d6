//! `ZSTD(level)` and `ZSTD(level, window log)`: one Zstandard frame.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::{self, CParameter};

use crate::{Codec, CodecError, INPUT_BYTES_MAX};

/// The highest level, both of the library and of the clause.
pub(crate) const LEVEL_MAX: u8 = 22;

/// The window sizes that the clause accepts, as powers of two.
pub(crate) const WINDOW_LOG_MIN: u8 = 10;
pub(crate) const WINDOW_LOG_MAX: u8 = 31;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Zstandard {
    pub(crate) level: u8,
    /// The window for long-distance matching; 0 for the level's default.
    pub(crate) window_log: u8,
}

// Creating a context costs more than decoding a block, so each thread keeps one of each kind.
thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

impl Codec for Zstandard {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if input.len() > INPUT_BYTES_MAX {
            return Err(CodecError::InputTooLong { codec: "ZSTD", bytes: input.len() });
        }
        if input.is_empty() {
            return Ok(());
        }
        let start = out.len();
        out.resize(start + self.encoded_bytes_max(input.len()), 0);
        let written = compress(*self, input, &mut out[start..])
            .map_err(|error| CodecError::Encode { codec: "ZSTD", reason: error.to_string() })?;
        out.truncate(start + written);
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let expected = out.len();
        let found = decompress(input, out)
            .map_err(|error| CodecError::Malformed { codec: "ZSTD", reason: error.to_string() })?;
        if found != expected {
            return Err(CodecError::Length { codec: "ZSTD", expected, found });
        }
        Ok(())
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        zstd_safe::compress_bound(input_bytes)
    }
}

fn compress(codec: Zstandard, input: &[u8], out: &mut [u8]) -> io::Result<usize> {
    let level = i32::from(codec.level);
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(level)?),
        };
        compressor.set_compression_level(level)?;
        // A block never needs a window larger than itself, so a smaller window spares the reader memory.
        let block_log = input.len().next_power_of_two().trailing_zeros().max(u32::from(WINDOW_LOG_MIN));
        compressor.set_parameter(CParameter::EnableLongDistanceMatching(codec.window_log > 0))?;
        compressor.set_parameter(CParameter::WindowLog(u32::from(codec.window_log).min(block_log)))?;
        compressor.compress_to_buffer(input, out)
    })
}

fn decompress(input: &[u8], out: &mut [u8]) -> io::Result<usize> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(input, out)
    })
}

#[cfg(test)]
mod tests {
    use super::Zstandard;

    #[test]
    fn conforms() {
        for (level, window_log) in [(0, 0), (1, 0), (3, 0), (19, 0), (1, 10), (3, 31)] {
            crate::conformance::check(&Zstandard { level, window_log });
        }
    }
}
