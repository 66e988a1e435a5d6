//! A zone map: the smallest and the largest value of each granule of a column, and its counts of NULLs and of
//! zeros.
//!
//! # Invariants
//!
//! - **Outwards**: every value of a granule is between its zone's values. These may be loose: for long strings only
//!   a prefix is kept, and a zero is -0 as the smallest and +0 as the largest value.
//! - **Unknown**: the largest value is NULL if no short string is above all values; both are NULL in a granule
//!   without values.
//! - **Exact counts**: rows less NULLs less zeros is the number of other values.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Field};
use arrow::row::Rows;

use super::zeros;
use crate::error::Result;
use crate::key::bounds;
use crate::key::prune::MarkRanges;
use crate::key::ranges::KeyRanges;
use crate::key::row_format::encode;

/// Zones collected before they become one array, which limits the memory of small arrays.
const ZONES_PENDING_MAX: usize = 256;

/// The zone map of a column in a part.
#[derive(Debug)]
pub struct Zones {
    min: ArrayRef,
    max: ArrayRef,
    null_counts: UInt32Array,
    /// `None` for a type without a zero, and for parts that were written without these counts.
    zero_counts: Option<UInt32Array>,
    /// The smallest values in the row format, whose byte order is value order.
    low: Rows,
    high: Rows,
}

impl Zones {
    /// # Panics
    ///
    /// If the arrays differ in length.
    pub(crate) fn new(min: ArrayRef, max: ArrayRef, null_counts: UInt32Array) -> Result<Zones> {
        assert!(min.len() == max.len() && min.len() == null_counts.len(), "a value of each a granule");
        Ok(Zones { low: encode(&min)?, high: encode(&max)?, min, max, null_counts, zero_counts: None })
    }

    /// # Panics
    ///
    /// If there is not one count for each granule.
    pub(crate) fn with_zero_counts(self, zero_counts: Option<UInt32Array>) -> Zones {
        assert!(zero_counts.as_ref().is_none_or(|counts| counts.len() == self.min.len()), "one a granule");
        Zones { zero_counts, ..self }
    }

    /// The smallest value of each granule.
    pub fn min(&self) -> &ArrayRef {
        &self.min
    }

    /// The largest value of each granule.
    pub fn max(&self) -> &ArrayRef {
        &self.max
    }

    /// The number of NULLs in each granule.
    pub fn null_counts(&self) -> &UInt32Array {
        &self.null_counts
    }

    /// The number of zeros in each granule, not counting NULLs; see [`zeros`].
    pub fn zero_counts(&self) -> Option<&UInt32Array> {
        self.zero_counts.as_ref()
    }

    /// Whether the granule at `mark` may have a value in `ranges`.
    ///
    /// # Panics
    ///
    /// If the mark does not exist.
    pub fn may_match(&self, mark: usize, ranges: &KeyRanges) -> bool {
        // NULL is above every value.
        let is_open = self.null_counts.value(mark) > 0 || self.max.is_null(mark);
        let high = if is_open { Bound::Unbounded } else { Bound::Included(self.high.row(mark).data()) };
        ranges.overlaps(Bound::Included(self.low.row(mark).data()), high)
    }

    /// Those of `marks` whose granules may have a value in `ranges`.
    #[must_use]
    pub fn retain(&self, marks: &MarkRanges, ranges: &KeyRanges) -> MarkRanges {
        let mut kept = MarkRanges::none(marks.total);
        let wanted = marks.ranges.iter().flat_map(Clone::clone);
        wanted.filter(|&mark| self.may_match(mark, ranges)).for_each(|mark| kept.push(mark));
        kept
    }

    /// The smallest and the largest value of all granules, as an array of two.
    pub(crate) fn bounds(&self) -> Result<Option<ArrayRef>> {
        let has_unknown = (0..self.min.len()).any(|mark| self.max.is_null(mark) && self.min.is_valid(mark));
        if has_unknown {
            return Ok(None);
        }
        let both = concat(&[&*self.min, &*self.max])?;
        Ok(bounds::of_array(&both)?.map(|bounds| bounds.array))
    }
}

/// Collects the zones of one column while its granules are written.
#[derive(Debug)]
pub(crate) struct ZonesBuilder {
    data_type: DataType,
    /// The smallest and the largest value of the current granule.
    granule: Option<ArrayRef>,
    /// A string of the current granule is above all short strings.
    is_unbounded: bool,
    granule_nulls: u32,
    /// `None` for a type without a zero.
    granule_zeros: Option<u32>,
    /// Alternating: smallest, largest, smallest, largest.
    done: Vec<ArrayRef>,
    null_counts: Vec<u32>,
    zero_counts: Vec<u32>,
}

impl ZonesBuilder {
    /// `None` for a type without an order.
    pub(crate) fn new(field: &Field) -> Option<ZonesBuilder> {
        let data_type = field.data_type().clone();
        bounds::has_order(&data_type).then_some(ZonesBuilder {
            data_type,
            granule: None,
            is_unbounded: false,
            granule_nulls: 0,
            granule_zeros: zeros::has_zero(field.data_type()).then_some(0),
            done: Vec::new(),
            null_counts: Vec::new(),
            zero_counts: Vec::new(),
        })
    }

    /// Appends rows to the current granule.
    pub(crate) fn append(&mut self, rows: &ArrayRef) -> Result<()> {
        self.granule_nulls += rows.null_count() as u32;
        if let Some(granule_zeros) = &mut self.granule_zeros {
            *granule_zeros += zeros::count(rows) as u32;
        }
        let Some(found) = bounds::of_array(rows)? else { return Ok(()) };
        self.is_unbounded |= found.is_unbounded;
        self.granule = match self.granule.take() {
            None => Some(found.array),
            Some(granule) => bounds::of_array(&concat(&[&*granule, &*found.array])?)?.map(|both| both.array),
        };
        Ok(())
    }

    /// Ends the current granule.
    pub(crate) fn end_granule(&mut self) -> Result<()> {
        let zone = match self.granule.take() {
            None => new_null_array(&self.data_type, 2),
            Some(zone) if self.is_unbounded => take(&zone, &UInt32Array::from(vec![Some(0), None]), None)?,
            Some(zone) => zone,
        };
        self.done.push(zone);
        self.null_counts.push(self.granule_nulls);
        self.zero_counts.extend(self.granule_zeros.as_mut().map(std::mem::take));
        (self.is_unbounded, self.granule_nulls) = (false, 0);
        if self.done.len() >= ZONES_PENDING_MAX { self.compact() } else { Ok(()) }
    }

    fn compact(&mut self) -> Result<()> {
        let parts: Vec<&dyn Array> = self.done.iter().map(|zone| &**zone).collect();
        let all = if parts.is_empty() { new_null_array(&self.data_type, 0) } else { concat(&parts)? };
        self.done = vec![all];
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Zones> {
        self.compact()?;
        let zones = &self.done[0];
        let count = self.null_counts.len() as u32;
        let every_second =
            |first: u32| UInt32Array::from_iter_values((0..count).map(|zone| 2 * zone + first));
        let min = take(zones, &every_second(0), None)?;
        let max = take(zones, &every_second(1), None)?;
        let zero_counts = self.granule_zeros.map(|_| UInt32Array::from(self.zero_counts));
        Ok(Zones::new(min, max, UInt32Array::from(self.null_counts))?.with_zero_counts(zero_counts))
    }
}

/// A zone from a part's bounds: the zone map of a part with one granule.
pub(crate) fn of_one_granule(bounds: &ArrayRef, null_count: u64) -> Result<Zones> {
    let null_count = u32::try_from(null_count).unwrap_or(u32::MAX);
    Zones::new(bounds.slice(0, 1), bounds.slice(1, 1), UInt32Array::from(vec![null_count]))
}

/// The field of zone values: the column's type, nullable.
pub(crate) fn zone_field(field: &Field) -> Arc<Field> {
    Arc::new(field.clone().with_nullable(true))
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, BinaryViewArray, Float64Array, Int32Array};
    use arrow::datatypes::Int32Type;
    use proptest::prelude::*;

    use super::*;
    use crate::sample::{self, Noise};

    /// Zones of `array` in granules of `rows`, appended in slices of `step`.
    fn zones(array: &ArrayRef, rows: usize, step: usize) -> Option<Zones> {
        let field = Field::new("c", array.data_type().clone(), true);
        let mut builder = ZonesBuilder::new(&field)?;
        for granule in (0..array.len()).step_by(rows) {
            let end = array.len().min(granule + rows);
            for start in (granule..end).step_by(step) {
                builder.append(&array.slice(start, step.min(end - start))).unwrap();
            }
            builder.end_granule().unwrap();
        }
        Some(builder.finish().unwrap())
    }

    proptest! {
        /// Every value is inside its zone, for every type.
        #[test]
        fn no_value_lies_outside_its_zone(seed in any::<u64>(), granule in 1..9_usize, step in 1..9_usize) {
            for ty in sample::types() {
                let array = sample::array(&ty, 40, &mut Noise(seed));
                let Some(zones) = zones(&array, granule, step) else { continue };
                for row in 0..array.len() {
                    let point = KeyRanges::points(&array.slice(row, 1)).unwrap();
                    prop_assert!(zones.may_match(row / granule, &point), "{ty} row {row}");
                }
                let counted: u32 = zones.null_counts().values().iter().sum();
                prop_assert_eq!(counted as usize, array.null_count());
            }
        }
    }

    #[test]
    fn zeros_of_each_granule_are_counted() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), None, Some(1), Some(0), Some(0)]));
        let zones = zones(&array, 2, 1).unwrap();
        assert_eq!(zones.zero_counts().map(|counts| counts.values().to_vec()), Some(vec![1, 1, 1]));
    }

    #[test]
    fn zones_are_exact_and_leave_out_what_cannot_match() {
        let array: ArrayRef =
            Arc::new(Int32Array::from(vec![Some(5), Some(1), None, None, Some(9), Some(9)]));
        let zones = zones(&array, 2, 1).unwrap();
        assert_eq!(
            zones.min().as_primitive::<Int32Type>().iter().collect::<Vec<_>>(),
            [Some(1), None, Some(9)]
        );
        assert_eq!(zones.null_counts().values(), &[0, 2, 0]);
        let point =
            |value: i32| KeyRanges::points(&(Arc::new(Int32Array::from(vec![value])) as ArrayRef)).unwrap();
        let kept = |value: i32| zones.retain(&MarkRanges::all(3), &point(value)).selected();
        assert_eq!((kept(0), kept(3), kept(9), kept(10)), (0, 1, 1, 0));
        assert_eq!(zones.bounds().unwrap().unwrap().as_primitive::<Int32Type>().values(), &[1, 9]);
    }

    /// -0 and +0 are equal in SQL and differ in the row format.
    #[test]
    fn both_zeros_are_in_a_zone_that_has_one() {
        let array: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0]));
        let zones = zones(&array, 1, 1).unwrap();
        for zero in [0.0, -0.0] {
            let point = KeyRanges::points(&(Arc::new(Float64Array::from(vec![zero])) as ArrayRef)).unwrap();
            assert_eq!(zones.retain(&MarkRanges::all(2), &point).selected(), 2);
        }
    }

    #[test]
    fn string_above_all_short_ones_leaves_its_zone_open() {
        let long = [u8::MAX; 100];
        let array: ArrayRef = Arc::new(BinaryViewArray::from_iter_values([&long[..], b"a", b"b"]));
        let zones = zones(&array, 2, 2).unwrap();
        assert!(zones.max().is_null(0) && zones.max().is_valid(1));
        let point = KeyRanges::points(&array.slice(0, 1)).unwrap();
        assert_eq!(
            zones.retain(&MarkRanges::all(2), &point).ranges,
            std::iter::once(0..1).collect::<Vec<_>>()
        );
        assert_eq!(zones.bounds().unwrap().map(|bounds| bounds.len()), None);
    }
}
