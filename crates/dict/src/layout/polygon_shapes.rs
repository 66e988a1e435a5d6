//! Polygons by row: their rings, and the points of the rings, in memory or in a file.

use std::ops::Range;

use basalt_base::Result;

use super::point_index::Rectangle;
use crate::image::{ImageReader, ImageWriter};
use crate::values::Numbers;

/// A point, or the end of an edge.
pub(super) type Point = [f64; 2];

/// The shapes of rows: each is polygons with holes.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// Where the rings of each polygon end.
    rings: Numbers<u64>,
    /// Where the points of each ring end.
    points: Numbers<u64>,
    coordinates: Numbers<Point>,
}

/// One shape.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    shapes: &'a Shapes,
    number: usize,
}

impl Shapes {
    pub(super) fn push(&mut self, rings: &[Vec<Point>]) {
        let mut end = self.coordinates.len() as u64;
        self.points.extend(rings.iter().map(|ring| {
            end += ring.len() as u64;
            end
        }));
        self.coordinates.extend(rings.iter().flatten().copied());
        self.rings.extend([self.points.len() as u64]);
    }

    pub(super) fn get(&self, number: usize) -> Shape<'_> {
        Shape { shapes: self, number }
    }

    pub(super) fn len(&self) -> usize {
        self.rings.len()
    }

    pub(super) fn shrink(&mut self) {
        self.rings.shrink();
        self.points.shrink();
        self.coordinates.shrink();
    }

    pub(super) fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        let lens = [self.rings.len(), self.points.len(), self.coordinates.len()];
        lens.into_iter().for_each(|len| image.number(len as u64));
        self.rings.save(image)?;
        self.points.save(image)?;
        self.coordinates.save(image)
    }

    /// Opens what [`Shapes::save`] wrote.
    pub(super) fn open(image: &mut ImageReader<'_>) -> Result<Shapes> {
        let (rings, points, coordinates) = (image.count()?, image.count()?, image.count()?);
        Ok(Shapes {
            rings: Numbers::open(rings, image)?,
            points: Numbers::open(points, image)?,
            coordinates: Numbers::open(coordinates, image)?,
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.rings.heap_bytes() + self.points.heap_bytes() + self.coordinates.heap_bytes()
    }
}

/// The range between the end before a position and the end at it.
fn between(ends: &Numbers<u64>, at: usize) -> Range<usize> {
    let start = at.checked_sub(1).map_or(Some(0), |before| ends.get(before));
    start.zip(ends.get(at)).map_or(0..0, |(start, end)| start as usize..end as usize)
}

impl<'a> Shape<'a> {
    /// The points of each ring.
    fn rings(self) -> impl Iterator<Item = Range<usize>> + 'a {
        let shapes = self.shapes;
        let rings = between(&shapes.rings, self.number);
        (rings.start..rings.end.min(shapes.points.len())).map(|ring| between(&shapes.points, ring))
    }

    /// The edges of all rings. The last point of a ring is joined to the first one.
    fn edges(self, ring: Range<usize>) -> impl Iterator<Item = (Point, Point)> + 'a {
        let coordinates = &self.shapes.coordinates;
        (ring.start..ring.end.min(coordinates.len())).filter_map(move |at| {
            let next = if at + 1 == ring.end { ring.start } else { at + 1 };
            coordinates.get(at).zip(coordinates.get(next))
        })
    }

    /// The sum of the areas of all rings. A hole adds to it.
    pub(super) fn area(self) -> f64 {
        let twice = |ring| self.edges(ring).map(|(from, to)| from[0] * to[1] - to[0] * from[1]).sum::<f64>();
        self.rings().map(|ring| twice(ring).abs()).sum::<f64>() / 2.0
    }

    pub(super) fn rectangle(self) -> Rectangle {
        let points = self.rings().flat_map(|ring| self.edges(ring)).map(|(point, _)| point);
        points.map(|point| Rectangle { low: point, high: point }).fold(Rectangle::NOTHING, Rectangle::around)
    }

    /// Whether the point is on an edge, or an odd number of edges lies to its right.
    pub(super) fn holds(self, [x, y]: Point) -> bool {
        let is_between = |value: f64, from: f64, to: f64| from.min(to) <= value && value <= from.max(to);
        let has_point = |(from, to): (Point, Point)| {
            is_between(x, from[0], to[0])
                && is_between(y, from[1], to[1])
                && (to[0] - from[0]) * (y - from[1]) == (to[1] - from[1]) * (x - from[0])
        };
        let mut rings = self.rings().filter(|ring| ring.len() > 2);
        if rings.any(|ring| self.edges(ring).any(has_point)) {
            return true;
        }
        let right = |&(from, to): &(Point, Point)| {
            (from[1] > y) != (to[1] > y)
                && x < (to[0] - from[0]) * (y - from[1]) / (to[1] - from[1]) + from[0]
        };
        let crossed: usize = self.rings().map(|ring| self.edges(ring).filter(right).count()).sum();
        crossed % 2 == 1
    }

    /// Compares the checksums of all of it.
    pub(super) fn check(self) -> Result<()> {
        let Shapes { rings, points, coordinates } = self.shapes;
        rings.check(self.number.saturating_sub(1)..self.number + 1)?;
        let own = between(rings, self.number);
        points.check(own.start.saturating_sub(1)..own.end)?;
        self.rings().try_for_each(|ring| coordinates.check(ring))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(low: f64, high: f64) -> Vec<Point> {
        vec![[low, low], [high, low], [high, high], [low, high]]
    }

    #[test]
    fn holes_are_outside_and_edges_inside() {
        let mut shapes = Shapes::default();
        shapes.push(&[square(-9.0, -8.0)]);
        shapes.push(&[square(0.0, 10.0), square(2.0, 4.0)]);
        let shape = shapes.get(1);
        let edges = [[0.0, 0.0], [4.0, 4.0], [9.9, 0.0], [10.0, 10.0], [2.0, 2.0], [5.0, 10.0], [4.0, 3.0]];
        let inside = [[1.0, 1.0], [5.0, 5.0], [4.1, 3.0]];
        let outside = [[3.0, 3.0], [-1.0, 5.0], [11.0, 10.0], [3.9, 3.0], [-8.5, -8.5]];
        assert!(edges.iter().all(|&point| shape.holds(point)));
        assert!(inside.iter().all(|&point| shape.holds(point)));
        assert!(outside.iter().all(|&point| !shape.holds(point)));
        assert_eq!(shape.area(), 104.0);
        assert_eq!(shape.rectangle(), Rectangle { low: [0.0; 2], high: [10.0; 2] });
    }

    #[test]
    fn degenerate_rings_hold_nothing() {
        let mut shapes = Shapes::default();
        for ring in [vec![], vec![[1.0, 1.0]], vec![[1.0, 1.0], [2.0, 2.0]]] {
            shapes.push(&[ring]);
            let shape = shapes.get(shapes.len() - 1);
            assert!(!shape.holds([1.0, 1.0]) && shape.area() == 0.0);
        }
        shapes.push(&[]);
        assert!(!shapes.get(3).holds([0.0, 0.0]) && !shapes.get(4).holds([0.0, 0.0]));
    }
}
