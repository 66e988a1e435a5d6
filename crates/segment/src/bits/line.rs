//! Integers as distances from a straight line.
//!
//! Timestamps, ascending identifiers and offsets lie near a line; their distances from it take fewer bits than their
//! distances from the least of them (Liu, Zhang, Zhou et al., "LeCo: Lightweight Compression via Learning Serial
//! Correlations", SIGMOD 2024, with one linear model for each block). A line without slope is a frame of reference.
//!
//! # Invariants
//!
//! All arithmetic is modulo 2^64, so that every line gives the numbers back; a bad one only takes more bits.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::packed::bits_of;

/// Bits of the fraction of a slope: an error of half a unit of it is less than 1 after a thousand numbers.
const FRACTION_BITS: u32 = 10;

/// Number `index` is `base + index * slope / 2^FRACTION_BITS + distance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) base: u64,
    pub(super) slope: u64,
}

impl Line {
    /// The line with the shortest distances, and the bits of the longest one.
    pub(super) fn of(numbers: &[u64]) -> (Line, u32) {
        let flat = Line::flat(numbers);
        let Some(slope) = mean_step(numbers).filter(|_| flat.1 > 0) else { return flat };
        let sloped = Line::sloped(numbers, slope);
        if sloped.1 < flat.1 { sloped } else { flat }
    }

    fn flat(numbers: &[u64]) -> (Line, u32) {
        let (low, high) =
            numbers.iter().fold((u64::MAX, 0), |(low, high), &number| (low.min(number), high.max(number)));
        let base = low.min(high);
        (Line { base, slope: 0 }, bits_of(high - base))
    }

    /// The line with this slope that is just below all numbers.
    fn sloped(numbers: &[u64], slope: u64) -> (Line, u32) {
        let first = numbers.first().copied().unwrap_or(0);
        let line = Line { base: first, slope };
        let (mut low, mut high) = (0, 0);
        for (index, &number) in (0..).zip(numbers) {
            let distance = number.wrapping_sub(line.at(index)).cast_signed();
            (low, high) = (distance.min(low), distance.max(high));
        }
        let base = first.wrapping_add_signed(low);
        (Line { base, slope }, bits_of(high.wrapping_sub(low).cast_unsigned()))
    }

    /// The point of the line.
    #[inline(always)]
    pub(super) fn at(self, index: u64) -> u64 {
        self.base.wrapping_add(index.wrapping_mul(self.slope) >> FRACTION_BITS)
    }

    /// The distance of each number.
    pub(super) fn distances(self, numbers: &[u64]) -> impl Iterator<Item = u64> {
        (0..).zip(numbers).map(move |(index, &number)| number.wrapping_sub(self.at(index)))
    }

    /// Turns distances, the first of which is at `first`, into numbers.
    #[inline]
    pub(super) fn add_to(self, first: u64, distances: &mut [u64]) {
        if self.slope == 0 {
            return distances.iter_mut().for_each(|number| *number = number.wrapping_add(self.base));
        }
        for (index, number) in (first..).zip(distances) {
            *number = number.wrapping_add(self.at(index));
        }
    }
}

/// The slope from the first number to the last; `None` if it is not positive.
fn mean_step(numbers: &[u64]) -> Option<u64> {
    let [first, .., last] = *numbers else { return None };
    let rise = u128::from(last.checked_sub(first)?) << FRACTION_BITS;
    u64::try_from(rise / (numbers.len() - 1) as u128).ok().filter(|&slope| slope > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn distances_give_the_numbers_back(
            numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0..1000_u64, Just(u64::MAX)], 0..300),
            sorted: bool,
        ) {
            let mut numbers = numbers;
            if sorted {
                numbers.sort_unstable();
            }
            let (line, width) = Line::of(&numbers);
            let mut distances: Vec<u64> = line.distances(&numbers).collect();
            prop_assert!(distances.iter().all(|&distance| bits_of(distance) <= width));
            let mut rest = distances.split_off(distances.len() / 2);
            line.add_to(0, &mut distances);
            line.add_to(distances.len() as u64, &mut rest);
            distances.extend(rest);
            prop_assert_eq!(distances, numbers);
        }
    }

    #[test]
    fn steady_steps_take_one_bit() {
        for step in [1_u64, 3, 1000, 86_400_000, 1 << 40] {
            let numbers: Vec<u64> = (0..1024).map(|index| (1 << 60) + index * step).collect();
            assert!(Line::of(&numbers).1 <= 1, "{step}");
        }
        assert_eq!(Line::of(&[7; 100]), (Line { base: 7, slope: 0 }, 0));
        assert_eq!(Line::of(&[]), (Line { base: 0, slope: 0 }, 0));
    }
}
