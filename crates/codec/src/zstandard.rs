//! `ZSTD(level)`: one Zstandard frame.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

use crate::{Codec, CodecError, INPUT_BYTES_MAX};

/// The highest level of the library, and of the clause.
pub(crate) const LEVEL_MAX: u8 = 22;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Zstandard {
    pub(crate) level: u8,
}

// A context costs more to make than a block costs to decode, so each thread keeps one of each kind.
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
        let written = compress(i32::from(self.level), input, &mut out[start..])
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

fn compress(level: i32, input: &[u8], out: &mut [u8]) -> io::Result<usize> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(level)?),
        };
        compressor.set_compression_level(level)?;
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
        for level in [0, 1, 3, 19] {
            crate::conformance::check(&Zstandard { level });
        }
    }
}
