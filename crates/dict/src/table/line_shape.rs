//! The shape of a line's cells, and which two lines an entry may be in.

use basalt_base::Result;

use crate::hash::{ShardBits, split};
use crate::image::{ImageReader, ImageWriter};

/// The low bits of a cell's word lie together, so that those of all cells are compared at once.
pub(super) const TAG_BYTES: usize = size_of::<u16>();
/// Behind them, a bit for each eighth of all tails, see [`sign`].
const SIGN_BYTES: usize = 1;
/// So a number of 64 bits can say that it is no word.
const WORD_BITS_MAX: usize = 63;
/// The two lines of an entry are of one group, which the second cache holds while it is filled.
const GROUP_BYTES: usize = 1 << 19;
const GROUP_LINES_MAX: usize = 1 << 12;
/// Two cache lines.
const LINE_BYTES_FAST: usize = 128;
/// Beyond it, lines of at most eleven cells take ever longer to fill.
const LOAD_FACTOR_MAX: f64 = 0.95;
/// The same for lines of more cells.
const LONG_LOAD_FACTOR_MAX: f64 = 0.98;
/// Spreads tails over a group: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many cells of which payload share a line, in one cache line, two or four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineShape {
    pub(super) line_bytes: usize,
    pub(super) cells: usize,
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
    /// Of the count of lines in a group, a power of two.
    pub(super) group_bits: u32,
}

/// Bytes and cells of all lines that there are, for payloads of each width: the words have the bits that are left.
///
/// A cache line takes few cells of wide payloads and wastes most of a cell. The second one that is fetched with it costs a
/// fifth of the first; four of them make a lookup take up to twice as long, and are for who asks for the least memory.
#[rustfmt::skip]
const KNOWN: [&[(usize, usize)]; 9] = [
    &[(64, 8), (64, 10), (64, 12)],
    &[(64, 7), (64, 8), (64, 10)],
    &[(64, 6), (64, 7), (64, 8), (64, 9)],
    &[(64, 5), (64, 6), (64, 7)],
    &[(64, 5), (64, 6), (64, 7)],
    &[(64, 5), (128, 11), (64, 6)],
    &[(64, 4), (64, 5), (128, 11)],
    &[(64, 4), (128, 9), (64, 5)],
    &[(64, 4), (128, 9), (256, 19)],
];

impl LineShape {
    /// The shape with the smallest cells that can tell hashes apart in a table of `rows` at this load factor, or its own, in
    /// all shards together.
    pub(super) fn of(rows: usize, load_factor: Option<f64>, payload_bytes: usize) -> LineShape {
        let shapes = LineShape::known(payload_bytes);
        let widest = shapes.clone().next().expect("payloads of each width have shapes");
        let is_least_wanted = load_factor.is_some_and(|wanted| wanted > LOAD_FACTOR_MAX);
        let fits = |shape: &LineShape| {
            let homes = shape.homes_for(rows, shape.load_factor(load_factor));
            homes >= shape.homes_min(ShardBits::default()) && (is_least_wanted || !shape.is_long())
        };
        shapes.filter(fits).last().unwrap_or(widest)
    }

    /// Whether a line is more than two cache lines.
    const fn is_long(self) -> bool {
        self.line_bytes > LINE_BYTES_FAST
    }

    /// All shapes for this payload, those with the smallest cells last.
    pub(super) fn known(payload_bytes: usize) -> impl Iterator<Item = LineShape> + Clone {
        let shape = move |&(line_bytes, cells)| LineShape { line_bytes, cells, payload_bytes };
        KNOWN[payload_bytes].iter().map(shape)
    }

    /// How far lines are filled, if `wanted` or to be fast: one in seventeen entries is away then.
    pub(super) fn load_factor(self, wanted: Option<f64>) -> f64 {
        let (own, most) = match self.cells {
            _ if self.is_long() => (LOAD_FACTOR_MAX, LONG_LOAD_FACTOR_MAX),
            9.. => (0.8, LOAD_FACTOR_MAX),
            _ => (0.75, LOAD_FACTOR_MAX),
        };
        wanted.map_or(own, |wanted| wanted.min(most))
    }

    /// Bits of a word: a tail, and whether it is at home.
    pub(super) const fn word_bits(self) -> u32 {
        let bits = 8 * (self.line_bytes - SIGN_BYTES) / self.cells - 8 * self.payload_bytes;
        if bits < WORD_BITS_MAX { bits as u32 } else { WORD_BITS_MAX as u32 }
    }

    pub(super) const fn tail_bits(self) -> u32 {
        self.word_bits() - 1
    }

    /// Bits of a word that are not its tag.
    pub(super) const fn rest_bits(self) -> u32 {
        self.word_bits() - u16::BITS
    }

    /// Where the byte of signs is.
    pub(super) const fn signs_at(self) -> usize {
        self.cells * TAG_BYTES
    }

    /// Bits of what a cell has beside its tag.
    pub(super) const fn record_bits(self) -> usize {
        self.rest_bits() as usize + 8 * self.payload_bytes
    }

    /// The bit of a line at which that begins.
    pub(super) const fn record_at(self, cell: usize) -> usize {
        8 * (self.signs_at() + SIGN_BYTES) + cell * self.record_bits()
    }

    /// The word of an entry with this tail, at home or away.
    #[inline(always)]
    pub(super) const fn word(self, tail: u64, is_home: bool) -> u64 {
        tail | (is_home as u64) << self.tail_bits()
    }

    /// How many lines hold `rows` at this load factor.
    pub(super) fn homes_for(self, rows: usize, load_factor: f64) -> u64 {
        (rows as f64 / load_factor / self.cells as f64).ceil() as u64
    }

    /// With fewer lines in a shard, two hashes of one line might have the same tail.
    pub(super) fn homes_min(self, shard_bits: ShardBits) -> u64 {
        1 << (u64::BITS - self.tail_bits()).saturating_sub(shard_bits.count())
    }

    pub(super) const fn group_bits(self) -> u32 {
        let lines = GROUP_BYTES / self.line_bytes;
        if lines < GROUP_LINES_MAX { lines.ilog2() } else { GROUP_LINES_MAX.ilog2() }
    }

    #[inline(always)]
    pub(super) const fn homes(self, count: u64, shard_bits: ShardBits) -> Homes {
        Homes { count, shard_bits, tail_bits: self.tail_bits(), group_bits: self.group_bits() }
    }

    pub(super) fn save(self, image: &mut ImageWriter<'_>) {
        let numbers = [self.line_bytes, self.cells, self.payload_bytes];
        numbers.into_iter().for_each(|number| image.number(number as u64));
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<LineShape> {
        let (line_bytes, cells) = (image.number()?, image.number()?);
        let payload_bytes = image.number_below(KNOWN.len() as u64)? as usize;
        let is_meant =
            |shape: &LineShape| (shape.line_bytes as u64, shape.cells as u64) == (line_bytes, cells);
        LineShape::known(payload_bytes).find(is_meant).ok_or_else(ImageReader::unfit)
    }
}

/// The bit, among the signs of an entry's home, that says that it may be away.
#[inline(always)]
pub(super) const fn sign(tail: u64) -> u8 {
    1 << (tail % 8)
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
        let last = (count >> self.group_bits).max(1) - 1;
        let group = (line >> self.group_bits).min(last);
        let first = group << self.group_bits;
        (first, if group == last { count - first } else { 1 << self.group_bits })
    }
}

/// How far it is to the other line, in a group of `len`: less than that, and at least one if there are two.
#[inline(always)]
fn step(tail: u64, len: usize) -> usize {
    let spread = tail.wrapping_mul(SPREAD) >> 32;
    let far = 1 + ((spread * (len as u64 - 1)) >> 32) as usize;
    if far < len { far } else { 0 }
}
