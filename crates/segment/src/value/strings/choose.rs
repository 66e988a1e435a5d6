//! Chooses the encoding of a column of strings: tries each one on a sample.
//!
//! Tokens and dictionaries are trained on one half of the sample and measured on the other; their own bytes count. The
//! faster encoding wins unless the smaller one gains enough: OnPair is the default, long matches must be smaller by a
//! tenth, and archived strings, which take several times as long to read, by [`ARCHIVE_GAIN_MIN`].

use std::collections::HashSet;

use basalt_base::Result;

use super::match_dictionary::DICTIONARY_BYTES_MAX;
use super::plan::StringPlan;
use super::trial::{Candidate, Size, best_width};
use crate::file::SpoolPlace;

/// The part that an encoding must gain over a faster one.
const GAIN_MIN: f64 = 0.1;
/// The part that archived strings must gain.
const ARCHIVE_GAIN_MIN: f64 = 0.35;
/// The bytes of strings for each byte of a dictionary of long matches, at least.
const BYTES_A_DICTIONARY_BYTE: u64 = 16;
/// The bytes of an offset, about.
const OFFSET_BYTES: f64 = 1.5;

/// The encoding that a user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StringEncoding {
    /// The best one for the sample.
    #[default]
    Auto,
    OnPair,
    Archive,
    LongMatch,
    Plain,
}

/// Some of the strings of a column, spread over all its rows.
#[derive(Clone, Copy, Debug)]
pub struct StringSample<'a> {
    pub strings: &'a [&'a [u8]],
    /// The number of strings of the column.
    pub rows: u64,
    /// The bytes of all strings of the column.
    pub bytes: u64,
}

/// Decides how to store the strings of a column, and trains tokens and dictionaries on the sample. `place` is for
/// spools. An encoding that was asked for is used even if it gains nothing.
pub fn choose(sample: StringSample<'_>, encoding: StringEncoding, place: &SpoolPlace) -> Result<StringPlan> {
    let distinct = Distinct::of(sample);
    let (candidate, size, reason) = match encoding {
        StringEncoding::Plain => {
            let reason = "plain, as asked for".to_owned();
            return Ok(StringPlan { trained: Candidate::Plain.train(&[]), is_folded: false, reason });
        }
        StringEncoding::Auto => best(&distinct, place)?,
        _ => asked(encoding, &distinct, place)?,
    };
    let (is_folded, folding) = distinct.folding(size);
    let reason = if is_folded { format!("{folding}; {reason}") } else { reason };
    Ok(StringPlan { trained: candidate.train(&distinct.strings), is_folded, reason })
}

/// The distinct strings of a sample.
struct Distinct<'a> {
    strings: Vec<&'a [u8]>,
    rows: f64,
    bytes: f64,
    /// The part of the sample that is distinct.
    rows_part: f64,
    bytes_part: f64,
    /// Whether the sample is most of the column.
    is_whole: bool,
}

impl<'a> Distinct<'a> {
    fn of(sample: StringSample<'a>) -> Distinct<'a> {
        let mut seen = HashSet::new();
        let strings: Vec<&[u8]> =
            sample.strings.iter().copied().filter(|string| seen.insert(*string)).collect();
        let bytes = |strings: &[&[u8]]| strings.iter().map(|string| string.len()).sum::<usize>();
        let (all, distinct) = (bytes(sample.strings), bytes(&strings));
        Distinct {
            rows: sample.rows as f64,
            bytes: sample.bytes as f64,
            rows_part: strings.len() as f64 / sample.strings.len().max(1) as f64,
            bytes_part: distinct as f64 / all.max(1) as f64,
            is_whole: 2 * all as u64 > sample.bytes,
            strings,
        }
    }

    /// The bytes of strings to encode: the sample tells the most that distinct ones can be.
    fn distinct_bytes(&self) -> f64 {
        self.bytes * self.bytes_part
    }

    /// Whether equal strings should be stored once, and why.
    fn folding(&self, size: Size) -> (bool, String) {
        let distinct_rows = self.rows * self.rows_part;
        let index_bytes = (distinct_rows.max(1.0).log2().ceil() + 0.5) / 8.0;
        let folded = size.of(self.distinct_bytes()) + distinct_rows * OFFSET_BYTES + self.rows * index_bytes;
        let unfolded = size.of(self.bytes) + self.rows * OFFSET_BYTES;
        let gain = 1.0 - folded / unfolded.max(1.0);
        let percent = 100.0 * (1.0 - self.rows_part);
        (gain >= GAIN_MIN, format!("equal strings once: {percent:.0}% of the rows repeat another"))
    }

    fn dictionary_bytes(&self) -> usize {
        let bytes = self.bytes as u64 / BYTES_A_DICTIONARY_BYTE;
        usize::try_from(bytes).map_or(DICTIONARY_BYTES_MAX, |bytes| bytes.min(DICTIONARY_BYTES_MAX))
    }

    fn long_match(&self, bits: u32) -> Candidate {
        // In a sample of all strings, a part that is there twice costs as much in the dictionary as it saves.
        let least = if self.is_whole { 3 } else { 2 };
        Candidate::LongMatch { bits, least, dictionary_bytes: self.dictionary_bytes() }
    }
}

/// The candidate that was asked for.
fn asked(
    encoding: StringEncoding,
    distinct: &Distinct<'_>,
    place: &SpoolPlace,
) -> Result<(Candidate, Size, String)> {
    let bytes = distinct.distinct_bytes();
    let (candidate, size) = match encoding {
        StringEncoding::Archive => {
            (Candidate::Archive, Candidate::Archive.measure(&distinct.strings, place)?)
        }
        StringEncoding::LongMatch => {
            let candidate = distinct.long_match(best_width(&distinct.strings, bytes, place)?.0);
            (candidate, candidate.measure(&distinct.strings, place)?)
        }
        _ => {
            let (bits, size) = best_width(&distinct.strings, bytes, place)?;
            (Candidate::OnPair { bits }, size)
        }
    };
    Ok((candidate, size, format!("{}, as asked for: {} on the sample", name(candidate), ratio(size, bytes))))
}

/// The candidate with the best size for its speed.
fn best(distinct: &Distinct<'_>, place: &SpoolPlace) -> Result<(Candidate, Size, String)> {
    let bytes = distinct.distinct_bytes();
    let plain = (Candidate::Plain, Candidate::Plain.measure(&[], place)?);
    let (bits, onpair) = best_width(&distinct.strings, bytes, place)?;
    let long_match = distinct.long_match(bits);
    let others = [
        (Candidate::OnPair { bits }, onpair, GAIN_MIN),
        (long_match, long_match.measure(&distinct.strings, place)?, GAIN_MIN),
        (Candidate::Archive, Candidate::Archive.measure(&distinct.strings, place)?, ARCHIVE_GAIN_MIN),
    ];
    let mut best = plain;
    for (candidate, size, gain_min) in others {
        if size.of(bytes) < best.1.of(bytes) * (1.0 - gain_min) {
            best = (candidate, size);
        }
    }
    let describe =
        |(candidate, size): (Candidate, Size)| format!("{} {}", name(candidate), ratio(size, bytes));
    let rejected = others.into_iter().map(|(candidate, size, _)| (candidate, size));
    let rejected: Vec<String> = rejected.filter(|other| other.0 != best.0).map(describe).collect();
    let reason = format!("{} on the sample; {}", describe(best), rejected.join(", "));
    Ok((best.0, best.1, reason))
}

fn name(candidate: Candidate) -> String {
    match candidate {
        Candidate::Plain => "plain".to_owned(),
        Candidate::OnPair { bits } => format!("OnPair with {bits}-bit codes"),
        Candidate::Archive => "zstd with a dictionary (several times slower to read)".to_owned(),
        Candidate::LongMatch { bits, .. } => format!("long matches and OnPair with {bits}-bit codes"),
    }
}

/// How many times smaller strings of `bytes` become.
fn ratio(size: Size, bytes: f64) -> String {
    format!("{:.2}x", bytes.max(1.0) / size.of(bytes).max(1.0))
}
