//! Distinct strings of a column or a query, numbered in order of first appearance.

use std::sync::Arc;

use arrow::array::BinaryViewArray;
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use basalt_base::prefetch::prefetch_read;
use basalt_base::string_views::{INLINE_BYTES_MAX, StringViews};

/// The most distinct strings of a column: a larger dictionary is too expensive to read for a few rows.
pub(crate) const ENTRIES_MAX: usize = 1 << 20;

/// The most bytes of the distinct strings of a column.
pub(crate) const DICTIONARY_BYTES_MAX: usize = 64 << 20;

/// Odd numbers without a pattern, for mixing hashes.
const MIX_A: u64 = 0x9e37_79b9_7f4a_7c15;
const MIX_B: u64 = 0xe703_7ed1_a0b4_28db;

/// Strings whose lookups overlap.
const BATCH: usize = 32;

/// Slots of an empty table.
const SLOTS_MIN: usize = 256;

/// A set of strings that only grows. Strings are passed as Arrow's views: most of them equal a string in the set,
/// and comparing views seldom touches the bytes.
#[derive(Debug)]
pub struct DistinctStrings {
    entries_max: usize,
    bytes_max: usize,
    /// Open addressing: 0 for an empty slot, or the code plus 1 in the low half and half of the hash in the high
    /// half.
    slots: Vec<u64>,
    /// By code; the bytes of longer strings are in `bytes`, which is buffer 0.
    views: Vec<u128>,
    bytes: Vec<u8>,
    /// The last lookup: neighbours are often equal.
    last: Option<(u128, u32)>,
}

impl DistinctStrings {
    /// An empty set with the limits of a column's dictionary.
    pub(crate) fn of_column() -> DistinctStrings {
        DistinctStrings::with_limits(ENTRIES_MAX, DICTIONARY_BYTES_MAX)
    }

    /// An empty set limited only by codes and offsets of four bytes.
    pub fn of_query() -> DistinctStrings {
        DistinctStrings::with_limits(u32::MAX as usize, u32::MAX as usize)
    }

    fn with_limits(entries_max: usize, bytes_max: usize) -> DistinctStrings {
        DistinctStrings {
            entries_max,
            bytes_max,
            slots: vec![0; SLOTS_MIN],
            views: Vec::new(),
            bytes: Vec::new(),
            last: None,
        }
    }

    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether a set that grows is empty")]
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Heap bytes of the set.
    pub fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
            + self.views.capacity() * size_of::<u128>()
            + self.bytes.capacity()
    }

    /// Appends the code of each string of `views`, whose bytes are in `buffers`, to `codes`. Stops before the first
    /// new string that does not fit; returns the number of strings coded.
    pub fn append_codes(&mut self, views: &[u128], buffers: &[Buffer], codes: &mut Vec<u32>) -> usize {
        let before = codes.len();
        let mut hashes = [0; BATCH];
        for batch in views.chunks(BATCH) {
            // The slots of a large set are not in the cache: prefetch all of them before the first is read.
            for (hash, &view) in hashes.iter_mut().zip(batch) {
                *hash = hash_of(view, long_bytes(view, buffers));
                prefetch_read(&self.slots, *hash as usize & (self.slots.len() - 1));
            }
            for (&hash, &view) in hashes.iter().zip(batch) {
                match self.code(hash, view, buffers) {
                    Some(code) => codes.push(code),
                    None => return codes.len() - before,
                }
            }
        }
        views.len()
    }

    fn code(&mut self, hash: u64, view: u128, buffers: &[Buffer]) -> Option<u32> {
        if let Some((last, code)) = self.last
            && last == view
            && is_inline(view)
        {
            return Some(code);
        }
        let code = self.find_or_insert(hash, view, buffers)?;
        self.last = Some((view, code));
        Some(code)
    }

    fn find_or_insert(&mut self, hash: u64, view: u128, buffers: &[Buffer]) -> Option<u32> {
        let string = long_bytes(view, buffers);
        let (mask, tag) = (self.slots.len() - 1, hash & (u64::MAX << 32));
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                break;
            }
            let code = slot as u32 - 1;
            if slot & (u64::MAX << 32) == tag && self.equals(code, view, string) {
                return Some(code);
            }
            at = (at + 1) & mask;
        }
        self.insert(at, tag, view, string)
    }

    fn insert(&mut self, at: usize, tag: u64, view: u128, string: &[u8]) -> Option<u32> {
        let code = self.views.len();
        if code >= self.entries_max || self.bytes.len() + string.len() > self.bytes_max {
            return None;
        }
        self.slots[at] = tag | (code as u64 + 1);
        // The copy has its own offset and buffer number; length and prefix stay.
        let own = if is_inline(view) {
            view
        } else {
            (view & u128::from(u64::MAX)) | ((self.bytes.len() as u128) << 96)
        };
        self.views.push(own);
        self.bytes.extend_from_slice(string);
        if self.views.len() * 2 > self.slots.len() {
            self.grow();
        }
        Some(code as u32)
    }

    fn equals(&self, code: u32, view: u128, string: &[u8]) -> bool {
        let own = self.views[code as usize];
        if is_inline(view) {
            return own == view;
        }
        own as u64 == view as u64 && self.long(own) == string
    }

    fn long(&self, own: u128) -> &[u8] {
        let at = (own >> 96) as usize;
        &self.bytes[at..at + length(own)]
    }

    /// Doubles the slots. All hashes are computed again, which happens seldom.
    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        for (code, &view) in self.views.iter().enumerate() {
            let string: &[u8] = if is_inline(view) { &[] } else { self.long(view) };
            let hash = hash_of(view, string);
            let mut at = hash as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = (hash & (u64::MAX << 32)) | (code as u64 + 1);
        }
        self.slots = slots;
    }

    /// The first `count` strings, in order of their codes.
    pub(crate) fn strings(&self, count: usize) -> BinaryViewArray {
        let buffers: Arc<[Buffer]> = Arc::new([Buffer::from_slice_ref(&self.bytes)]);
        BinaryViewArray::try_new(ScalarBuffer::from(self.views[..count].to_vec()), buffers, None)
            .expect("views of own strings lie in the own buffer")
    }

    /// The strings of `codes`, copied, so that the array keeps no other strings alive.
    ///
    /// # Panics
    ///
    /// If a value that is not NULL has an invalid code, or `nulls` has another length than `codes`.
    pub fn gather(&self, codes: &[u32], nulls: Option<NullBuffer>) -> BinaryViewArray {
        let (mut bytes, mut lengths) = (Vec::new(), Vec::with_capacity(codes.len()));
        for (row, &code) in codes.iter().enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                lengths.push(0);
                continue;
            }
            let view = self.views[code as usize];
            let start = bytes.len();
            if is_inline(view) {
                bytes.extend_from_slice(&(view >> 32).to_le_bytes()[..length(view)]);
            } else {
                bytes.extend_from_slice(self.long(view));
            }
            lengths.push((bytes.len() - start) as u32);
        }
        let mut strings = StringViews::with_capacity(codes.len());
        strings.append(bytes, 0, &lengths);
        strings.finish(nulls)
    }
}

fn length(view: u128) -> usize {
    view as u32 as usize
}

fn is_inline(view: u128) -> bool {
    length(view) <= INLINE_BYTES_MAX
}

/// The bytes of a string that is not inline in its view; empty for an inline one.
fn long_bytes(view: u128, buffers: &[Buffer]) -> &[u8] {
    if is_inline(view) {
        return &[];
    }
    let (buffer, at) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
    &buffers[buffer].as_slice()[at..at + length(view)]
}

fn hash_of(view: u128, string: &[u8]) -> u64 {
    if string.is_empty() {
        return fold(view as u64 ^ MIX_A, (view >> 64) as u64 ^ MIX_B);
    }
    let mut state = string.len() as u64 ^ MIX_B;
    let (blocks, rest) = string.as_chunks::<16>();
    for block in blocks {
        state = mix(state, u128::from_le_bytes(*block));
    }
    // A long string ends in a block of sixteen bytes, which may overlap the previous one.
    let last = string.len().checked_sub(16).map_or_else(
        || {
            let mut padded = [0; 16];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        },
        |start| string[start..].try_into().expect("sixteen bytes are left"),
    );
    mix(state, u128::from_le_bytes(last))
}

fn mix(state: u64, block: u128) -> u64 {
    fold(state ^ block as u64 ^ MIX_A, (block >> 64) as u64 ^ MIX_B ^ state.rotate_left(32))
}

/// The XOR of both halves of the product: every bit of either factor affects every bit of the result.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::array::Array;

    use super::*;
    use crate::sample::{self, Noise};
    use basalt_base::SqlType;

    fn codes(set: &mut DistinctStrings, strings: &BinaryViewArray) -> Vec<u32> {
        let mut codes = Vec::new();
        let taken = set.append_codes(strings.views(), strings.data_buffers(), &mut codes);
        assert_eq!(taken, codes.len());
        codes
    }

    #[test]
    fn codes_are_numbers_of_first_appearance() {
        let array = sample::array(&SqlType::String, 20_000, &mut Noise(9));
        let strings = array.as_any().downcast_ref::<BinaryViewArray>().unwrap();
        let mut set = DistinctStrings::of_column();
        let found = codes(&mut set, strings);
        let mut expected: HashMap<&[u8], u32> = HashMap::new();
        for (row, &code) in found.iter().enumerate() {
            let next = expected.len() as u32;
            assert_eq!(*expected.entry(strings.value(row)).or_insert(next), code);
        }
        let distinct = set.strings(set.len());
        assert_eq!(set.gather(&found, strings.nulls().cloned()), *strings);
        assert_eq!(distinct.len(), expected.len());
        assert!(
            found.iter().enumerate().all(|(row, &code)| distinct.value(code as usize) == strings.value(row))
        );
    }

    #[test]
    fn full_set_takes_no_new_string_and_still_knows_the_old_ones() {
        let long = vec![7; DICTIONARY_BYTES_MAX / 2];
        let other = vec![8; DICTIONARY_BYTES_MAX / 2 + 1];
        let strings = BinaryViewArray::from_iter_values([&long[..], &other[..], b"short"]);
        let mut set = DistinctStrings::of_column();
        assert_eq!(codes(&mut set, &strings), [0], "the second string has no room");
        assert_eq!(codes(&mut set, &strings.slice(2, 1)), [1]);
        assert_eq!(codes(&mut set, &strings.slice(0, 1)), [0]);
    }
}
