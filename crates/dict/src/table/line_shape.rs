//! The shape of a line's cells, and which two lines an entry may be in.

use basalt_base::Result;

use crate::hash::{ShardBits, split};
use crate::image::{ImageReader, ImageWriter};

/// A cache line.
const NARROW_LINE_BYTES: usize = 64;
/// Two of them, side by side: the second costs a fifth of what the first does.
const WIDE_LINE_BYTES: usize = 128;
/// With more cells in a cache line, little is left over.
const NARROW_CELLS_MIN: usize = 6;
/// The low bits of a cell's word lie together, so that those of all cells are compared at once.
pub(super) const LOW_BYTES: usize = size_of::<u32>();
/// Every cell's word ends with these bits.
pub(super) const STATE_BITS: u32 = 3;
/// Words of these sizes are known.
pub(super) const WORD_BYTES: std::ops::RangeInclusive<usize> = 5..=8;
/// The two lines of an entry are of one group, which the second cache holds while it is filled.
const GROUP_LINES_BITS: u32 = 12;
/// Spreads tails over a group: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the state bits of a word say; none of them: the cell is free.
pub(super) mod state {
    /// The cell has an entry.
    pub(in super::super) const FILLED: u64 = 1;
    /// The entry is in its other line.
    pub(in super::super) const AWAY: u64 = 2;
    /// Some entry of this line is away: see [`super::LineShape::sign`].
    pub(in super::super) const SIGN: u64 = 4;
}

/// How wide the words and the payloads of cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineShape {
    pub(super) word_bytes: usize,
    pub(super) payload_bytes: usize,
}

/// Where an entry belongs, and what tells it from all others there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) home: usize,
    pub(super) tail: u64,
}

/// The lines of a table that are homes: all of them, in groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homes {
    pub(super) count: u64,
    pub(super) shard_bits: ShardBits,
    pub(super) tail_bits: u32,
}

impl LineShape {
    /// The narrowest words for `rows` at this load factor, or their own, in all shards together.
    pub(super) fn of(rows: usize, load_factor: Option<f64>, payload_bytes: usize) -> LineShape {
        let shape = |word_bytes| LineShape { word_bytes, payload_bytes };
        let fits = |shape: &LineShape| {
            let homes = shape.homes_for(rows, load_factor.unwrap_or(shape.load_factor()));
            homes >= shape.homes_min(ShardBits::default())
        };
        WORD_BYTES.map(shape).find(fits).unwrap_or(shape(*WORD_BYTES.end()))
    }

    /// Bytes a line: those of two cache lines where these have room for a cell more, and few cells.
    pub(super) const fn line_bytes(self) -> usize {
        let narrow = NARROW_LINE_BYTES / self.cell_bytes();
        match narrow < NARROW_CELLS_MIN && WIDE_LINE_BYTES / self.cell_bytes() > 2 * narrow {
            true => WIDE_LINE_BYTES,
            false => NARROW_LINE_BYTES,
        }
    }

    /// Cells a line.
    pub(super) const fn cells(self) -> usize {
        self.line_bytes() / self.cell_bytes()
    }

    /// How far lines are filled that are to be fast: about one in seventeen entries is away then.
    pub(super) const fn load_factor(self) -> f64 {
        match self.line_bytes() {
            WIDE_LINE_BYTES => 0.8,
            _ => 0.75,
        }
    }

    const fn cell_bytes(self) -> usize {
        self.word_bytes + self.payload_bytes
    }

    pub(super) const fn tail_bits(self) -> u32 {
        8 * self.word_bytes as u32 - STATE_BITS
    }

    /// How many lines hold `rows` at this load factor.
    pub(super) fn homes_for(self, rows: usize, load_factor: f64) -> u64 {
        (rows as f64 / load_factor / self.cells() as f64).ceil() as u64
    }

    /// With fewer lines in a shard, two hashes of one line might have the same tail.
    pub(super) fn homes_min(self, shard_bits: ShardBits) -> u64 {
        1 << (u64::BITS - self.tail_bits()).saturating_sub(shard_bits.count())
    }

    /// The cell of an entry's home whose sign says that it may be away.
    #[inline(always)]
    pub(super) const fn sign(self, tail: u64) -> usize {
        (tail as usize % 8 * self.cells()) / 8
    }

    pub(super) fn save(self, image: &mut ImageWriter<'_>) {
        image.number(self.word_bytes as u64);
        image.number(self.payload_bytes as u64);
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<LineShape> {
        let word_bytes = image.number_below(*WORD_BYTES.end() as u64 + 1)? as usize;
        let payload_bytes = image.number_below(size_of::<u64>() as u64 + 1)? as usize;
        if !WORD_BYTES.contains(&word_bytes) {
            return Err(ImageReader::unfit());
        }
        Ok(LineShape { word_bytes, payload_bytes })
    }
}

impl Homes {
    /// Where an entry of `hash`, of this shard, belongs.
    #[inline(always)]
    pub(super) fn spot(&self, hash: u64) -> Spot {
        let (home, fraction) = split(self.shard_bits.split(hash).1, self.count);
        Spot { home: home as usize, tail: fraction >> (u64::BITS - self.tail_bits) }
    }

    /// The hash of shard `shard` that belongs to `spot`.
    pub(super) fn hash(&self, shard: usize, spot: Spot) -> u64 {
        // The least multiple of `step` whose product with the count of lines is not below the spot: the product
        // grows by more than a tail's lowest bit with each step.
        let product =
            u128::from(spot.home as u64) << 64 | u128::from(spot.tail) << (u64::BITS - self.tail_bits);
        let step = 1_u128 << self.shard_bits.count();
        let rest = product.div_ceil(u128::from(self.count)).next_multiple_of(step);
        self.shard_bits.join(shard, rest as u64)
    }

    /// The other line of what belongs to `spot`.
    #[inline(always)]
    pub(super) fn other(&self, spot: Spot) -> usize {
        let (first, len) = self.group(spot.home);
        let to = spot.home - first + step(spot.tail, len);
        first + if to < len { to } else { to - len }
    }

    /// The home of an entry that is away in `line`.
    #[inline(always)]
    pub(super) fn home_of_away(&self, line: usize, tail: u64) -> usize {
        let (first, len) = self.group(line);
        let (from, step) = (line - first, step(tail, len));
        first + if from < step { from + len - step } else { from - step }
    }

    /// The first line of the group of `line`, and how many it has. The last one is longer, not shorter.
    #[inline(always)]
    pub(super) fn group(&self, line: usize) -> (usize, usize) {
        let count = self.count as usize;
        let last = (count >> GROUP_LINES_BITS).max(1) - 1;
        let group = (line >> GROUP_LINES_BITS).min(last);
        let first = group << GROUP_LINES_BITS;
        (first, if group == last { count - first } else { 1 << GROUP_LINES_BITS })
    }
}

/// How far it is to the other line, in a group of `len`: less than that, and at least one if there are two.
#[inline(always)]
fn step(tail: u64, len: usize) -> usize {
    let spread = tail.wrapping_mul(SPREAD) >> 32;
    let far = 1 + ((spread * (len as u64 - 1)) >> 32) as usize;
    if far < len { far } else { 0 }
}
