//! RANGE_HASHED and COMPLEX_KEY_RANGE_HASHED: a key and a point find the row whose range holds the point.
//!
//! A hashed layout numbers the keys; the ranges of a key are a group of `intervals`. Unlike other layouts, this one
//! keeps all rows, even those with the same key and range.
//!
//! A bound that is NULL is open. If `CONVERT_NULL_RANGE_BOUND_TO_OPEN` is 0, such a row contains no point. A row with
//! an empty range is kept, and contains no point.
//!
//! # Layout
//!
//! In a file: the hashed layout, the number of pieces of intervals, the pieces, the attributes. A version that was
//! loaded shard by shard has a piece for each shard, which is part of the number of a group or a row
//! (`values::row_number`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow::compute::take;
use basalt_base::{Error, Result, SqlType};

use super::intervals::{Interval, Intervals, RangeLookup};
use super::range_bounds::{RangeBound, is_nan};
use super::range_rows::{Groups, RangeRows, is_wide};
use crate::block::{RowBlock, check_keys};
use crate::block_cut::SCAN_BLOCK_ROWS;
use crate::counters::Counters;
use crate::dictionary::{Dictionary, VisitRows};
use crate::image::{Backing, ImageReader, ImageWriter, Storable};
use crate::scan_columns::ScanColumns;
use crate::schema::DictionarySchema;
use crate::spec::DictionarySpec;
use crate::stats::DictionaryStats;
use crate::table::{Hits, TableBuilder};
use crate::table_form::{table_form, table_shape};
use crate::values::{SEGMENTS_MAX, Values, split_row};

struct RangeHashed<T> {
    schema: DictionarySchema,
    range_type: SqlType,
    lookup: RangeLookup,
    groups: Groups,
    /// One, or one for each shard of a file.
    intervals: Vec<Intervals<T>>,
    values: Values,
    counters: Counters,
    backing: Backing,
}

/// Loads a dictionary from blocks of the key columns, both bounds and all attributes.
pub(crate) fn build_range(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    match is_wide(&spec) {
        true => build::<i128>(spec, blocks),
        false => build::<i64>(spec, blocks),
    }
}

/// Opens a dictionary over the parts that [`Storable::save`] wrote.
pub(crate) fn open_range(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    backing: Backing,
) -> Result<Arc<dyn Dictionary>> {
    match is_wide(&spec) {
        true => open::<i128>(spec, image, backing),
        false => open::<i64>(spec, image, backing),
    }
}

fn build<T: RangeBound>(
    spec: DictionarySpec,
    blocks: &mut dyn Iterator<Item = Result<Vec<ArrayRef>>>,
) -> Result<Arc<dyn Dictionary>> {
    let mut rows = RangeRows::<T>::new(&spec)?;
    let mut values = Values::new(&spec.attributes, false);
    for block in blocks {
        let block = RowBlock::of(&spec, &block?)?;
        let numbers = values.push(&block.columns, block.rows)?;
        rows.push(&block.keys, &block.bounds, &numbers.into_vec())?;
    }
    values.shrink()?;
    let table = TableBuilder::new(table_shape(&spec.layout, values.payload_bytes()))?;
    let (groups, intervals) = rows.into_parts(table, table_form(&spec.layout, None), 0)?;
    RangeHashed::over(spec, groups, vec![intervals], values, Backing::default())
}

fn open<T: RangeBound>(
    spec: DictionarySpec,
    image: &mut ImageReader<'_>,
    backing: Backing,
) -> Result<Arc<dyn Dictionary>> {
    let groups = Groups::open(&spec, image)?;
    let pieces = image.number_below(SEGMENTS_MAX as u64 + 1)?;
    let intervals = (0..pieces).map(|_| Intervals::<T>::open(image)).collect::<Result<Vec<_>>>()?;
    let values = Values::open(&spec.attributes, false, image)?;
    if intervals.is_empty() || !image.is_at_end() {
        return Err(ImageReader::unfit());
    }
    RangeHashed::over(spec, groups, intervals, values, backing)
}

impl<T: RangeBound> RangeHashed<T> {
    fn over(
        spec: DictionarySpec,
        groups: Groups,
        intervals: Vec<Intervals<T>>,
        values: Values,
        backing: Backing,
    ) -> Result<Arc<dyn Dictionary>> {
        let (schema, lookup) = (DictionarySchema::of_resolved(&spec), spec.layout.range_lookup);
        let Some(range) = spec.range else {
            return Err(Error::logical("a range dictionary without a range"));
        };
        let (range_type, counters) = (range.ty, Counters::default());
        Ok(Arc::new(RangeHashed { schema, range_type, lookup, groups, intervals, values, counters, backing }))
    }

    fn find(&self, keys: &[ArrayRef]) -> Result<Hits> {
        let Some((point, keys)) = keys.split_last() else {
            return Err(Error::logical("a lookup without a point"));
        };
        let rows = check_keys(&self.schema.key_types, keys, self.schema.has_simple_key())?;
        check_keys(std::slice::from_ref(&self.range_type), std::slice::from_ref(point), false)?;
        if point.len() != rows {
            return Err(Error::logical("keys and points differ in length"));
        }
        let is_unchecked = self.backing.is_unchecked();
        if is_unchecked {
            self.groups.layout().check(keys)?;
        }
        let groups = self.groups.layout().find(keys)?;
        if is_unchecked {
            groups.found_payloads().try_for_each(|group| {
                let (piece, group) = split_row(self.intervals.len(), group);
                self.intervals[piece].check(group)
            })?;
        }
        let mut hits = Hits::with_capacity(rows);
        for (row, at) in T::of(point)?.into_iter().enumerate() {
            let group = groups.found[row].then(|| split_row(self.intervals.len(), groups.payloads[row]));
            let group = group.filter(|_| !is_nan(point, row));
            let found = group.and_then(|(piece, group)| self.intervals[piece].find(group, at, self.lookup));
            hits.push(found.map(u64::from));
        }
        self.counters.add(&hits.found);
        Ok(hits)
    }

    /// Visits a block of intervals, each with the row of its key in `keys`.
    fn visit_block(
        &self,
        columns: &[usize],
        keys: &[ArrayRef],
        of: &mut Vec<(u32, Interval<T>)>,
        visit: &mut VisitRows<'_>,
    ) -> Result<()> {
        if of.is_empty() {
            return Ok(());
        }
        let picks = UInt32Array::from_iter_values(of.iter().map(|(key, _)| *key));
        let bounds = |bound: fn(&Interval<T>) -> T| {
            let bounds: Vec<T> = of.iter().map(|(_, interval)| bound(interval)).collect();
            T::array(&self.range_type, &bounds)
        };
        let leading = |at: usize| match keys.get(at) {
            Some(key) => take(key, &picks, None).map_err(Error::of_arrow),
            None if at == keys.len() => bounds(|interval: &Interval<T>| interval.low),
            None => bounds(|interval: &Interval<T>| interval.high),
        };
        let payloads = of.iter().map(|(_, interval)| u64::from(interval.row)).collect();
        let hits = Hits { payloads, found: vec![true; of.len()] };
        let asked = ScanColumns::of(columns, keys.len() + 2);
        let block = asked.join(leading, self.values.get(&asked.attributes(), &hits)?)?;
        of.clear();
        visit(hits.found.len(), block)
    }
}

impl<T: RangeBound> Dictionary for RangeHashed<T> {
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
        self.groups.layout().visit(&mut |keys, groups| {
            let mut of = Vec::new();
            for (key, group) in groups.into_iter().enumerate() {
                let (piece, group) = split_row(self.intervals.len(), group);
                for interval in self.intervals[piece].of_group(group) {
                    of.push((key as u32, interval));
                    if of.len() == SCAN_BLOCK_ROWS {
                        self.visit_block(columns, &keys, &mut of, visit)?;
                    }
                }
            }
            self.visit_block(columns, &keys, &mut of, visit)
        })
    }

    fn stats(&self) -> DictionaryStats {
        let intervals = self.intervals.iter().map(Intervals::heap_bytes).sum::<usize>();
        let heap = self.groups.layout().heap_bytes() + intervals + self.values.heap_bytes();
        self.counters.fill(DictionaryStats {
            element_count: self.intervals.iter().map(Intervals::len).sum::<usize>() as u64,
            bytes_allocated: (size_of::<RangeHashed<T>>() + heap) as u64,
            load_factor: self.groups.layout().load_factor(),
            ..DictionaryStats::default()
        })
    }

    fn memory_bytes(&self) -> u64 {
        self.backing.memory_bytes(self.stats().bytes_allocated, size_of::<RangeHashed<T>>())
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

impl<T: RangeBound> Storable for RangeHashed<T> {
    fn save(&self, image: &mut ImageWriter<'_>) -> Result<()> {
        self.check()?;
        self.groups.layout().save(image)?;
        image.number(self.intervals.len() as u64);
        self.intervals.iter().try_for_each(|intervals| intervals.save(image))?;
        self.values.save(image)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array, UInt16Array, UInt64Array};
    use arrow::datatypes::{Int32Type, UInt16Type};

    use super::*;
    use crate::LayoutSpec;
    use crate::layout::conformance;
    use crate::layout_kind::LayoutKind;
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
        let mut lows = scan[0][1].as_primitive::<Int32Type>().values().to_vec();
        lows.sort_unstable();
        assert_eq!(lows, [i32::MIN, i32::MIN, 5, 20]);
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
