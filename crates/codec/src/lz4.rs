//! `LZ4`: the default compressor; the LZ4 block format without a length prefix.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use ::lz4::block::{self, CompressionMode};
use ::lz4::liblz4::{LZ4_compress_continue, LZ4_createStream, LZ4_freeStream};

use crate::{Codec, CodecError, INPUT_BYTES_MAX};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lz4;

impl Codec for Lz4 {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        encode(CompressionMode::DEFAULT, input, out)
    }

    /// Searches for matches of five bytes, as the library does for long inputs only. The output of a transform has
    /// so many matches of four bytes that they hide the long ones.
    fn encode_alternative(&self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, CodecError> {
        check_length(input)?;
        if input.is_empty() {
            return Ok(true);
        }
        let start = out.len();
        out.resize(start + encoded_bytes_max(input.len()), 0);
        let written = encode_by_five(input, &mut out[start..]);
        out.truncate(start + written);
        if written > 0 {
            return Ok(true);
        }
        Err(CodecError::Encode { codec: "LZ4", reason: "the library refused the input".to_owned() })
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        decode(input, out)
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        encoded_bytes_max(input_bytes)
    }
}

fn check_length(input: &[u8]) -> Result<(), CodecError> {
    if input.len() > INPUT_BYTES_MAX {
        return Err(CodecError::InputTooLong { codec: "LZ4", bytes: input.len() });
    }
    Ok(())
}

/// Writes an LZ4 block to `out`, which has room for the longest; returns its length, 0 for a failure.
///
/// A stream of the library hashes five bytes for inputs of any length; a single block does not.
fn encode_by_five(input: &[u8], out: &mut [u8]) -> usize {
    assert!(out.len() >= encoded_bytes_max(input.len()), "there is room for any input");
    // SAFETY: the stream is made here, used by this thread alone and freed once, also where it is null; the input
    // is read and never kept, `out` has the room that the library asks for.
    unsafe {
        let stream = LZ4_createStream();
        let written = if stream.is_null() {
            0
        } else {
            let length = i32::try_from(input.len()).unwrap_or(0);
            LZ4_compress_continue(stream, input.as_ptr(), out.as_mut_ptr(), length)
        };
        LZ4_freeStream(stream);
        usize::try_from(written).unwrap_or(0)
    }
}

/// Appends an LZ4 block; `mode` decides how hard to search for matches.
pub(crate) fn encode(mode: CompressionMode, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
    check_length(input)?;
    if input.is_empty() {
        // The library's highest level reads before the start of an empty input.
        return Ok(());
    }
    let start = out.len();
    out.resize(start + encoded_bytes_max(input.len()), 0);
    let written = block::compress_to_buffer(input, Some(mode), false, &mut out[start..])
        .map_err(|error| CodecError::Encode { codec: "LZ4", reason: error.to_string() })?;
    out.truncate(start + written);
    Ok(())
}

/// Fills `out` from an LZ4 block written in any mode.
pub(crate) fn decode(input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
    let expected = out.len();
    if input.is_empty() && expected == 0 {
        return Ok(());
    }
    let size = i32::try_from(expected).map_err(|_| CodecError::Malformed {
        codec: "LZ4",
        reason: format!("{expected} bytes in one block"),
    })?;
    let found = block::decompress_to_buffer(input, Some(size), out)
        .map_err(|error| CodecError::Malformed { codec: "LZ4", reason: error.to_string() })?;
    if found != expected {
        return Err(CodecError::Length { codec: "LZ4", expected, found });
    }
    Ok(())
}

/// The bound of the LZ4 block format: a token and a length byte for every 255 literals.
pub(crate) fn encoded_bytes_max(input_bytes: usize) -> usize {
    input_bytes + input_bytes / 255 + 16
}

#[cfg(test)]
mod tests {
    #[test]
    fn conforms() {
        crate::conformance::check(&super::Lz4);
    }
}
