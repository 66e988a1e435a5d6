//! A set of ranks of one segment, as bits.

use std::ops::Range;

use basalt_segment::Rank;

const WORD_BITS: u32 = u64::BITS;

/// Some of the ranks of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankSet {
    words: Vec<u64>,
    rows: u32,
}

impl RankSet {
    /// No rank of a segment with `rows` rows.
    pub fn empty(rows: u32) -> RankSet {
        RankSet { words: vec![0; rows.div_ceil(WORD_BITS) as usize], rows }
    }

    /// The rows of the segment.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    #[inline]
    pub fn contains(&self, rank: Rank) -> bool {
        let word = self.words.get((rank / WORD_BITS) as usize);
        word.is_some_and(|word| word >> (rank % WORD_BITS) & 1 == 1)
    }

    /// Adds a rank. One that the segment does not have is not added.
    pub fn insert(&mut self, rank: Rank) {
        if rank < self.rows
            && let Some(word) = self.words.get_mut((rank / WORD_BITS) as usize)
        {
            *word |= 1 << (rank % WORD_BITS);
        }
    }

    /// Adds the ranks of `other`, a set of the same segment.
    pub fn add(&mut self, other: &RankSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// The number of ranks.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Appends the ranks of `ranks` that are not in the set.
    pub fn missing_of(&self, ranks: Range<Rank>, out: &mut Vec<Rank>) {
        let mut from = ranks.start;
        while from < ranks.end {
            let (word, shift) = (from / WORD_BITS, from % WORD_BITS);
            let end = ranks.end.min((word + 1).saturating_mul(WORD_BITS));
            let set = self.words.get(word as usize).copied().unwrap_or_default() >> shift;
            if set == 0 {
                out.extend(from..end);
            } else {
                out.extend((from..end).filter(|rank| set >> (rank - from) & 1 == 0));
            }
            from = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_agrees_with_the_model(
            rows in 0..300_u32,
            ranks in prop::collection::vec(0..310_u32, 0..80),
            from in 0..300_u32,
            to in 0..300_u32,
        ) {
            let mut set = RankSet::empty(rows);
            let model: BTreeSet<u32> = ranks.iter().copied().filter(|&rank| rank < rows).collect();
            ranks.iter().for_each(|&rank| set.insert(rank));
            prop_assert_eq!(set.count() as usize, model.len());
            prop_assert!((0..320).all(|rank| set.contains(rank) == model.contains(&rank)));
            let range = from.min(rows)..to.min(rows);
            let mut missing = Vec::new();
            set.missing_of(range.clone(), &mut missing);
            prop_assert_eq!(missing, range.filter(|rank| !model.contains(rank)).collect::<Vec<_>>());
            let mut both = RankSet::empty(rows);
            both.insert(0);
            both.add(&set);
            prop_assert_eq!(both.count() as usize, model.len() + usize::from(rows > 0 && !model.contains(&0)));
        }
    }
}
