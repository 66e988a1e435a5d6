//! The number of a row: the segment in the bits from [`SEGMENT_BITS`] on, and the row in it below.
//!
//! If there is one segment, the number of a row is its number there.

/// The most rows of a dictionary with row numbers, which are `u32`.
pub(crate) const ROWS_MAX: usize = u32::MAX as usize;

/// Bits of a row's number inside its segment.
pub(crate) const SEGMENT_BITS: u32 = 26;
/// With this many segments, a row's number has 32 bits.
pub(crate) const SEGMENTS_MAX: usize = 1 << (u32::BITS - SEGMENT_BITS);

/// The segment of a row, and its number there. Segments that do not exist are taken for the last one.
#[inline(always)]
pub(crate) fn split_row(segments: usize, row: u64) -> (usize, usize) {
    if segments == 1 {
        return (0, row as usize);
    }
    (((row >> SEGMENT_BITS) as usize).min(segments - 1), (row & ((1 << SEGMENT_BITS) - 1)) as usize)
}
