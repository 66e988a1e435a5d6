//! An R-tree of rectangles: which of them contain a point.
//!
//! A packed R-tree: the rectangles are sorted into columns by their middle, and within a column from bottom to top.
//! Every [`NODE`] of them get a bounding rectangle, and so on up to the root. It never changes.

use std::ops::Range;

use basalt_base::Result;

use crate::image::{ImageReader, ImageWriter};
use crate::values::Numbers;

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
    numbers: Numbers<u32>,
    /// The rectangles of each level from the lowest one on, as the coordinates of two corners.
    rectangles: Numbers<[f64; 4]>,
    /// Where each level begins.
    levels: Vec<Range<usize>>,
}

/// Where the levels over `count` rectangles begin.
fn levels_over(rectangles: usize) -> Vec<Range<usize>> {
    let mut level = 0..rectangles;
    let mut levels = vec![level.clone()];
    while level.len() > NODE {
        level = level.end..level.end + level.len().div_ceil(NODE);
        levels.push(level.clone());
    }
    levels
}

impl Rectangle {
    /// A rectangle that contains no point.
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
        let levels = levels_over(given.len());
        for below in &levels[..levels.len() - 1] {
            for first in below.clone().step_by(NODE) {
                let below = rectangles[first..below.end.min(first + NODE)].iter().copied();
                let around = below.fold(Rectangle::NOTHING, Rectangle::around);
                rectangles.push(around);
            }
        }
        let corners = rectangles.iter().map(|of| [of.low[0], of.low[1], of.high[0], of.high[1]]);
        PointIndex { numbers: numbers.into_iter().collect(), rectangles: corners.collect(), levels }
    }

    /// Adds the numbers of the rectangles that contain `point` to `found`, in any order. With `check` it compares the
    /// checksums of what it reads.
    pub(crate) fn find(&self, point: [f64; 2], check: bool, found: &mut Vec<u32>) -> Result<()> {
        let mut open: Vec<(usize, usize)> = Vec::new();
        let top = self.levels.len().saturating_sub(1);
        let width = self.levels.get(top).map_or(0, Range::len);
        open.extend((0..width).map(|at| (top, at)));
        while let Some((level, at)) = open.pop() {
            let place = self.levels[level].start + at;
            if check {
                self.rectangles.check(place..place + 1)?;
            }
            if !self.rectangle(place).holds(point) {
                continue;
            }
            if level == 0 {
                if check {
                    self.numbers.check(at..at + 1)?;
                }
                found.extend(self.numbers.get(at));
                continue;
            }
            let below = &self.levels[level - 1];
            open.extend((at * NODE..below.len().min((at + 1) * NODE)).map(|at| (level - 1, at)));
        }
        Ok(())
    }

    fn rectangle(&self, place: usize) -> Rectangle {
        self.rectangles.get(place).map_or(Rectangle::NOTHING, |[left, bottom, right, top]| Rectangle {
            low: [left, bottom],
            high: [right, top],
        })
    }

    pub(crate) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        image.number(self.numbers.len() as u64);
        self.numbers.save(image)?;
        self.rectangles.save(image)
    }

    /// Opens what [`PointIndex::save`] wrote.
    pub(crate) fn open(image: &mut ImageReader<'_>) -> Result<PointIndex> {
        let len = image.number_below(u64::from(u32::MAX))? as usize;
        let (numbers, levels) = (Numbers::open(len, image)?, levels_over(len));
        let rectangles = Numbers::open(levels.last().map_or(0, |level| level.end), image)?;
        Ok(PointIndex { numbers, rectangles, levels })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.numbers.heap_bytes()
            + self.rectangles.heap_bytes()
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
                index.find(point, true, &mut found).expect("in memory");
                found.sort_unstable();
                let expected: Vec<u32> =
                    (0..rectangles.len() as u32).filter(|&at| rectangles[at as usize].holds(point)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
