//! Random choices of SPOP and the like: SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
//! 2014), seeded by the system.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Random {
        Random(RandomState::new().hash_one(0_u8))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// `count` different numbers below `end` (Floyd's algorithm), in a random order.
    pub(crate) fn sample(&mut self, end: usize, count: usize) -> Vec<usize> {
        let (count, mut chosen, mut order) = (count.min(end), BTreeSet::new(), Vec::new());
        for last in end - count..end {
            let number = self.below(last + 1);
            let number = if chosen.insert(number) { number } else { last };
            chosen.insert(number);
            let at = self.below(order.len() + 1);
            order.push(number);
            let place = order.len() - 1;
            order.swap(at, place);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_different_numbers() {
        let mut random = Random::new();
        for count in 0..=10 {
            let sample = random.sample(10, count);
            assert_eq!(sample.iter().collect::<BTreeSet<_>>().len(), count);
            assert!(sample.iter().all(|&number| number < 10));
        }
    }
}
