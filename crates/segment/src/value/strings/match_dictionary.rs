//! The dictionary of long matches: what a sample has several times, once; and its bytes in a file.
//!
//! # Layout
//!
//! For each [`CHUNK_BYTES`] of the dictionary: the bytes of a frame u32, a Zstandard frame. All but the last one hold
//! [`CHUNK_BYTES`].

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use basalt_base::{Error, ErrorCode, Result};

use super::match_index::{Anchor, MATCH_BYTES_MIN, SHINGLE_BYTES, anchors};
use crate::Place;

/// The largest dictionary: readers have it in memory.
pub(super) const DICTIONARY_BYTES_MAX: usize = 64 << 20;

const CHUNK_BYTES: usize = 1 << 20;
const LEVEL: i32 = 9;
/// Counters of shingles, as a power of two.
const COUNTERS_BITS: u32 = 22;
/// Bytes before and after a shingle that the sample has several times: its repetitions begin between anchors.
const MARGIN_BYTES: usize = (MATCH_BYTES_MIN - SHINGLE_BYTES) / 2;
/// The most bytes without anchors that are taken with the shingles around them.
const GAP_BYTES: usize = 128;
/// The occurrences of a shingle that are asked for, until all that have them fit.
const THRESHOLDS: [u8; 8] = [2, 3, 4, 6, 10, 20, 50, 100];

/// The parts of `sample` that occur at least `least` times in it, each once; at most `bytes_max`.
pub(super) fn choose(sample: &[&[u8]], least: u8, bytes_max: usize) -> Vec<u8> {
    let mut counters = vec![0_u8; 1 << COUNTERS_BITS];
    for anchor in sample.iter().flat_map(|text| anchors(text, 0)) {
        let counter = &mut counters[slot(anchor)];
        *counter = counter.saturating_add(1);
    }
    let mut dictionary = Vec::new();
    for threshold in THRESHOLDS.into_iter().filter(|&threshold| threshold >= least) {
        let parts = repeated(sample, &counters, threshold, bytes_max);
        // If only a few parts occur more often, the dictionary has some of the others too.
        if parts.len() >= bytes_max / 2 || dictionary.is_empty() {
            dictionary = parts;
        }
        if dictionary.len() < bytes_max {
            break;
        }
    }
    dictionary
}

fn slot(anchor: Anchor) -> usize {
    (anchor.hash >> (u64::BITS - COUNTERS_BITS)) as usize
}

/// The parts of `sample` around shingles with at least `threshold` occurrences.
fn repeated(sample: &[&[u8]], counters: &[u8], threshold: u8, bytes_max: usize) -> Vec<u8> {
    let mut is_taken = vec![false; counters.len()];
    let mut dictionary = Vec::new();
    for text in sample {
        // What will be taken, and whether its last shingle is the last one.
        let (mut part, mut goes_on) = (0..0, false);
        for anchor in anchors(text, 0) {
            let slot = slot(anchor);
            if counters[slot] < threshold || is_taken[slot] {
                goes_on = false;
                continue;
            }
            is_taken[slot] = true;
            let start = anchor.at.saturating_sub(MARGIN_BYTES);
            let end = text.len().min(anchor.at + SHINGLE_BYTES + MARGIN_BYTES);
            if start <= part.end || goes_on && start <= part.end + GAP_BYTES {
                part.end = end;
            } else {
                dictionary.extend_from_slice(&text[part]);
                part = start..end;
            }
            goes_on = true;
        }
        dictionary.extend_from_slice(&text[part]);
        if dictionary.len() >= bytes_max {
            break;
        }
    }
    dictionary.truncate(bytes_max);
    dictionary
}

/// The dictionary as bytes of a file.
pub(super) fn encode(dictionary: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for chunk in dictionary.chunks(CHUNK_BYTES) {
        let frame = zstd::bulk::compress(chunk, LEVEL).map_err(|error| {
            Error::new(ErrorCode::CannotCompress, format!("a dictionary could not be compressed: {error}"))
        })?;
        out.extend_from_slice(&u32::try_from(frame.len()).map_err(Error::logical)?.to_le_bytes());
        out.extend_from_slice(&frame);
    }
    Ok(out)
}

/// A dictionary of `bytes`, at most [`DICTIONARY_BYTES_MAX`].
pub(super) fn decode(mut written: &[u8], bytes: usize, place: &Place) -> Result<Vec<u8>> {
    let corrupt = |_| place.corrupt("its dictionary cannot be decompressed");
    let mut dictionary = Vec::new();
    while let Some((frame, rest)) = written.split_first_chunk() {
        let frame = usize::try_from(u32::from_le_bytes(*frame)).map_err(Error::logical)?;
        let Some((frame, rest)) = rest.split_at_checked(frame) else { break };
        dictionary.extend(zstd::bulk::decompress(frame, CHUNK_BYTES).map_err(corrupt)?);
        if dictionary.len() > bytes {
            break;
        }
        written = rest;
    }
    match dictionary.len() == bytes && written.is_empty() {
        true => Ok(dictionary),
        false => Err(place.corrupt(format!("its dictionary has not {bytes} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::noise;
    use super::*;

    #[test]
    fn what_repeats_is_taken_once_and_the_rest_is_not() {
        let common = noise(400, 1);
        let texts: Vec<Vec<u8>> = (2..50).map(|seed| [noise(300, seed), common.clone()].concat()).collect();
        let sample: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let dictionary = choose(&sample, 2, 1 << 20);
        assert!((300..600).contains(&dictionary.len()), "{}", dictionary.len());
        assert!(dictionary.windows(200).any(|window| window == &common[100..300]));
        assert_eq!(choose(&sample, 2, 100).len(), 100);
        assert!(choose(&[], 2, 100).is_empty());
    }
}
