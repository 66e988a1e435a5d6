//! `LZ4HC(level)`: LZ4's format, written with a longer search for matches.

use ::lz4::block::CompressionMode;

use crate::{Codec, CodecError, lz4};

/// The level of `LZ4HC` and `LZ4HC(0)`.
const LEVEL_DEFAULT: u8 = 9;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lz4hc {
    /// 0 is the default; the library clamps levels above its highest.
    pub(crate) level: u8,
}

impl Codec for Lz4hc {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let level = if self.level == 0 { LEVEL_DEFAULT } else { self.level };
        lz4::encode(CompressionMode::HIGHCOMPRESSION(i32::from(level)), input, out)
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        lz4::decode(input, out)
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        lz4::encoded_bytes_max(input_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Lz4hc;

    #[test]
    fn conforms() {
        for level in [0, 1, 9, 12, 99] {
            crate::conformance::check(&Lz4hc { level });
        }
    }
}
