//! POLYGON and its kin: the key of a row is a polygon, a lookup is a point.
//!
//! Of several polygons around a point the smallest counts. The rectangles around polygons are in a
//! [`PointIndex`]; a polygon that is left is asked by counting how many of its edges lie to one side. The
//! four layouts of ClickHouse's differ in how they index; here they are one.
//!
//! A point on an edge of a polygon, of a hole too, is in it. (ClickHouse's layouts with an index leave out some of
//! these points, its POLYGON_SIMPLE none.)

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Float64Type};
use basalt_base::{Error, Result, SqlType, bail};

use super::point_index::{PointIndex, Rectangle};
use crate::block::split_block;
use crate::counters::Counters;
use crate::dictionary::{Attribute, Dictionary, DictionaryStats};
use crate::layout_kind::{KeyForm, LayoutKind};
use crate::spec::DictionarySpec;
use crate::table::Hits;
use crate::values::{ROWS_MAX, Values};

struct PolygonDictionary {
    kind: LayoutKind,
    key_types: Vec<SqlType>,
    attributes: Vec<Attribute>,
    /// In order of area, the smallest first.
    shapes: Vec<Shape>,
    index: PointIndex,
    /// The key columns as they came, if they are kept.
    polygons: Option<Vec<ArrayRef>>,
    values: Values,
    counters: Counters,
}

/// A polygon with holes, or several, and its row.
struct Shape {
    rings: Vec<Vec<[f64; 2]>>,
    row: u32,
}

/// Loads a dictionary from blocks of polygons and all attributes.
pub(crate) fn build_polygon(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let key_types = spec.key_types();
    let depth = check_polygon_key(&key_types)?;
    let mut values = Values::new(&spec.attributes, false);
    let (mut shapes, mut polygons) = (Vec::new(), Vec::new());
    for block in blocks {
        let (rows, keys, columns) = split_block(&key_types, &spec.attributes, &block?, false)?;
        values.push(&columns, rows)?;
        if shapes.len() + rows > ROWS_MAX {
            bail!(ArgumentOutOfBound, "a dictionary holds at most {ROWS_MAX} rows");
        }
        for row in 0..rows {
            let mut rings = Vec::new();
            read_rings(&keys[0].slice(row, 1), depth, &mut rings)?;
            shapes.push(Shape { rings, row: shapes.len() as u32 });
        }
        if spec.layout.store_polygons {
            polygons.push(Arc::clone(&keys[0]));
        }
    }
    values.shrink()?;
    shapes.sort_by(|left, right| left.area().total_cmp(&right.area()));
    let rectangles: Vec<Rectangle> = shapes.iter().map(Shape::rectangle).collect();
    Ok(Arc::new(PolygonDictionary {
        kind: spec.layout.kind,
        key_types,
        attributes: spec.attributes,
        shapes,
        index: PointIndex::new(&rectangles),
        polygons: spec.layout.store_polygons.then_some(polygons),
        values,
        counters: Counters::default(),
    }))
}

/// Refuses what is no key of a polygon dictionary; how many arrays are around the points of one that is.
pub(crate) fn check_polygon_key(key_types: &[SqlType]) -> Result<usize> {
    match key_types {
        [ty] => ring_depth(ty),
        _ => bail!(BadArguments, "the key of a polygon dictionary is one column"),
    }
}

/// How many arrays are around the rings of a key of this type: 3, or 1 for a polygon without holes.
fn ring_depth(ty: &SqlType) -> Result<usize> {
    let is_point = |ty: &SqlType| match ty {
        SqlType::Tuple(elements) => elements.len() == 2 && elements.iter().all(|e| e.ty == SqlType::Float64),
        SqlType::Array(element) => **element == SqlType::Float64,
        _ => false,
    };
    let (mut inner, mut depth) = (ty, 0);
    while let SqlType::Array(element) = inner {
        if is_point(inner) {
            break;
        }
        (inner, depth) = (element, depth + 1);
    }
    if is_point(inner) && (depth == 3 || depth == 1) {
        return Ok(depth);
    }
    bail!(
        BadArguments,
        "the key of a polygon dictionary is Array(Array(Array(P))) or Array(P), where P is \
         Tuple(Float64, Float64) or Array(Float64), not {ty}"
    )
}

/// Adds the rings below `array`, which has one row and `depth` arrays around points.
fn read_rings(array: &ArrayRef, depth: usize, rings: &mut Vec<Vec<[f64; 2]>>) -> Result<()> {
    let inner = list(array)?.value(0);
    if depth == 1 {
        rings.push(read_points(&inner)?);
        return Ok(());
    }
    (0..inner.len()).try_for_each(|row| read_rings(&inner.slice(row, 1), depth - 1, rings))
}

fn list(array: &ArrayRef) -> Result<&ListArray> {
    array.as_list_opt::<i32>().ok_or_else(|| Error::logical("a polygon that is no array"))
}

fn read_points(array: &ArrayRef) -> Result<Vec<[f64; 2]>> {
    let points: Vec<[f64; 2]> = if let DataType::Struct(_) = array.data_type() {
        let columns = array.as_struct().columns();
        let [x, y] = [0, 1].map(|axis| columns[axis].as_primitive::<Float64Type>().values().clone());
        x.iter().zip(y.iter()).map(|(&x, &y)| [x, y]).collect()
    } else {
        let lists = list(array)?;
        let point = |row| {
            let point = lists.value(row);
            match point.as_primitive::<Float64Type>().values()[..] {
                [x, y] => Ok([x, y]),
                _ => bail!(BadArguments, "a point of a polygon has {} coordinates, not 2", point.len()),
            }
        };
        (0..lists.len()).map(point).collect::<Result<_>>()?
    };
    if points.iter().flatten().any(|coordinate| !coordinate.is_finite()) {
        bail!(BadArguments, "a point of a polygon has a coordinate that is NaN or infinite");
    }
    Ok(points)
}

impl Shape {
    fn edges(ring: &[[f64; 2]]) -> impl Iterator<Item = ([f64; 2], [f64; 2])> + '_ {
        ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
    }

    /// The area of the rings, of each for itself: holes make it no smaller than what is around them.
    fn area(&self) -> f64 {
        let twice = |ring: &Vec<[f64; 2]>| {
            Shape::edges(ring).map(|(from, to)| from[0] * to[1] - to[0] * from[1]).sum::<f64>().abs()
        };
        self.rings.iter().map(twice).sum::<f64>() / 2.0
    }

    fn rectangle(&self) -> Rectangle {
        let points = self.rings.iter().flatten().map(|&point| Rectangle { low: point, high: point });
        points.fold(Rectangle::NOTHING, Rectangle::around)
    }

    /// Whether the point is on an edge, or an odd number of edges lies to its right.
    fn holds(&self, [x, y]: [f64; 2]) -> bool {
        let is_between = |value: f64, from: f64, to: f64| from.min(to) <= value && value <= from.max(to);
        let has_point = |(from, to): ([f64; 2], [f64; 2])| {
            is_between(x, from[0], to[0])
                && is_between(y, from[1], to[1])
                && (to[0] - from[0]) * (y - from[1]) == (to[1] - from[1]) * (x - from[0])
        };
        let rings = self.rings.iter().filter(|ring| ring.len() > 2);
        if rings.flat_map(|ring| Shape::edges(ring)).any(has_point) {
            return true;
        }
        let right = |&(from, to): &([f64; 2], [f64; 2])| {
            (from[1] > y) != (to[1] > y)
                && x < (to[0] - from[0]) * (y - from[1]) / (to[1] - from[1]) + from[0]
        };
        let crossed: usize = self.rings.iter().map(|ring| Shape::edges(ring).filter(right).count()).sum();
        crossed % 2 == 1
    }
}

impl PolygonDictionary {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let points = match keys {
            [x, y] => [x, y].map(|axis| axis.as_primitive_opt::<Float64Type>()),
            _ => bail!(TypeMismatch, "the key of a polygon dictionary is a point of two coordinates"),
        };
        let [Some(x), Some(y)] = points else {
            bail!(TypeMismatch, "the coordinates of a point are Float64");
        };
        let mut hits = Hits::with_capacity(x.len());
        let mut around = Vec::new();
        for (row, point) in x.values().iter().zip(y.values()).map(|(&x, &y)| [x, y]).enumerate() {
            if x.is_null(row) || y.is_null(row) {
                hits.push(None);
                continue;
            }
            if point.iter().any(|coordinate| !coordinate.is_finite()) {
                bail!(BadArguments, "a coordinate of a point must not be NaN or infinite");
            }
            around.clear();
            self.index.find(point, &mut around);
            around.sort_unstable();
            let shape = around.iter().map(|&at| &self.shapes[at as usize]).find(|shape| shape.holds(point));
            hits.push(shape.map(|shape| u64::from(shape.row)));
        }
        self.counters.add(&hits.found);
        Ok(hits)
    }
}

impl Dictionary for PolygonDictionary {
    fn key_types(&self) -> &[SqlType] {
        &self.key_types
    }

    fn key_form(&self) -> KeyForm {
        LayoutKind::Polygon.key_form()
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn layout(&self) -> &'static str {
        self.kind.name()
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let hits = self.find(keys)?;
        let columns = self.values.get(attributes, &hits)?;
        Ok((columns, BooleanArray::from(hits.found)))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        Ok(BooleanArray::from(self.find(keys)?.found))
    }

    fn scan(&self) -> Result<Vec<Vec<ArrayRef>>> {
        let Some(polygons) = &self.polygons else {
            bail!(
                UnsupportedMethod,
                "the polygons are not kept: {}(STORE_POLYGON_KEY_COLUMN 1) keeps them for reading",
                self.kind.name()
            );
        };
        if polygons.is_empty() {
            return Ok(Vec::new());
        }
        let arrays: Vec<&dyn Array> = polygons.iter().map(AsRef::as_ref).collect();
        let mut block = vec![concat(&arrays).map_err(|error| Error::logical(error.to_string()))?];
        let rows = self.shapes.len();
        let hits = Hits { payloads: (0..rows as u64).collect(), found: vec![true; rows] };
        let attributes: Vec<usize> = (0..self.attributes.len()).collect();
        block.extend(self.values.get(&attributes, &hits)?);
        Ok(vec![block])
    }

    fn stats(&self) -> DictionaryStats {
        let ring =
            |ring: &Vec<[f64; 2]>| ring.capacity() * size_of::<[f64; 2]>() + size_of::<Vec<[f64; 2]>>();
        let shapes = self.shapes.iter().flat_map(|shape| &shape.rings).map(ring).sum::<usize>();
        let kept = self.polygons.iter().flatten().map(|array| array.get_array_memory_size()).sum::<usize>();
        let heap = shapes
            + self.shapes.capacity() * size_of::<Shape>()
            + self.index.heap_bytes()
            + kept
            + self.values.heap_bytes();
        self.counters.fill(DictionaryStats {
            element_count: self.shapes.len() as u64,
            bytes_allocated: (size_of::<PolygonDictionary>() + heap) as u64,
            load_factor: 1.0,
            ..DictionaryStats::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(low: f64, high: f64) -> Vec<[f64; 2]> {
        vec![[low, low], [high, low], [high, high], [low, high]]
    }

    #[test]
    fn holes_are_outside_and_edges_inside() {
        let shape = Shape { rings: vec![square(0.0, 10.0), square(2.0, 4.0)], row: 0 };
        let edges = [[0.0, 0.0], [4.0, 4.0], [9.9, 0.0], [10.0, 10.0], [2.0, 2.0], [5.0, 10.0], [4.0, 3.0]];
        let inside = [[1.0, 1.0], [5.0, 5.0], [4.1, 3.0]];
        let outside = [[3.0, 3.0], [-1.0, 5.0], [11.0, 10.0], [3.9, 3.0]];
        assert!(edges.iter().all(|&point| shape.holds(point)));
        assert!(inside.iter().all(|&point| shape.holds(point)));
        assert!(outside.iter().all(|&point| !shape.holds(point)));
        assert_eq!(shape.area(), 104.0);
    }

    #[test]
    fn degenerate_rings_hold_nothing() {
        for ring in [vec![], vec![[1.0, 1.0]], vec![[1.0, 1.0], [2.0, 2.0]]] {
            let shape = Shape { rings: vec![ring], row: 0 };
            assert!(!shape.holds([1.0, 1.0]) && shape.area() == 0.0);
        }
    }
}
