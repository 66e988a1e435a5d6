//! The edit distance of two strings, 64 cells of the table at a time.
//!
//! Myers, "A fast bit-vector algorithm for approximate string matching based on dynamic programming" (1999), in the
//! form of Hyyro (2003) for distances of whole strings: neighbours in the table differ by one at most, so that a column
//! is two bits for each unit of the needle.

use std::collections::HashMap;

/// Units below this are looked up in an array.
const DIRECT_UNITS: usize = 256;

/// A string that others are compared with.
pub(super) struct Needle {
    units: usize,
    /// The units of the needle that are equal to a unit, a bit each: [`Needle::words`] words for each small unit.
    direct: Vec<u64>,
    others: HashMap<u32, Box<[u64]>>,
    /// Words for units that the needle does not have.
    none: Box<[u64]>,
    column: Vec<Differences>,
}

/// Where a cell is greater, or less, than the one above it.
#[derive(Clone, Copy)]
struct Differences {
    plus: u64,
    minus: u64,
}

impl Needle {
    /// `units` is not empty.
    pub(super) fn new(units: &[u32]) -> Needle {
        let words = units.len().div_ceil(u64::BITS as usize);
        let none = vec![0; words].into_boxed_slice();
        let mut direct = vec![0; words * DIRECT_UNITS];
        let mut others: HashMap<u32, Box<[u64]>> = HashMap::new();
        for (at, &unit) in units.iter().enumerate() {
            let (word, bit) = (at / u64::BITS as usize, 1 << (at % u64::BITS as usize));
            match direct.get_mut(unit as usize * words + word) {
                Some(equal) => *equal |= bit,
                None => others.entry(unit).or_insert_with(|| none.clone())[word] |= bit,
            }
        }
        Needle { units: units.len(), direct, others, none, column: Vec::with_capacity(words) }
    }

    pub(super) fn words(&self) -> usize {
        self.none.len()
    }

    pub(super) fn distance(&mut self, text: &[u32]) -> u64 {
        let words = self.words();
        self.column.clear();
        self.column.resize(words, Differences { plus: !0, minus: 0 });
        let mut distance = self.units as u64;
        let last_bit = 1_u64 << ((self.units - 1) % u64::BITS as usize);
        for &unit in text {
            let direct = self.direct.get(unit as usize * words..(unit as usize + 1) * words);
            let equal = direct.unwrap_or_else(|| self.others.get(&unit).unwrap_or(&self.none));
            // The first cell of each column is one greater than that of the column before.
            let mut from_above = Differences { plus: 1, minus: 0 };
            for (at, (column, &equal)) in self.column.iter_mut().zip(equal).enumerate() {
                let across = column.advance(equal, from_above);
                if at + 1 == words {
                    distance += u64::from(across.plus & last_bit != 0);
                    distance -= u64::from(across.minus & last_bit != 0);
                }
                from_above = Differences { plus: across.plus >> 63, minus: across.minus >> 63 };
            }
        }
        distance
    }
}

impl Differences {
    /// Becomes the differences of the next column. Returns those between the two columns, a bit for each row.
    #[inline]
    fn advance(&mut self, equal: u64, from_above: Differences) -> Differences {
        let Differences { plus, minus } = *self;
        let diagonal = equal | from_above.minus;
        let zero = (((diagonal & plus).wrapping_add(plus)) ^ plus) | diagonal;
        let across = Differences { plus: minus | !(zero | plus), minus: plus & zero };
        let shifted = Differences {
            plus: across.plus << 1 | from_above.plus,
            minus: across.minus << 1 | from_above.minus,
        };
        let unchanged = equal | minus;
        self.plus = shifted.minus | !(unchanged | shifted.plus);
        self.minus = shifted.plus & unchanged;
        across
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The whole table.
    fn distance(one: &[u32], other: &[u32]) -> u64 {
        let mut row: Vec<u64> = (0..=other.len() as u64).collect();
        for (line, a) in one.iter().enumerate() {
            let before = std::mem::replace(&mut row, vec![line as u64 + 1]);
            for (at, b) in other.iter().enumerate() {
                let next = (row[at] + 1).min(before[at + 1] + 1).min(before[at] + u64::from(a != b));
                row.push(next);
            }
        }
        row[other.len()]
    }

    fn check(needle: &[u32], text: &[u32]) {
        let mut prepared = Needle::new(needle);
        // Twice: nothing stays from the first time.
        for _ in 0..2 {
            assert_eq!(prepared.distance(text), distance(needle, text), "{needle:?} {text:?}");
        }
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_table(
            needle in prop::collection::vec(prop::sample::select(vec![1, 2, 255, 256, 1 << 31]), 1..200),
            text in prop::collection::vec(prop::sample::select(vec![1, 2, 255, 256, u32::MAX]), 0..200),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 1..4_u32), 0..9),
        ) {
            check(&needle, &text);
            let mut near = needle.clone();
            edits.into_iter().for_each(|(at, unit)| near.insert(at.index(near.len()), unit));
            check(&needle, &near);
            check(&near, &needle);
        }
    }

    #[test]
    fn needles_end_at_the_end_of_a_word_or_not() {
        for units in [1, 63, 64, 65, 127, 128, 129] {
            let needle: Vec<u32> = (0..units).map(|at| at % 5).collect();
            check(&needle, &[]);
            check(&needle, &needle);
            check(&needle, &needle[1..]);
            check(&needle, &needle[..needle.len() - 1]);
        }
    }
}
