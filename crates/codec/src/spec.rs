//! One link of a chain: a codec and its parameter.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::fmt;

use crate::alp::{Alp, AlpScheme};
use crate::delta::Delta;
use crate::double_delta::{DoubleDelta, DoubleDeltaStream};
use crate::fpc::{self, Fpc};
use crate::fsst::Fsst;
use crate::gcd::Gcd;
use crate::gorilla::Gorilla;
use crate::lz4::Lz4;
use crate::lz4hc::Lz4hc;
use crate::none::None;
use crate::t64::{Planes, T64};
use crate::zstandard::{LEVEL_MAX, WINDOW_LOG_MAX, WINDOW_LOG_MIN, Zstandard};
use crate::{Codec, CodecError};

/// A codec and its parameter. `width` is the bytes of a value; 0 stands for the width of the values that are
/// encoded, which [`CodecChain::for_width`](crate::CodecChain::for_width) fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodecSpec {
    None,
    Lz4,
    Lz4hc {
        level: u8,
    },
    Zstd {
        level: u8,
    },
    /// With a window of 2 to the power of `window_log` bytes, 0 for the level's own.
    ZstdWindow {
        level: u8,
        window_log: u8,
    },
    Delta {
        width: u8,
    },
    DoubleDelta {
        width: u8,
    },
    /// The first form of `DoubleDelta`, for reading old files.
    DoubleDeltaStream {
        width: u8,
    },
    Gorilla {
        width: u8,
    },
    T64 {
        width: u8,
        planes: Planes,
    },
    Gcd {
        width: u8,
    },
    Fpc {
        level: u8,
        width: u8,
    },
    Alp {
        scheme: AlpScheme,
        width: u8,
    },
    /// For text alone: skipped for values of a fixed width.
    Fsst,
    /// The default of the table; replaced when values are written, by `LZ4` if by nothing else.
    Default,
    /// A chain chosen for the values; replaced when values are written, by `LZ4` if by nothing else.
    Auto,
}

/// The number of `ZSTD` with a window is this plus the window's logarithm.
const ZSTD_WINDOW: u8 = 0xc0;
const ZSTD_WINDOW_FIRST: u8 = ZSTD_WINDOW + WINDOW_LOG_MIN;
const ZSTD_WINDOW_LAST: u8 = ZSTD_WINDOW + WINDOW_LOG_MAX;

/// Mask of the level in the parameter of `FPC`; the other bits are the width.
const FPC_LEVEL: u8 = 0x1f;
const FPC_WIDTH_4: u8 = 0x40;
const FPC_WIDTH_8: u8 = 0x80;

/// The parameter of `ALP`: the width, and one of these flags if the scheme is given.
const ALP_DECIMAL: u8 = 0x10;
const ALP_REAL: u8 = 0x20;

impl CodecSpec {
    /// Whether it compresses bytes of any kind, and so ends a chain.
    pub fn is_compressor(self) -> bool {
        matches!(
            self,
            CodecSpec::Lz4
                | CodecSpec::Lz4hc { .. }
                | CodecSpec::Zstd { .. }
                | CodecSpec::ZstdWindow { .. }
                | CodecSpec::Default
        )
    }

    /// Whether its output is as long as its input, so that a compressor must follow.
    pub(crate) fn only_prepares(self) -> bool {
        matches!(self, CodecSpec::Delta { .. } | CodecSpec::Gcd { .. })
    }

    /// Whether it compresses floats by their similarity.
    pub(crate) fn is_for_floats(self) -> bool {
        matches!(self, CodecSpec::Gorilla { .. } | CodecSpec::Fpc { .. } | CodecSpec::Alp { .. })
    }

    /// Its number and parameter in files. Numbers never change.
    pub(crate) fn to_bytes(self) -> [u8; 2] {
        match self {
            CodecSpec::None => [0x02, 0],
            CodecSpec::Lz4 | CodecSpec::Default | CodecSpec::Auto => [0x82, 0],
            CodecSpec::Lz4hc { level } => [0x83, level],
            CodecSpec::Zstd { level } => [0x90, level],
            CodecSpec::ZstdWindow { level, window_log } => [ZSTD_WINDOW + window_log, level],
            CodecSpec::Delta { width } => [0x92, width],
            CodecSpec::T64 { width, planes: Planes::Bytes } => [0x93, width],
            CodecSpec::DoubleDeltaStream { width } => [0x94, width],
            CodecSpec::Gorilla { width } => [0x95, width],
            CodecSpec::Fpc { level, width } => {
                let width = match width {
                    4 => FPC_WIDTH_4,
                    8 => FPC_WIDTH_8,
                    _ => 0,
                };
                [0x98, level | width]
            }
            CodecSpec::Gcd { width } => [0x9a, width],
            CodecSpec::Alp { scheme: AlpScheme::Shortest, width } => [0x9c, width],
            CodecSpec::Alp { scheme: AlpScheme::Decimal, width } => [0x9c, ALP_DECIMAL | width],
            CodecSpec::Alp { scheme: AlpScheme::Real, width } => [0x9c, ALP_REAL | width],
            CodecSpec::Fsst => [0xa5, 0],
            CodecSpec::T64 { width, planes: Planes::Bits } => [0xa3, width],
            CodecSpec::DoubleDelta { width } => [0xa4, width],
        }
    }

    pub(crate) fn from_bytes(bytes: [u8; 2]) -> Result<CodecSpec, CodecError> {
        let [id, parameter] = bytes;
        let unknown = CodecError::UnknownId { id, parameter };
        let is_width = |widths: &[u8]| parameter == 0 || widths.contains(&parameter);
        let spec = match bytes {
            [0x02, 0] => CodecSpec::None,
            [0x82, 0] => CodecSpec::Lz4,
            [0x83, level] => CodecSpec::Lz4hc { level },
            [0x90, level] if level <= LEVEL_MAX => CodecSpec::Zstd { level },
            [ZSTD_WINDOW | ZSTD_WINDOW_FIRST..=ZSTD_WINDOW_LAST, level] if level <= LEVEL_MAX => {
                CodecSpec::ZstdWindow { level, window_log: id - ZSTD_WINDOW }
            }
            [0x98, _] => return fpc_from(parameter).ok_or(unknown),
            [0x92, width] if is_width(&[1, 2, 4, 8]) => CodecSpec::Delta { width },
            [0x93, width] if is_width(&[1, 2, 4, 8]) => CodecSpec::T64 { width, planes: Planes::Bytes },
            [0x94, width] if is_width(&[1, 2, 4, 8]) => CodecSpec::DoubleDeltaStream { width },
            [0x95, width] if is_width(&[1, 2, 4, 8]) => CodecSpec::Gorilla { width },
            [0x9a, width] if is_width(&[1, 2, 4, 8, 16, 32]) => CodecSpec::Gcd { width },
            [0xa5, 0] => CodecSpec::Fsst,
            [0x9c, _] => return alp_from(parameter).ok_or(unknown),
            [0xa3, width] if is_width(&[1, 2, 4, 8]) => CodecSpec::T64 { width, planes: Planes::Bits },
            [0xa4, width] if is_width(&[1, 2, 4, 8]) => CodecSpec::DoubleDelta { width },
            _ => return Err(unknown),
        };
        Ok(spec)
    }

    /// The same link for values of `width` bytes; `None` if it is a transform and does not support this width.
    pub(crate) fn for_width(self, width: usize) -> Option<CodecSpec> {
        let fits = |widths: &[usize]| u8::try_from(width).ok().filter(|_| widths.contains(&width));
        let integer = || fits(&[1, 2, 4, 8]);
        let float = || fits(&[4, 8]);
        Some(match self {
            CodecSpec::Delta { width: 0 } => CodecSpec::Delta { width: integer()? },
            CodecSpec::DoubleDelta { width: 0 } => CodecSpec::DoubleDelta { width: integer()? },
            CodecSpec::DoubleDeltaStream { width: 0 } => CodecSpec::DoubleDeltaStream { width: integer()? },
            CodecSpec::Gorilla { width: 0 } => CodecSpec::Gorilla { width: integer()? },
            CodecSpec::T64 { width: 0, planes } => CodecSpec::T64 { width: integer()?, planes },
            CodecSpec::Gcd { width: 0 } => CodecSpec::Gcd { width: fits(&[1, 2, 4, 8, 16, 32])? },
            CodecSpec::Fpc { level, width: 0 } => CodecSpec::Fpc { level, width: float()? },
            CodecSpec::Alp { scheme, width: 0 } => CodecSpec::Alp { scheme, width: float()? },
            CodecSpec::Fsst => return Option::None,
            other => other,
        })
    }

    fn with<T>(self, call: impl FnOnce(&dyn Codec) -> T) -> T {
        match self {
            CodecSpec::None => call(&None),
            CodecSpec::Lz4 | CodecSpec::Default | CodecSpec::Auto => call(&Lz4),
            CodecSpec::Lz4hc { level } => call(&Lz4hc { level }),
            CodecSpec::Zstd { level } => call(&Zstandard { level, window_log: 0 }),
            CodecSpec::ZstdWindow { level, window_log } => call(&Zstandard { level, window_log }),
            CodecSpec::Delta { width } => call(&Delta { width }),
            CodecSpec::DoubleDelta { width } => call(&DoubleDelta { width }),
            CodecSpec::DoubleDeltaStream { width } => call(&DoubleDeltaStream { width }),
            CodecSpec::Gorilla { width } => call(&Gorilla { width }),
            CodecSpec::T64 { width, planes } => call(&T64 { width, planes }),
            CodecSpec::Gcd { width } => call(&Gcd { width }),
            CodecSpec::Fpc { level, width } => call(&Fpc { level, width }),
            CodecSpec::Alp { scheme, width } => call(&Alp { scheme, width }),
            CodecSpec::Fsst => call(&Fsst),
        }
    }
}

/// `FPC` from its parameter in a file.
fn fpc_from(parameter: u8) -> Option<CodecSpec> {
    let level = parameter & FPC_LEVEL;
    let width = match parameter & !FPC_LEVEL {
        0 => 0,
        FPC_WIDTH_4 => 4,
        FPC_WIDTH_8 => 8,
        _ => return Option::None,
    };
    (fpc::LEVEL_MIN..=fpc::LEVEL_MAX).contains(&level).then_some(CodecSpec::Fpc { level, width })
}

/// `ALP` from its parameter in a file.
fn alp_from(parameter: u8) -> Option<CodecSpec> {
    let (scheme, width) = match parameter {
        0..ALP_DECIMAL => (AlpScheme::Shortest, parameter),
        ALP_DECIMAL..ALP_REAL => (AlpScheme::Decimal, parameter - ALP_DECIMAL),
        _ => (AlpScheme::Real, parameter - ALP_REAL),
    };
    matches!(width, 0 | 4 | 8).then_some(CodecSpec::Alp { scheme, width })
}

impl Codec for CodecSpec {
    fn encode(&self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        self.with(|codec| codec.encode(input, out))
    }

    fn encode_alternative(&self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, CodecError> {
        self.with(|codec| codec.encode_alternative(input, out))
    }

    fn decode(&self, input: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        self.with(|codec| codec.decode(input, out))
    }

    fn encoded_bytes_max(&self, input_bytes: usize) -> usize {
        self.with(|codec| codec.encoded_bytes_max(input_bytes))
    }
}

/// The link as ClickHouse prints it in a CODEC clause: some codecs show the width of their values, others never do.
impl fmt::Display for CodecSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodecSpec::None => f.write_str("NONE"),
            CodecSpec::Lz4 => f.write_str("LZ4"),
            CodecSpec::Lz4hc { level } => write!(f, "LZ4HC({level})"),
            CodecSpec::Zstd { level } => write!(f, "ZSTD({level})"),
            CodecSpec::ZstdWindow { level, window_log } => write!(f, "ZSTD({level}, {window_log})"),
            CodecSpec::Delta { width: 0 } => f.write_str("Delta"),
            CodecSpec::Delta { width } => write!(f, "Delta({width})"),
            CodecSpec::DoubleDelta { .. } | CodecSpec::DoubleDeltaStream { .. } => f.write_str("DoubleDelta"),
            CodecSpec::Gorilla { width: 0 } => f.write_str("Gorilla"),
            CodecSpec::Gorilla { width } => write!(f, "Gorilla({width})"),
            CodecSpec::T64 { planes: Planes::Bytes, .. } => f.write_str("T64"),
            CodecSpec::T64 { planes: Planes::Bits, .. } => f.write_str("T64('bit')"),
            CodecSpec::Gcd { .. } => f.write_str("GCD"),
            CodecSpec::Fpc { level, .. } => write!(f, "FPC({level})"),
            CodecSpec::Alp { scheme: AlpScheme::Shortest, .. } => f.write_str("ALP"),
            CodecSpec::Alp { scheme: AlpScheme::Decimal, .. } => f.write_str("ALP(STD)"),
            CodecSpec::Alp { scheme: AlpScheme::Real, .. } => f.write_str("ALP(RD)"),
            CodecSpec::Fsst => f.write_str("FSST"),
            CodecSpec::Default => f.write_str("Default"),
            CodecSpec::Auto => f.write_str("AUTO"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of bytes that reads as a link is written back as the same pair.
    #[test]
    fn numbers_in_files_mean_one_link_each() {
        let mut known = 0;
        for id in 0..=u8::MAX {
            for parameter in 0..=u8::MAX {
                if let Ok(spec) = CodecSpec::from_bytes([id, parameter]) {
                    assert_eq!(spec.to_bytes(), [id, parameter], "{spec}");
                    known += 1;
                }
            }
        }
        let zstd = (usize::from(LEVEL_MAX) + 1) * (2 + usize::from(WINDOW_LOG_MAX - WINDOW_LOG_MIN + 1));
        let fpc = usize::from(fpc::LEVEL_MAX - fpc::LEVEL_MIN + 1) * 3;
        assert_eq!(known, 3 + 256 + zstd + 6 * 5 + 7 + 3 * 3 + fpc);
    }
}
