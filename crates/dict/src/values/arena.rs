//! Byte strings in one arena: all bytes back to back, and where each string ends.

use std::ops::Range;

use arrow::array::{Array, BinaryViewArray};
use basalt_base::Result;
use basalt_base::prefetch::prefetch_read;
use basalt_base::string_views::{INLINE_BYTES_MAX, StringViews};

use super::string_batch::{Asked, Places, Stretch, Stretches, append_plain, prefetch_string};
use super::{Bitmap, Bytes};
use crate::image::{ImageReader, ImageWriter};

/// How many rows ahead of its use a string's end, and then the string itself, is asked for.
pub(super) const ENDS_AHEAD: usize = 32;
pub(super) const BYTES_AHEAD: usize = 16;

const VIEW_BYTES: usize = size_of::<u128>();

/// Strings by row number.
#[derive(Debug, Default)]
pub(crate) struct StringArena {
    bytes: Bytes,
    ends: Ends,
    /// Bytes of the longest string that was pushed.
    longest: usize,
}

/// Little-endian, `u32` until the arena outgrows them, then `u64`.
#[derive(Debug, Default)]
struct Ends {
    bytes: Bytes,
    is_wide: bool,
}

/// An arena whose strings are read one after the other.
#[derive(Clone, Copy)]
pub(crate) struct ArenaView<'a> {
    bytes: &'a [u8],
    ends: EndsView<'a>,
}

#[derive(Clone, Copy)]
enum EndsView<'a> {
    Narrow(&'a [[u8; 4]]),
    Wide(&'a [[u8; 8]]),
}

impl StringArena {
    pub(crate) fn push(&mut self, string: &[u8]) {
        let bytes = self.bytes.to_mut();
        bytes.extend_from_slice(string);
        self.ends.push(bytes.len());
        self.longest = self.longest.max(string.len());
    }

    /// Pushes all strings; an empty one for each NULL.
    pub(super) fn push_all(&mut self, strings: &BinaryViewArray) {
        if strings.null_count() > 0 {
            return strings.iter().for_each(|string| self.push(string.unwrap_or_default()));
        }
        let total: usize = strings.views().iter().map(|&view| view as u32 as usize).sum();
        let (start, mut at) = (self.bytes.len(), 0);
        let (mut bytes, mut ends) = (vec![0; total + VIEW_BYTES], Vec::with_capacity(strings.len()));
        for (row, &view) in strings.views().iter().enumerate() {
            let length = view as u32 as usize;
            if length <= INLINE_BYTES_MAX {
                // With zeroes behind it, which the next one overwrites.
                bytes[at..at + VIEW_BYTES].copy_from_slice(&(view >> u32::BITS).to_le_bytes());
            } else {
                bytes[at..at + length].copy_from_slice(strings.value(row));
            }
            at += length;
            ends.push(start + at);
            self.longest = self.longest.max(length);
        }
        self.bytes.to_mut().extend_from_slice(&bytes[..at]);
        self.ends.push_all(&ends);
    }

    /// At least the bytes of the longest string, if all of them were pushed.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.view().len()
    }

    #[inline(always)]
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        self.view().get(row)
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> ArenaView<'_> {
        ArenaView { bytes: &self.bytes, ends: self.ends.view() }
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
        self.ends.bytes.shrink();
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.heap_bytes() + self.ends.bytes.heap_bytes()
    }

    /// Makes sure that string `row` is what was written.
    pub(crate) fn check(&self, row: usize) -> Result<()> {
        let width = self.ends.width();
        self.ends.bytes.check(row.saturating_sub(1) * width..(row + 1) * width)?;
        self.bytes.check(self.view().range(row))
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.flag(self.ends.is_wide);
        image.section(&self.ends.bytes)?;
        image.section(&self.bytes)
    }

    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<StringArena> {
        let is_wide = image.flag()?;
        let ends = Ends { bytes: Bytes::Shared(image.section()?), is_wide };
        Ok(StringArena { bytes: Bytes::Shared(image.section()?), ends, longest: 0 })
    }
}

impl<'a> ArenaView<'a> {
    /// Appends the strings of many rows.
    pub(super) fn append(self, asked: Asked<'_>, out: &mut StringViews) {
        append_plain(self.stretch(), asked, out);
    }

    /// Appends strings of several arenas, the segments of a column.
    pub(super) fn append_of(arenas: &[ArenaView<'_>], asked: Asked<'_>, out: &mut StringViews) {
        let stretches: Vec<Stretch<'_, EndsView<'_>>> = arenas.iter().map(|arena| arena.stretch()).collect();
        append_plain(Stretches(&stretches), asked, out);
    }

    fn stretch(self) -> Stretch<'a, EndsView<'a>> {
        Stretch { bytes: self.bytes, places: self.ends }
    }

    /// The string of a row; nothing where a file says what cannot be.
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

    /// All strings back to back.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Where the string of a row is in them.
    #[inline(always)]
    pub(super) fn range(self, row: usize) -> Range<usize> {
        Places::get(self.ends, row)
    }
}

impl Places for EndsView<'_> {
    #[inline(always)]
    fn prefetch(self, row: usize) {
        match self {
            EndsView::Narrow(ends) => prefetch_read(ends, row),
            EndsView::Wide(ends) => prefetch_read(ends, row),
        }
    }

    #[inline(always)]
    fn get(self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.end(row - 1) };
        start..self.end(row)
    }
}

impl EndsView<'_> {
    fn len(self) -> usize {
        match self {
            EndsView::Narrow(ends) => ends.len(),
            EndsView::Wide(ends) => ends.len(),
        }
    }

    /// Of a string; 0 for a row that is not there.
    #[inline(always)]
    fn end(self, row: usize) -> usize {
        match self {
            EndsView::Narrow(ends) => ends.get(row).map_or(0, |end| u32::from_le_bytes(*end) as usize),
            EndsView::Wide(ends) => ends.get(row).map_or(0, |end| u64::from_le_bytes(*end) as usize),
        }
    }
}

impl Ends {
    #[inline(always)]
    fn view(&self) -> EndsView<'_> {
        match self.is_wide {
            false => EndsView::Narrow(self.bytes.as_chunks().0),
            true => EndsView::Wide(self.bytes.as_chunks().0),
        }
    }

    fn width(&self) -> usize {
        if self.is_wide { size_of::<u64>() } else { size_of::<u32>() }
    }

    fn push(&mut self, end: usize) {
        match u32::try_from(end) {
            Ok(end) if !self.is_wide => self.bytes.to_mut().extend_from_slice(&end.to_le_bytes()),
            _ => {
                if !self.is_wide {
                    self.widen();
                }
                self.bytes.to_mut().extend_from_slice(&(end as u64).to_le_bytes());
            }
        }
    }

    /// Adds ends that increase.
    fn push_all(&mut self, ends: &[usize]) {
        if self.is_wide || ends.last().is_some_and(|&last| u32::try_from(last).is_err()) {
            return ends.iter().for_each(|&end| self.push(end));
        }
        let narrow: Vec<[u8; 4]> = ends.iter().map(|&end| (end as u32).to_le_bytes()).collect();
        self.bytes.to_mut().extend_from_slice(narrow.as_flattened());
    }

    #[cold]
    fn widen(&mut self) {
        let narrow = self.view();
        let mut wide = Bytes::with_capacity(narrow.len() * size_of::<u64>());
        for row in 0..narrow.len() {
            wide.to_mut().extend_from_slice(&(narrow.end(row) as u64).to_le_bytes());
        }
        *self = Ends { bytes: wide, is_wide: true };
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
    fn ends_widen_when_the_arena_outgrows_them() {
        let mut ends = Ends::default();
        ends.push_all(&[7, u32::MAX as usize]);
        ends.push_all(&[u32::MAX as usize + 9]);
        ends.push(1 << 40);
        assert_eq!([0, 1, 2, 3].map(|row| ends.view().end(row)), [7, 0xffff_ffff, 0x1_0000_0008, 1 << 40]);
        assert!(ends.is_wide);
    }
}
