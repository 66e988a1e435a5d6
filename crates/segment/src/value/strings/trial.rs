//! Trains an encoding on one half of a sample, and measures it on the other.

use basalt_base::Result;
use basalt_base::query::checkpoint;
use basalt_codec::Tokens;

use super::archive::{self, ArchiveEncoder};
use super::encoding::RecordEncoder;
use super::long_match::{LongMatchEncoder, between};
use super::match_dictionary;
use super::match_index::MatchIndex;
use super::onpair::OnPairEncoder;
use super::plan::Trained;
use crate::file::SpoolPlace;

/// Bytes that tokens are trained on: more find the same tokens.
const TOKENS_SAMPLE_BYTES: usize = 16 << 20;
/// Bytes that a dictionary of Zstandard is trained on, as its manual advises: a hundred times its size.
const ARCHIVE_SAMPLE_BYTES: usize = 100 * archive::DICTIONARY_BYTES;
/// Bytes that an encoding is measured on.
const TRIAL_BYTES: usize = 4 << 20;

/// An encoding that may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    Plain,
    OnPair { bits: u32 },
    Archive,
    LongMatch { bits: u32, least: u8, dictionary_bytes: usize },
}

/// What a candidate would take in all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// For each byte of strings.
    pub(super) rate: f64,
    /// Tokens and dictionaries.
    pub(super) shared_bytes: f64,
}

impl Size {
    /// The bytes for strings of `bytes`.
    pub(super) fn of(self, bytes: f64) -> f64 {
        self.rate * bytes + self.shared_bytes
    }
}

impl Candidate {
    pub(super) fn train(self, sample: &[&[u8]]) -> Trained {
        match self {
            Candidate::Plain => Trained::Plain,
            Candidate::OnPair { bits } => {
                Trained::OnPair(Tokens::train(&spread(sample, TOKENS_SAMPLE_BYTES), bits))
            }
            Candidate::Archive => {
                Trained::Archive { dictionary: archive::train(&spread(sample, ARCHIVE_SAMPLE_BYTES)) }
            }
            Candidate::LongMatch { bits, least, dictionary_bytes } => {
                train_matches(sample, bits, least, dictionary_bytes)
            }
        }
    }

    /// The size with what is trained on half of `sample`.
    pub(super) fn measure(self, sample: &[&[u8]], place: &SpoolPlace) -> Result<Size> {
        if self == Candidate::Plain {
            return Ok(Size { rate: 1.0, shared_bytes: 0.0 });
        }
        let (one, other) = halves(sample);
        checkpoint()?;
        let other = spread(&other, TRIAL_BYTES);
        match self.train(&one) {
            Trained::Plain => Ok(Size { rate: 1.0, shared_bytes: 0.0 }),
            Trained::OnPair(tokens) => {
                let shared = tokens_bytes(&tokens);
                encoded(&mut OnPairEncoder::new(tokens, place), &other, shared)
            }
            Trained::Archive { dictionary } => {
                let shared = dictionary.len();
                encoded(&mut ArchiveEncoder::new(dictionary, place)?, &other, shared)
            }
            Trained::LongMatch { dictionary, tokens } => {
                let shared = tokens_bytes(&tokens) + match_dictionary::encode(&dictionary)?.len();
                encoded(&mut LongMatchEncoder::new(dictionary, tokens, place), &other, shared)
            }
        }
    }
}

/// Two halves; both have the only string. They are mixed, because a column may alternate between two kinds of strings.
fn halves<'a>(sample: &[&'a [u8]]) -> (Vec<&'a [u8]>, Vec<&'a [u8]>) {
    if let [_] = sample {
        return (sample.to_vec(), sample.to_vec());
    }
    let (one, other): (Vec<_>, Vec<_>) =
        sample.iter().enumerate().partition(|&(at, _)| mixed(at).is_multiple_of(2));
    let strings = |half: Vec<(usize, &&'a [u8])>| half.into_iter().map(|(_, string)| *string).collect();
    (strings(one), strings(other))
}

/// About `bytes_max` of the strings, evenly spread. Only the beginning of a string that is longer than that is taken.
fn spread<'a>(sample: &[&'a [u8]], bytes_max: usize) -> Vec<&'a [u8]> {
    let bytes: usize = sample.iter().map(|string| string.len()).sum();
    let step = bytes.div_ceil(bytes_max).max(1);
    let mut left = bytes_max;
    let taken = sample.iter().enumerate().filter(|&(at, _)| (mixed(at) >> 1).is_multiple_of(step));
    let strings = taken.map(|(_, string)| {
        let string = &string[..string.len().min(left)];
        left -= string.len();
        string
    });
    strings.collect()
}

/// A number that looks random.
fn mixed(at: usize) -> usize {
    let mixed = (at ^ at >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> 32
}

fn train_matches(sample: &[&[u8]], bits: u32, least: u8, dictionary_bytes: usize) -> Trained {
    let dictionary = match_dictionary::choose(sample, least, dictionary_bytes);
    let index = MatchIndex::new(dictionary);
    let (mut rest, mut matches) = (Vec::new(), Vec::new());
    for text in spread(sample, 2 * TOKENS_SAMPLE_BYTES) {
        index.matches(text, &mut matches);
        between(text, &matches, |part| rest.push(part));
    }
    let tokens = Tokens::train(&spread(&rest, TOKENS_SAMPLE_BYTES), bits);
    Trained::LongMatch { dictionary: index.into_dictionary(), tokens }
}

fn tokens_bytes(tokens: &Tokens) -> usize {
    let mut written = Vec::new();
    tokens.write(&mut written);
    written.len()
}

fn encoded(encoder: &mut impl RecordEncoder, strings: &[&[u8]], shared_bytes: usize) -> Result<Size> {
    let (mut record, mut bytes, mut raw_bytes) = (Vec::new(), 0, 0);
    for string in strings {
        record.clear();
        encoder.encode(string, &mut record)?;
        bytes += record.len();
        raw_bytes += string.len();
    }
    let rate = bytes as f64 / raw_bytes.max(1) as f64;
    Ok(Size { rate, shared_bytes: shared_bytes as f64 })
}

/// The bits of codes whose tokens take the least: of narrower codes, more are needed, but they have fewer tokens.
pub(super) const CODE_BITS: [u32; 3] = [12, 14, 16];

/// Trains tokens for each width, and returns the best one for strings of `bytes` in all.
pub(super) fn best_width(sample: &[&[u8]], bytes: f64, place: &SpoolPlace) -> Result<(u32, Size)> {
    let mut best = None::<(u32, Size)>;
    for bits in CODE_BITS {
        let size = Candidate::OnPair { bits }.measure(sample, place)?;
        if best.is_none_or(|(_, least)| size.of(bytes) < least.of(bytes)) {
            best = Some((bits, size));
        }
    }
    best.ok_or_else(|| basalt_base::Error::logical("there are no widths of codes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_sample_has_about_its_bytes_and_halves_have_no_string_in_common() {
        let strings: Vec<Vec<u8>> = (0..1000_u32).map(|at| vec![at as u8; at as usize % 100]).collect();
        let sample: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
        for bytes_max in [1000, 20_000, 1 << 20] {
            let bytes: usize = spread(&sample, bytes_max).iter().map(|string| string.len()).sum();
            assert!(bytes <= bytes_max && bytes >= bytes_max.min(49_500) / 3, "{bytes} of {bytes_max}");
        }
        assert_eq!(halves(&sample).0.len() + halves(&sample).1.len(), 1000);
        assert_eq!(halves(&sample[..1]), (vec![sample[0]], vec![sample[0]]));
        assert_eq!(halves(&[]), (vec![], vec![]));
    }
}
