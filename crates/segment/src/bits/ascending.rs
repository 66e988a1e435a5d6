//! Strictly ascending integers: by index, and the index by integer.
//!
//! A block of [`BLOCK_NUMBERS`] integers is coded alone with Elias-Fano, as in Ottaviano and Venturini, "Partitioned
//! Elias-Fano Indexes" (SIGIR 2014), with blocks of equal counts. The integers of a block less the first one and less
//! their index in it do not descend; of each, the low bits are packed, and the high bits are a unary code: a zero for
//! each step of the high part, a one for each integer. Consecutive integers take no bits.
//!
//! # Layout
//!
//! One number and two sections:
//!
//! ```text
//! count      the number of integers
//! headers    for each block: first u64 | place u64: byte of `payload` << 16 | words of high bits << 8 | low bits
//! payload    for each block: words of high bits, the low bits packed; then padding
//! ```
//!
//! # Cost
//!
//! `2 + log2(d)` bits an integer for a mean distance `d`, and an eighth of a byte for its block. A random read counts
//! the bits of up to six words. A search is a binary one in the headers and one in a block.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;

use basalt_base::region::Section;
use basalt_base::{Error, Result};

use super::packed::{PADDING_BYTES, bits_of, number_in, pack, packed_bytes, window};
use super::select::select_in_word;
use crate::file::{ComponentReader, PendingComponent, Spool, SpoolPlace};
use crate::{Place, ROWS_MAX};

/// Integers of a block.
const BLOCK_NUMBERS: usize = 128;
const HEADER_BYTES: usize = 16;
const WORD_BYTES: usize = size_of::<u64>();
/// The most words of high bits: a bit for each integer, and at most two steps for each.
const WORDS_MAX: usize = (3 * BLOCK_NUMBERS).div_ceil(64);
const LOW_BITS_MAX: u64 = 63;

/// Takes integers in order.
#[derive(Debug)]
pub(crate) struct AscendingBuilder {
    headers: Spool,
    payload: Spool,
    block: Vec<u64>,
    count: u64,
    encoded: Vec<u8>,
}

impl AscendingBuilder {
    pub(crate) fn new(place: &SpoolPlace) -> AscendingBuilder {
        let (headers, payload) = (place.spool(), place.spool());
        AscendingBuilder { headers, payload, block: Vec::new(), count: 0, encoded: Vec::new() }
    }

    /// An error if `number` is not greater than the one before.
    pub(crate) fn push(&mut self, number: u64) -> Result<()> {
        if self.block.last().is_some_and(|&last| last >= number) {
            return Err(Error::logical(format!("{number} follows a number that is not less")));
        }
        if self.block.len() == BLOCK_NUMBERS {
            self.flush()?;
        }
        self.block.push(number);
        self.count += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some(&first) = self.block.first() else { return Ok(()) };
        self.encoded.clear();
        let (words, low) = encode(&self.block, &mut self.encoded);
        let place = self.payload.len() << 16 | (words as u64) << 8 | u64::from(low);
        self.headers.write(&first.to_le_bytes())?;
        self.headers.write(&place.to_le_bytes())?;
        self.payload.write(&self.encoded)?;
        self.block.clear();
        Ok(())
    }

    /// Adds a number and two sections.
    pub(crate) fn finish(mut self, component: &mut PendingComponent) -> Result<()> {
        self.flush()?;
        component.number(self.count);
        self.payload.write(&[0; PADDING_BYTES])?;
        component.section(self.headers);
        component.section(self.payload);
        Ok(())
    }
}

/// The words of high bits, and the low bits of each number.
fn shape(count: usize, most: u64) -> (usize, u32) {
    if most == 0 {
        return (0, 0);
    }
    let low = bits_of(most / count.max(1) as u64).saturating_sub(1);
    let steps = usize::try_from(most >> low).unwrap_or(usize::MAX);
    ((count + steps).div_ceil(64), low)
}

/// Adds up the bytes that integers will take.
#[derive(Debug, Default)]
pub(crate) struct SizeEstimate {
    first: u64,
    last: u64,
    /// Integers of the block that is not full.
    count: usize,
    bytes: u64,
}

impl SizeEstimate {
    pub(crate) fn push(&mut self, number: u64) {
        if self.count == BLOCK_NUMBERS {
            self.bytes = self.bytes();
            self.count = 0;
        }
        if self.count == 0 {
            self.first = number;
        }
        self.last = number;
        self.count += 1;
    }

    pub(crate) fn bytes(&self) -> u64 {
        let Some(count) = self.count.checked_sub(1) else { return self.bytes };
        let most = self.last.saturating_sub(self.first).saturating_sub(count as u64);
        let (words, low) = shape(count, most);
        let payload = words * WORD_BYTES + packed_bytes(if words == 0 { 0 } else { count }, low);
        self.bytes + (HEADER_BYTES + payload) as u64
    }
}

fn encode(block: &[u64], out: &mut Vec<u8>) -> (usize, u32) {
    let [first, rest @ ..] = block else { return (0, 0) };
    let distance = |(index, number): (u64, &u64)| number - first - index;
    let distances: Vec<u64> = (1..).zip(rest).map(distance).collect();
    let (words, low) = shape(distances.len(), distances.last().copied().unwrap_or(0));
    if words == 0 {
        return (0, 0);
    }
    let mut high = [0_u64; WORDS_MAX];
    for (index, distance) in distances.iter().enumerate() {
        let at = index + usize::try_from(distance >> low).unwrap_or(usize::MAX);
        high[at / 64] |= 1 << (at % 64);
    }
    high[..words].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    pack(distances, low, out);
    (words, low)
}

/// Integers by index.
#[derive(Debug)]
pub(crate) struct Ascending {
    headers: Section,
    payload: Section,
    count: usize,
}

/// A block inside of the payload.
#[derive(Clone, Copy, Debug)]
struct Block<'a> {
    first: u64,
    high: &'a [[u8; WORD_BYTES]],
    /// The low bits, and what follows them.
    low: &'a [u8],
    width: u32,
}

impl Ascending {
    /// Reads what [`AscendingBuilder::finish`] added.
    pub(crate) fn open(component: &mut ComponentReader<'_>) -> Result<Ascending> {
        let count = usize::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        let (headers, payload) = (component.resident()?, component.resident()?);
        if headers.len() != count.div_ceil(BLOCK_NUMBERS) * HEADER_BYTES {
            return Err(component
                .place()
                .corrupt(format!("{} bytes of headers for {count} numbers", headers.len())));
        }
        let ascending = Ascending { headers, payload, count };
        ascending.check(component.place())?;
        Ok(ascending)
    }

    /// Blocks are inside of the payload and ascend.
    fn check(&self, place: &Place) -> Result<()> {
        let mut last = None;
        for index in 0..self.count.div_ceil(BLOCK_NUMBERS) {
            match self.block(index).map(|block| block.first) {
                Some(first) if last.is_none_or(|last| last < first) => last = Some(first),
                _ => return Err(place.corrupt(format!("block {index} is out of order or of its section"))),
            }
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn stored_bytes(&self) -> u64 {
        (self.headers.len() + self.payload.len()) as u64
    }

    #[inline(always)]
    fn first(&self, block: usize) -> u64 {
        let header = self.headers.as_chunks::<HEADER_BYTES>().0.get(block);
        header.and_then(|header| header.first_chunk()).map_or(u64::MAX, |first| u64::from_le_bytes(*first))
    }

    /// The numbers of block `index`.
    #[inline(always)]
    fn numbers(&self, index: usize) -> usize {
        (self.count - (index * BLOCK_NUMBERS).min(self.count)).min(BLOCK_NUMBERS)
    }

    #[inline(always)]
    fn block(&self, index: usize) -> Option<Block<'_>> {
        let header = self.headers.as_chunks::<HEADER_BYTES>().0.get(index)?;
        let [first, place] = [0, 1].map(|word| {
            header.as_chunks::<WORD_BYTES>().0.get(word).map_or(0, |bytes| u64::from_le_bytes(*bytes))
        });
        let start = usize::try_from(place >> 16).ok()?;
        let words = usize::try_from(place >> 8 & 0xff).ok().filter(|&words| words <= WORDS_MAX)?;
        let width = u32::try_from((place & 0xff).min(LOW_BITS_MAX + 1))
            .ok()
            .filter(|&low| u64::from(low) <= LOW_BITS_MAX)?;
        let (high, low) = self.payload.get(start..)?.split_at_checked(words * WORD_BYTES)?;
        let needed = packed_bytes(self.numbers(index) - 1, width) + PADDING_BYTES;
        (low.len() >= needed).then_some(Block { first, high: high.as_chunks().0, low, width })
    }

    /// Number `index`, which is less than the count.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        let block = self.block(index / BLOCK_NUMBERS);
        block.map_or(0, |block| block.get(index % BLOCK_NUMBERS))
    }

    /// How many numbers are less than `number`, and whether the next one is it.
    pub(crate) fn locate(&self, number: u64) -> (usize, bool) {
        let headers = self.headers.as_chunks::<HEADER_BYTES>().0;
        let after = headers.partition_point(|header| {
            header.first_chunk().is_some_and(|first| u64::from_le_bytes(*first) <= number)
        });
        let Some(index) = after.checked_sub(1) else { return (0, false) };
        let start = index * BLOCK_NUMBERS;
        let Some(block) = self.block(index).filter(|block| block.first != number) else {
            return (start, self.first(index) == number);
        };
        let (mut low, mut high) = (1, self.numbers(index));
        while low < high {
            let middle = low.midpoint(high);
            match block.get(middle) < number {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        (start + low, low < self.numbers(index) && block.get(low) == number)
    }

    /// Calls `take` with the numbers of `range`, as far as they exist.
    pub(crate) fn for_each<E>(
        &self,
        range: Range<usize>,
        mut take: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (mut at, end) = (range.start, range.end.min(self.count));
        while at < end {
            let index = at / BLOCK_NUMBERS;
            let Some(block) = self.block(index) else { return Ok(()) };
            let last = (end - index * BLOCK_NUMBERS).min(BLOCK_NUMBERS);
            block.for_each(at % BLOCK_NUMBERS..last, &mut take)?;
            at = index * BLOCK_NUMBERS + last;
        }
        Ok(())
    }
}

impl Block<'_> {
    /// Number `index`, below [`BLOCK_NUMBERS`].
    #[inline]
    fn get(&self, index: usize) -> u64 {
        let Some(before) = index.checked_sub(1) else { return self.first };
        let steps = if self.high.is_empty() { 0 } else { self.select(before).saturating_sub(before) };
        self.number(index, steps)
    }

    /// Number `index`, which is at least 1, after `steps` of the high part.
    #[inline(always)]
    fn number(&self, index: usize, steps: usize) -> u64 {
        let low = self.low.get(window(index - 1, self.width)).and_then(|window| window.first_chunk());
        let low = low.map_or(0, |low| number_in(low, index - 1, self.width));
        let distance = (steps as u64) << self.width | if self.high.is_empty() { 0 } else { low };
        self.first.wrapping_add(distance).wrapping_add(index as u64)
    }

    /// The position of set bit `index`; the end if there is none.
    #[inline(always)]
    fn select(&self, index: usize) -> usize {
        let mut left = index;
        for (at, word) in self.high.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let ones = word.count_ones() as usize;
            if left < ones {
                // Less than 64.
                return at * 64 + select_in_word(word, u32::try_from(left).unwrap_or(0)) as usize;
            }
            left -= ones;
        }
        self.high.len() * 64
    }

    fn for_each<E>(
        &self,
        range: Range<usize>,
        take: &mut impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut range = range;
        if range.start == 0 && !range.is_empty() {
            take(self.first)?;
            range.start = 1;
        }
        if range.is_empty() {
            return Ok(());
        }
        if self.high.is_empty() {
            return range.into_iter().try_for_each(|index| take(self.number(index, 0)));
        }
        let mut at = self.select(range.start - 1);
        for index in range {
            take(self.number(index, at.saturating_sub(index - 1)))?;
            at = self.next(at + 1);
        }
        Ok(())
    }

    /// The position of the first set bit from `at` on; the end if there is none.
    #[inline(always)]
    fn next(&self, at: usize) -> usize {
        let Some(word) = self.high.get(at / 64) else { return self.high.len() * 64 };
        let word = u64::from_le_bytes(*word) >> (at % 64);
        if word != 0 {
            return at + word.trailing_zeros() as usize;
        }
        let rest = self.high.iter().enumerate().skip(at / 64 + 1).find(|(_, word)| **word != [0; WORD_BYTES]);
        rest.map_or(self.high.len() * 64, |(at, word)| {
            at * 64 + u64::from_le_bytes(*word).trailing_zeros() as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::file::Access;
    use crate::file::testing::{Parts, TestDir};

    fn build(dir: &TestDir, numbers: &[u64]) -> Parts {
        let mut component = PendingComponent::new("numbers", "ascending");
        let mut builder = AscendingBuilder::new(dir.place());
        numbers.iter().for_each(|&number| builder.push(number).expect("ascending"));
        builder.finish(&mut component).expect("room");
        Parts::of(component)
    }

    fn open(dir: &TestDir, parts: &Parts, access: Access) -> Result<Ascending> {
        let file = dir.file(std::slice::from_ref(parts), access);
        let mut component = file.component("numbers").expect("it is there");
        let opened = Ascending::open(&mut component)?;
        component.finish().map(|()| opened)
    }

    fn check(mut numbers: Vec<u64>, probes: &[u64]) -> f64 {
        numbers.sort_unstable();
        numbers.dedup();
        let dir = TestDir::new();
        let parts = build(&dir, &numbers);
        let mut estimate = SizeEstimate::default();
        numbers.iter().for_each(|&number| estimate.push(number));
        let opened = open(&dir, &parts, Access::Mapped).expect("numbers");
        assert_eq!(opened.len(), numbers.len());
        assert_eq!(opened.stored_bytes(), estimate.bytes() + PADDING_BYTES as u64);
        for (index, &number) in numbers.iter().enumerate() {
            assert_eq!(opened.get(index), number);
        }
        let near =
            numbers.iter().flat_map(|&number| [number.wrapping_sub(1), number, number.wrapping_add(1)]);
        for probe in near.chain(probes.iter().copied()) {
            let found = numbers.binary_search(&probe);
            assert_eq!(opened.locate(probe), (found.unwrap_or_else(|less| less), found.is_ok()), "{probe}");
        }
        for range in [0..numbers.len(), numbers.len() / 3..numbers.len() / 2, 0..0, 1..numbers.len()] {
            let mut taken = Vec::new();
            let done: std::result::Result<(), ()> = opened.for_each(range.clone(), |number| {
                taken.push(number);
                Ok(())
            });
            done.expect("no failure");
            assert_eq!(taken, numbers.get(range).unwrap_or_default());
        }
        opened.stored_bytes() as f64 * 8.0 / numbers.len().max(1) as f64
    }

    proptest! {
        #[test]
        fn numbers_are_found(
            numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0..1000_u64, Just(u64::MAX), Just(0)], 0..600),
            probes in prop::collection::vec(any::<u64>(), 0..20),
        ) {
            check(numbers, &probes);
        }
    }

    #[test]
    fn the_bits_are_near_the_logarithm_of_the_distance() {
        assert!(check((1000..50_000).collect(), &[]) < 1.1);
        let random = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = check((0..50_000).map(|at| random(at) >> 20).collect(), &[]);
        let expected = 2.0 + (((1_u64 << 44) / 50_000) as f64).log2() + 1.0;
        assert!(bits < expected + 0.7, "{bits} of {expected}");
    }

    #[test]
    fn damaged_numbers_give_an_error_or_some_number() {
        let dir = TestDir::new();
        let parts = build(&dir, &(0..140).map(|at| at * at * 50).collect::<Vec<_>>());
        parts.each_damage(|damaged| {
            let Ok(opened) = open(&dir, damaged, Access::Mapped) else { return };
            for index in [0, 1, 77, 128, 139].into_iter().filter(|&index| index < opened.len()) {
                assert!(opened.locate(opened.get(index)).0 <= opened.len());
            }
            let done: std::result::Result<(), ()> = opened.for_each(0..1000, |_| Ok(()));
            done.expect("no failure");
        });
    }
}
