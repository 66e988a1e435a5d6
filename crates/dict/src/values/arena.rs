//! Byte strings in one arena: all bytes back to back, and where each string ends, four bytes each while strings are
//! added and about one when that is over.

use std::ops::Range;

use arrow::array::{Array, BinaryViewArray};
use basalt_base::Result;
use basalt_base::prefetch::prefetch_read;
use basalt_base::string_views::{INLINE_BYTES_MAX, StringViews};

use super::packed_ends::{PackedEnds, PackedEndsView};
use super::string_batch::{Asked, Places, Stretch, Stretches, append_plain, prefetch_string};
use super::{Bitmap, Bytes};
use crate::image::{ImageReader, ImageWriter};

/// How many rows ahead of its use a string's end, and then the string itself, is asked for.
pub(super) const ENDS_AHEAD: usize = 32;
pub(super) const BYTES_AHEAD: usize = 16;

const VIEW_BYTES: usize = size_of::<u128>();
const NARROW_BYTES: usize = size_of::<u32>();
const WIDE_BYTES: usize = size_of::<u64>();
/// How a file names the kinds of [`Ends`].
const NARROW: u64 = 0;
const WIDE: u64 = 1;
const PACKED: u64 = 2;

/// Strings by row number.
#[derive(Debug, Default)]
pub(crate) struct StringArena {
    bytes: Bytes,
    ends: Ends,
    /// Bytes of the longest string that was pushed.
    longest: usize,
}

#[derive(Debug)]
enum Ends {
    /// Little-endian numbers.
    Narrow(Bytes),
    /// Of an arena that outgrew them.
    Wide(Bytes),
    /// Of an arena to which nothing is added for a while.
    Packed { ends: PackedEnds, strings: usize },
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
    Packed(PackedEndsView<'a>),
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
        let lengths = || strings.views().iter().map(|&view| view as u32 as usize);
        let total: usize = lengths().sum();
        self.ends.push_all(self.bytes.len(), total, lengths());
        self.longest = lengths().fold(self.longest, usize::max);
        self.bytes.to_mut().extend_with(total + VIEW_BYTES, |bytes| {
            let mut at = 0;
            for (row, &view) in strings.views().iter().enumerate() {
                let length = view as u32 as usize;
                if length <= INLINE_BYTES_MAX {
                    // With zeroes behind it, which the next one overwrites.
                    bytes[at..at + VIEW_BYTES].copy_from_slice(&(view >> u32::BITS).to_le_bytes());
                } else {
                    bytes[at..at + length].copy_from_slice(strings.value(row));
                }
                at += length;
            }
            at
        });
    }

    /// At least the bytes of the longest string, if all of them were pushed.
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

    /// Keeps the first `strings`, of which there are as many.
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

    /// Makes sure that string `row` is what was written.
    pub(crate) fn check(&self, row: usize) -> Result<()> {
        self.ends.check(row)?;
        self.bytes.check(self.view().range(row))
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.ends.save(image)?;
        image.section(&self.bytes)
    }

    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<StringArena> {
        let ends = Ends::open(image)?;
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
            EndsView::Packed(ends) => ends.prefetch(row),
        }
    }

    /// Nothing of a row that is not there.
    #[inline(always)]
    fn get(self, row: usize) -> Range<usize> {
        let before = row.wrapping_sub(1);
        match self {
            EndsView::Narrow(ends) => {
                let end = |row| ends.get(row).map_or(0, |end| u32::from_le_bytes(*end) as usize);
                end(before)..end(row)
            }
            EndsView::Wide(ends) => {
                let end = |row| ends.get(row).map_or(0, |end| u64::from_le_bytes(*end) as usize);
                end(before)..end(row)
            }
            EndsView::Packed(ends) => ends.get(row),
        }
    }
}

impl Ends {
    #[inline(always)]
    fn view(&self) -> EndsView<'_> {
        match self {
            Ends::Narrow(bytes) => EndsView::Narrow(bytes.as_chunks().0),
            Ends::Wide(bytes) => EndsView::Wide(bytes.as_chunks().0),
            Ends::Packed { ends, .. } => EndsView::Packed(ends.view()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Ends::Narrow(bytes) => bytes.len() / NARROW_BYTES,
            Ends::Wide(bytes) => bytes.len() / WIDE_BYTES,
            Ends::Packed { strings, .. } => *strings,
        }
    }

    fn push(&mut self, end: usize) {
        match (&mut *self, u32::try_from(end)) {
            (Ends::Narrow(bytes), Ok(end)) => bytes.to_mut().extend_from_slice(&end.to_le_bytes()),
            (Ends::Wide(bytes), _) => bytes.to_mut().extend_from_slice(&(end as u64).to_le_bytes()),
            _ => {
                *self = self.unpacked(end);
                self.push(end);
            }
        }
    }

    /// Adds those of strings that begin at `start` and have `total` bytes together.
    fn push_all(&mut self, start: usize, total: usize, lengths: impl ExactSizeIterator<Item = usize>) {
        let room = lengths.len() * NARROW_BYTES;
        let mut end = start;
        let ends = lengths.map(|length| {
            end += length;
            end
        });
        match self {
            Ends::Narrow(bytes) if u32::try_from(start + total).is_ok() => {
                bytes.to_mut().extend_with(room, |places| {
                    let places = places.as_chunks_mut().0.iter_mut();
                    places.zip(ends).for_each(|(place, end)| *place = (end as u32).to_le_bytes());
                    room
                });
            }
            _ => ends.for_each(|end| self.push(end)),
        }
    }

    /// The same as numbers that have room for one more, `end`.
    #[cold]
    fn unpacked(&self, end: usize) -> Ends {
        let is_wide = u32::try_from(end).is_err();
        let mut bytes = Bytes::with_capacity(self.len() * if is_wide { WIDE_BYTES } else { NARROW_BYTES });
        let view = self.view();
        for row in 0..self.len() {
            let end = (view.get(row).end as u64).to_le_bytes();
            bytes.to_mut().extend_from_slice(if is_wide { &end } else { &end[..NARROW_BYTES] });
        }
        if is_wide { Ends::Wide(bytes) } else { Ends::Narrow(bytes) }
    }

    fn truncate(&mut self, strings: usize) {
        match self {
            Ends::Narrow(bytes) => bytes.truncate(strings * NARROW_BYTES),
            Ends::Wide(bytes) => bytes.truncate(strings * WIDE_BYTES),
            // The lines stay.
            Ends::Packed { strings: there, .. } => *there = strings,
        }
    }

    /// Packs them if that takes less.
    fn shrink(&mut self) {
        if let Some(ends) = self.packed().filter(|ends| ends.heap_bytes() < self.heap_bytes()) {
            *self = Ends::Packed { ends, strings: self.len() };
        }
        if let Ends::Narrow(bytes) | Ends::Wide(bytes) = self {
            bytes.shrink();
        }
    }

    /// `None` if they are packed, or too large.
    fn packed(&self) -> Option<PackedEnds> {
        let lengths = match self.view() {
            EndsView::Narrow(ends) => lengths(ends.iter().map(|end| u32::from_le_bytes(*end).into()))?,
            EndsView::Wide(ends) => lengths(ends.iter().map(|end| u64::from_le_bytes(*end)))?,
            EndsView::Packed(_) => return None,
        };
        PackedEnds::new(&lengths).ok()
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Ends::Narrow(bytes) | Ends::Wide(bytes) => bytes.heap_bytes(),
            Ends::Packed { ends, .. } => ends.heap_bytes(),
        }
    }

    fn check(&self, row: usize) -> Result<()> {
        let near = |width: usize| row.saturating_sub(1) * width..(row + 1) * width;
        match self {
            Ends::Narrow(bytes) => bytes.check(near(NARROW_BYTES)),
            Ends::Wide(bytes) => bytes.check(near(WIDE_BYTES)),
            Ends::Packed { ends, .. } => ends.check(row),
        }
    }

    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        match self {
            Ends::Narrow(bytes) => {
                image.number(NARROW);
                image.section(bytes)
            }
            Ends::Wide(bytes) => {
                image.number(WIDE);
                image.section(bytes)
            }
            Ends::Packed { ends, strings } => {
                image.number(PACKED);
                image.number(*strings as u64);
                ends.save(image)
            }
        }
    }

    fn open(image: &mut ImageReader<'_>) -> Result<Ends> {
        Ok(match image.number()? {
            NARROW => Ends::Narrow(Bytes::Shared(image.section()?)),
            WIDE => Ends::Wide(Bytes::Shared(image.section()?)),
            PACKED => Ends::Packed { strings: image.count()?, ends: PackedEnds::open(image)? },
            _ => return Err(ImageReader::unfit()),
        })
    }
}

/// The lengths of strings that end there; `None` if one of them is too long.
fn lengths(ends: impl ExactSizeIterator<Item = u64>) -> Option<Vec<u32>> {
    let (mut lengths, mut start) = (Vec::with_capacity(ends.len()), 0);
    for end in ends {
        lengths.push(u32::try_from(end.checked_sub(start)?).ok()?);
        start = end;
    }
    Some(lengths)
}

impl Default for Ends {
    fn default() -> Ends {
        Ends::Narrow(Bytes::default())
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
        ends.push_all(0, u32::MAX as usize, [7, u32::MAX as usize - 7].into_iter());
        ends.push_all(u32::MAX as usize, 9, [9].into_iter());
        ends.push(1 << 40);
        assert_eq!(
            [0, 1, 2, 3].map(|row| ends.view().get(row).end),
            [7, 0xffff_ffff, 0x1_0000_0008, 1 << 40]
        );
        assert!(matches!(ends, Ends::Wide(_)));
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
        assert!(matches!(arena.ends, Ends::Packed { .. }) && arena.heap_bytes() < before - 8000);
        assert_eq!((arena.len(), arena.get(7999)), (8000, strings[7999].as_slice()));
        strings[8000..8500].iter().for_each(|string| arena.push(string));
        arena.push_all(&BinaryViewArray::from_iter_values(&strings[8500..]));
        assert!(matches!(arena.ends, Ends::Narrow(_)) && arena.len() == 9000);
        arena.shrink();
        assert!(strings.iter().enumerate().all(|(row, string)| arena.get(row) == string));
    }
}
