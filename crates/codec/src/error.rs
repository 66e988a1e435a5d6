//! Errors of encoding and decoding. The caller adds where the bytes came from.

use basalt_base::{Error, ErrorCode};

use crate::INPUT_BYTES_MAX;

/// A failed [`Codec::encode`](crate::Codec::encode) or [`Codec::decode`](crate::Codec::decode).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    #[error("{codec} cannot encode {bytes} bytes at once, the limit is {INPUT_BYTES_MAX}")]
    InputTooLong { codec: &'static str, bytes: usize },
    #[error("{codec} failed to encode: {reason}")]
    Encode { codec: &'static str, reason: String },
    #[error("{codec} data ends early")]
    Truncated { codec: &'static str },
    #[error("{codec} data holds {found} bytes, expected {expected}")]
    Length { codec: &'static str, expected: usize, found: usize },
    #[error("{codec} data cannot be decoded: {reason}")]
    Malformed { codec: &'static str, reason: String },
    #[error("codec number {id:#04x} with parameter {parameter} is unknown to this build")]
    UnknownId { id: u8, parameter: u8 },
}

impl From<CodecError> for Error {
    fn from(error: CodecError) -> Error {
        let code = match error {
            CodecError::InputTooLong { .. } | CodecError::Encode { .. } => ErrorCode::CannotCompress,
            _ => ErrorCode::CannotDecompress,
        };
        Error::new(code, error.to_string())
    }
}
