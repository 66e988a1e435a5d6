//! What the database records about a table's segments and generations.
//!
//! # Layout
//!
//! Records of the default family. Numbers in names are big-endian, so that records are in their order.
//!
//! ```text
//! name                          value
//! "segment/" number u64         version u8 (1), newest generation u64, oldest generation u64   little-endian
//! "retired/" generation u64     empty: the generation's rows are in segments, or were removed
//! ```

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::path::Path;

use basalt_base::{Error, ErrorCode, Result};

const SEGMENT: &[u8] = b"segment/";
const RETIRED: &[u8] = b"retired/";
const VERSION: u8 = 1;
const FAMILY: &str = "rows-";

/// A segment of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentRecord {
    pub(crate) number: u64,
    /// The generations whose rows it has.
    pub(crate) newest: u64,
    pub(crate) oldest: u64,
}

impl SegmentRecord {
    pub(crate) fn name(number: u64) -> Vec<u8> {
        [SEGMENT, &number.to_be_bytes()].concat()
    }

    pub(crate) fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let mut value = vec![VERSION];
        value.extend_from_slice(&self.newest.to_le_bytes());
        value.extend_from_slice(&self.oldest.to_le_bytes());
        (SegmentRecord::name(self.number), value)
    }

    fn decode(name: &[u8], value: &[u8]) -> Option<SegmentRecord> {
        let number = name.strip_prefix(SEGMENT)?.try_into().ok()?;
        let (&version, generations) = value.split_first()?;
        let (newest, oldest) = generations.split_at_checked(size_of::<u64>())?;
        let record = SegmentRecord {
            number: u64::from_be_bytes(number),
            newest: u64::from_le_bytes(newest.try_into().ok()?),
            oldest: u64::from_le_bytes(oldest.try_into().ok()?),
        };
        (version == VERSION && record.oldest <= record.newest).then_some(record)
    }
}

/// The segments that `records` list, the newest first.
pub(crate) fn segments(path: &Path, records: &[(Vec<u8>, Vec<u8>)]) -> Result<Vec<SegmentRecord>> {
    let mut segments = Vec::new();
    for (name, value) in records.iter().filter(|(name, _)| name.starts_with(SEGMENT)) {
        let record = SegmentRecord::decode(name, value);
        segments.push(record.ok_or_else(|| corrupt(path, "a record of a segment is corrupt"))?);
    }
    segments.sort_unstable_by_key(|segment| std::cmp::Reverse(segment.newest));
    let overlap = segments.iter().zip(segments.iter().skip(1)).any(|(new, old)| old.newest >= new.oldest);
    if overlap {
        return Err(corrupt(path, "two of its segments have rows of one generation"));
    }
    Ok(segments)
}

pub(crate) fn retired(generation: u64) -> Vec<u8> {
    [RETIRED, &generation.to_be_bytes()].concat()
}

/// The retired generations that `records` list.
pub(crate) fn retired_generations(records: &[(Vec<u8>, Vec<u8>)]) -> Vec<u64> {
    let number = |name: &[u8]| Some(u64::from_be_bytes(name.strip_prefix(RETIRED)?.try_into().ok()?));
    records.iter().filter_map(|(name, _)| number(name)).collect()
}

/// The column family of a generation.
pub(crate) fn family(generation: u64) -> String {
    format!("{FAMILY}{generation}")
}

/// The generation of a column family.
pub(crate) fn generation_of(family: &str) -> Option<u64> {
    family.strip_prefix(FAMILY)?.parse().ok()
}

fn corrupt(path: &Path, what: &str) -> Error {
    Error::new(ErrorCode::CorruptedData, format!("the table in {} is corrupt: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_come_back_with_the_newest_first() {
        let old = SegmentRecord { number: 300, newest: 4, oldest: 1 };
        let new = SegmentRecord { number: 7, newest: 9, oldest: 5 };
        let records = [old.encode(), new.encode(), (retired(3), Vec::new())];
        assert_eq!(segments(Path::new("t"), &records).expect("own records"), [new, old]);
        assert_eq!(retired_generations(&records), [3]);
        assert_eq!(generation_of(&family(12)), Some(12));
        let twice = SegmentRecord { number: 8, newest: 5, oldest: 5 };
        assert!(segments(Path::new("t"), &[new.encode(), twice.encode()]).is_err());
    }

    #[test]
    fn every_bit_flip_and_truncation_is_survived() {
        let (name, value) = SegmentRecord { number: 300, newest: 4, oldest: 1 }.encode();
        for bit in 0..value.len() * 8 {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = segments(Path::new("t"), &[(name.clone(), flipped)]);
        }
        for length in 0..value.len() {
            assert!(segments(Path::new("t"), &[(name.clone(), value[..length].to_vec())]).is_err());
        }
    }
}
