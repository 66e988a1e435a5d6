//! Byte strings in one arena: all bytes without padding, and where each string ends ([`super::string_ends`]).

use std::ops::Range;

use arrow::array::{Array, BinaryViewArray};
use basalt_base::Result;
use basalt_base::string_views::{INLINE_BYTES_MAX, StringViews};

use super::string_batch::{Asked, Places, Stretch, Stretches, append_plain, prefetch_string};
use super::string_ends::{StringEnds, StringEndsView};
use super::{Bitmap, Bytes};
use crate::image::{ImageReader, ImageWriter};

/// How many rows ahead of its use the end of a string, and then the string itself, is prefetched.
pub(super) const ENDS_AHEAD: usize = 32;
pub(super) const BYTES_AHEAD: usize = 16;

const VIEW_BYTES: usize = size_of::<u128>();

/// Strings by row number.
#[derive(Debug, Default)]
pub(crate) struct StringArena {
    bytes: Bytes,
    ends: StringEnds,
    /// Bytes of the longest string that was pushed.
    longest: usize,
}

/// Reads the strings of an arena one after the other.
#[derive(Clone, Copy)]
pub(crate) struct ArenaView<'a> {
    bytes: &'a [u8],
    ends: StringEndsView<'a>,
}

impl StringArena {
    pub(crate) fn push(&mut self, string: &[u8]) {
        let bytes = self.bytes.to_mut();
        bytes.extend_from_slice(string);
        self.ends.push(bytes.len());
        self.longest = self.longest.max(string.len());
    }

    /// Adds all strings; an empty one for each NULL.
    pub(super) fn push_all(&mut self, strings: &BinaryViewArray) {
        if strings.null_count() > 0 {
            return strings.iter().for_each(|string| self.push(string.unwrap_or_default()));
        }
        let lengths = || strings.views().iter().map(|&view| view as u32 as usize);
        let total: usize = lengths().sum();
        self.ends.push_all(self.bytes.len(), total, lengths());
        self.longest = lengths().fold(self.longest, usize::max);
        self.bytes.to_mut().extend_with(total + VIEW_BYTES, |bytes| {
            let mut at = 0;
            for (row, &view) in strings.views().iter().enumerate() {
                let length = view as u32 as usize;
                if length <= INLINE_BYTES_MAX {
                    // With zeroes after it, which the next string overwrites.
                    bytes[at..at + VIEW_BYTES].copy_from_slice(&(view >> u32::BITS).to_le_bytes());
                } else {
                    bytes[at..at + length].copy_from_slice(strings.value(row));
                }
                at += length;
            }
            at
        });
    }

    /// At least the bytes of the longest string, if all strings were added by [`Self::push`].
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        self.view().get(row)
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> ArenaView<'_> {
        ArenaView { bytes: &self.bytes, ends: self.ends.view() }
    }

    /// Keeps the first `strings` strings.
    pub(super) fn truncate(&mut self, strings: usize) {
        let end = strings.checked_sub(1).map_or(0, |last| self.view().range(last).end);
        self.bytes.truncate(end);
        self.ends.truncate(strings);
    }

    /// Keeps the rows whose bit is set.
    pub(crate) fn retain(&mut self, alive: &Bitmap) {
        let mut kept = StringArena::default();
        let view = self.view();
        alive.ones().for_each(|row| kept.push(view.get(row)));
        *self = kept;
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink();
        self.ends.shrink();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes() + self.ends.heap_bytes()
    }

    /// Compares the checksums of string `row`.
    pub(crate) fn check(&self, row: usize) -> Result<()> {
        self.ends.check(row)?;
        self.bytes.check(self.view().range(row))
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.ends.save(image)?;
        image.section(&self.bytes)
    }

    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<StringArena> {
        let ends = StringEnds::open(image)?;
        Ok(StringArena { bytes: Bytes::Shared(image.section()?), ends, longest: 0 })
    }
}

impl<'a> ArenaView<'a> {
    /// Appends the strings of many rows.
    pub(super) fn append(self, asked: Asked<'_>, out: &mut StringViews) {
        append_plain(self.stretch(), asked, out);
    }

    /// Appends strings of several arenas, which are the segments of a column.
    pub(super) fn append_of(arenas: &[ArenaView<'_>], asked: Asked<'_>, out: &mut StringViews) {
        let stretches: Vec<Stretch<'_, StringEndsView<'_>>> =
            arenas.iter().map(|arena| arena.stretch()).collect();
        append_plain(Stretches(&stretches), asked, out);
    }

    fn stretch(self) -> Stretch<'a, StringEndsView<'a>> {
        Stretch { bytes: self.bytes, places: self.ends }
    }

    /// The string of a row; any string if the file is damaged.
    #[inline(always)]
    pub(crate) fn get(self, row: usize) -> &'a [u8] {
        self.bytes.get(self.range(row)).unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn prefetch_end(self, row: usize) {
        self.ends.prefetch(row);
    }

    #[inline(always)]
    pub(crate) fn prefetch_bytes(self, row: usize) {
        prefetch_string(self.bytes, &self.range(row));
    }

    /// All strings, without padding.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Where the string of a row is in them.
    #[inline(always)]
    pub(super) fn range(self, row: usize) -> Range<usize> {
        Places::get(self.ends, row)
    }

    /// Visits `rows` in order, and prefetches the strings of the next ones.
    #[inline(always)]
    pub(super) fn for_each_ahead(self, rows: &[u32], mut visit: impl FnMut(usize)) {
        for (index, &row) in rows.iter().enumerate() {
            if let Some(&ahead) = rows.get(index + ENDS_AHEAD) {
                self.prefetch_end(ahead as usize);
            }
            if let Some(&ahead) = rows.get(index + BYTES_AHEAD) {
                self.prefetch_bytes(ahead as usize);
            }
            visit(row as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_what_was_pushed() {
        let mut arena = StringArena::default();
        let strings: Vec<Vec<u8>> = (0..100_usize).map(|len| vec![len as u8; len % 30]).collect();
        let (front, back) = strings.split_at(40);
        front.iter().for_each(|string| arena.push(string));
        arena.push_all(&BinaryViewArray::from_iter_values(back));
        assert!(strings.iter().enumerate().all(|(row, string)| arena.get(row) == string));
        let mut alive = Bitmap::zeroes(100);
        (0..100).step_by(2).for_each(|row| alive.set(row));
        arena.retain(&alive);
        assert_eq!((arena.len(), arena.get(3)), (50, strings[6].as_slice()));
    }

    #[test]
    fn a_cut_arena_keeps_its_first_strings() {
        let strings: Vec<Vec<u8>> = (0..300_000_usize).map(|at| vec![at as u8; at % 20]).collect();
        let mut arena = StringArena::default();
        strings.iter().for_each(|string| arena.push(string));
        for left in [300_000, 270_001, 70_000, 1, 0] {
            arena.truncate(left);
            assert!(arena.len() == left && (0..left).all(|row| arena.get(row) == strings[row]), "{left}");
        }
        arena.push(b"again");
        assert_eq!((arena.len(), arena.get(0)), (1, b"again".as_slice()));
        arena.shrink();
        arena.truncate(0);
        assert!(arena.len() == 0 && arena.get(0).is_empty());
    }

    #[test]
    fn strings_are_added_to_packed_ones() {
        let strings: Vec<Vec<u8>> = (0..9000_usize).map(|at| vec![at as u8; at % 20]).collect();
        let mut arena = StringArena::default();
        strings[..8000].iter().for_each(|string| arena.push(string));
        let before = arena.heap_bytes();
        arena.shrink();
        assert!(matches!(arena.ends, StringEnds::Packed { .. }) && arena.heap_bytes() < before - 8000);
        assert_eq!((arena.len(), arena.get(7999)), (8000, strings[7999].as_slice()));
        strings[8000..8500].iter().for_each(|string| arena.push(string));
        arena.push_all(&BinaryViewArray::from_iter_values(&strings[8500..]));
        assert!(matches!(arena.ends, StringEnds::Narrow(_)) && arena.len() == 9000);
        arena.shrink();
        assert!(strings.iter().enumerate().all(|(row, string)| arena.get(row) == string));
    }
}
