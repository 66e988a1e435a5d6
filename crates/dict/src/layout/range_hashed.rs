//! RANGE_HASHED and COMPLEX_KEY_RANGE_HASHED: a key and a point find the row whose range holds the point.
//!
//! Keys are numbered; the ranges of one key are a group of `intervals`. Unlike other layouts this one
//! keeps every row, also those with one key and one range.
//!
//! A bound that is NULL is open, unless `CONVERT_NULL_RANGE_BOUND_TO_OPEN` is 0: then such a row holds
//! nothing. A row whose range is empty is kept and holds nothing.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use basalt_base::{Error, Result, SqlType};

use super::SCAN_BLOCK_ROWS;
use super::intervals::{Bound, Interval, Intervals, RangeLookup};
use super::range_bounds::{from_bounds, is_nan, to_bounds};
use crate::block::{check_keys, integer_keys, key_column, split_block};
use crate::counters::Counters;
use crate::dictionary::{Attribute, Dictionary, DictionaryStats};
use crate::key_bytes::KeyShape;
use crate::key_numbers::KeyNumbers;
use crate::layout_kind::LayoutKind;
use crate::spec::DictionarySpec;
use crate::table::Hits;
use crate::values::Values;

struct RangeHashed<T> {
    kind: LayoutKind,
    key_types: Vec<SqlType>,
    range_type: SqlType,
    lookup: RangeLookup,
    attributes: Vec<Attribute>,
    shape: KeyShape,
    keys: KeyNumbers,
    intervals: Intervals<T>,
    values: Values,
    counters: Counters,
}

/// The rows of a load.
struct Rows<T> {
    keys: KeyNumbers,
    intervals: Vec<Interval<T>>,
    values: Values,
}

/// Loads a dictionary from blocks of the key columns, both bounds and all attributes.
pub(crate) fn build_range(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let Some(range) = spec.range.clone() else {
        return Err(Error::logical("a range dictionary without a range"));
    };
    match range.ty.carrier() {
        arrow::datatypes::DataType::Decimal128(..) => build::<i128>(spec, range.ty, blocks),
        _ => build::<i64>(spec, range.ty, blocks),
    }
}

fn build<T: RangeBound>(
    spec: DictionarySpec,
    range_type: SqlType,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let key_types = spec.key_types();
    let shape = KeyShape::new(&key_types)?;
    let mut rows = Rows::<T> {
        keys: KeyNumbers::default(),
        intervals: Vec::new(),
        values: Values::new(&spec.attributes, false),
    };
    for block in blocks {
        rows.push(&spec, &key_types, &shape, block?)?;
    }
    let Rows { mut keys, intervals, mut values } = rows;
    values.shrink()?;
    keys.shrink();
    let intervals = Intervals::new(intervals, keys.len());
    Ok(Arc::new(RangeHashed {
        kind: spec.layout.kind,
        key_types,
        range_type,
        lookup: spec.layout.range_lookup,
        attributes: spec.attributes,
        shape,
        keys,
        intervals,
        values,
        counters: Counters::default(),
    }))
}

/// A bound that a column of the range's type turns into and back.
trait RangeBound: Bound + 'static {
    fn of(array: &ArrayRef) -> Result<Vec<Self>>;
    fn array(ty: &SqlType, bounds: &[Self]) -> Result<ArrayRef>;
}

impl RangeBound for i64 {
    fn of(array: &ArrayRef) -> Result<Vec<i64>> {
        to_bounds(array)
    }

    fn array(ty: &SqlType, bounds: &[i64]) -> Result<ArrayRef> {
        from_bounds(&ty.carrier(), bounds)
    }
}

impl RangeBound for i128 {
    fn of(array: &ArrayRef) -> Result<Vec<i128>> {
        super::range_bounds::decimal_bounds(array)
    }

    fn array(ty: &SqlType, bounds: &[i128]) -> Result<ArrayRef> {
        super::range_bounds::decimal_array(&ty.carrier(), bounds)
    }
}

impl<T: RangeBound> Rows<T> {
    fn push(
        &mut self,
        spec: &DictionarySpec,
        key_types: &[SqlType],
        shape: &KeyShape,
        mut block: Vec<ArrayRef>,
    ) -> Result<()> {
        let first = key_types.len();
        if block.len() < first + 2 {
            return Err(Error::logical("a block of a range dictionary without bounds"));
        }
        let bounds: Vec<ArrayRef> = block.drain(first..first + 2).collect();
        let simple = !spec.layout.kind.is_complex();
        let (rows, keys, columns) = split_block(key_types, &spec.attributes, &block, simple)?;
        let encoded = shape.encode(&widened(&keys, simple)?)?;
        let numbers = self.values.push(&columns, rows)?;
        let (lows, highs) = (T::of(&bounds[0])?, T::of(&bounds[1])?);
        for row in 0..rows {
            let group = self.keys.number(encoded.get(row))?;
            let open = [bounds[0].is_null(row), bounds[1].is_null(row)];
            let (mut low, mut high) = (lows[row], highs[row]);
            if open.contains(&true) && !spec.layout.null_bound_is_open
                || is_nan(&bounds[0], row)
                || is_nan(&bounds[1], row)
            {
                (low, high) = (T::GREATEST, T::LEAST);
            } else {
                low = if open[0] { T::LEAST } else { low };
                high = if open[1] { T::GREATEST } else { high };
            }
            self.intervals.push(Interval { group, low, high, row: numbers[row] as u32 });
        }
        Ok(())
    }
}

/// Keys of a simple layout as `UInt64`.
fn widened(keys: &[ArrayRef], simple: bool) -> Result<Vec<ArrayRef>> {
    if simple { Ok(vec![key_column(integer_keys(&keys[0])?)]) } else { Ok(keys.to_vec()) }
}

impl<T: RangeBound> RangeHashed<T> {
    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let Some((point, keys)) = keys.split_last() else {
            return Err(Error::logical("a lookup without a point"));
        };
        let simple = !self.kind.is_complex();
        let rows = check_keys(&self.key_types, keys, simple)?;
        check_keys(std::slice::from_ref(&self.range_type), std::slice::from_ref(point), false)?;
        if point.len() != rows {
            return Err(Error::logical("keys and points differ in length"));
        }
        let encoded = self.shape.encode(&widened(keys, simple)?)?;
        let points = T::of(point)?;
        let mut hits = Hits::with_capacity(rows);
        for (row, &at) in points.iter().enumerate() {
            let group = self.keys.find(encoded.get(row)).filter(|_| !is_nan(point, row));
            let found = group.and_then(|group| self.intervals.find(group, at, self.lookup));
            hits.push(found.map(u64::from));
        }
        self.counters.add(&hits.found);
        Ok(hits)
    }
}

impl<T: RangeBound> Dictionary for RangeHashed<T> {
    fn key_types(&self) -> &[SqlType] {
        &self.key_types
    }

    fn range_type(&self) -> Option<&SqlType> {
        Some(&self.range_type)
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
        let attributes: Vec<usize> = (0..self.attributes.len()).collect();
        let mut intervals = self.intervals.iter().peekable();
        let mut blocks = Vec::new();
        while intervals.peek().is_some() {
            let block: Vec<Interval<T>> = intervals.by_ref().take(SCAN_BLOCK_ROWS).collect();
            let mut columns =
                self.shape.decode(block.iter().map(|interval| self.keys.get(interval.group as usize)))?;
            let lows: Vec<T> = block.iter().map(|interval| interval.low).collect();
            let highs: Vec<T> = block.iter().map(|interval| interval.high).collect();
            columns.push(T::array(&self.range_type, &lows)?);
            columns.push(T::array(&self.range_type, &highs)?);
            let payloads = block.iter().map(|interval| u64::from(interval.row)).collect();
            let hits = Hits { payloads, found: vec![true; block.len()] };
            columns.extend(self.values.get(&attributes, &hits)?);
            blocks.push(columns);
        }
        Ok(blocks)
    }

    fn stats(&self) -> DictionaryStats {
        let heap = self.keys.heap_bytes() + self.intervals.heap_bytes() + self.values.heap_bytes();
        self.counters.fill(DictionaryStats {
            element_count: self.intervals.len() as u64,
            bytes_allocated: (size_of::<RangeHashed<T>>() + heap) as u64,
            load_factor: 1.0,
            ..DictionaryStats::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array, UInt16Array, UInt64Array};
    use arrow::datatypes::{Int32Type, UInt16Type};

    use super::*;
    use crate::LayoutSpec;
    use crate::layout::conformance;
    use crate::spec::RangeSpec;

    fn load(layout: LayoutSpec, rows: &[(u64, Option<i32>, Option<i32>, u16)]) -> Arc<dyn Dictionary> {
        let mut spec = conformance::simple_spec(&layout);
        spec.attributes.truncate(1);
        spec.range = Some(RangeSpec { low: "low".into(), high: "high".into(), ty: SqlType::Int32 });
        let block: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.0))),
            Arc::new(rows.iter().map(|row| row.1).collect::<Int32Array>()),
            Arc::new(rows.iter().map(|row| row.2).collect::<Int32Array>()),
            Arc::new(UInt16Array::from_iter_values(rows.iter().map(|row| row.3))),
        ];
        crate::build(spec, &mut [Ok(block)].into_iter()).expect("a valid source")
    }

    fn get(dictionary: &dyn Dictionary, key: u64, points: &[i32]) -> Vec<u16> {
        let keys: ArrayRef = Arc::new(UInt64Array::from(vec![key; points.len()]));
        let points: ArrayRef = Arc::new(Int32Array::from(points.to_vec()));
        let (columns, _) = dictionary.get(&[0], &[keys, points]).expect("valid keys");
        columns[0].as_primitive::<UInt16Type>().values().to_vec()
    }

    #[test]
    fn conforms() {
        conformance::check_simple(&LayoutSpec::new(LayoutKind::RangeHashed));
        conformance::check_complex(&LayoutSpec::new(LayoutKind::ComplexKeyRangeHashed));
    }

    #[test]
    fn null_bounds_are_open() {
        let rows =
            [(1, None, Some(10), 1), (1, Some(20), None, 2), (2, None, None, 3), (3, Some(5), Some(1), 4)];
        let open = load(LayoutSpec::new(LayoutKind::RangeHashed), &rows);
        assert_eq!(get(open.as_ref(), 1, &[i32::MIN, 10, 11, 20, i32::MAX]), [1, 1, 77, 2, 2]);
        assert_eq!((get(open.as_ref(), 2, &[0]), get(open.as_ref(), 3, &[3])), (vec![3], vec![77]));
        let scan = open.scan().expect("a loaded dictionary");
        assert_eq!(scan[0][1].as_primitive::<Int32Type>().values(), &[i32::MIN, 20, i32::MIN, 5]);
        let layout = LayoutSpec { null_bound_is_open: false, ..LayoutSpec::new(LayoutKind::RangeHashed) };
        let closed = load(layout, &rows);
        assert_eq!((get(closed.as_ref(), 1, &[10, 20]), closed.stats().element_count), (vec![77, 77], 4));
    }

    #[test]
    fn overlaps_are_decided_by_the_strategy() {
        let rows = [(1, Some(1), Some(10), 1), (1, Some(1), Some(20), 2), (1, Some(0), Some(5), 3)];
        let min = load(LayoutSpec::new(LayoutKind::RangeHashed), &rows);
        assert_eq!(get(min.as_ref(), 1, &[0, 1, 6, 11, 21]), [3, 3, 1, 2, 77]);
        let layout =
            LayoutSpec { range_lookup: RangeLookup::Max, ..LayoutSpec::new(LayoutKind::RangeHashed) };
        assert_eq!(get(load(layout, &rows).as_ref(), 1, &[0, 1, 6, 11, 21]), [3, 2, 2, 2, 77]);
    }
}
