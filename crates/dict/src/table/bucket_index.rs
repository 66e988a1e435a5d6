//! Where each bucket of a table begins and ends, in one cache line a lookup.
//!
//! # Layout
//!
//! ```text
//! line of 64 bytes:  first  u64            cells before its first bucket
//!                    ends   28 x u16       cells from `first` to the end of each bucket
//! ```
//! Where a line's buckets have more cells than a `u16` counts (only of keys made to collide), the whole
//! index is wide: 14 ends of `u32`.
//!
//! # Cost
//!
//! 2.3 bytes a bucket: at six keys a bucket, 0.4 bytes a key.

use std::ops::Range;

use basalt_base::prefetch::prefetch_read;
use basalt_base::region::{Region, Section};
use basalt_base::{Error, Result};

use crate::image::{ImageReader, ImageWriter};

const LINE_BYTES: usize = 64;
const FIRST_BYTES: usize = size_of::<u64>();
const NARROW_BUCKETS: usize = 28;
const WIDE_BUCKETS: usize = 14;
const _: () = assert!(FIRST_BYTES + NARROW_BUCKETS * size_of::<u16>() == LINE_BYTES);
const _: () = assert!(FIRST_BYTES + WIDE_BUCKETS * size_of::<u32>() == LINE_BYTES);

type Line = [u8; LINE_BYTES];

#[derive(Debug)]
pub(super) struct BucketIndex {
    lines: Section,
    is_wide: bool,
}

/// Builds a [`BucketIndex`] from where each bucket ends.
pub(super) struct BucketIndexWriter {
    region: Region,
    is_wide: bool,
    buckets: usize,
    written: usize,
    last_end: u64,
}

impl BucketIndex {
    pub(super) fn is_wide(&self) -> bool {
        self.is_wide
    }

    pub(super) fn section(&self) -> &Section {
        &self.lines
    }

    /// Makes sure that where the cells of `bucket` are is what was written.
    pub(super) fn check(&self, bucket: usize) -> Result<()> {
        let line = if self.is_wide { bucket / WIDE_BUCKETS } else { bucket / NARROW_BUCKETS };
        self.lines.check(line * LINE_BYTES..(line + 1) * LINE_BYTES)
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.flag(self.is_wide);
        image.section(&self.lines)
    }

    pub(super) fn open(buckets: usize, image: &mut ImageReader<'_>) -> Result<BucketIndex> {
        let is_wide = image.flag()?;
        Ok(BucketIndex { lines: image.section_of(Some(BucketIndex::bytes(buckets, is_wide)))?, is_wide })
    }

    /// The bytes of an index of that many buckets.
    pub(super) fn bytes(buckets: usize, is_wide: bool) -> usize {
        buckets.div_ceil(if is_wide { WIDE_BUCKETS } else { NARROW_BUCKETS }) * LINE_BYTES
    }

    #[inline(always)]
    pub(super) fn lines(&self) -> &[Line] {
        self.lines.as_chunks().0
    }
}

/// Asks for the line of `bucket`.
#[inline(always)]
pub(super) fn approach(lines: &[Line], is_wide: bool, bucket: usize) {
    prefetch_read(lines, if is_wide { bucket / WIDE_BUCKETS } else { bucket / NARROW_BUCKETS });
}

/// The cells of `bucket`.
#[inline(always)]
pub(super) fn cells_of(lines: &[Line], is_wide: bool, bucket: usize) -> Range<u64> {
    if is_wide {
        return wide_cells_of(lines, bucket);
    }
    let line = &lines[bucket / NARROW_BUCKETS];
    let slot = bucket % NARROW_BUCKETS;
    let end = |slot: usize| {
        let at = FIRST_BYTES + slot * size_of::<u16>();
        u64::from(u16::from_le_bytes([line[at], line[at + 1]]))
    };
    let first = first(line);
    first + if slot == 0 { 0 } else { end(slot - 1) }..first + end(slot)
}

#[cold]
fn wide_cells_of(lines: &[Line], bucket: usize) -> Range<u64> {
    let line = &lines[bucket / WIDE_BUCKETS];
    let slot = bucket % WIDE_BUCKETS;
    let end = |slot: usize| {
        let at = FIRST_BYTES + slot * size_of::<u32>();
        u64::from(u32::from_le_bytes([line[at], line[at + 1], line[at + 2], line[at + 3]]))
    };
    let first = first(line);
    first + if slot == 0 { 0 } else { end(slot - 1) }..first + end(slot)
}

#[inline(always)]
fn first(line: &Line) -> u64 {
    u64::from_le_bytes(line[..FIRST_BYTES].try_into().expect("the range has eight bytes"))
}

impl BucketIndexWriter {
    pub(super) fn new(buckets: usize) -> Result<BucketIndexWriter> {
        let region = Region::zeroed(BucketIndex::bytes(buckets, false))?;
        Ok(BucketIndexWriter { region, is_wide: false, buckets, written: 0, last_end: 0 })
    }

    /// The next bucket ends before cell `end`.
    pub(super) fn push(&mut self, end: u64) -> Result<()> {
        if self.put(end) {
            return Ok(());
        }
        if !self.is_wide {
            self.widen()?;
            if self.put(end) {
                return Ok(());
            }
        }
        Err(Error::not_implemented("a dictionary with more than 4294967295 keys that nearly collide"))
    }

    pub(super) fn finish(self) -> BucketIndex {
        assert_eq!(self.written, self.buckets, "every bucket has an end");
        BucketIndex { lines: self.region.into(), is_wide: self.is_wide }
    }

    /// `false` if the line cannot count so far.
    fn put(&mut self, end: u64) -> bool {
        assert!(self.written < self.buckets && end >= self.last_end, "buckets end one after another");
        let (a_line, width) = if self.is_wide { (WIDE_BUCKETS, 4) } else { (NARROW_BUCKETS, 2) };
        let slot = self.written % a_line;
        let line = &mut self.region[self.written / a_line * LINE_BYTES..][..LINE_BYTES];
        if slot == 0 {
            line[..FIRST_BYTES].copy_from_slice(&self.last_end.to_le_bytes());
        }
        let first = u64::from_le_bytes(line[..FIRST_BYTES].try_into().expect("the range has eight bytes"));
        if (end - first) >> (8 * width) != 0 {
            return false;
        }
        line[FIRST_BYTES + slot * width..][..width].copy_from_slice(&(end - first).to_le_bytes()[..width]);
        self.written += 1;
        self.last_end = end;
        true
    }

    /// Starts again with wide ends.
    fn widen(&mut self) -> Result<()> {
        let region = Region::zeroed(BucketIndex::bytes(self.buckets, true))?;
        let narrow = std::mem::replace(&mut self.region, region);
        let written = std::mem::take(&mut self.written);
        self.is_wide = true;
        self.last_end = 0;
        for bucket in 0..written {
            let end = cells_of(narrow.as_chunks().0, false, bucket).end;
            assert!(self.put(end), "what a u16 counts, a u32 counts");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(counts: &[u64]) -> bool {
        let mut writer = BucketIndexWriter::new(counts.len()).expect("memory");
        let mut end = 0;
        for count in counts {
            end += count;
            writer.push(end).expect("few cells");
        }
        let index = writer.finish();
        let mut first = 0;
        for (bucket, count) in counts.iter().enumerate() {
            let expected = first..first + count;
            assert_eq!(cells_of(index.lines(), index.is_wide(), bucket), expected, "bucket {bucket}");
            first += count;
        }
        index.is_wide()
    }

    #[test]
    fn buckets_are_where_they_were_put() {
        assert!(!check(&[]));
        assert!(!check(&[0]));
        assert!(!check(&(0..1000).map(|bucket| bucket % 13).collect::<Vec<_>>()));
    }

    #[test]
    fn crowded_lines_make_the_index_wide() {
        let mut counts: Vec<u64> = (0..200).map(|bucket| bucket % 7).collect();
        counts[100] = 65_536;
        counts[101] = 4_000_000_000;
        assert!(check(&counts));
    }
}
