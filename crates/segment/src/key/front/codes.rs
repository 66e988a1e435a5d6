//! A sample of what blocks will hold, and the tokens that encode it best.

use basalt_codec::{TokenMatcher, Tokens};

use crate::key::limits::common_prefix;

/// The bytes of the sample.
const SAMPLE_BYTES: usize = 4 << 20;
/// The bytes of a key that the sample takes: a long one must not fill it alone.
const PIECE_BYTES: usize = 1 << 10;
/// The bits of codes that are tried.
const BITS: [u32; 3] = [12, 14, 16];

/// The bytes after common prefixes of every k-th key; k doubles when the sample is full.
#[derive(Debug)]
pub(in crate::key) struct CodesSample {
    last: Vec<u8>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    step: u64,
    keys: u64,
    /// The bytes after common prefixes of all keys.
    total: u64,
}

/// The chosen tokens, and the bytes that all keys are estimated to take.
#[derive(Debug)]
pub(in crate::key) struct ChosenCodes {
    pub(in crate::key) tokens: Tokens,
    pub(in crate::key) estimate: u64,
}

impl Default for CodesSample {
    fn default() -> CodesSample {
        CodesSample { last: Vec::new(), bytes: Vec::new(), ends: Vec::new(), step: 1, keys: 0, total: 0 }
    }
}

impl CodesSample {
    pub(in crate::key) fn add(&mut self, key: &[u8]) {
        let rest = &key[common_prefix(&self.last, key)..];
        if self.keys.is_multiple_of(self.step) {
            self.bytes.extend_from_slice(&rest[..rest.len().min(PIECE_BYTES)]);
            self.ends.push(self.bytes.len());
            if self.bytes.len() > SAMPLE_BYTES {
                self.halve();
            }
        }
        self.keys += 1;
        self.total += rest.len() as u64;
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    fn halve(&mut self) {
        let pieces = Pieces { bytes: &self.bytes, ends: &self.ends };
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for piece in pieces.iter().step_by(2) {
            bytes.extend_from_slice(piece);
            ends.push(bytes.len());
        }
        (self.bytes, self.ends, self.step) = (bytes, ends, self.step * 2);
    }

    /// Trains tokens of several widths on half of the sample, compares what the other half takes, and trains the best
    /// width on all of it.
    pub(in crate::key) fn choose(&self) -> ChosenCodes {
        let all: Vec<&[u8]> = Pieces { bytes: &self.bytes, ends: &self.ends }.iter().collect();
        let train: Vec<&[u8]> = all.iter().copied().step_by(2).collect();
        let test: Vec<&[u8]> = all.iter().copied().skip(1).step_by(2).collect();
        let estimate = |bits: u32| {
            let tokens = Tokens::train(&train, bits);
            (self.estimate(&tokens, if test.is_empty() { &train } else { &test }), bits)
        };
        let (estimate, bits) = BITS.map(estimate).into_iter().min().unwrap_or((0, 12));
        // A prefix and a count of each key take about ten bits.
        ChosenCodes { tokens: Tokens::train(&all, bits), estimate: estimate + self.keys * 5 / 4 }
    }

    /// The bytes that all keys and the tokens take, if keys are like `sample`.
    fn estimate(&self, tokens: &Tokens, sample: &[&[u8]]) -> u64 {
        let (matcher, mut codes, mut written) = (TokenMatcher::new(tokens), 0_u64, Vec::new());
        for piece in sample {
            matcher.encode(piece, 0..piece.len(), |_| codes += 1);
        }
        tokens.write(&mut written);
        let bytes = sample.iter().map(|piece| piece.len() as u64).sum::<u64>().max(1);
        let bits = u128::from(codes * u64::from(tokens.bits())) * u128::from(self.total) / u128::from(bytes);
        u64::try_from(bits / 8).unwrap_or(u64::MAX) + written.len() as u64
    }
}

/// Strings one after the other.
struct Pieces<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
}

impl<'a> Pieces<'a> {
    fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (bytes, starts) = (self.bytes, [0].into_iter().chain(self.ends.iter().copied()));
        starts.zip(self.ends).map(|(start, &end)| &bytes[start..end])
    }
}
