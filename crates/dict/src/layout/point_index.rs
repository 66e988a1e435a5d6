//! Rectangles in a tree: which of them hold a point.
//!
//! A packed R-tree: the rectangles are sorted into columns by their middle and within a column from bottom
//! to top, every [`NODE`] of them get one around them, and so on up to one. Nothing is ever added.

use std::ops::Range;

/// Rectangles below one node.
const NODE: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rectangle {
    pub(crate) low: [f64; 2],
    pub(crate) high: [f64; 2],
}

#[derive(Debug, Default)]
pub(crate) struct PointIndex {
    /// The number of each rectangle in the lowest level.
    numbers: Vec<u32>,
    /// Level by level from the lowest.
    rectangles: Vec<Rectangle>,
    /// Where each level is.
    levels: Vec<Range<usize>>,
}

impl Rectangle {
    /// Around no point.
    pub(crate) const NOTHING: Rectangle = Rectangle { low: [f64::INFINITY; 2], high: [f64::NEG_INFINITY; 2] };

    pub(crate) fn holds(&self, point: [f64; 2]) -> bool {
        (0..2).all(|axis| self.low[axis] <= point[axis] && point[axis] <= self.high[axis])
    }

    pub(crate) fn around(self, other: Rectangle) -> Rectangle {
        let pick = |axis: usize| (self.low[axis].min(other.low[axis]), self.high[axis].max(other.high[axis]));
        let (x, y) = (pick(0), pick(1));
        Rectangle { low: [x.0, y.0], high: [x.1, y.1] }
    }

    fn middle(&self, axis: usize) -> f64 {
        self.low[axis] / 2.0 + self.high[axis] / 2.0
    }
}

impl PointIndex {
    pub(crate) fn new(given: &[Rectangle]) -> PointIndex {
        let mut numbers: Vec<u32> = (0..given.len() as u32).collect();
        let by = |axis: usize| {
            move |&left: &u32, &right: &u32| {
                let middle = |number: u32| given[number as usize].middle(axis);
                middle(left).total_cmp(&middle(right))
            }
        };
        numbers.sort_by(by(0));
        let column = (((given.len() / NODE) as f64).sqrt().ceil() as usize).max(1) * NODE;
        numbers.chunks_mut(column).for_each(|column| column.sort_by(by(1)));
        let mut rectangles: Vec<Rectangle> = numbers.iter().map(|&number| given[number as usize]).collect();
        let mut level = 0..rectangles.len();
        let mut levels = vec![level.clone()];
        while level.len() > NODE {
            let start = rectangles.len();
            for first in level.clone().step_by(NODE) {
                let below = rectangles[first..level.end.min(first + NODE)].iter().copied();
                let around = below.fold(Rectangle::NOTHING, Rectangle::around);
                rectangles.push(around);
            }
            level = start..rectangles.len();
            levels.push(level.clone());
        }
        PointIndex { numbers, rectangles, levels }
    }

    /// Adds the numbers of the rectangles that hold `point` to `found`, in no order.
    pub(crate) fn find(&self, point: [f64; 2], found: &mut Vec<u32>) {
        let mut open: Vec<(usize, usize)> = Vec::new();
        let top = self.levels.len().saturating_sub(1);
        let width = self.levels.get(top).map_or(0, Range::len);
        open.extend((0..width).map(|at| (top, at)));
        while let Some((level, at)) = open.pop() {
            if !self.rectangles[self.levels[level].start + at].holds(point) {
                continue;
            }
            if level == 0 {
                found.push(self.numbers[at]);
                continue;
            }
            let below = &self.levels[level - 1];
            open.extend((at * NODE..below.len().min((at + 1) * NODE)).map(|at| (level - 1, at)));
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.numbers.capacity() * size_of::<u32>()
            + self.rectangles.capacity() * size_of::<Rectangle>()
            + self.levels.capacity() * size_of::<Range<usize>>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_walk_over_all_finds(
            given in prop::collection::vec((0..50_i32, 0..50_i32, 0..9_i32, 0..9_i32), 0..200),
            asked in prop::collection::vec((0..60_i32, 0..60_i32), 0..30),
        ) {
            let rectangle = |&(x, y, width, height): &(i32, i32, i32, i32)| Rectangle {
                low: [f64::from(x), f64::from(y)],
                high: [f64::from(x + width), f64::from(y + height)],
            };
            let rectangles: Vec<Rectangle> = given.iter().map(rectangle).collect();
            let index = PointIndex::new(&rectangles);
            for (x, y) in asked {
                let point = [f64::from(x), f64::from(y)];
                let mut found = Vec::new();
                index.find(point, &mut found);
                found.sort_unstable();
                let expected: Vec<u32> =
                    (0..rectangles.len() as u32).filter(|&at| rectangles[at as usize].holds(point)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
