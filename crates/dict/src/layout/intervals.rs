//! Intervals of groups: which interval of a group holds a point.
//!
//! # Layout
//!
//! The intervals of a group lie together, in order of start, then end, then arrival. Over each group
//! there is a search tree without pointers: the root of `left..right` is its middle, and beside it
//! stands the greatest end in `left..right`.
//!
//! # Cost
//!
//! Three bounds and a row number an interval; a search takes as many steps as the tree is high.

use std::ops::Range;

/// A bound that can be compared, with a least and a greatest value for open ends.
pub(crate) trait Bound: Copy + Ord + Send + Sync {
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

/// Which interval is taken where several hold the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeLookup {
    /// The one that starts first; of those, the one that ends first.
    Min,
    /// The one that starts last; of those, the one that ends last.
    Max,
}

/// An interval that includes both of its bounds, and the row that it stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval<T> {
    pub(crate) group: u32,
    pub(crate) low: T,
    pub(crate) high: T,
    pub(crate) row: u32,
}

pub(crate) struct Intervals<T> {
    /// Where each group begins, and the end of the last.
    starts: Vec<u32>,
    lows: Vec<T>,
    highs: Vec<T>,
    /// The greatest end below the node.
    reaches: Vec<T>,
    rows: Vec<u32>,
}

impl<T: Bound> Intervals<T> {
    /// `groups` is more than the greatest group.
    pub(crate) fn new(mut intervals: Vec<Interval<T>>, groups: usize) -> Intervals<T> {
        intervals.sort_by_key(|interval| (interval.group, interval.low, interval.high, interval.row));
        let mut starts = vec![0; groups + 1];
        for interval in &intervals {
            starts[interval.group as usize + 1] += 1;
        }
        for group in 0..groups {
            starts[group + 1] += starts[group];
        }
        let lows = intervals.iter().map(|interval| interval.low).collect();
        let highs: Vec<T> = intervals.iter().map(|interval| interval.high).collect();
        let rows = intervals.iter().map(|interval| interval.row).collect();
        let mut reaches = highs.clone();
        for group in 0..groups {
            set_reach(&mut reaches, &highs, starts[group] as usize..starts[group + 1] as usize);
        }
        Intervals { starts, lows, highs, reaches, rows }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of the interval of `group` that holds `point`.
    pub(crate) fn find(&self, group: u32, point: T, lookup: RangeLookup) -> Option<u32> {
        let group = group as usize;
        let range = self.starts[group] as usize..self.starts[group + 1] as usize;
        let at = match lookup {
            RangeLookup::Min => self.first(range, point),
            RangeLookup::Max => {
                let begun = range.start + self.lows[range.clone()].partition_point(|&low| low <= point);
                self.last(range.clone(), begun, point).map(|at| self.first_equal(range.start, at))
            }
        };
        at.map(|at| self.rows[at])
    }

    fn first(&self, range: Range<usize>, point: T) -> Option<usize> {
        let (mut left, mut right) = (range.start, range.end);
        while left < right {
            let middle = left.midpoint(right);
            if self.reaches[middle] < point {
                return None;
            }
            let left_reaches = left < middle && self.reaches[left.midpoint(middle)] >= point;
            // Behind a middle that starts too late all start later still.
            if self.lows[middle] > point || left_reaches {
                right = middle;
            } else if self.highs[middle] >= point {
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
        if self.reaches[middle] < point {
            return None;
        }
        if let Some(found) = self.last(middle + 1..range.end, begun, point) {
            return Some(found);
        }
        if middle < begun && self.highs[middle] >= point {
            return Some(middle);
        }
        self.last(range.start..middle, begun, point)
    }

    /// Of the intervals equal to that at `at`, the one that came first.
    fn first_equal(&self, start: usize, at: usize) -> usize {
        let bounds = |at: usize| (self.lows[at], self.highs[at]);
        let (mut left, mut right) = (start, at);
        while left < right {
            let middle = left.midpoint(right);
            if bounds(middle) < bounds(at) { left = middle + 1 } else { right = middle }
        }
        left
    }

    /// Every interval with its group.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Interval<T>> + '_ {
        let groups = self.starts.windows(2).enumerate();
        groups.flat_map(move |(group, ends)| {
            (ends[0] as usize..ends[1] as usize).map(move |at| Interval {
                group: group as u32,
                low: self.lows[at],
                high: self.highs[at],
                row: self.rows[at],
            })
        })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let bounds = self.lows.capacity() + self.highs.capacity() + self.reaches.capacity();
        bounds * size_of::<T>() + (self.starts.capacity() + self.rows.capacity()) * size_of::<u32>()
    }
}

/// Sets the reach of every node of the tree over `range`. It is as deep as the logarithm of its length.
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
            for (group, point) in (0..3).flat_map(|group| (-1..13).map(move |point| (group, point))) {
                let holding =
                    || intervals.iter().filter(|i| i.group == group && i.low <= point && point <= i.high);
                let first = holding().min_by_key(|i| (i.low, i.high, i.row)).map(|i| i.row);
                let last = holding()
                    .max_by_key(|i| (i.low, i.high, std::cmp::Reverse(i.row)))
                    .map(|i| i.row);
                prop_assert_eq!(index.find(group, point, RangeLookup::Min), first);
                prop_assert_eq!(index.find(group, point, RangeLookup::Max), last);
            }
            prop_assert_eq!((index.iter().count(), index.len()), (given.len(), given.len()));
        }
    }
}
