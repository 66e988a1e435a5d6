//! Where each bucket of a quotient table begins and ends: a lookup reads one cache line.
//!
//! # Layout
//!
//! ```text
//! line of 64 bytes:  first   u64        cells before its first bucket; its highest byte is zero
//!                    drifts  56 x i8    cells from `first` to the end of each bucket, less those that all
//!                                       buckets up to it have on average
//! ```
//! Hashes are spread evenly, so the standard deviation of the drift of 56 buckets of four cells is 15. If a drift
//! does not fit, which happens only with keys made to collide, the whole index is wide: each line has 14 ends of
//! `u32`.
//!
//! # Cost
//!
//! 1.1 bytes a bucket: at three keys a bucket, 0.4 bytes a key.

use std::ops::Range;

use basalt_base::chunks::{Chunks, Slices};
use basalt_base::processor::Form;
use basalt_base::region::{Region, Section};
use basalt_base::words::Words;
use basalt_base::{Error, Result};

use super::probe::Group;
use crate::image::{ImageReader, ImageWriter};

const LINE_BYTES: usize = 64;
const FIRST_BYTES: usize = size_of::<u64>();
const NARROW_BUCKETS: usize = 56;
const WIDE_BUCKETS: usize = 14;
const _: () = assert!(FIRST_BYTES + NARROW_BUCKETS * size_of::<i8>() == LINE_BYTES);
const _: () = assert!(FIRST_BYTES + WIDE_BUCKETS * size_of::<u32>() == LINE_BYTES);

/// Buckets are numbered with fewer bits than this: beyond eight billion keys of a shard, its buckets have more keys
/// instead.
pub(super) const BUCKET_BITS_END: u32 = 32;

type Line = [u8; LINE_BYTES];

#[derive(Debug)]
pub(super) struct BucketIndex {
    lines: Section,
    ends: Ends,
}

/// How lines store the ends of their buckets.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Narrow(Pace),
    Wide,
}

/// The average number of cells of a bucket, in units of 2^-16.
#[derive(Clone, Copy, Debug)]
struct Pace(u32);

const PART_BITS: u64 = 16;
const PACE_MAX: u64 = u32::MAX as u64;

/// The lines of a [`BucketIndex`] for lookups.
#[derive(Clone, Copy)]
pub(super) struct Buckets<'a> {
    lines: &'a [Line],
    ends: Ends,
}

/// The indexes of several tables, in which the buckets of a group of keys are looked up together. It does not serve
/// wide indexes, whose buckets are looked up one by one.
pub(super) struct Indexes<'a> {
    lines: Slices<'a, LINE_BYTES>,
    paces: Vec<u64>,
}

/// The index lines of a group of buckets.
#[derive(Clone, Copy, Default)]
pub(super) struct IndexRef<'a> {
    lines: Chunks<'a, LINE_BYTES>,
    slots: Group,
    paces: Group,
}

/// Builds a [`BucketIndex`] from the bucket of each cell.
///
/// Buckets have few cells, so a branch on the last cell of a bucket would often be mispredicted. There is none: each
/// cell overwrites the end of its bucket that the cell before noted, and the ends of a line are written together.
pub(super) struct BucketIndexWriter {
    region: Region,
    ends: Ends,
    buckets: usize,
    /// The cells of all buckets together.
    cells: usize,
    /// The first bucket of the line that is not written yet.
    first_bucket: usize,
    /// The number of cells before it.
    first: u64,
    /// For each bucket of the line: the number of cells up to its last one, or 0 if it has none so far.
    noted: [u64; NARROW_BUCKETS],
}

impl BucketIndex {
    pub(super) fn section(&self) -> &Section {
        &self.lines
    }

    /// Compares the checksum of the line of `bucket`.
    pub(super) fn check(&self, bucket: usize) -> Result<()> {
        let line = bucket / self.ends.a_line();
        self.lines.check(line * LINE_BYTES..(line + 1) * LINE_BYTES)
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        let (is_wide, pace) = match self.ends {
            Ends::Narrow(Pace(pace)) => (false, u64::from(pace)),
            Ends::Wide => (true, 0),
        };
        image.flag(is_wide);
        image.number(pace);
        image.section(&self.lines)
    }

    pub(super) fn open(buckets: usize, image: &mut ImageReader<'_>) -> Result<BucketIndex> {
        let ends = match (image.flag()?, image.number()?) {
            (false, pace @ 0..=PACE_MAX) => Ends::Narrow(Pace(pace as u32)),
            (false, _) => return Err(ImageReader::unfit()),
            (true, _) => Ends::Wide,
        };
        Ok(BucketIndex { lines: image.section_of(Some(ends.bytes(buckets)))?, ends })
    }

    #[inline(always)]
    pub(super) fn buckets(&self) -> Buckets<'_> {
        Buckets { lines: self.lines.as_chunks().0, ends: self.ends }
    }
}

impl Ends {
    /// The buckets of a line.
    fn a_line(self) -> usize {
        match self {
            Ends::Narrow(_) => NARROW_BUCKETS,
            Ends::Wide => WIDE_BUCKETS,
        }
    }

    /// The bytes of an index of this many buckets.
    fn bytes(self, buckets: usize) -> usize {
        buckets.div_ceil(self.a_line()) * LINE_BYTES
    }
}

impl Pace {
    fn of(cells: usize, buckets: usize) -> Pace {
        let pace = ((cells as u128) << PART_BITS) / (buckets as u128).max(1);
        Pace(pace.try_into().unwrap_or(u32::MAX))
    }

    /// The cells that this many buckets have on average.
    #[inline(always)]
    fn cells(self, buckets: usize) -> u64 {
        (buckets as u64 * u64::from(self.0)) >> PART_BITS
    }
}

impl Buckets<'_> {
    pub(super) fn is_wide(&self) -> bool {
        matches!(self.ends, Ends::Wide)
    }

    /// The cells of `bucket`; an arbitrary range if the file is damaged.
    #[inline(always)]
    pub(super) fn cells_of(&self, bucket: usize) -> Range<u64> {
        let Ends::Narrow(pace) = self.ends else { return self.wide_cells_of(bucket) };
        let line = &self.lines[bucket / NARROW_BUCKETS];
        let slot = bucket % NARROW_BUCKETS;
        let first = first(line);
        // The byte before the first drift is the highest byte of `first`: zero.
        let drifts = FIRST_BYTES - 1 + slot;
        let end = |slot: usize, drift: u8| {
            first.wrapping_add(pace.cells(slot)).wrapping_add_signed(i64::from(drift as i8))
        };
        end(slot, line[drifts])..end(slot + 1, line[drifts + 1])
    }

    #[cold]
    fn wide_cells_of(&self, bucket: usize) -> Range<u64> {
        let line = &self.lines[bucket / WIDE_BUCKETS];
        let slot = bucket % WIDE_BUCKETS;
        let end = |slot: usize| {
            let at = FIRST_BYTES + slot * size_of::<u32>();
            u64::from(u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]]))
        };
        let first = first(line);
        first.wrapping_add(if slot == 0 { 0 } else { end(slot - 1) })..first.wrapping_add(end(slot))
    }
}

impl<'a> Indexes<'a> {
    pub(super) fn new(indexes: &[Buckets<'a>]) -> Indexes<'a> {
        let pace = |buckets: &Buckets<'a>| match buckets.ends {
            Ends::Narrow(Pace(pace)) => u64::from(pace),
            Ends::Wide => 0,
        };
        Indexes {
            lines: Slices::new(indexes.iter().map(|buckets| buckets.lines.as_flattened())),
            paces: indexes.iter().map(pace).collect(),
        }
    }

    /// Prefetches the lines of `buckets`, which are in the indexes of these numbers. For a wide index it prefetches an
    /// arbitrary line.
    #[inline(always)]
    pub(super) fn prefetch<F: Form>(&self, indexes: Words<F>, buckets: Words<F>, index: &mut IndexRef<'a>) {
        // A seventh of an eighth: a product by the fraction in 32 bits, rounded up, is exact for numbers of 29 bits.
        const { assert!(NARROW_BUCKETS == 7 * 8 && BUCKET_BITS_END <= 32 && LINE_BYTES == 1 << 6) };
        let line = (buckets >> 3).times_low(Words::splat((1_u64 << 32).div_ceil(7))) >> 32;
        index.slots = (buckets - line.times_low(Words::splat(NARROW_BUCKETS as u64))).numbers();
        index.paces = Words::one_of(&self.paces, indexes).numbers();
        index.lines = self.lines.chunks(indexes, line << 6);
        index.lines.prefetch();
    }
}

impl IndexRef<'_> {
    /// The first cell of each bucket, and the number of cells.
    #[inline(always)]
    pub(super) fn cells<F: Form>(&self) -> (Words<F>, Words<F>) {
        let (slots, paces) = (Words::of(self.slots), Words::of(self.paces));
        let first = self.lines.words(Words::splat(0));
        // The two drifts of a bucket are the last two bytes of a word.
        let drifts = self.lines.words(slots + (FIRST_BYTES - 7) as u64);
        let signed = |drift: Words<F>| (drift ^ 0x80) - 0x80;
        let paced = slots.times_low(paces);
        let begin = (paced >> PART_BITS) + signed(drifts >> 48 & 0xff);
        let end = ((paced + paces) >> PART_BITS) + signed(drifts >> 56);
        (first + begin, end - begin)
    }
}

#[inline(always)]
fn first(line: &Line) -> u64 {
    u64::from_le_bytes(line[..FIRST_BYTES].try_into().expect("the range has eight bytes"))
}

impl BucketIndexWriter {
    /// A writer for buckets that will have `cells` together.
    pub(super) fn new(buckets: usize, cells: usize) -> Result<BucketIndexWriter> {
        BucketIndexWriter::of(buckets, cells, Ends::Narrow(Pace::of(cells, buckets)))
    }

    fn of(buckets: usize, cells: usize, ends: Ends) -> Result<BucketIndexWriter> {
        let region = Region::zeroed(ends.bytes(buckets))?;
        let noted = [0; NARROW_BUCKETS];
        Ok(BucketIndexWriter { region, ends, buckets, cells, first_bucket: 0, first: 0, noted })
    }

    /// Notes that `bucket` ends after `cells`, as far as is known. Buckets come in order.
    #[inline(always)]
    pub(super) fn note(&mut self, bucket: usize, cells: u64) -> Result<()> {
        if bucket - self.first_bucket >= self.ends.a_line() {
            self.go_to(bucket)?;
        }
        self.noted[bucket - self.first_bucket] = cells;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<BucketIndex> {
        while self.first_bucket < self.buckets {
            self.close_line()?;
        }
        assert_eq!(self.first, self.cells as u64, "as many cells as were announced");
        Ok(BucketIndex { lines: self.region.into(), ends: self.ends })
    }

    /// Writes all lines before the line of `bucket`.
    #[inline(never)]
    fn go_to(&mut self, bucket: usize) -> Result<()> {
        while bucket - self.first_bucket >= self.ends.a_line() {
            self.close_line()?;
        }
        Ok(())
    }

    /// Writes the line, or starts again with a wide index if a drift does not fit.
    fn close_line(&mut self) -> Result<()> {
        let buckets = self.ends.a_line().min(self.buckets - self.first_bucket);
        let line = &mut self.region[self.first_bucket / self.ends.a_line() * LINE_BYTES..][..LINE_BYTES];
        let (first, places) = line.split_at_mut(FIRST_BYTES);
        first.copy_from_slice(&self.first.to_le_bytes());
        let (mut end, mut fits, mut in_order) = (self.first, true, true);
        let (noted, beyond) = self.noted.split_at(buckets);
        let ends = noted.iter().map(|&noted| {
            in_order &= noted == 0 || noted >= end;
            end = end.max(noted);
            end - self.first
        });
        match self.ends {
            Ends::Narrow(pace) => {
                for (slot, (place, cells)) in places.iter_mut().zip(ends).enumerate() {
                    let drift = cells.wrapping_sub(pace.cells(slot + 1)) as i64;
                    fits &= i8::try_from(drift).is_ok();
                    *place = drift as u8;
                }
                if !fits {
                    return self.widen();
                }
            }
            Ends::Wide => {
                for (place, cells) in places.as_chunks_mut().0.iter_mut().zip(ends) {
                    fits &= u32::try_from(cells).is_ok();
                    *place = (cells as u32).to_le_bytes();
                }
                if !fits {
                    let many = "a dictionary with more than 4294967295 keys that nearly collide";
                    return Err(Error::not_implemented(many));
                }
            }
        }
        assert!(in_order && beyond.iter().all(|&noted| noted == 0), "buckets come in their order");
        self.first = end;
        self.first_bucket += self.ends.a_line();
        self.noted = [0; NARROW_BUCKETS];
        Ok(())
    }

    #[cold]
    fn widen(&mut self) -> Result<()> {
        let wide = BucketIndexWriter::of(self.buckets, self.cells, Ends::Wide)?;
        let narrow = std::mem::replace(self, wide);
        let buckets = Buckets { lines: narrow.region.as_chunks().0, ends: narrow.ends };
        (0..narrow.first_bucket).try_for_each(|bucket| self.note(bucket, buckets.cells_of(bucket).end))?;
        let mut noted = narrow.noted.iter().enumerate().filter(|(_, cells)| **cells > 0);
        noted.try_for_each(|(slot, &cells)| self.note(narrow.first_bucket + slot, cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether buckets with these counts need a wide index.
    fn check(counts: &[u64]) -> bool {
        let cells = counts.iter().sum::<u64>();
        let mut writer = BucketIndexWriter::new(counts.len(), cells as usize).expect("memory");
        let mut end = 0;
        for (bucket, &count) in counts.iter().enumerate() {
            // The last one of many cells is enough.
            let noted = if count > 100 { end + count..=end + count } else { end + 1..=end + count };
            noted.for_each(|cells| writer.note(bucket, cells).expect("few cells"));
            end += count;
        }
        let index = writer.finish().expect("few cells");
        let mut first = 0;
        for (bucket, count) in counts.iter().enumerate() {
            let expected = first..first + count;
            assert_eq!(index.buckets().cells_of(bucket), expected, "bucket {bucket}");
            first += count;
        }
        matches!(index.ends, Ends::Wide)
    }

    #[test]
    fn buckets_are_where_they_were_put() {
        assert!(!check(&[]));
        assert!(!check(&[0]));
        assert!(!check(&[60_000]));
        assert!(!check(&(0..1000).map(|bucket| bucket % 13).collect::<Vec<_>>()));
    }

    #[test]
    fn crowded_lines_make_the_index_wide() {
        let even: Vec<u64> = (0..200).map(|bucket| bucket % 7).collect();
        for (count, is_wide) in [(100, false), (200, true), (4_000_000_000, true)] {
            for crowded in [0, 100, 199] {
                let mut counts = even.clone();
                counts[crowded] = count;
                assert_eq!(check(&counts), is_wide, "{count} in bucket {crowded}");
            }
            for (empty, crowded) in [(0..100, 100), (120..199, 199)] {
                let mut counts = even.clone();
                counts[empty].fill(0);
                counts[crowded] = count;
                check(&counts);
            }
        }
    }

    #[test]
    fn more_cells_than_a_wide_line_counts_are_refused() {
        let mut writer = BucketIndexWriter::new(3, 5_000_000_000).expect("memory");
        writer.note(0, 5_000_000_000).expect("the line is not written yet");
        let error = writer.finish().expect_err("its ends are of 32 bits");
        assert!(error.to_string().contains("nearly collide"), "{error}");
    }

    #[test]
    #[should_panic(expected = "buckets come in their order")]
    fn cells_out_of_order_are_not_lost_in_silence() {
        let mut writer = BucketIndexWriter::new(10, 2).expect("memory");
        writer.note(5, 1).expect("few cells");
        writer.note(3, 2).expect("few cells");
        _ = writer.finish();
    }

    #[test]
    fn damaged_drifts_are_read_without_panic() {
        let lines = [[0x80; LINE_BYTES], [0xff; LINE_BYTES]];
        for ends in [Ends::Narrow(Pace(u32::MAX)), Ends::Narrow(Pace(0)), Ends::Wide] {
            let buckets = Buckets { lines: &lines, ends };
            (0..2 * ends.a_line()).for_each(|bucket| _ = buckets.cells_of(bucket));
        }
    }
}
