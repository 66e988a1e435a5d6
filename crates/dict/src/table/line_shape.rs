//! The shape of a line's cells, and which two lines an entry may be in.

use basalt_base::Result;
use basalt_base::processor::Form;
use basalt_base::words::Words;

use super::bits::low_bits;
use crate::hash::{ShardBits, split};
use crate::image::{ImageReader, ImageWriter};

/// The low bits of a cell's word lie together, so that those of all cells are compared at once.
pub(super) const TAG_BYTES: usize = size_of::<u16>();
/// Behind them, a bit for each eighth of all tails, see [`sign`].
const SIGN_BYTES: usize = 1;
/// So a number of 64 bits can say that it is no word.
const WORD_BITS_MAX: usize = 63;
/// Above all bits of words.
const NO_WORD: u64 = 1 << WORD_BITS_MAX;
/// The two lines of an entry are of one group, which the second cache holds while it is filled.
const GROUP_BYTES: usize = 1 << 19;
const GROUP_LINES_MAX: usize = 1 << 12;
/// A cache line.
pub(super) const LINE_BYTES: usize = 64;
/// Overhangs are behind so many lines: they fill whole cache lines then, however long each is.
pub(super) const BLOCK_LINES: usize = 64;
/// Beyond it, lines take ever longer to fill.
const LOAD_FACTOR_MAX: f64 = 0.95;
/// Lines of so few cells are filled to this, if only speed counts: one entry in five is away then.
const FEW_CELLS: usize = 4;
const FEW_CELLS_LOAD_FACTOR: f64 = 0.9;
/// The most where payloads hang over: lines of four cells do not.
const OVERHANG_LOAD_FACTOR_MAX: f64 = 0.965;
/// Of payloads that hang over, the largest tables have tails as narrow as this, and are filled further.
const NARROW_TAIL_BITS: u32 = 40;
/// Spreads tails over a group: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many cells of which payload share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineShape {
    pub(super) cells: usize,
    pub(super) payload_bytes: usize,
    /// So many bytes of the last cell's payload are behind the lines of its block.
    pub(super) overhang: usize,
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

/// Cells and overhangs of all lines that there are, for payloads of each width: the words have the bits that are left.
///
/// A cache line takes few cells of wide payloads and wastes most of a cell. So the payload of one more cell hangs over: who
/// finds a key there reads a second line, and who finds it elsewhere or not at all reads none.
#[rustfmt::skip]
const KNOWN: [&[(usize, usize)]; 9] = [
    &[(8, 0), (10, 0), (12, 0)],
    &[(7, 0), (8, 0), (10, 0)],
    &[(6, 0), (7, 0), (8, 0), (9, 0)],
    &[(5, 0), (6, 0), (7, 0)],
    &[(5, 0), (6, 0), (7, 0)],
    &[(5, 0), (6, 0)],
    &[(4, 0), (5, 0), (6, 6), (6, 4)],
    &[(4, 0), (5, 2), (5, 0)],
    &[(4, 0), (5, 8), (5, 6), (5, 4), (5, 3)],
];

impl LineShape {
    /// The shape with the smallest cells that can tell hashes apart in a table of `rows` at this load factor, or its own, in
    /// all shards together.
    pub(super) fn of(rows: usize, load_factor: Option<f64>, payload_bytes: usize) -> LineShape {
        let shapes = LineShape::known(payload_bytes);
        let widest = shapes.clone().next().expect("payloads of each width have shapes");
        let fits = |shape: &LineShape| {
            if load_factor.is_none() && shape.is_slow() {
                return false;
            }
            let homes = shape.homes_for(rows, shape.load_factor(load_factor));
            homes >= shape.homes_min(ShardBits::default())
        };
        shapes.filter(fits).last().unwrap_or(widest)
    }

    /// Whether it has one cell more than few ones, and that one hangs over: so little smaller a table is not worth the second lines.
    fn is_slow(self) -> bool {
        self.overhang > 0 && self.cells == FEW_CELLS + 1 && self.tail_bits() > NARROW_TAIL_BITS
    }

    /// All shapes for this payload, those with the smallest cells last.
    pub(super) fn known(payload_bytes: usize) -> impl Iterator<Item = LineShape> + Clone {
        let shape = move |&(cells, overhang)| LineShape { cells, payload_bytes, overhang };
        KNOWN[payload_bytes].iter().map(shape)
    }

    /// How far lines are filled, if `wanted` or to be fast: one in twenty entries is away then, and one in five with few cells and in the
    /// largest tables of wide payloads.
    pub(super) fn load_factor(self, wanted: Option<f64>) -> f64 {
        let (own, most) = match self.overhang {
            0 if self.cells <= FEW_CELLS => (FEW_CELLS_LOAD_FACTOR, LOAD_FACTOR_MAX),
            0 if self.cells < 9 => (0.75, LOAD_FACTOR_MAX),
            0 => (0.8, LOAD_FACTOR_MAX),
            _ if self.tail_bits() > NARROW_TAIL_BITS => (0.85, OVERHANG_LOAD_FACTOR_MAX),
            _ => (0.94, OVERHANG_LOAD_FACTOR_MAX),
        };
        wanted.map_or(own, |wanted| wanted.min(most))
    }

    /// Whether the payload of this cell is not whole in the line.
    #[inline(always)]
    pub(super) const fn hangs_over(self, cell: usize) -> bool {
        self.overhang > 0 && cell == self.cells - 1
    }

    /// Bits of a payload.
    pub(super) const fn payload_bits(self) -> usize {
        8 * self.payload_bytes
    }

    /// Bits of the last cell's payload that are in the line.
    pub(super) const fn last_payload_bits(self) -> usize {
        8 * (self.payload_bytes - self.overhang)
    }

    /// Bits of a word: a tail, and whether it is at home.
    pub(super) const fn word_bits(self) -> u32 {
        let bits = 8 * (LINE_BYTES - SIGN_BYTES + self.overhang) / self.cells - self.payload_bits();
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
        self.rest_bits() as usize + self.payload_bits()
    }

    /// The bit of a line at which that begins.
    pub(super) const fn record_at(self, cell: usize) -> usize {
        8 * (self.signs_at() + SIGN_BYTES) + cell * self.record_bits()
    }

    /// Bytes of a block: lines, and their overhangs.
    pub(super) const fn block_bytes(self) -> usize {
        BLOCK_LINES * (LINE_BYTES + self.overhang)
    }

    /// Bytes of so many lines; of whole blocks, if these have overhangs.
    #[inline(always)]
    pub(super) const fn bytes(self, lines: usize) -> usize {
        if self.overhang > 0 { lines.div_ceil(BLOCK_LINES) * self.block_bytes() } else { lines * LINE_BYTES }
    }

    /// [`Self::bytes`], if there may be so many.
    pub(super) fn checked_bytes(self, lines: usize) -> Option<usize> {
        lines.div_ceil(BLOCK_LINES).checked_mul(self.block_bytes()).map(|_| self.bytes(lines))
    }

    /// Where a line begins.
    #[inline(always)]
    pub(super) const fn line_at(self, line: usize) -> usize {
        line * LINE_BYTES + line / BLOCK_LINES * (BLOCK_LINES * self.overhang)
    }

    /// Where the overhang of a line begins.
    #[inline(always)]
    pub(super) const fn overhang_at(self, line: usize) -> usize {
        (line / BLOCK_LINES + 1) * (BLOCK_LINES * LINE_BYTES) + line * self.overhang
    }

    /// The word of an entry with this tail, at home or away.
    #[inline(always)]
    pub(super) const fn word(self, tail: u64, is_home: bool) -> u64 {
        tail | (is_home as u64) << self.tail_bits()
    }

    /// The word of an entry that is away.
    #[inline(always)]
    pub(super) const fn word_away(self, tail: u64) -> u64 {
        // Nothing with the tail 0 is away, and a free cell looks as if it were.
        self.word(tail, false) | if tail == 0 { NO_WORD } else { 0 }
    }

    /// The tail of a word, and whether its entry is at home.
    #[inline(always)]
    pub(super) fn split(self, word: u64) -> (u64, bool) {
        (word & low_bits(self.tail_bits()), word >> self.tail_bits() != 0)
    }

    /// Whether an entry with this tail, which may be the lower bits of a word, may be away from `line`, its home.
    #[inline(always)]
    pub(super) const fn is_signed(self, line: &[u8], tail: u64) -> bool {
        line[self.signs_at()] & sign(tail) != 0
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
        let lines = GROUP_BYTES / (LINE_BYTES + self.overhang);
        if lines < GROUP_LINES_MAX { lines.ilog2() } else { GROUP_LINES_MAX.ilog2() }
    }

    #[inline(always)]
    pub(super) const fn homes(self, count: u64, shard_bits: ShardBits) -> Homes {
        Homes { count, shard_bits, tail_bits: self.tail_bits(), group_bits: self.group_bits() }
    }

    pub(super) fn save(self, image: &mut ImageWriter<'_>) {
        image.number(self.cells as u64);
        image.number(self.payload_bytes as u64);
        image.number(self.overhang as u64);
    }

    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<LineShape> {
        let cells = image.number()?;
        let payload_bytes = image.number_below(KNOWN.len() as u64)? as usize;
        let overhang = image.number()?;
        let is_meant = |shape: &LineShape| (shape.cells as u64, shape.overhang as u64) == (cells, overhang);
        LineShape::known(payload_bytes).find(is_meant).ok_or_else(ImageReader::unfit)
    }
}

/// Where the entries of a group of hashes belong, each in a shard of its own: what [`Homes`] says of one, computed together.
#[derive(Clone, Copy)]
pub(super) struct Spots<F> {
    shape: LineShape,
    counts: Words<F>,
    homes: Words<F>,
    tails: Words<F>,
}

impl<F: Form> Spots<F> {
    /// In shards of so many lines.
    #[inline(always)]
    pub(super) fn of(
        shape: LineShape,
        hashes: Words<F>,
        shard_bits: ShardBits,
        counts: Words<F>,
    ) -> Spots<F> {
        let (homes, fractions) = (hashes << u64::from(shard_bits.count())).product(counts);
        Spots { shape, counts, homes, tails: fractions >> u64::from(u64::BITS - shape.tail_bits()) }
    }

    /// The home lines, and the words there.
    #[inline(always)]
    pub(super) fn at_home(&self) -> (Words<F>, Words<F>) {
        (self.homes, self.tails | Words::splat(self.shape.word(0, true)))
    }

    /// The other lines, and the words there.
    #[inline(always)]
    pub(super) fn away(&self) -> (Words<F>, Words<F>) {
        let Spots { shape, counts, homes, tails } = *self;
        let (none, one, group_bits) = (Words::splat(0), Words::splat(1), u64::from(shape.group_bits()));
        // As `Homes::group` and `Homes::other`.
        let last = (counts >> group_bits).max(one) - one;
        let group = (homes >> group_bits).min(last);
        let first = group << group_bits;
        let len = group.equal(last).select(counts - first, Words::splat(1 << group_bits));
        let spread = tails.product(Words::splat(SPREAD)).1 >> 32;
        let far = one + (spread.times_low(len - one) >> 32);
        let to = homes - first + (far & len.above(far).ones());
        let other = first + len.above(to).select(to, to - len);
        (other, tails | (tails.equal(none).ones() & NO_WORD))
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

#[cfg(test)]
mod tests {
    use basalt_base::processor::{Loop, run_all};
    use basalt_base::words::WORDS;

    use super::*;

    /// Lines and words of a group, at home and away.
    struct Both(LineShape, [u64; WORDS], ShardBits, [u64; WORDS]);

    impl Loop for Both {
        type Output = [([u64; WORDS], [u64; WORDS]); 2];

        #[inline(always)]
        fn run<F: Form>(self) -> Self::Output {
            let Both(shape, hashes, shard_bits, counts) = self;
            let spots = Spots::<F>::of(shape, Words::of(hashes), shard_bits, Words::of(counts));
            [spots.at_home(), spots.away()].map(|(lines, words)| (lines.numbers(), words.numbers()))
        }
    }

    #[test]
    fn spots_of_a_group_are_those_of_each() {
        for shape in (0..=8).flat_map(LineShape::known) {
            for round in 0..200_u64 {
                let number = |at: u64| (8 * round + at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let hashes: [u64; WORDS] = std::array::from_fn(|at| match (round + at as u64) % 20 {
                    // The first hash of a line has the tail 0.
                    0 => 0,
                    1 => u64::MAX,
                    _ => number(at as u64),
                });
                let most = [1 << 3, 1 << 14, 1 << 24, 1 << 34][round as usize % 4];
                let counts: [u64; WORDS] = std::array::from_fn(|at| 1 + number(at as u64 + 100) % most);
                let shard_bits = ShardBits::of(1 << (round % 17));
                let expected = std::array::from_fn::<_, WORDS, _>(|at| {
                    let homes = shape.homes(counts[at], shard_bits);
                    let spot = homes.spot(hashes[at]);
                    let at_home = (spot.home as u64, shape.word(spot.tail, true));
                    [at_home, (homes.other(spot) as u64, shape.word_away(spot.tail))]
                });
                for found in run_all(|| Both(shape, hashes, shard_bits, counts)) {
                    for (which, (lines, words)) in found.into_iter().enumerate() {
                        for at in 0..WORDS {
                            let seen = (lines[at], words[at]);
                            assert_eq!(seen, expected[at][which], "{shape:?} {} {which}", counts[at]);
                        }
                    }
                }
            }
        }
    }
}
