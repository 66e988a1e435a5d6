//! Finds hashes among the cells of quotient tables.
//!
//! A step of a lookup is as few instructions as can be, so what all shards share is kept once, and what one step finds out
//! is kept for the next.

use std::ops::Range;

use basalt_base::prefetch::prefetch_read;

use super::bits::{SHORT_BITS_MAX, get, get_short, low_bits};
use super::bucket_index;
use super::probe::{Probe, Sight};
use super::quotient::{CellPayload, CellShape, QuotientTable};
use crate::hash::{ShardBits, split};

/// Cells that are compared at once, without asking which of them comes first.
const WINDOW: usize = 4;
/// As many of the widest cells, and a word behind any bit of them.
const WINDOW_BYTES: usize = 80;
const _: () = assert!(WINDOW * (SHORT_BITS_MAX + u64::BITS) as usize / 8 + 17 <= WINDOW_BYTES);

/// All shards of a table. They are `ALIKE` if they have one shape, as those do that were loaded together.
pub(super) struct QuotientProbe<'a, const ALIKE: bool> {
    shards: Vec<(Cells<'a>, Widths)>,
    shard_bits: ShardBits,
    /// Of shards that are alike.
    widths: Widths,
}

/// A shape, and what follows from it.
#[derive(Clone, Copy)]
struct Widths {
    shape: CellShape,
    remainder_bits: u32,
    payload_bits: u32,
    cell_bits: u64,
    window_bytes: usize,
}

/// The cells of a shard, and where those of each bucket are.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    bytes: &'a [u8],
    index: &'a [[u8; 64]],
    is_wide: bool,
    payload: CellPayload,
}

/// The cells among which a hash is expected.
#[derive(Clone, Copy, Default)]
pub(super) struct Window {
    first: u64,
    shard: u32,
    /// How many of the cells are the bucket's.
    count: u8,
    /// Whether the window begins, and ends, with the bucket.
    is_first: bool,
    is_last: bool,
}

impl<'a, const ALIKE: bool> QuotientProbe<'a, ALIKE> {
    pub(super) fn new(tables: &'a [QuotientTable]) -> Self {
        let shape = tables[0].shape();
        QuotientProbe {
            shards: tables.iter().map(|table| (Cells::of(table), Widths::of(table.shape()))).collect(),
            shard_bits: shape.shard_bits(),
            widths: Widths::of(shape),
        }
    }

    #[inline(always)]
    fn shard(&self, shard: usize) -> (&Cells<'a>, &Widths) {
        let (cells, widths) = &self.shards[shard];
        (cells, if ALIKE { &self.widths } else { widths })
    }
}

impl Widths {
    fn of(shape: CellShape) -> Widths {
        Widths {
            shape,
            remainder_bits: shape.remainder_bits(),
            payload_bits: shape.payload_bits(),
            cell_bits: u64::from(shape.cell_bits()),
            window_bytes: WINDOW * shape.cell_bits() as usize / 8,
        }
    }
}

impl<'a> Cells<'a> {
    pub(super) fn of(table: &'a QuotientTable) -> Cells<'a> {
        let index = table.index();
        let (lines, is_wide) = (index.lines(), index.is_wide());
        Cells { bytes: table.cells(), index: lines, is_wide, payload: table.shape().payload() }
    }

    /// Asks for where the cells of `bucket` are.
    #[inline(always)]
    pub(super) fn approach(&self, bucket: usize) {
        bucket_index::approach(self.index, self.is_wide, bucket);
    }

    #[inline(always)]
    pub(super) fn bucket(&self, bucket: usize) -> Range<u64> {
        bucket_index::cells_of(self.index, self.is_wide, bucket)
    }

    #[inline(always)]
    pub(super) fn remainder(&self, shape: CellShape, cell: u64) -> u64 {
        let at = cell.wrapping_mul(u64::from(shape.cell_bits()));
        get_short(self.bytes, at, low_bits(shape.remainder_bits()))
    }

    #[inline(always)]
    pub(super) fn payload(&self, shape: CellShape, cell: u64) -> u64 {
        match self.payload {
            CellPayload::Bits(bits) => {
                let at = cell.wrapping_mul(u64::from(shape.cell_bits()));
                get(self.bytes, at.wrapping_add(u64::from(shape.remainder_bits())), low_bits(bits))
            }
            CellPayload::Position { first } => first.wrapping_add(cell),
        }
    }

    /// The payload of the first entry of `hash` that `accept` takes, wherever in its bucket it is.
    pub(super) fn search(
        &self,
        shape: CellShape,
        bucket: usize,
        hash: u64,
        mut accept: impl FnMut(u64) -> bool,
    ) -> Option<u64> {
        let remainder = hash & low_bits(shape.remainder_bits());
        let bucket = self.bucket(bucket);
        let (mut first, mut end) = (bucket.start, bucket.end);
        while first < end {
            let middle = first.midpoint(end);
            if self.remainder(shape, middle) < remainder {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        let equal = (first..bucket.end).take_while(|&cell| self.remainder(shape, cell) == remainder);
        equal.map(|cell| self.payload(shape, cell)).find(|&payload| accept(payload))
    }
}

impl<const ALIKE: bool> Probe for QuotientProbe<'_, ALIKE> {
    type Aim = Window;
    type Place = u64;

    const IS_APART: bool = false;
    const IS_TWOFOLD: bool = false;

    #[inline(always)]
    fn approach(&self, hash: u64) {
        let (cells, widths) = self.shard(self.shard_bits.split(hash).0);
        cells.approach(widths.shape.split(hash).1);
    }

    #[inline(always)]
    fn aim(&self, hash: u64) -> Window {
        let shard = self.shard_bits.split(hash).0;
        let (cells, widths) = self.shard(shard);
        let (_, bucket, fraction) = widths.shape.split(hash);
        let bucket = cells.bucket(bucket);
        let count = bucket.end.saturating_sub(bucket.start);
        let before = split(fraction, count).0.saturating_sub(1).min(count.saturating_sub(WINDOW as u64));
        let first = bucket.start.wrapping_add(before);
        Window {
            first,
            shard: shard as u32,
            count: count.min(WINDOW as u64) as u8,
            is_first: before == 0,
            is_last: before + WINDOW as u64 >= count,
        }
    }

    #[inline(always)]
    fn fetch(&self, window: Window) {
        let (Cells { bytes, .. }, widths) = self.shard(window.shard as usize);
        let byte = (window.first.wrapping_mul(widths.cell_bits) >> 3) as usize;
        prefetch_read(bytes, byte);
        prefetch_read(bytes, byte.wrapping_add(widths.window_bytes));
    }

    #[inline(always)]
    fn seek(&self, hash: u64, window: Window) -> Sight<u64> {
        let (cells, widths) = self.shard(window.shard as usize);
        let mask = low_bits(widths.remainder_bits);
        let remainder = hash & mask;
        let at = window.first.wrapping_mul(widths.cell_bits);
        let Some(bytes) =
            cells.bytes.get((at >> 3) as usize..).and_then(|rest| rest.first_chunk::<WINDOW_BYTES>())
        else {
            return Sight { place: 0, is_found: false, is_all: window.count == 0, is_clear: false };
        };
        let cell_at = |cell: u64| (at & 7) + cell * widths.cell_bits;
        let seen: [u64; WINDOW] = std::array::from_fn(|cell| get_short(bytes, cell_at(cell as u64), mask));
        let equal = (0..WINDOW).fold(0, |equal, cell| equal | u32::from(seen[cell] == remainder) << cell);
        let equal = equal & ((1 << window.count) - 1);
        let found = u64::from(equal.trailing_zeros() % WINDOW as u32);
        let payload = match cells.payload {
            CellPayload::Position { first } => first.wrapping_add(window.first + found),
            CellPayload::Bits(_) if widths.payload_bits <= SHORT_BITS_MAX => get_short(
                bytes,
                cell_at(found) + u64::from(widths.remainder_bits),
                low_bits(widths.payload_bits),
            ),
            CellPayload::Bits(_) => {
                get(bytes, cell_at(found) + u64::from(widths.remainder_bits), low_bits(widths.payload_bits))
            }
        };
        let is_all =
            (window.is_first | (seen[0] < remainder)) & (window.is_last | (seen[WINDOW - 1] > remainder));
        Sight { place: payload, is_found: equal != 0, is_all, is_clear: false }
    }

    #[inline(always)]
    fn fetch_payload(&self, _: u64) {}

    #[inline(always)]
    fn payload(&self, payload: u64) -> u64 {
        payload
    }

    #[inline(always)]
    fn turn(&self, hash: u64) -> Window {
        self.aim(hash)
    }

    fn beside(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.search(hash, accept)
    }

    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let (cells, widths) = self.shard(self.shard_bits.split(hash).0);
        cells.search(widths.shape, widths.shape.split(hash).1, hash, accept)
    }
}
