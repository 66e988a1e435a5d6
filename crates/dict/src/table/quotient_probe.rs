//! Finds hashes among the cells of quotient tables.
//!
//! Each step is taken for a group of keys, so that vectors compute it where the processor has them: words of several
//! places are gathered, shifted and compared together.

use std::ops::Range;

use basalt_base::chunks::{Chunks, Slices};
use basalt_base::processor::Form;
use basalt_base::words::Words;

use super::Hits;
use super::bits::{SHORT_BITS_MAX, low_bits};
use super::bucket_index::{Buckets, IndexRef, Indexes};
use super::probe::{self, Accept, Group, MatchMask, Probe, Shards};
use super::quotient::{CellPayload, CellShape, Cells, QuotientTable};

/// Cells of a window: all of them are compared at once.
const WINDOW: usize = 4;
/// The bytes of a window at most, including the second word of the last payload and the bits before the first cell.
const WINDOW_BYTES: usize = 64;
const _: () = assert!((7 + WINDOW * (SHORT_BITS_MAX + u64::BITS) as usize).div_ceil(8) < WINDOW_BYTES);
const _: () = assert!(WINDOW.is_power_of_two());

/// Looks up `hashes` in `tables`, which are all shards; see [`probe::find`].
pub(super) fn find(tables: &[QuotientTable], hashes: &[u64], accept: Accept<'_>) -> Hits {
    if are_alike(tables) {
        probe::find(&QuotientProbe::<true>::new(tables), hashes, accept)
    } else {
        probe::find(&QuotientProbe::<false>::new(tables), hashes, accept)
    }
}

/// [`find`] in each form that this processor has, with and without the assumption that shards are alike.
#[cfg(test)]
pub(super) fn find_in_all_forms(tables: &[QuotientTable], hashes: &[u64]) -> Vec<Hits> {
    let mut all = probe::find_in_all_forms(&QuotientProbe::<false>::new(tables), hashes, None);
    if are_alike(tables) {
        all.extend(probe::find_in_all_forms(&QuotientProbe::<true>::new(tables), hashes, None));
    }
    all
}

/// Whether all shapes are equal, apart from positions.
fn are_alike(tables: &[QuotientTable]) -> bool {
    tables.iter().all(|table| table.shape().is_like(tables[0].shape()))
}

/// All shards of a table. They are `ALIKE` if they have the same shape. Shards that were loaded together have.
pub(super) struct QuotientProbe<'a, const ALIKE: bool> {
    shards: Shards<Shard<'a>>,
    indexes: Indexes<'a>,
    cells: Slices<'a, WINDOW_BYTES>,
    /// The number of cells in all shards before each one, if payloads are positions.
    positions: Vec<u64>,
    /// The widths of the first shard, and of all shards if they are alike.
    widths: Widths,
    is_wide: bool,
    /// Whether payloads are positions.
    is_numbered: bool,
    /// The distance from the first byte of a window to one of its last bytes.
    span_bytes: usize,
}

/// The cells of a shard, and their widths.
struct Shard<'a> {
    cells: Cells<'a>,
    widths: Widths,
}

/// The widths and masks of a shape.
#[derive(Clone, Copy)]
struct Widths {
    bucket_bits: u64,
    remainder_bits: u64,
    cell_bits: u64,
    remainder_mask: u64,
    payload_mask: u64,
}

/// The windows of a group of hashes: the cells where they are expected.
#[derive(Clone, Copy, Default)]
pub(super) struct Windows<'a> {
    bytes: Chunks<'a, WINDOW_BYTES>,
    /// The bit of the first byte at which the first cell begins.
    bits: Group,
    /// The number of the first cell.
    firsts: Group,
    /// How many of the cells belong to the bucket.
    counts: Group,
    /// A bit for each window whose bucket has cells before it.
    has_before: u8,
    /// A bit for each window whose bucket has cells after it.
    has_after: u8,
    /// A bit for each window that would exceed the table: its hash is searched for.
    strays: u8,
}

impl<'a, const ALIKE: bool> QuotientProbe<'a, ALIKE> {
    pub(super) fn new(tables: &'a [QuotientTable]) -> Self {
        let shard = |table| Shard { cells: Cells::of(table), widths: Widths::of(table.shape()) };
        let shards: Vec<Shard<'a>> = tables.iter().map(shard).collect();
        let indexes: Vec<Buckets<'a>> = shards.iter().map(|shard| shard.cells.buckets).collect();
        let position = |table: &QuotientTable| match table.shape().payload() {
            CellPayload::Position { first } => first,
            CellPayload::Bits(_) => 0,
        };
        let shape = tables[0].shape();
        QuotientProbe {
            indexes: Indexes::new(&indexes),
            cells: Slices::new(shards.iter().map(|shard| shard.cells.bytes)),
            positions: tables.iter().map(position).collect(),
            widths: Widths::of(shape),
            is_wide: indexes.iter().any(Buckets::is_wide),
            is_numbered: matches!(shape.payload(), CellPayload::Position { .. }),
            span_bytes: WINDOW * shape.cell_bits() as usize / 8,
            shards: Shards::new(shards, shape.shard_bits()),
        }
    }

    /// A width of the shard of each hash.
    #[inline(always)]
    fn widths<F: Form>(&self, hashes: &Group, of: impl Fn(&Widths) -> u64) -> Words<F> {
        if ALIKE {
            return Words::splat(of(&self.widths));
        }
        Words::of(hashes.map(|hash| of(&self.shards.of(hash).widths)))
    }

    /// The bucket of `hash` in its shard, which has these widths.
    #[inline(always)]
    fn bucket(&self, hash: u64, widths: Widths) -> usize {
        (self.shards.bits.split(hash).1 >> (64 - widths.bucket_bits)) as usize
    }

    /// The first cell of each bucket, and the number of cells, if an index is wide.
    #[cold]
    fn wide_cells(&self, hashes: &Group) -> (Group, Group) {
        let cells = hashes.map(|hash| {
            let shard = self.shards.of(hash);
            shard.cells.bucket(self.bucket(hash, shard.widths))
        });
        let count = |cells: Range<u64>| cells.end.saturating_sub(cells.start);
        (cells.each_ref().map(|cells| cells.start), cells.map(count))
    }
}

impl Widths {
    fn of(shape: CellShape) -> Widths {
        Widths {
            bucket_bits: u64::from(shape.bucket_bits()),
            remainder_bits: u64::from(shape.remainder_bits()),
            cell_bits: u64::from(shape.cell_bits()),
            remainder_mask: low_bits(shape.remainder_bits()),
            payload_mask: low_bits(shape.payload_bits()),
        }
    }
}

impl<'a, const ALIKE: bool> Probe for QuotientProbe<'a, ALIKE> {
    type IndexRef = IndexRef<'a>;
    type BucketRef = Windows<'a>;
    type Matches = Group;

    const SPILLS_PAYLOADS: bool = false;
    const HAS_ALTERNATE: bool = false;

    #[inline(always)]
    fn prefetch_index<F: Form>(&self, hashes: &Group, index: &mut IndexRef<'a>) {
        let numbers = Words::<F>::of(*hashes);
        let rest = numbers << u64::from(self.shards.bits.count());
        let buckets = rest >> (Words::splat(64) - self.widths(hashes, |widths| widths.bucket_bits));
        self.indexes.prefetch(self.shards.numbers(numbers), buckets, index);
    }

    #[inline(always)]
    fn locate<F: Form>(&self, hashes: &Group, index: &IndexRef<'a>, windows: &mut Windows<'a>) {
        let (begins, counts) = if self.is_wide {
            let (begins, counts) = self.wide_cells(hashes);
            (Words::of(begins), Words::of(counts))
        } else {
            index.cells::<F>()
        };
        let numbers = Words::<F>::of(*hashes);
        let rest = numbers << u64::from(self.shards.bits.count());
        let fraction = rest << self.widths(hashes, |widths| widths.bucket_bits) >> 32;
        let place = fraction.times_low(counts) >> 32;
        let (none, window) = (Words::splat(0), Words::splat(WINDOW as u64));
        // The window is centred on the place, and has no cells of another bucket.
        let before = place + place.above(none).ones();
        let before = before.min((counts - window) & counts.above(window).ones());
        let firsts = begins + before;
        let cell_bits = self.widths(hashes, |widths| widths.cell_bits);
        let at = firsts.times(cell_bits);
        let (bytes, strays) = self.cells.chunks_and_strays(self.shards.numbers(numbers), at >> 3);
        windows.bytes = bytes;
        windows.firsts = firsts.numbers();
        windows.bits = (at & 7).numbers();
        windows.counts = counts.min(window).numbers();
        windows.has_before = before.above(none).bits();
        windows.has_after = counts.above(before + window).bits();
        windows.strays = strays.bits();
        bytes.prefetch();
        bytes.prefetch_at(self.span_bytes);
    }

    #[inline(always)]
    fn compare<F: Form>(&self, hashes: &Group, windows: &Windows<'a>, payloads: &mut Group) -> MatchMask {
        let cell_bits = self.widths::<F>(hashes, |widths| widths.cell_bits);
        let mask = self.widths::<F>(hashes, |widths| widths.remainder_mask);
        let remainders = Words::of(*hashes) & mask;
        let mut found = Words::splat(WINDOW as u64);
        let (mut is_after_first, mut is_before_last) = (0, 0);
        for cell in (0..WINDOW as u64).rev() {
            let at = Words::of(windows.bits) + cell_bits.times_low(Words::splat(cell));
            let seen = windows.bytes.words(at >> 3) >> (at & 7) & mask;
            found = seen.equal(remainders).select(Words::splat(cell), found);
            if cell == 0 {
                is_after_first = remainders.above(seen).bits();
            }
            if cell == WINDOW as u64 - 1 {
                is_before_last = seen.above(remainders).bits();
            }
        }
        *payloads = if self.is_numbered {
            let positions = Words::<F>::of(windows.firsts) + found;
            let shards = self.shards.numbers(Words::of(*hashes));
            (positions + Words::one_of(&self.positions, shards)).numbers()
        } else {
            // Without a match, the number is that of a cell after the window: the first cell is read instead.
            let cell = found & (WINDOW as u64 - 1);
            let at = Words::of(windows.bits)
                + cell.times_low(cell_bits)
                + self.widths(hashes, |widths| widths.remainder_bits);
            let bit = at & 7;
            let byte = at >> 3;
            let (low, high) = (windows.bytes.words(byte), windows.bytes.words(byte + 1));
            let payload = low >> bit | high << (Words::splat(8) - bit);
            (payload & self.widths(hashes, |widths| widths.payload_mask)).numbers()
        };
        MatchMask {
            found: Words::<F>::of(windows.counts).above(found).bits() & !windows.strays,
            conclusive: (!windows.has_before | is_after_first)
                & (!windows.has_after | is_before_last)
                & !windows.strays,
            no_tag: 0,
        }
    }

    #[inline(always)]
    fn payloads<F: Form>(&self, payloads: &Group) -> Group {
        *payloads
    }

    #[inline(always)]
    fn retry_alternate<F: Form>(&self, _: &Group, _: &mut Windows<'a>) {
        unreachable!("an entry has no alternate place")
    }

    fn find_in_stash(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        self.search(hash, accept)
    }

    fn search(&self, hash: u64, accept: impl FnMut(u64) -> bool) -> Option<u64> {
        let shard = self.shards.of(hash);
        shard.cells.search(self.bucket(hash, shard.widths), hash, accept)
    }
}
