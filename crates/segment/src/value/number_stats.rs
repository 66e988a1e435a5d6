//! The first pass over a column of numbers: all that the choice of its encoding needs.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use super::distinct::Distinct;
use super::packed::{BLOCK, Multiples};
use super::share::Share;
use crate::bits::blocks::block_bits;

/// Images of the sample.
const SAMPLE_MAX: usize = 4096;

/// Figures of images. But for the sample, they are exact.
#[derive(Debug)]
pub(super) struct NumberStats {
    count: u64,
    first: u64,
    last: u64,
    low: u64,
    high: u64,
    /// Divides every difference; 0 if there is none.
    divisor: u64,
    is_sorted: bool,
    distinct: Distinct<u64>,
    block: Vec<u64>,
    /// Bits of the blocks before `block`, as [`super::packed`] would store them.
    block_bits: u64,
    share: Share,
    sample: Vec<(u64, u64)>,
}

impl Default for NumberStats {
    fn default() -> NumberStats {
        NumberStats {
            count: 0,
            first: 0,
            last: 0,
            low: u64::MAX,
            high: 0,
            divisor: 0,
            is_sorted: true,
            distinct: Distinct::default(),
            block: Vec::with_capacity(BLOCK),
            block_bits: 0,
            share: Share::default(),
            sample: Vec::new(),
        }
    }
}

impl NumberStats {
    pub(super) fn add(&mut self, images: &[u64]) {
        for &image in images {
            self.add_one(image);
        }
    }

    #[inline]
    fn add_one(&mut self, image: u64) {
        if self.count == 0 {
            (self.first, self.last) = (image, image);
        }
        if self.count == 0 || image != self.last {
            self.distinct.add(&image, size_of::<u64>());
            (self.low, self.high) = (self.low.min(image), self.high.max(image));
            self.is_sorted &= image >= self.last;
            if self.divisor != 1 {
                self.divisor = greatest_divisor(self.divisor, image.abs_diff(self.first));
            }
        }
        self.last = image;
        self.block.push(image);
        if self.block.len() == BLOCK {
            self.block_bits += block_bits(&self.block);
            self.block.clear();
        }
        if self.share.has(self.count) {
            self.sample.push((self.count, image));
            if self.sample.len() > SAMPLE_MAX {
                self.share.halve();
                self.sample.retain(|&(position, _)| self.share.has(position));
            }
        }
        self.count += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The image of the last value; for NULLs that follow.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The least and the greatest image; `None` if there is no value.
    pub(super) fn bounds(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.low, self.high))
    }

    pub(super) fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    pub(super) fn distinct(&self) -> &Distinct<u64> {
        &self.distinct
    }

    /// All images are multiples of the scale above the least one.
    pub(super) fn multiples(&self) -> Multiples {
        match self.divisor {
            0 | 1 => Multiples::ALL,
            scale => Multiples { base: self.low, scale },
        }
    }

    /// Bits of a value in blocks, before they are divided by the scale of [`NumberStats::multiples`].
    pub(super) fn packed_bits(&self) -> f64 {
        let bits = self.block_bits + if self.block.is_empty() { 0 } else { block_bits(&self.block) };
        bits as f64 / self.count.max(1) as f64
    }

    pub(super) fn sample(&self) -> Vec<u64> {
        self.sample.iter().map(|&(_, image)| image).collect()
    }
}

fn greatest_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_values() {
        let images: Vec<u64> = (0..100_000).map(|at| 5000 + at * at % 1013 * 60).collect();
        let mut stats = NumberStats::default();
        images.chunks(777).for_each(|images| stats.add(images));
        assert_eq!((stats.count(), stats.last()), (100_000, images[99_999]));
        assert_eq!(stats.bounds(), images.iter().min().copied().zip(images.iter().max().copied()));
        assert_eq!(stats.multiples(), Multiples { base: 5000, scale: 60 });
        assert!(!stats.is_sorted() && stats.distinct().len() == Some(507));
        assert!((16.0..16.5).contains(&stats.packed_bits()), "{}", stats.packed_bits());
        assert!((SAMPLE_MAX / 4..=SAMPLE_MAX).contains(&stats.sample().len()));
    }

    #[test]
    fn no_value_has_no_bounds() {
        let stats = NumberStats::default();
        assert_eq!((stats.bounds(), stats.multiples(), stats.packed_bits()), (None, Multiples::ALL, 0.0));
    }
}
