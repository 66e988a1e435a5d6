//! The contract of codecs.

use crate::error::CodecError;

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
