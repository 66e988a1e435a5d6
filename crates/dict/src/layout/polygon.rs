//! POLYGON, POLYGON_SIMPLE, POLYGON_INDEX_EACH and POLYGON_INDEX_CELL: the key of a row is a polygon, a lookup is a
//! point.
//!
//! The smallest of several polygons around a point is found. A [`PointIndex`] has the bounding rectangles of all
//! polygons. A polygon whose rectangle contains the point is tested by counting the edges to one side of the point
//! ([`Shapes`]). ClickHouse's four layouts have different indexes; here they have the same one.
//!
//! A point on an edge of a polygon, or of a hole, is inside. (ClickHouse's layouts with an index exclude some of
//! these points, its POLYGON_SIMPLE none.)
//!
//! # Layout
//!
//! In a file: the number of pieces of shapes, and the pieces; the rows in order of area; the index over them; the
//! attributes, followed by the polygons themselves if they are stored.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray};
use arrow::datatypes::{DataType, Float64Type};
use basalt_base::{Error, Result, bail};

use super::point_index::{PointIndex, Rectangle};
use super::polygon_shapes::Shapes;
use crate::attribute::Attribute;
use crate::block::RowBlock;
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::image::{Backing, ImageReader, ImageWriter, Piece, Storable};
use crate::key_types::check_polygon_key;
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::table::Hits;
use crate::values::{Numbers, SEGMENT_BITS, SEGMENTS_MAX, Values, split_row};

struct PolygonDictionary {
    schema: DictionarySchema,
    /// By row: one piece, or those of a file (see `values::segments`).
    shapes: Vec<Shapes>,
    /// Rows in order of area, the smallest first.
    order: Numbers<u32>,
    /// The index over `order`.
    index: PointIndex,
    /// Whether the polygons are stored as the last column.
    keeps_polygons: bool,
    values: Values,
    counters: Counters,
    backing: Backing,
}

/// The polygons of a load.
pub(crate) struct GivenPolygons {
    depth: usize,
    /// Pieces that are written.
    written: Vec<Piece>,
    shapes: Shapes,
    /// Area, rectangle and row of each polygon.
    known: Vec<(f64, Rectangle, u32)>,
}

/// Loads a dictionary from blocks of polygons and all attributes.
pub(crate) fn build_polygon(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let mut values = Values::new(&spec.columns_by_row(), false);
    let mut given = GivenPolygons::of(&spec)?;
    for block in blocks {
        let block = RowBlock::of(&spec, &block?)?;
        let rows = values.push(&block.columns_by_row(&spec), block.rows)?;
        given.push(&block.keys, &rows.into_vec())?;
    }
    values.shrink()?;
    let (order, index) = given.in_order();
    given.shapes.shrink();
    Ok(PolygonDictionary::over(spec, vec![given.shapes], order, index, values, Backing::default()))
}

/// Opens a dictionary over the parts that [`Storable::save`] wrote.
pub(crate) fn open_polygon(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    backing: Backing,
) -> Result<Arc<dyn Dictionary>> {
    let pieces = image.number_below(SEGMENTS_MAX as u64 + 1)?;
    let shapes = (0..pieces).map(|_| Shapes::open(image)).collect::<Result<Vec<_>>>()?;
    let rows = image.count()?;
    let (order, index) = (Numbers::open(rows, image)?, PointIndex::open(image)?);
    let values = Values::open(&spec.columns_by_row(), false, image)?;
    if shapes.is_empty() || !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    Ok(PolygonDictionary::over(spec, shapes, order, index, values, backing))
}

impl DictionarySpec {
    /// The columns that are indexed by row number.
    pub(crate) fn columns_by_row(&self) -> Vec<Attribute> {
        let polygon = self.key_columns.iter().zip(self.key_types()).filter(|_| self.keeps_polygons());
        let polygon = polygon.map(|(column, ty)| Attribute {
            name: column.name.clone(),
            default: ty.default_array(1),
            ty,
            hierarchical: false,
            injective: false,
        });
        self.attributes.iter().cloned().chain(polygon).collect()
    }

    fn keeps_polygons(&self) -> bool {
        self.layout.kind.is_polygon() && self.layout.store_polygons
    }
}

impl RowBlock {
    /// The columns of [`DictionarySpec::columns_by_row`].
    pub(crate) fn columns_by_row(&self, spec: &DictionarySpec) -> Vec<ArrayRef> {
        let polygons = self.keys.iter().filter(|_| spec.keeps_polygons());
        self.columns.iter().chain(polygons).cloned().collect()
    }
}

impl GivenPolygons {
    /// No polygons yet.
    pub(crate) fn of(spec: &DictionarySpec) -> Result<GivenPolygons> {
        let depth = check_polygon_key(&spec.key_types())?;
        Ok(GivenPolygons { depth, written: Vec::new(), shapes: Shapes::default(), known: Vec::new() })
    }

    /// Adds the keys of a block, whose rows have these numbers.
    pub(crate) fn push(&mut self, keys: &[ArrayRef], rows: &[u64]) -> Result<()> {
        for (at, &row) in rows.iter().enumerate() {
            let mut rings = Vec::new();
            read_rings(&keys[0].slice(at, 1), self.depth, &mut rings)?;
            self.shapes.push(&rings);
            let shape = self.shapes.get(self.shapes.len() - 1);
            self.known.push((shape.area(), shape.rectangle(), row as u32));
        }
        Ok(())
    }

    /// The bytes of the current piece.
    pub(crate) fn piece_bytes(&self) -> usize {
        self.shapes.heap_bytes()
    }

    /// Writes the current piece. The rows to come belong to the next segment.
    pub(crate) fn write_piece(&mut self, image: &mut ImageWriter<'_>) -> Result<()> {
        let shapes = std::mem::take(&mut self.shapes);
        self.written.push(image.piece(|image| shapes.save(image))?);
        Ok(())
    }

    /// Writes the rest as a loaded dictionary does, and returns the number of polygons.
    pub(crate) fn save(mut self, image: &mut ImageWriter<'_>) -> Result<u64> {
        image.number(self.written.len() as u64);
        std::mem::take(&mut self.written).into_iter().for_each(|piece| image.put(piece));
        let (order, index) = self.in_order();
        image.number(order.len() as u64);
        order.save(image)?;
        index.save(image)?;
        Ok(order.len() as u64)
    }

    /// The rows in order of area, and the index over them.
    fn in_order(&mut self) -> (Numbers<u32>, PointIndex) {
        let mut known = std::mem::take(&mut self.known);
        known.sort_unstable_by(|left, right| left.0.total_cmp(&right.0).then(left.2.cmp(&right.2)));
        let rectangles: Vec<Rectangle> = known.iter().map(|&(_, rectangle, _)| rectangle).collect();
        (known.iter().map(|&(_, _, row)| row).collect(), PointIndex::new(&rectangles))
    }
}

/// Adds the rings of `array`, which has one row and `depth` arrays around points.
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

impl PolygonDictionary {
    fn over(
        spec: DictionarySpec,
        shapes: Vec<Shapes>,
        order: Numbers<u32>,
        index: PointIndex,
        values: Values,
        backing: Backing,
    ) -> Arc<dyn Dictionary> {
        Arc::new(PolygonDictionary {
            schema: DictionarySchema::of_resolved(&spec),
            keeps_polygons: spec.keeps_polygons(),
            shapes,
            order,
            index,
            values,
            counters: Counters::default(),
            backing,
        })
    }

    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let points = match keys {
            [x, y] => [x, y].map(|axis| axis.as_primitive_opt::<Float64Type>()),
            _ => bail!(TypeMismatch, "the key of a polygon dictionary is a point of two coordinates"),
        };
        let [Some(x), Some(y)] = points else {
            bail!(TypeMismatch, "the coordinates of a point are Float64");
        };
        let (mut hits, check) = (Hits::with_capacity(x.len()), self.backing.is_unchecked());
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
            self.index.find(point, check, &mut around)?;
            around.sort_unstable();
            hits.push(self.first_around(point, check, &around)?);
        }
        self.counters.add(&hits.found);
        Ok(hits)
    }

    /// The row of the first of these polygons, by their places in the order, that contains the point.
    fn first_around(&self, point: [f64; 2], check: bool, places: &[u32]) -> Result<Option<u64>> {
        for &place in places {
            let place = place as usize;
            if check {
                self.order.check(place..place + 1)?;
            }
            let row = self.order.get(place).map_or(0, u64::from);
            let (piece, number) = split_row(self.shapes.len(), row);
            let shape = self.shapes[piece].get(number);
            if check {
                shape.check()?;
            }
            if shape.holds(point) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The numbers of all rows, in the order of the source.
    fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        let pieces = self.shapes.iter().enumerate();
        pieces.flat_map(|(piece, shapes)| {
            (0..shapes.len()).map(move |row| (piece << SEGMENT_BITS | row) as u64)
        })
    }
}

impl Dictionary for PolygonDictionary {
    fn schema(&self) -> &DictionarySchema {
        &self.schema
    }

    fn get(&self, attributes: &[usize], keys: &[ArrayRef]) -> Result<(Vec<ArrayRef>, BooleanArray)> {
        let hits = self.find(keys)?;
        if self.backing.is_unchecked() {
            self.values.check(attributes, &hits)?;
        }
        let columns = self.values.get(attributes, &hits)?;
        self.backing.check_present()?;
        Ok((columns, hits.found_array()))
    }

    fn has(&self, keys: &[ArrayRef]) -> Result<BooleanArray> {
        let hits = self.find(keys)?;
        self.backing.check_present()?;
        Ok(hits.found_array())
    }

    fn visit_columns(&self, columns: &[usize], visit: &mut VisitRows<'_>) -> Result<()> {
        self.check()?;
        if !self.keeps_polygons {
            bail!(
                UnsupportedMethod,
                "the polygons are not kept: {}(STORE_POLYGON_KEY_COLUMN 1) keeps them for reading",
                self.schema.kind.name()
            );
        }
        // The polygons follow the attributes.
        let own = |&column: &usize| column.checked_sub(1).unwrap_or(self.schema.attributes.len());
        let columns: Vec<usize> = columns.iter().map(own).collect();
        let mut rows = self.rows().peekable();
        while rows.peek().is_some() {
            let payloads: Vec<u64> = rows.by_ref().take(SCAN_BLOCK_ROWS).collect();
            let found = vec![true; payloads.len()];
            visit(found.len(), self.values.get(&columns, &Hits { payloads, found })?)?;
        }
        Ok(())
    }

    fn stats(&self) -> DictionaryStats {
        let shapes = self.shapes.iter().map(Shapes::heap_bytes).sum::<usize>();
        let heap = shapes + self.order.heap_bytes() + self.index.heap_bytes() + self.values.heap_bytes();
        self.counters.fill(DictionaryStats {
            element_count: self.order.len() as u64,
            bytes_allocated: (size_of::<PolygonDictionary>() + heap) as u64,
            load_factor: 1.0,
            ..DictionaryStats::default()
        })
    }

    fn memory_bytes(&self) -> u64 {
        self.backing.memory_bytes(self.stats().bytes_allocated, size_of::<PolygonDictionary>())
    }

    fn storable(&self) -> Option<&dyn Storable> {
        Some(self)
    }

    fn check(&self) -> Result<()> {
        self.backing.check()
    }

    fn is_damaged(&self) -> bool {
        self.backing.is_damaged()
    }
}

impl Storable for PolygonDictionary {
    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.check()?;
        image.number(self.shapes.len() as u64);
        self.shapes.iter().try_for_each(|shapes| shapes.save(image))?;
        image.number(self.order.len() as u64);
        self.order.save(image)?;
        self.index.save(image)?;
        self.values.save(image)
    }
}
