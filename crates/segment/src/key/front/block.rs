//! A block of front-coded keys.
//!
//! # Layout
//!
//! ```text
//! base       u16     the least common prefix of a key and the key before it
//! widths     u8, u8  the bits of a prefix less `base`, and of a count of codes
//! entries    for each key: prefix less `base` (zero for the first key), count of codes; packed
//! codes      of all keys, packed; they begin at a byte
//! ```
//! Bit 0 is the lowest bit of the first byte.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::cmp::Ordering;

use basalt_base::Result;
use basalt_codec::{TOKEN_BYTES_MAX, Tokens};

use super::layout::BLOCK_KEYS_MAX;
use crate::Place;
use crate::bits::packed::{PADDING_BYTES, Packer, bits_of, low_bits, pack};

const HEAD_BYTES: usize = 4;
/// The bits of the longest prefix, and of the most codes of a key. A load of eight bytes has both at any position in a
/// byte.
const PREFIX_BITS_MAX: u8 = 16;
const COUNT_BITS_MAX: u8 = 17;
/// Codes that are decoded at once.
const PIECE_CODES: usize = 8;

/// Keys as prefixes and codes. Codes of all keys are one after the other.
#[derive(Debug, Default)]
pub(super) struct PendingBlock {
    pub(super) prefixes: Vec<u16>,
    pub(super) counts: Vec<u32>,
    pub(super) codes: Vec<u16>,
}

impl PendingBlock {
    /// Appends the block to `out`, and becomes empty.
    pub(super) fn encode(&mut self, bits: u32, out: &mut Vec<u8>) {
        let rest = self.prefixes.get(1..).unwrap_or_default();
        let base = rest.iter().copied().min().unwrap_or(0);
        let most = rest.iter().copied().max().unwrap_or(0);
        if let Some(first) = self.prefixes.first_mut() {
            *first = base;
        }
        let prefix_bits = bits_of(u64::from(most - base));
        let count_bits = bits_of(self.counts.iter().copied().max().unwrap_or(0).into());
        out.extend_from_slice(&base.to_le_bytes());
        // Both are at most 17.
        out.extend([prefix_bits, count_bits].map(|bits| bits.to_le_bytes()[0]));
        let mut packer = Packer::new(prefix_bits + count_bits);
        for (prefix, count) in self.prefixes.iter().zip(&self.counts) {
            packer.push(u64::from(prefix - base) | u64::from(*count) << prefix_bits, out);
        }
        packer.finish(out);
        pack(self.codes.iter().map(|&code| u64::from(code)), bits, out);
        self.prefixes.clear();
        self.counts.clear();
        self.codes.clear();
    }
}

/// The form of the codes of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding<'a> {
    pub(super) tokens: &'a Tokens,
    pub(super) bits: u32,
}

/// A block to read. Damaged bytes are some keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    /// The block, and what follows it in its section.
    bytes: &'a [u8],
    coding: Coding<'a>,
    keys: usize,
    base: usize,
    prefix_bits: u32,
    entry_bits: u32,
    /// The byte of the first code.
    codes: usize,
}

/// A key in a block: the bytes that it has of the key before it, and its codes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) prefix: usize,
    /// The index of its first code in the block, and the index after the last.
    pub(super) first: usize,
    pub(super) end: usize,
}

/// Where a key is in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The keys less than it.
    pub(super) less: usize,
    /// Whether the next one is it.
    pub(super) is_equal: bool,
    /// The bytes that it shares with the last key that is not greater.
    pub(super) matched: usize,
}

impl<'a> Block<'a> {
    pub(super) fn open(bytes: &'a [u8], keys: usize, coding: Coding<'a>, place: &Place) -> Result<Block<'a>> {
        let Some(&[low, high, prefix_bits, count_bits]) = bytes.first_chunk::<HEAD_BYTES>() else {
            return Err(place.corrupt("a block is missing"));
        };
        if prefix_bits > PREFIX_BITS_MAX || count_bits > COUNT_BITS_MAX {
            return Err(place.corrupt("the entries of a block are too wide"));
        }
        let (prefix_bits, entry_bits) = (u32::from(prefix_bits), u32::from(prefix_bits + count_bits));
        let codes = HEAD_BYTES + (keys * entry_bits as usize).div_ceil(8);
        let base = usize::from(u16::from_le_bytes([low, high]));
        Ok(Block { bytes, coding, keys, base, prefix_bits, entry_bits, codes })
    }

    pub(super) fn keys(&self) -> usize {
        self.keys
    }

    /// The entry of key `index`, whose codes begin at code `first`.
    #[inline(always)]
    pub(super) fn entry(&self, index: usize, first: usize) -> Entry {
        let at = index * self.entry_bits as usize;
        let word = word(self.bytes, HEAD_BYTES + at / 8) >> (at % 8) & low_bits(self.entry_bits);
        let prefix = if index == 0 { 0 } else { self.base + to_index(word & low_bits(self.prefix_bits)) };
        Entry { prefix, first, end: first + to_index(word >> self.prefix_bits) }
    }

    #[inline(always)]
    fn code(&self, index: usize) -> u16 {
        let at = index * self.coding.bits as usize;
        low_code(word(self.bytes, self.codes + at / 8) >> (at % 8) & low_bits(self.coding.bits))
    }

    /// The text of code `index`.
    #[inline(always)]
    pub(super) fn text(&self, index: usize) -> &'a [u8] {
        self.coding.tokens.text_of(self.code(index))
    }

    /// An error if the codes of `entry` are beyond the end of the section. Their number bounds the memory and the time
    /// of a decoder.
    #[inline(always)]
    pub(super) fn is_inside(&self, entry: Entry) -> bool {
        self.codes + (entry.end * self.coding.bits as usize).div_ceil(8) + PADDING_BYTES <= self.bytes.len()
    }

    /// Compares the bytes of `entry` with `key` from `matched` on, which is less than its length or equal. Returns the
    /// order of the entry to the key, and the bytes of the key that match.
    #[inline(always)]
    fn compare(&self, entry: Entry, key: &[u8], mut matched: usize) -> (Ordering, usize) {
        for index in entry.first..entry.end {
            let (text, rest) = (self.text(index), &key[matched..]);
            if rest.starts_with(text) {
                matched += text.len();
                continue;
            }
            let same = text.iter().zip(rest).take_while(|(one, other)| one == other).count();
            let order = text[same..].first().cmp(&rest[same..].first());
            return (order, matched + same);
        }
        (if matched == key.len() { Ordering::Equal } else { Ordering::Less }, matched)
    }

    /// [`Block::compare`] of the first key, whose first `known` bytes are known to be those of `key`.
    fn compare_head(&self, head: Entry, key: &[u8], known: usize) -> (Ordering, usize) {
        let (mut first, mut skipped) = (head.first, 0);
        while first < head.end {
            let bytes = self.text(first).len();
            if skipped + bytes > known {
                break;
            }
            skipped += bytes;
            first += 1;
        }
        self.compare(Entry { first, ..head }, key, skipped)
    }

    /// Where `key` is in the block, whose first key begins with the first `known` bytes of it.
    pub(super) fn locate(&self, key: &[u8], known: usize) -> Found {
        let head = self.entry(0, 0);
        if !self.is_inside(head) {
            return Found { less: 0, is_equal: false, matched: known };
        }
        match self.compare_head(head, key, known) {
            (Ordering::Less, matched) => self.locate_after_first(key, matched),
            (order, matched) => Found { less: 0, is_equal: order == Ordering::Equal, matched },
        }
    }

    /// Where `key` is in the block, whose first key is not greater and shares `matched` bytes with it. If it is equal,
    /// it counts as less.
    pub(super) fn locate_after_first(&self, key: &[u8], mut matched: usize) -> Found {
        let mut first = self.entry(0, 0).end;
        for index in 1..self.keys {
            let entry = self.entry(index, first);
            first = entry.end;
            // With a longer prefix, it differs from the key where the one before does, which is less.
            if entry.prefix > matched {
                continue;
            }
            if entry.prefix < matched || !self.is_inside(entry) {
                return Found { less: index, is_equal: false, matched };
            }
            match self.compare(entry, key, matched) {
                (Ordering::Less, same) => matched = same,
                (Ordering::Equal, _) => return Found { less: index, is_equal: true, matched: key.len() },
                (Ordering::Greater, _) => return Found { less: index, is_equal: false, matched },
            }
        }
        Found { less: self.keys, is_equal: false, matched }
    }

    /// Appends the bytes of `entry` after its prefix to `out`, at least `wanted` if it has so many.
    #[inline(always)]
    pub(super) fn append(&self, entry: Entry, wanted: usize, out: &mut Vec<u8>) {
        let enough = out.len().saturating_add(wanted);
        let mut first = entry.first;
        while first < entry.end && out.len() < enough {
            let count = (entry.end - first).min(PIECE_CODES);
            let (mut codes, mut ends) = ([0; PIECE_CODES], [0; PIECE_CODES]);
            let mut texts = [0; PIECE_CODES * TOKEN_BYTES_MAX];
            (first..).zip(&mut codes[..count]).for_each(|(index, code)| *code = self.code(index));
            self.coding.tokens.decode(&codes[..count], &mut texts, &mut ends);
            out.extend_from_slice(texts.get(..ends[count - 1] as usize).unwrap_or_default());
            first += count;
        }
    }

    /// Appends key `index`, which is less than [`Block::keys`].
    pub(super) fn key(&self, index: usize, out: &mut Vec<u8>) {
        let mut entries = [Entry::default(); BLOCK_KEYS_MAX];
        let mut first = 0;
        for (index, entry) in entries.iter_mut().enumerate().take(index + 1) {
            *entry = self.entry(index, first);
            first = entry.end;
        }
        // The entries whose bytes the key has, the last one first: each has bytes before those of the one before.
        let (mut used, mut count) = ([0_u8; BLOCK_KEYS_MAX], 0);
        let mut needed = usize::MAX;
        for (at, entry) in (0..=u8::MAX).zip(&entries).take(index + 1).rev() {
            if entry.prefix < needed {
                used[count] = at;
                count += 1;
                needed = entry.prefix;
            }
            if needed == 0 {
                break;
            }
        }
        let start = out.len();
        for (at, &from) in used[..count].iter().enumerate().rev() {
            let entry = entries[usize::from(from)];
            out.truncate(start + entry.prefix);
            let wanted = match at {
                0 => usize::MAX,
                at => entries[usize::from(used[at - 1])].prefix.saturating_sub(entry.prefix),
            };
            if self.is_inside(entry) {
                self.append(entry, wanted, out);
            }
        }
    }
}

/// Eight bytes as a number; zero if they are not all there, which does not happen before the padding.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u64::from_le_bytes(*word))
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a code has at most 16 bits")]
fn low_code(word: u64) -> u16 {
    word as u16
}

#[inline(always)]
fn to_index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
