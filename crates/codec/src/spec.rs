//! One link of a chain: which codec, with which parameter.

use std::fmt;

use crate::delta::Delta;
use crate::double_delta::DoubleDelta;
use crate::lz4::Lz4;
use crate::lz4hc::Lz4hc;
use crate::none::None;
use crate::zstandard::{LEVEL_MAX, Zstandard};
use crate::{Codec, CodecError};

/// A codec and its parameter. A `width` is the bytes of a value (1, 2, 4 or 8); 0 stands for that of
/// the values at hand, which [`CodecChain::for_width`](crate::CodecChain::for_width) fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodecSpec {
    None,
    Lz4,
    Lz4hc { level: u8 },
    Zstd { level: u8 },
    Delta { width: u8 },
    DoubleDelta { width: u8 },
}

impl CodecSpec {
    /// Whether it makes bytes of any kind fewer, and so ends a chain.
    pub fn is_compressor(self) -> bool {
        matches!(self, CodecSpec::Lz4 | CodecSpec::Lz4hc { .. } | CodecSpec::Zstd { .. })
    }

    /// Its number and parameter in files. Numbers never change.
    pub(crate) fn to_bytes(self) -> [u8; 2] {
        match self {
            CodecSpec::None => [0x02, 0],
            CodecSpec::Lz4 => [0x82, 0],
            CodecSpec::Lz4hc { level } => [0x83, level],
            CodecSpec::Zstd { level } => [0x90, level],
            CodecSpec::Delta { width } => [0x92, width],
            CodecSpec::DoubleDelta { width } => [0x94, width],
        }
    }

    pub(crate) fn from_bytes(bytes: [u8; 2]) -> Result<CodecSpec, CodecError> {
        let width_is_known = |width| matches!(width, 0 | 1 | 2 | 4 | 8);
        match bytes {
            [0x02, 0] => Ok(CodecSpec::None),
            [0x82, 0] => Ok(CodecSpec::Lz4),
            [0x83, level] => Ok(CodecSpec::Lz4hc { level }),
            [0x90, level] if level <= LEVEL_MAX => Ok(CodecSpec::Zstd { level }),
            [0x92, width] if width_is_known(width) => Ok(CodecSpec::Delta { width }),
            [0x94, width] if width_is_known(width) => Ok(CodecSpec::DoubleDelta { width }),
            [id, parameter] => Err(CodecError::UnknownId { id, parameter }),
        }
    }

    /// The same link for values of `width` bytes; `None` if it only transforms values and those have
    /// no width that it knows.
    pub(crate) fn for_width(self, width: usize) -> Option<CodecSpec> {
        let fits = matches!(width, 1 | 2 | 4 | 8).then_some(width as u8);
        match self {
            CodecSpec::Delta { width: 0 } => fits.map(|width| CodecSpec::Delta { width }),
            CodecSpec::DoubleDelta { width: 0 } => fits.map(|width| CodecSpec::DoubleDelta { width }),
            other => Some(other),
        }
    }

    fn with<T>(self, call: impl FnOnce(&dyn Codec) -> T) -> T {
        match self {
            CodecSpec::None => call(&None),
            CodecSpec::Lz4 => call(&Lz4),
            CodecSpec::Lz4hc { level } => call(&Lz4hc { level }),
            CodecSpec::Zstd { level } => call(&Zstandard { level }),
            CodecSpec::Delta { width } => call(&Delta { width }),
            CodecSpec::DoubleDelta { width } => call(&DoubleDelta { width }),
        }
    }
}

impl Codec for CodecSpec {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.with(|codec| codec.encode(input, out))
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        self.with(|codec| codec.decode(input, out))
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        self.with(|codec| codec.encoded_bytes_max(input_bytes))
    }
}

/// As it stands in a CODEC clause.
impl fmt::Display for CodecSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodecSpec::None => f.write_str("NONE"),
            CodecSpec::Lz4 => f.write_str("LZ4"),
            CodecSpec::Lz4hc { level } => write!(f, "LZ4HC({level})"),
            CodecSpec::Zstd { level } => write!(f, "ZSTD({level})"),
            CodecSpec::Delta { width: 0 } => f.write_str("Delta"),
            CodecSpec::Delta { width } => write!(f, "Delta({width})"),
            CodecSpec::DoubleDelta { width: 0 } => f.write_str("DoubleDelta"),
            CodecSpec::DoubleDelta { width } => write!(f, "DoubleDelta({width})"),
        }
    }
}
