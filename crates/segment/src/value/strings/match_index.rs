//! Finds long matches between a text and a dictionary.
//!
//! Both are sampled by content, as by Manber ("Finding Similar Files in a Large File System", 1994): a position is an
//! anchor if the hash of its first bytes has some zero bits. Equal texts have equal anchors. The index has the anchors
//! of the dictionary, and a match is found at an anchor of the text and extended in both directions. So no suffix array
//! is needed, and most positions of the text take one multiplication.
//!
//! # Cost
//!
//! Building holds about twice the bytes of the dictionary. A match of 32 bytes is missed in one of ten cases, one of 64
//! bytes in one of five hundred.

use std::ops::Range;

/// Bytes at an anchor that must be equal before a match is extended.
pub(super) const SHINGLE_BYTES: usize = 16;
/// A match of fewer bytes is not worth its entry in a record.
pub(super) const MATCH_BYTES_MIN: usize = 32;

/// One position in 2^ANCHOR_BITS is an anchor.
const ANCHOR_BITS: u32 = 3;
/// Slots that are looked at for a shingle.
const PROBES: usize = 4;

/// An anchor of a text.
#[derive(Clone, Copy)]
pub(super) struct Anchor {
    pub(super) at: usize,
    /// The hash of its shingle.
    pub(super) hash: u64,
}

/// The anchors of `text` from `from` on.
#[inline]
pub(super) fn anchors(text: &[u8], from: usize) -> impl Iterator<Item = Anchor> {
    let shingles = text.get(from..).unwrap_or_default().windows(SHINGLE_BYTES);
    shingles.enumerate().filter_map(move |(at, shingle)| {
        let hash = word(shingle, 0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if hash >> (u64::BITS - ANCHOR_BITS) > 0 {
            return None;
        }
        let mixed = (hash ^ hash >> 29) ^ word(shingle, 8).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (mixed ^ mixed >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Some(Anchor { at: from + at, hash })
    })
}

#[inline(always)]
fn word(shingle: &[u8], at: usize) -> u64 {
    shingle[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The anchors of a dictionary.
pub(super) struct MatchIndex {
    dictionary: Vec<u8>,
    slots: Vec<Slot>,
    shift: u32,
}

/// A position in the dictionary, plus one, and bits of the hash of the shingle there. Zeroes if it is empty.
#[derive(Clone, Copy, Default)]
struct Slot {
    tag: u32,
    position: u32,
}

/// Equal bytes of a text and the dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// Where they are in the text.
    pub(super) text: Range<usize>,
    /// Where they begin in the dictionary.
    pub(super) position: usize,
}

impl MatchIndex {
    /// The dictionary has less than 2^32 bytes.
    pub(super) fn new(dictionary: Vec<u8>) -> MatchIndex {
        let slots = (dictionary.len() >> ANCHOR_BITS << 1).next_power_of_two().max(64);
        let mut index = MatchIndex {
            slots: vec![Slot::default(); slots],
            shift: u64::BITS - slots.trailing_zeros(),
            dictionary: Vec::new(),
        };
        for anchor in anchors(&dictionary, 0) {
            let (tag, slot) = (anchor.hash as u32, index.slot(anchor.hash));
            // The first of equal shingles is kept.
            let free = (0..PROBES).map(|probe| (slot + probe) & (slots - 1)).find(|&slot| {
                let slot = index.slots[slot];
                slot.position == 0 || slot.tag == tag
            });
            if let Some(slot) = free.filter(|&slot| index.slots[slot].position == 0) {
                index.slots[slot] = Slot { tag, position: anchor.at as u32 + 1 };
            }
        }
        index.dictionary = dictionary;
        index
    }

    fn slot(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    pub(super) fn dictionary(&self) -> &[u8] {
        &self.dictionary
    }

    pub(super) fn into_dictionary(self) -> Vec<u8> {
        self.dictionary
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.dictionary.capacity() + self.slots.len() * size_of::<Slot>()
    }

    /// Finds matches of at least [`MATCH_BYTES_MIN`] in `text`, in order and without overlaps.
    pub(super) fn matches(&self, text: &[u8], matches: &mut Vec<Match>) {
        matches.clear();
        if self.dictionary.is_empty() {
            return;
        }
        let mut from = 0;
        for anchor in anchors(text, 0) {
            // The anchor may be inside of the last match.
            if anchor.at < from {
                continue;
            }
            let found = self.find(anchor.hash).map(|position| self.extend(text, from, anchor.at, position));
            if let Some(found) = found.filter(|found| found.text.len() >= MATCH_BYTES_MIN) {
                from = found.text.end;
                matches.push(found);
            }
        }
    }

    /// A position of the dictionary with a shingle of this hash, likely the same one.
    #[inline]
    fn find(&self, hash: u64) -> Option<usize> {
        let (tag, slot) = (hash as u32, self.slot(hash));
        (0..PROBES)
            .map(|probe| self.slots[(slot + probe) & (self.slots.len() - 1)])
            .take_while(|slot| slot.position > 0)
            .find(|slot| slot.tag == tag)
            .map(|slot| slot.position as usize - 1)
    }

    /// The equal bytes around `at` of the text, but not before `from`, and `position` of the dictionary; none if the
    /// bytes there differ.
    fn extend(&self, text: &[u8], from: usize, at: usize, position: usize) -> Match {
        let equal =
            |one: &[u8], other: &[u8]| one.iter().zip(other).take_while(|(one, other)| one == other).count();
        let after = equal(&text[at..], &self.dictionary[position..]);
        let (text_before, before) = (text[from..at].iter().rev(), self.dictionary[..position].iter().rev());
        let before = text_before.zip(before).take_while(|(one, other)| one == other).count();
        match after {
            0 => Match { text: at..at, position },
            after => Match { text: at - before..at + after, position: position - before },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::noise;
    use super::*;

    #[test]
    fn matches_are_equal_in_order_and_most_are_found() {
        let dictionary = noise(100_000, 1);
        let index = MatchIndex::new(dictionary.clone());
        let mut text = Vec::new();
        let pieces = 500;
        for piece in 0..pieces {
            text.extend(noise(20, 100 + piece as u64));
            let at = piece * 7919 % 99_000;
            text.extend_from_slice(&dictionary[at..at + 32 + piece % 100]);
        }
        let mut matches = Vec::new();
        index.matches(&text, &mut matches);
        let mut end = 0;
        for found in &matches {
            assert!(found.text.start >= end && found.text.len() >= MATCH_BYTES_MIN);
            assert_eq!(
                text[found.text.clone()],
                dictionary[found.position..found.position + found.text.len()]
            );
            end = found.text.end;
        }
        assert!(matches.len() > pieces * 9 / 10, "{} of {pieces}", matches.len());
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        let mut matches = vec![Match { text: 0..1, position: 0 }];
        MatchIndex::new(Vec::new()).matches(&noise(1000, 1), &mut matches);
        assert_eq!(matches, []);
        MatchIndex::new(noise(1000, 1)).matches(b"", &mut matches);
        assert_eq!(matches, []);
    }
}
