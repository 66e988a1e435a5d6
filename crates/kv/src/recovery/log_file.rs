//! RocksDB's log format, used by write-ahead logs and the MANIFEST: finds out how much of a file is intact.
//!
//! # Layout
//!
//! ```text
//! file      blocks of 32 KiB, the last one shorter
//! block     records, and zeros where less than a header is left
//! record    crc32c of type and payload, masked   u32, little-endian
//!           bytes of the payload                 u16, little-endian
//!           type                                 u8: 1 whole, or 2 first, 3 middle, 4 last of several
//!           payload
//! ```
//!
//! # Invariants
//!
//! Torn is not damaged: a crash cuts off, or leaves holes in, the record that was being written, and no record
//! follows it. A bad record that is followed by another one was damaged later.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::io::{self, Read};

use basalt_base::checksum::crc32c;

const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 7;
const WHOLE: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;
/// Bytes of a record's beginning that `visit` sees.
pub(crate) const HEAD_BYTES: usize = 12;

/// The end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    Whole,
    /// The record that begins here is incomplete.
    Torn {
        at: u64,
    },
    /// The bytes here are no record, and records follow.
    Damaged {
        at: u64,
    },
}

/// The intact part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogScan {
    /// The end of the last intact record.
    pub(crate) end: u64,
    pub(crate) tail: Tail,
}

/// Reads `file` to its end and calls `visit` with the first bytes of every intact record.
pub(crate) fn scan(mut file: impl Read, mut visit: impl FnMut(&[u8])) -> io::Result<LogScan> {
    let mut records = Records { end: 0, open: None, bad: None, begins_again: false };
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    let mut start = 0;
    loop {
        block.clear();
        file.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
        if block.is_empty() {
            break;
        }
        records.take_block(start, &block, &mut visit);
        start += block.len() as u64;
        if records.begins_again {
            break;
        }
    }
    Ok(LogScan { end: records.end, tail: records.tail() })
}

/// A record whose fragments are being read.
struct Open {
    start: u64,
    head: Vec<u8>,
}

struct Records {
    end: u64,
    open: Option<Open>,
    /// The position of the first bytes that are no record.
    bad: Option<u64>,
    /// Whether a record begins after those.
    begins_again: bool,
}

impl Records {
    fn tail(&self) -> Tail {
        match (self.bad, &self.open) {
            (Some(at), _) if self.begins_again => Tail::Damaged { at },
            (Some(at), _) => Tail::Torn { at },
            (None, Some(open)) => Tail::Torn { at: open.start },
            (None, None) => Tail::Whole,
        }
    }

    fn take_block(&mut self, start: u64, block: &[u8], visit: &mut impl FnMut(&[u8])) {
        let mut at = 0;
        while self.bad.is_none() && block.len() - at >= HEADER_BYTES {
            let position = start + at as u64;
            let taken =
                record(&block[at..]).filter(|&(kind, payload)| self.take(position, kind, payload, visit));
            match taken {
                Some((_, payload)) => at += HEADER_BYTES + payload.len(),
                None => self.bad = Some(position),
            }
        }
        if self.bad.is_some() {
            self.begins_again |= begins(&block[at..], self.bad == Some(start + at as u64));
        } else if block.len() < BLOCK_BYTES && at < block.len() {
            self.bad = Some(start + at as u64);
        }
    }

    /// Adds a fragment; `false` if a fragment of this kind may not follow here.
    fn take(&mut self, position: u64, kind: u8, payload: &[u8], visit: &mut impl FnMut(&[u8])) -> bool {
        let end = position + (HEADER_BYTES + payload.len()) as u64;
        match (kind, &mut self.open) {
            (WHOLE, None) => {
                visit(&payload[..payload.len().min(HEAD_BYTES)]);
                self.end = end;
            }
            (FIRST, None) => {
                let head = payload[..payload.len().min(HEAD_BYTES)].to_vec();
                self.open = Some(Open { start: position, head });
            }
            (MIDDLE | LAST, Some(open)) => {
                let wanted = HEAD_BYTES.saturating_sub(open.head.len()).min(payload.len());
                open.head.extend_from_slice(&payload[..wanted]);
                if kind == LAST {
                    visit(&open.head);
                    self.end = end;
                    self.open = None;
                }
            }
            _ => return false,
        }
        true
    }
}

/// Type and payload of the record at the start of `bytes`, if it is intact.
fn record(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let length = usize::from(u16::from_le_bytes([header[4], header[5]]));
    if !(WHOLE..=LAST).contains(&header[6]) || length > rest.len() {
        return None;
    }
    let sum = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    (unmasked(sum) == crc32c(&bytes[6..HEADER_BYTES + length])).then(|| (header[6], &rest[..length]))
}

/// Undoes RocksDB's masking of a checksum, which it applies because the payload may contain checksums.
fn unmasked(sum: u32) -> u32 {
    sum.wrapping_sub(0xa282_ead8).rotate_right(17)
}

/// Whether a record begins anywhere in `bytes`, after the first byte if that is `known_bad`. Lengths cannot be
/// trusted here, so every offset is tried.
fn begins(bytes: &[u8], known_bad: bool) -> bool {
    (usize::from(known_bad)..bytes.len().saturating_sub(HEADER_BYTES - 1)).any(|at| {
        matches!(bytes[at + HEADER_BYTES - 1], WHOLE | FIRST)
            && record(&bytes[at..]).is_some_and(|(_, payload)| !payload.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records as RocksDB's writer lays them out.
    fn written(records: &[Vec<u8>]) -> Vec<u8> {
        let mut file = Vec::new();
        for payload in records {
            let mut rest = payload.as_slice();
            let mut is_first = true;
            loop {
                let room = BLOCK_BYTES - file.len() % BLOCK_BYTES;
                if room < HEADER_BYTES {
                    file.resize(file.len() + room, 0);
                    continue;
                }
                let (part, after) = rest.split_at(rest.len().min(room - HEADER_BYTES));
                let kind = match (is_first, after.is_empty()) {
                    (true, true) => WHOLE,
                    (true, false) => FIRST,
                    (false, true) => LAST,
                    (false, false) => MIDDLE,
                };
                let mut summed = vec![kind];
                summed.extend_from_slice(part);
                let sum = crc32c(&summed).rotate_right(15).wrapping_add(0xa282_ead8);
                file.extend_from_slice(&sum.to_le_bytes());
                file.extend_from_slice(&(part.len() as u16).to_le_bytes());
                file.extend_from_slice(&summed);
                (rest, is_first) = (after, false);
                if rest.is_empty() {
                    break;
                }
            }
        }
        file
    }

    fn records() -> Vec<Vec<u8>> {
        let sizes = [100, 20, BLOCK_BYTES - 7 * 3 - 120 - 3, 50, 3 * BLOCK_BYTES, 9, 40];
        sizes.iter().enumerate().map(|(at, &size)| vec![at as u8 + 1; size]).collect()
    }

    fn scanned(file: &[u8]) -> (LogScan, usize) {
        let mut count = 0;
        (scan(file, |_| count += 1).expect("bytes in memory"), count)
    }

    #[test]
    fn whole_records_are_found_with_their_beginnings() {
        let file = written(&records());
        let mut heads = Vec::new();
        let found = scan(file.as_slice(), |head| heads.push(head.to_vec())).expect("bytes in memory");
        assert_eq!(found, LogScan { end: file.len() as u64, tail: Tail::Whole });
        let expected = records().into_iter().map(|record| record[..record.len().min(HEAD_BYTES)].to_vec());
        assert_eq!(heads, Vec::from_iter(expected));
    }

    #[test]
    fn a_cut_is_torn_or_between_records() {
        let file = written(&records());
        let ends: Vec<usize> =
            (1..=records().len()).map(|count| written(&records()[..count]).len()).collect();
        for length in (0..file.len()).filter(|length| length % 97 == 0 || ends.contains(length)) {
            let (found, count) = scanned(&file[..length]);
            assert_eq!(count, ends.iter().filter(|&&end| end <= length).count(), "cut at {length}");
            let is_between = length == 0
                || ends.contains(&length)
                || length % BLOCK_BYTES == 0 && found.end + 6 >= length as u64;
            assert_eq!(found.tail == Tail::Whole, is_between, "cut at {length}");
            assert!(!matches!(found.tail, Tail::Damaged { .. }), "cut at {length}");
        }
    }

    #[test]
    fn a_flip_is_damage_before_the_last_record_and_torn_in_it() {
        let file = written(&records());
        let last = written(&records()[..records().len() - 1]).len();
        for at in (0..file.len()).filter(|at| at % 101 == 0 || *at < 400 || *at + 120 > file.len()) {
            for bit in [0, 3, 7] {
                let mut flipped = file.clone();
                flipped[at] ^= 1 << bit;
                let (found, count) = scanned(&flipped);
                match found.tail {
                    // Padding zeros at the end of a block are not checked.
                    Tail::Whole => assert_eq!(count, records().len(), "flip at {at}"),
                    Tail::Torn { .. } => assert!(at >= last, "flip at {at}"),
                    Tail::Damaged { .. } => assert!(at < last, "flip at {at}"),
                }
            }
        }
    }

    #[test]
    fn zeros_in_the_middle_are_damage_and_at_the_end_torn() {
        let mut file = written(&records());
        let length = file.len();
        file.resize(length + 5000, 0);
        let (found, count) = scanned(&file);
        assert_eq!((found.tail, count), (Tail::Torn { at: length as u64 }, records().len()));
        file[110..130].fill(0);
        assert!(matches!(scanned(&file).0.tail, Tail::Damaged { at: 107 }));
    }
}
