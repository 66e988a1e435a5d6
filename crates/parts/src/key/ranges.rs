//! A set of values of one column as sorted ranges: the condition of a WHERE clause on a key column.
//!
//! Values are in Arrow's row format, whose byte order is value order, for every type alike. NULL sorts last and is
//! a value like any other: `x IS NULL` is the point NULL, and a range without an upper bound includes it, which at
//! worst reads a granule too many.

use std::ops::Bound;
use std::sync::Arc;

use super::expression::{KeyExpression, Monotonic};
use super::row_format::{decode, encode};
use super::zero::{with_both_zeros, with_zeros};
use crate::error::{Error, Result};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

type Value = Arc<[u8]>;

/// Values of one column: sorted, disjoint ranges. The empty set is a condition that never holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRanges {
    ranges: Vec<KeyRange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyRange {
    low: Bound<Value>,
    high: Bound<Value>,
}

/// A condition on one column of the table; several conditions are joined by AND.
#[derive(Clone, Debug)]
pub struct KeyCondition {
    /// The column's position in the table.
    pub column: usize,
    /// The allowed values.
    pub ranges: KeyRanges,
}

impl KeyRanges {
    /// Every value.
    pub fn all() -> KeyRanges {
        KeyRanges { ranges: vec![KeyRange { low: Bound::Unbounded, high: Bound::Unbounded }] }
    }

    /// No value.
    pub fn none() -> KeyRanges {
        KeyRanges { ranges: Vec::new() }
    }

    /// The values in `values`, in any order: `=` and IN. The array has the column's carrier type.
    pub fn points(values: &ArrayRef) -> Result<KeyRanges> {
        let rows = encode(&with_both_zeros(values)?)?;
        let mut points: Vec<Value> = rows.iter().map(|row| Value::from(row.data())).collect();
        points.sort_unstable();
        points.dedup();
        let range = |value: Value| KeyRange {
            low: Bound::Included(Arc::clone(&value)),
            high: Bound::Included(value),
        };
        Ok(KeyRanges { ranges: points.into_iter().map(range).collect() })
    }

    /// The values between two bounds, each an array of one value of the column's carrier type.
    pub fn between(low: Bound<&ArrayRef>, high: Bound<&ArrayRef>) -> Result<KeyRanges> {
        let signed = |bound: Bound<&ArrayRef>, is_low: bool| match bound {
            Bound::Included(value) => Bound::Included(with_zeros(value, is_low)),
            Bound::Excluded(value) => Bound::Excluded(with_zeros(value, !is_low)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let (low, high) = (signed(low, true), signed(high, false));
        let range = KeyRange { low: encode_bound(low.as_ref())?, high: encode_bound(high.as_ref())? };
        Ok(KeyRanges { ranges: if range.is_empty() { Vec::new() } else { vec![range] } })
    }

    /// The intersection: AND.
    #[must_use]
    pub fn intersect(&self, other: &KeyRanges) -> KeyRanges {
        let mut ranges = Vec::new();
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            let low = if low_cmp(&a.low, &b.low).is_ge() { &a.low } else { &b.low };
            let a_ends_first = high_cmp(&a.high, &b.high).is_le();
            let high = if a_ends_first { &a.high } else { &b.high };
            let both = KeyRange { low: low.clone(), high: high.clone() };
            if !both.is_empty() {
                ranges.push(both);
            }
            if a_ends_first {
                left.next();
            } else {
                right.next();
            }
        }
        KeyRanges { ranges }
    }

    /// The union: OR.
    #[must_use]
    pub fn union(&self, other: &KeyRanges) -> KeyRanges {
        KeyRanges::of(self.ranges.iter().chain(&other.ranges).cloned().collect())
    }

    /// The complement: NOT.
    #[must_use]
    pub fn complement(&self) -> KeyRanges {
        let mut ranges = Vec::new();
        let mut low = Bound::Unbounded;
        for range in &self.ranges {
            if range.low != Bound::Unbounded {
                ranges.push(KeyRange { low, high: flip(&range.low) });
            }
            low = flip(&range.high);
            if range.high == Bound::Unbounded {
                return KeyRanges { ranges };
            }
        }
        ranges.push(KeyRange { low, high: Bound::Unbounded });
        KeyRanges { ranges }
    }

    /// The values of `expression` for the set's values, which are of type `carrier`; `None` if unknown. Known for
    /// single values, and for ranges if the expression is monotonic.
    pub(crate) fn map(
        &self,
        carrier: &DataType,
        expression: &dyn KeyExpression,
    ) -> Result<Option<KeyRanges>> {
        let direction = match expression.monotonic() {
            Some(direction) => direction,
            None if self.are_points() => Monotonic::Increasing,
            None => return Ok(None),
        };
        let bounds = self.ranges.iter().flat_map(|range| [&range.low, &range.high]);
        let known: Vec<&[u8]> = bounds.clone().filter_map(value_of).collect();
        if known.is_empty() {
            return Ok(Some(self.clone()));
        }
        let mapped = encode(&expression.evaluate(&[decode(&known, carrier)?], known.len())?)?;
        let mut values = mapped.iter().map(|row| Value::from(row.data()));
        // A bound may share its mapped value with its neighbours, so it is always included.
        let mut next = |bound: &Bound<Value>| match bound {
            Bound::Unbounded => Bound::Unbounded,
            _ => values.next().map_or(Bound::Unbounded, Bound::Included),
        };
        let mut ranges = Vec::with_capacity(self.ranges.len());
        for range in &self.ranges {
            let (low, high) = (next(&range.low), next(&range.high));
            ranges.push(match direction {
                Monotonic::Increasing => KeyRange { low, high },
                Monotonic::Decreasing => KeyRange { low: high, high: low },
            });
        }
        Ok(Some(KeyRanges::of(ranges)))
    }

    /// The union of ranges in any order.
    fn of(mut all: Vec<KeyRange>) -> KeyRanges {
        all.retain(|range| !range.is_empty());
        all.sort_by(|a, b| low_cmp(&a.low, &b.low));
        let mut ranges: Vec<KeyRange> = Vec::with_capacity(all.len());
        for range in all {
            match ranges.last_mut() {
                Some(last) if last.meets(&range) => {
                    if high_cmp(&range.high, &last.high).is_gt() {
                        last.high = range.high;
                    }
                }
                _ => ranges.push(range),
            }
        }
        KeyRanges { ranges }
    }

    /// The number of ranges, including single values.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Whether all ranges are single values.
    pub fn are_points(&self) -> bool {
        self.ranges.iter().all(KeyRange::is_point)
    }

    /// The bounds of the first `most` ranges, for a column of type `carrier`, as arrays of one value.
    pub fn bounds(&self, carrier: &DataType, most: usize) -> Result<Vec<(Bound<ArrayRef>, Bound<ArrayRef>)>> {
        let value = |bound: &Bound<Value>| -> Result<Bound<ArrayRef>> {
            Ok(match bound {
                Bound::Unbounded => Bound::Unbounded,
                Bound::Included(value) => Bound::Included(decode(&[&**value], carrier)?),
                Bound::Excluded(value) => Bound::Excluded(decode(&[&**value], carrier)?),
            })
        };
        self.ranges.iter().take(most).map(|range| Ok((value(&range.low)?, value(&range.high)?))).collect()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether the set has exactly one value.
    pub fn is_point(&self) -> bool {
        match self.ranges.as_slice() {
            [KeyRange { low: Bound::Included(low), high: Bound::Included(high) }] => low == high,
            _ => false,
        }
    }

    /// Whether `value` is in the set.
    pub(crate) fn contains(&self, value: &[u8]) -> bool {
        self.overlaps(Bound::Included(value), Bound::Included(value))
    }

    /// Whether the set may have a value between the bounds.
    pub(crate) fn overlaps(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> bool {
        let first = self.ranges.partition_point(|range| ends_before(&range.high, low));
        self.ranges.get(first).is_some_and(|range| !starts_after(&range.low, high))
    }
}

impl KeyRange {
    fn is_point(&self) -> bool {
        matches!((&self.low, &self.high), (Bound::Included(low), Bound::Included(high)) if low == high)
    }

    fn is_empty(&self) -> bool {
        match (&self.low, &self.high) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
                low >= high
            }
        }
    }

    /// Whether `later`, which does not start before this range, overlaps or touches it.
    fn meets(&self, later: &KeyRange) -> bool {
        match (&self.high, &later.low) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
            (Bound::Excluded(high), Bound::Excluded(low)) => low < high,
            (Bound::Included(high) | Bound::Excluded(high), Bound::Included(low) | Bound::Excluded(low)) => {
                low <= high
            }
        }
    }
}

fn value_of(bound: &Bound<Value>) -> Option<&[u8]> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}

fn encode_bound(bound: Bound<&ArrayRef>) -> Result<Bound<Value>> {
    let value = |array: &ArrayRef| {
        if array.len() != 1 {
            return Err(Error::BlockMismatch { what: format!("a bound of {} values", array.len()) });
        }
        Ok(Value::from(encode(array)?.row(0).data()))
    };
    Ok(match bound {
        Bound::Included(array) => Bound::Included(value(array)?),
        Bound::Excluded(array) => Bound::Excluded(value(array)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// The complementary bound.
fn flip(bound: &Bound<Value>) -> Bound<Value> {
    match bound {
        Bound::Included(value) => Bound::Excluded(Arc::clone(value)),
        Bound::Excluded(value) => Bound::Included(Arc::clone(value)),
        Bound::Unbounded => Bound::Unbounded,
    }
}

fn low_cmp(left: &Bound<Value>, right: &Bound<Value>) -> std::cmp::Ordering {
    rank(left, 0, 0, 1).cmp(&rank(right, 0, 0, 1))
}

fn high_cmp(left: &Bound<Value>, right: &Bound<Value>) -> std::cmp::Ordering {
    rank(left, 2, 1, 0).cmp(&rank(right, 2, 1, 0))
}

/// A comparable form of a bound: first whether it is unbounded, then the value, then its side.
fn rank(bound: &Bound<Value>, unbounded: u8, included: u8, excluded: u8) -> (u8, &[u8], u8) {
    match bound {
        Bound::Unbounded => (unbounded, &[], 0),
        Bound::Included(value) => (1, value, included),
        Bound::Excluded(value) => (1, value, excluded),
    }
}

fn ends_before(high: &Bound<Value>, low: Bound<&[u8]>) -> bool {
    match (high, low) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(high), Bound::Included(low)) => **high < *low,
        (Bound::Included(high) | Bound::Excluded(high), Bound::Included(low) | Bound::Excluded(low)) => {
            **high <= *low
        }
    }
}

fn starts_after(low: &Bound<Value>, high: Bound<&[u8]>) -> bool {
    match (low, high) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(low), Bound::Included(high)) => **low > *high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => {
            **low >= *high
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int32Array;
    use proptest::prelude::*;

    use super::*;

    fn array(values: &[i32]) -> ArrayRef {
        Arc::new(Int32Array::from(values.to_vec()))
    }

    /// A set over -5..15, and its members computed from the same description.
    fn sets() -> impl Strategy<Value = (KeyRanges, Vec<bool>)> {
        let range = (0..10_i32, 0..10_i32, any::<bool>(), any::<bool>());
        prop::collection::vec(range, 0..4).prop_map(|ranges| {
            let mut set = KeyRanges::none();
            let mut members = vec![false; 20];
            for (low, high, low_included, high_included) in ranges {
                let (low_array, high_array) = (array(&[low]), array(&[high]));
                let low_bound =
                    if low_included { Bound::Included(&low_array) } else { Bound::Excluded(&low_array) };
                let high_bound =
                    if high_included { Bound::Included(&high_array) } else { Bound::Excluded(&high_array) };
                set = set.union(&KeyRanges::between(low_bound, high_bound).unwrap());
                for value in -5..15 {
                    let above = value > low || (low_included && value == low);
                    let below = value < high || (high_included && value == high);
                    members[(value + 5) as usize] |= above && below;
                }
            }
            (set, members)
        })
    }

    fn members(set: &KeyRanges) -> Vec<bool> {
        let rows = encode(&array(&(-5..15).collect::<Vec<_>>())).unwrap();
        rows.iter().map(|row| set.contains(row.data())).collect()
    }

    proptest! {
        #[test]
        fn sets_agree_with_their_members((a, in_a) in sets(), (b, in_b) in sets()) {
            let combine = |op: fn(bool, bool) -> bool| -> Vec<bool> {
                in_a.iter().zip(&in_b).map(|(a, b)| op(*a, *b)).collect()
            };
            prop_assert_eq!(members(&a), in_a.clone());
            prop_assert_eq!(members(&a.union(&b)), combine(|a, b| a || b));
            prop_assert_eq!(members(&a.intersect(&b)), combine(|a, b| a && b));
            prop_assert_eq!(members(&a.complement()), combine(|a, _| !a));
        }
    }

    #[test]
    fn zeros_of_both_signs_are_one_value() {
        let zero = |value: f64| Arc::new(arrow::array::Float64Array::from(vec![value])) as ArrayRef;
        let has = |set: &KeyRanges, value: f64| set.contains(encode(&zero(value)).unwrap().row(0).data());
        for (given, other) in [(0.0, -0.0), (-0.0, 0.0)] {
            let given = &zero(given);
            let between = |low, high| KeyRanges::between(low, high).unwrap();
            assert!(has(&KeyRanges::points(given).unwrap(), other));
            assert!(has(&between(Bound::Included(given), Bound::Unbounded), other));
            assert!(has(&between(Bound::Unbounded, Bound::Included(given)), other));
            assert!(!has(&between(Bound::Excluded(given), Bound::Unbounded), other));
            assert!(!has(&between(Bound::Unbounded, Bound::Excluded(given)), other));
        }
    }

    #[test]
    fn points_are_sorted_and_distinct() {
        let set = KeyRanges::points(&array(&[3, 1, 3])).unwrap();
        assert_eq!(set.ranges.len(), 2);
        assert!(members(&set)[6] && members(&set)[8] && !members(&set)[7]);
    }
}
