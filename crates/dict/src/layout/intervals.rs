//! Intervals of groups: which interval of a group holds a point.
//!
//! # Layout
//!
//! The intervals of a group are adjacent, in order of start, then end, then arrival. Each group is an implicit search
//! tree: the root of `left..right` is its middle, and is stored with the greatest end in `left..right`.
//!
//! # Cost
//!
//! Three bounds and a row number for each interval. A search takes as many steps as the tree is high.

use std::ops::Range;

use basalt_base::Result;

use crate::image::{ImageReader, ImageWriter};
use crate::values::{Number, Numbers};

/// A bound, with a least and a greatest value for open ends.
pub(crate) trait Bound: Number + Ord {
    const LEAST: Self;
    const GREATEST: Self;
}

impl Bound for i64 {
    const LEAST: i64 = i64::MIN;
    const GREATEST: i64 = i64::MAX;
}

impl Bound for i128 {
    const LEAST: i128 = i128::MIN;
    const GREATEST: i128 = i128::MAX;
}

/// Which of several intervals is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeLookup {
    /// The one that starts first; of several, the one that ends first.
    Min,
    /// The one that starts last; of several, the one that ends last.
    Max,
}

/// An interval that includes both of its bounds, and the number of its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval<T> {
    pub(crate) group: u32,
    pub(crate) low: T,
    pub(crate) high: T,
    pub(crate) row: u32,
}

#[derive(Debug)]
pub(crate) struct Intervals<T> {
    /// Where each group begins, and the end of the last group.
    starts: Numbers<u32>,
    lows: Numbers<T>,
    highs: Numbers<T>,
    /// The greatest end in the subtree of the node.
    reaches: Numbers<T>,
    rows: Numbers<u32>,
}

impl<T: Bound> Intervals<T> {
    /// `groups` is greater than the greatest group.
    pub(crate) fn new(mut intervals: Vec<Interval<T>>, groups: usize) -> Intervals<T> {
        intervals.sort_unstable_by_key(|of| (of.group, of.low, of.high, of.row));
        let mut starts = vec![0; groups + 1];
        for interval in &intervals {
            starts[interval.group as usize + 1] += 1;
        }
        for group in 0..groups {
            starts[group + 1] += starts[group];
        }
        let highs: Vec<T> = intervals.iter().map(|interval| interval.high).collect();
        let mut reaches = highs.clone();
        for group in 0..groups {
            set_reach(&mut reaches, &highs, starts[group] as usize..starts[group + 1] as usize);
        }
        Intervals {
            lows: intervals.iter().map(|interval| interval.low).collect(),
            rows: intervals.iter().map(|interval| interval.row).collect(),
            starts: starts.into_iter().collect(),
            highs: highs.into_iter().collect(),
            reaches: reaches.into_iter().collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The range of a group's intervals; empty if there is no such group.
    fn range(&self, group: usize) -> Range<usize> {
        let ends = self.starts.get(group).zip(self.starts.get(group + 1));
        ends.map_or(0..0, |(start, end)| start as usize..(end as usize).min(self.len()))
    }

    /// The row of the interval of `group` that contains `point`.
    pub(crate) fn find(&self, group: usize, point: T, lookup: RangeLookup) -> Option<u32> {
        let range = self.range(group);
        let at = match lookup {
            RangeLookup::Min => self.first(range, point),
            RangeLookup::Max => {
                let begun = self.begun(range.clone(), point);
                self.last(range.clone(), begun, point).map(|at| self.first_equal(range.start, at))
            }
        };
        at.and_then(|at| self.rows.get(at))
    }

    fn reaches(&self, at: usize, point: T) -> bool {
        self.reaches.get(at).is_some_and(|reach| reach >= point)
    }

    fn begins_by(&self, at: usize, point: T) -> bool {
        self.lows.get(at).is_some_and(|low| low <= point)
    }

    fn ends_from(&self, at: usize, point: T) -> bool {
        self.highs.get(at).is_some_and(|high| high >= point)
    }

    /// The first interval of `range` that begins after `point`.
    fn begun(&self, range: Range<usize>, point: T) -> usize {
        let (mut left, mut right) = (range.start, range.end);
        while left < right {
            let middle = left.midpoint(right);
            if self.begins_by(middle, point) { left = middle + 1 } else { right = middle }
        }
        left
    }

    fn first(&self, range: Range<usize>, point: T) -> Option<usize> {
        let (mut left, mut right) = (range.start, range.end);
        while left < right {
            let middle = left.midpoint(right);
            if !self.reaches(middle, point) {
                return None;
            }
            let left_reaches = left < middle && self.reaches(left.midpoint(middle), point);
            // All intervals after one that starts too late start too late as well.
            if !self.begins_by(middle, point) || left_reaches {
                right = middle;
            } else if self.ends_from(middle, point) {
                return Some(middle);
            } else {
                left = middle + 1;
            }
        }
        None
    }

    /// The last interval of `range` before `begun` that ends at `point` or later.
    fn last(&self, range: Range<usize>, begun: usize, point: T) -> Option<usize> {
        if range.is_empty() || range.start >= begun {
            return None;
        }
        let middle = range.start.midpoint(range.end);
        if !self.reaches(middle, point) {
            return None;
        }
        if let Some(found) = self.last(middle + 1..range.end, begun, point) {
            return Some(found);
        }
        if middle < begun && self.ends_from(middle, point) {
            return Some(middle);
        }
        self.last(range.start..middle, begun, point)
    }

    /// The first one to arrive of the intervals that are equal to the one at `at`.
    fn first_equal(&self, start: usize, at: usize) -> usize {
        let bounds = |at: usize| (self.lows.get(at), self.highs.get(at));
        let (mut left, mut right) = (start, at);
        while left < right {
            let middle = left.midpoint(right);
            if bounds(middle) < bounds(at) { left = middle + 1 } else { right = middle }
        }
        left
    }

    /// Every interval of a group.
    pub(crate) fn of_group(&self, group: usize) -> impl Iterator<Item = Interval<T>> + '_ {
        self.range(group).filter_map(move |at| {
            let (low, high, row) = (self.lows.get(at)?, self.highs.get(at)?, self.rows.get(at)?);
            Some(Interval { group: group as u32, low, high, row })
        })
    }

    /// Compares the checksums of all that a search in a group reads.
    pub(crate) fn check(&self, group: usize) -> Result<()> {
        self.starts.check(group..group + 2)?;
        let range = self.range(group);
        [&self.lows, &self.highs, &self.reaches].into_iter().try_for_each(|of| of.check(range.clone()))?;
        self.rows.check(range)
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        [self.starts.len(), self.len()].into_iter().for_each(|count| image.number(count as u64));
        self.starts.save(image)?;
        [&self.lows, &self.highs, &self.reaches].into_iter().try_for_each(|of| of.save(image))?;
        self.rows.save(image)
    }

    /// Opens what [`Intervals::save`] wrote.
    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<Intervals<T>> {
        let (starts, len) = (image.count()?, image.count()?);
        Ok(Intervals {
            starts: Numbers::open(starts, image)?,
            lows: Numbers::open(len, image)?,
            highs: Numbers::open(len, image)?,
            reaches: Numbers::open(len, image)?,
            rows: Numbers::open(len, image)?,
        })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let bounds = [&self.lows, &self.highs, &self.reaches].map(Numbers::heap_bytes);
        bounds.iter().sum::<usize>() + self.starts.heap_bytes() + self.rows.heap_bytes()
    }
}

/// Sets the greatest end of every node of the tree over `range`. The recursion is as deep as the logarithm of its
/// length.
fn set_reach<T: Bound>(reaches: &mut [T], highs: &[T], range: Range<usize>) -> Option<T> {
    if range.is_empty() {
        return None;
    }
    let middle = range.start.midpoint(range.end);
    let left = set_reach(reaches, highs, range.start..middle);
    let right = set_reach(reaches, highs, middle + 1..range.end);
    reaches[middle] = highs[middle].max(left.unwrap_or(T::LEAST)).max(right.unwrap_or(T::LEAST));
    Some(reaches[middle])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_walk_over_all_finds(
            given in prop::collection::vec((0..3_u32, 0..12_i64, 0..12_i64), 0..60),
        ) {
            let intervals: Vec<Interval<i64>> = given
                .iter()
                .enumerate()
                .map(|(row, &(group, low, high))| Interval { group, low, high, row: row as u32 })
                .collect();
            let index = Intervals::new(intervals.clone(), 3);
            for (group, point) in (0..3_u32).flat_map(|group| (-1..13).map(move |point| (group, point))) {
                let holding =
                    || intervals.iter().filter(|i| i.group == group && i.low <= point && point <= i.high);
                let first = holding().min_by_key(|i| (i.low, i.high, i.row)).map(|i| i.row);
                let last = holding()
                    .max_by_key(|i| (i.low, i.high, std::cmp::Reverse(i.row)))
                    .map(|i| i.row);
                prop_assert_eq!(index.find(group as usize, point, RangeLookup::Min), first);
                prop_assert_eq!(index.find(group as usize, point, RangeLookup::Max), last);
            }
            let count: usize = (0..4).map(|group| index.of_group(group).count()).sum();
            prop_assert_eq!((count, index.len()), (given.len(), given.len()));
        }
    }
}
