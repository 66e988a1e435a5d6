//! Where each string of an arena ends: four bytes for each while strings are added, eight in large arenas, and about
//! one when no more are added.

use std::ops::Range;

use basalt_base::Result;
use basalt_base::prefetch::prefetch_read;

use super::Bytes;
use super::packed_ends::{PackedEnds, PackedEndsView};
use super::string_batch::Places;
use crate::image::{ImageReader, ImageWriter};

const NARROW_BYTES: usize = size_of::<u32>();
const WIDE_BYTES: usize = size_of::<u64>();
/// The kinds of [`StringEnds`] in a file.
const NARROW: u64 = 0;
const WIDE: u64 = 1;
const PACKED: u64 = 2;

/// The end of each string, by row number.
#[derive(Debug)]
pub(super) enum StringEnds {
    /// Little-endian numbers.
    Narrow(Bytes),
    /// The ends in large arenas.
    Wide(Bytes),
    /// The ends in arenas to which nothing is added for a while.
    Packed { ends: PackedEnds, strings: usize },
}

/// Reads ends one after the other.
#[derive(Clone, Copy)]
pub(super) enum StringEndsView<'a> {
    Narrow(&'a [[u8; 4]]),
    Wide(&'a [[u8; 8]]),
    Packed(PackedEndsView<'a>),
}

impl Places for StringEndsView<'_> {
    #[inline(always)]
    fn prefetch(self, row: usize) {
        match self {
            StringEndsView::Narrow(ends) => prefetch_read(ends, row),
            StringEndsView::Wide(ends) => prefetch_read(ends, row),
            StringEndsView::Packed(ends) => ends.prefetch(row),
        }
    }

    /// The range of a string; empty if there is no such row.
    #[inline(always)]
    fn get(self, row: usize) -> Range<usize> {
        let before = row.wrapping_sub(1);
        match self {
            StringEndsView::Narrow(ends) => {
                let end = |row| ends.get(row).map_or(0, |end| u32::from_le_bytes(*end) as usize);
                end(before)..end(row)
            }
            StringEndsView::Wide(ends) => {
                let end = |row| ends.get(row).map_or(0, |end| u64::from_le_bytes(*end) as usize);
                end(before)..end(row)
            }
            StringEndsView::Packed(ends) => ends.get(row),
        }
    }
}

impl StringEnds {
    #[inline(always)]
    pub(super) fn view(&self) -> StringEndsView<'_> {
        match self {
            StringEnds::Narrow(bytes) => StringEndsView::Narrow(bytes.as_chunks().0),
            StringEnds::Wide(bytes) => StringEndsView::Wide(bytes.as_chunks().0),
            StringEnds::Packed { ends, .. } => StringEndsView::Packed(ends.view()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            StringEnds::Narrow(bytes) => bytes.len() / NARROW_BYTES,
            StringEnds::Wide(bytes) => bytes.len() / WIDE_BYTES,
            StringEnds::Packed { strings, .. } => *strings,
        }
    }

    /// Adds the end of a string.
    #[inline]
    pub(super) fn push(&mut self, end: usize) {
        match (&mut *self, u32::try_from(end)) {
            (StringEnds::Narrow(bytes), Ok(end)) => bytes.to_mut().extend_from_slice(&end.to_le_bytes()),
            (StringEnds::Wide(bytes), _) => bytes.to_mut().extend_from_slice(&(end as u64).to_le_bytes()),
            _ => {
                *self = self.unpacked(end);
                self.push(end);
            }
        }
    }

    /// Adds the ends of strings that begin at `start` and have `total` bytes together.
    pub(super) fn push_all(
        &mut self,
        start: usize,
        total: usize,
        lengths: impl ExactSizeIterator<Item = usize>,
    ) {
        let room = lengths.len() * NARROW_BYTES;
        let mut end = start;
        let ends = lengths.map(|length| {
            end += length;
            end
        });
        match self {
            StringEnds::Narrow(bytes) if u32::try_from(start + total).is_ok() => {
                bytes.to_mut().extend_with(room, |places| {
                    let places = places.as_chunks_mut().0.iter_mut();
                    places.zip(ends).for_each(|(place, end)| *place = (end as u32).to_le_bytes());
                    room
                });
            }
            _ => ends.for_each(|end| self.push(end)),
        }
    }

    /// The ends as numbers with room for one more, `end`.
    #[cold]
    fn unpacked(&self, end: usize) -> StringEnds {
        let is_wide = u32::try_from(end).is_err();
        let mut bytes = Bytes::with_capacity(self.len() * if is_wide { WIDE_BYTES } else { NARROW_BYTES });
        let view = self.view();
        for row in 0..self.len() {
            let end = (view.get(row).end as u64).to_le_bytes();
            bytes.to_mut().extend_from_slice(if is_wide { &end } else { &end[..NARROW_BYTES] });
        }
        if is_wide { StringEnds::Wide(bytes) } else { StringEnds::Narrow(bytes) }
    }

    /// Keeps the ends of the first `strings` strings.
    pub(super) fn truncate(&mut self, strings: usize) {
        match self {
            StringEnds::Narrow(bytes) => bytes.truncate(strings * NARROW_BYTES),
            StringEnds::Wide(bytes) => bytes.truncate(strings * WIDE_BYTES),
            // The lines stay.
            StringEnds::Packed { strings: there, .. } => *there = strings,
        }
    }

    /// Packs the ends if that takes less memory.
    pub(super) fn shrink(&mut self) {
        if let Some(ends) = self.packed().filter(|ends| ends.heap_bytes() < self.heap_bytes()) {
            *self = StringEnds::Packed { ends, strings: self.len() };
        }
        if let StringEnds::Narrow(bytes) | StringEnds::Wide(bytes) = self {
            bytes.shrink();
        }
    }

    /// `None` if they are packed or too large.
    fn packed(&self) -> Option<PackedEnds> {
        let lengths = match self.view() {
            StringEndsView::Narrow(ends) => lengths(ends.iter().map(|end| u32::from_le_bytes(*end).into()))?,
            StringEndsView::Wide(ends) => lengths(ends.iter().map(|end| u64::from_le_bytes(*end)))?,
            StringEndsView::Packed(_) => return None,
        };
        PackedEnds::new(&lengths).ok()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            StringEnds::Narrow(bytes) | StringEnds::Wide(bytes) => bytes.heap_bytes(),
            StringEnds::Packed { ends, .. } => ends.heap_bytes(),
        }
    }

    /// Compares the checksums of the end of string `row`, and of the one before it.
    pub(super) fn check(&self, row: usize) -> Result<()> {
        let near = |width: usize| row.saturating_sub(1) * width..(row + 1) * width;
        match self {
            StringEnds::Narrow(bytes) => bytes.check(near(NARROW_BYTES)),
            StringEnds::Wide(bytes) => bytes.check(near(WIDE_BYTES)),
            StringEnds::Packed { ends, .. } => ends.check(row),
        }
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        match self {
            StringEnds::Narrow(bytes) => {
                image.number(NARROW);
                image.section(bytes)
            }
            StringEnds::Wide(bytes) => {
                image.number(WIDE);
                image.section(bytes)
            }
            StringEnds::Packed { ends, strings } => {
                image.number(PACKED);
                image.number(*strings as u64);
                ends.save(image)
            }
        }
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<StringEnds> {
        Ok(match image.number()? {
            NARROW => StringEnds::Narrow(Bytes::Shared(image.section()?)),
            WIDE => StringEnds::Wide(Bytes::Shared(image.section()?)),
            PACKED => StringEnds::Packed { strings: image.count()?, ends: PackedEnds::open(image)? },
            _ => return Err(ImageReader::unfit()),
        })
    }
}

/// The lengths of strings with these ends; `None` if one of them is too long.
fn lengths(ends: impl ExactSizeIterator<Item = u64>) -> Option<Vec<u32>> {
    let (mut lengths, mut start) = (Vec::with_capacity(ends.len()), 0);
    for end in ends {
        lengths.push(u32::try_from(end.checked_sub(start)?).ok()?);
        start = end;
    }
    Some(lengths)
}

impl Default for StringEnds {
    fn default() -> StringEnds {
        StringEnds::Narrow(Bytes::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_widen_when_the_arena_outgrows_them() {
        let mut ends = StringEnds::default();
        ends.push_all(0, u32::MAX as usize, [7, u32::MAX as usize - 7].into_iter());
        ends.push_all(u32::MAX as usize, 9, [9].into_iter());
        ends.push(1 << 40);
        assert_eq!(
            [0, 1, 2, 3].map(|row| ends.view().get(row).end),
            [7, 0xffff_ffff, 0x1_0000_0008, 1 << 40]
        );
        assert!(matches!(ends, StringEnds::Wide(_)));
    }
}
