//! `NONE`: stores the bytes unchanged.

use crate::{Codec, CodecError};

#[derive(Clone, Copy, Debug)]
pub(crate) struct None;

impl Codec for None {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(input);
        Ok(())
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        if input.len() != out.len() {
            return Err(CodecError::Length { codec: "NONE", expected: out.len(), found: input.len() });
        }
        out.copy_from_slice(input);
        Ok(())
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        input_bytes
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn conforms() {
        crate::conformance::check(&super::None);
    }
}
