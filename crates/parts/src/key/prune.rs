//! Finds the granules that may have a row that fulfils a condition on the primary key.
//!
//! Rows are sorted by the whole key, so the rows between two marks are between two key tuples.
//! [`Search::may_match`] decides whether a tuple between them can satisfy a set of values for each key column; the
//! range of all marks is halved until that is decided for single granules. A set may have any number of values (a
//! long IN list): each test is a binary search in it.

use std::ops::{Bound, Range};

use super::primary::PrimaryIndex;
use super::ranges::KeyRanges;

/// The granules to read of one part: ranges of marks, in order, without overlaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkRanges {
    pub ranges: Vec<Range<usize>>,
    /// All marks of the part.
    pub total: usize,
}

impl MarkRanges {
    /// Every granule.
    pub fn all(total: usize) -> MarkRanges {
        MarkRanges {
            ranges: if total == 0 { Vec::new() } else { vec![Range { start: 0, end: total }] },
            total,
        }
    }

    /// No granule.
    pub fn none(total: usize) -> MarkRanges {
        MarkRanges { ranges: Vec::new(), total }
    }

    /// The number of marks in the ranges.
    pub fn selected(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }

    pub(crate) fn push(&mut self, mark: usize) {
        match self.ranges.last_mut() {
            Some(last) if last.end == mark => last.end += 1,
            _ => self.ranges.push(mark..mark + 1),
        }
    }
}

/// The allowed values of a key column, and its sort direction.
#[derive(Clone, Debug)]
pub(crate) struct KeySet {
    pub(crate) ranges: KeyRanges,
    pub(crate) descending: bool,
}

impl KeySet {
    /// Every value.
    pub(crate) fn all(descending: bool) -> KeySet {
        KeySet { ranges: KeyRanges::all(), descending }
    }
}

/// Those of `marks` whose granules may have a key in `sets`: one set for each key column, or for a prefix of them.
pub(crate) fn prune(index: &PrimaryIndex, sets: &[KeySet], marks: usize) -> MarkRanges {
    let mut found = MarkRanges::none(marks);
    if marks > 0 && sets.iter().all(|set| !set.ranges.is_empty()) {
        let search = Search { index, sets };
        search.collect(0..marks, &mut found);
    }
    found
}

struct Search<'a> {
    index: &'a PrimaryIndex,
    /// None of them is empty.
    sets: &'a [KeySet],
}

impl Search<'_> {
    /// The recursion depth is the logarithm of the number of marks.
    fn collect(&self, marks: Range<usize>, found: &mut MarkRanges) {
        if !self.may_match(0, Some(marks.start), Some(marks.end)) {
            return;
        }
        if marks.len() == 1 {
            found.push(marks.start);
            return;
        }
        let middle = marks.start + marks.len() / 2;
        self.collect(marks.start..middle, found);
        self.collect(middle..marks.end, found);
    }

    /// Whether a tuple of the key columns from `column` on can be in the sets, if it is not below the tuple at mark
    /// `low` and not above the one at `high`; `None` is no limit.
    fn may_match(&self, column: usize, low: Option<usize>, high: Option<usize>) -> bool {
        let Some(KeySet { ranges: set, descending }) = self.sets.get(column) else { return true };
        let value = |mark: Option<usize>| mark.map(|mark| self.index.value(column, mark));
        let (low_value, high_value) = (value(low), value(high));
        // The columns after an equal prefix decide.
        if low_value.is_some() && low_value == high_value {
            return low_value.is_some_and(|value| set.contains(value))
                && self.may_match(column + 1, low, high);
        }
        // Strictly between the limits, the following columns may have any value.
        let (least, most) = if *descending { (high_value, low_value) } else { (low_value, high_value) };
        if set.overlaps(between(least), between(most)) {
            return true;
        }
        low_value.is_some_and(|value| set.contains(value) && self.may_match(column + 1, low, None))
            || high_value.is_some_and(|value| set.contains(value) && self.may_match(column + 1, None, high))
    }
}

fn between(limit: Option<&[u8]>) -> Bound<&[u8]> {
    limit.map_or(Bound::Unbounded, Bound::Excluded)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int32Array};
    use arrow::datatypes::{DataType, Field};
    use proptest::prelude::*;

    use super::*;
    use crate::key::primary::PrimaryWriter;

    const GRANULE_ROWS: usize = 4;

    fn array(values: Vec<i32>) -> ArrayRef {
        Arc::new(Int32Array::from(values))
    }

    fn index(rows: &[(i32, i32)]) -> PrimaryIndex {
        let field = Arc::new(Field::new("k", DataType::Int32, false));
        let fields = [Arc::clone(&field), field];
        let key =
            [array(rows.iter().map(|row| row.0).collect()), array(rows.iter().map(|row| row.1).collect())];
        let mut writer = PrimaryWriter::new(&fields);
        for row in (0..rows.len()).step_by(GRANULE_ROWS).chain([rows.len() - 1]) {
            writer.append(&key, row);
        }
        let marks = rows.len().div_ceil(GRANULE_ROWS) + 1;
        PrimaryIndex::decode(&writer.finish().unwrap(), &fields, marks).unwrap()
    }

    fn set() -> impl Strategy<Value = KeyRanges> {
        prop_oneof![
            Just(KeyRanges::all()),
            prop::collection::vec(0..12_i32, 1..4)
                .prop_map(|points| KeyRanges::points(&array(points)).unwrap()),
            (0..12_i32, 0..12_i32).prop_map(|(low, high)| {
                let (low, high) = (array(vec![low]), array(vec![high]));
                KeyRanges::between(Bound::Included(&low), Bound::Excluded(&high)).unwrap()
            }),
        ]
    }

    proptest! {
        /// No granule with a matching row is skipped, for any order of the key.
        #[test]
        fn pruning_keeps_every_wanted_row(
            mut rows in prop::collection::vec((0..12_i32, 0..12_i32), 1..60),
            sets in (set(), set()),
            descending in any::<(bool, bool)>(),
        ) {
            let turned = |value: i32, descending: bool| if descending { -value } else { value };
            rows.sort_unstable_by_key(|row| (turned(row.0, descending.0), turned(row.1, descending.1)));
            let marks = rows.len().div_ceil(GRANULE_ROWS);
            let keys = [
                KeySet { ranges: sets.0.clone(), descending: descending.0 },
                KeySet { ranges: sets.1.clone(), descending: descending.1 },
            ];
            let found = prune(&index(&rows), &keys, marks);
            let wanted = |set: &KeyRanges, value: i32| {
                set.contains(crate::key::row_format::encode(&array(vec![value])).unwrap().row(0).data())
            };
            for (position, row) in rows.iter().enumerate() {
                if wanted(&sets.0, row.0) && wanted(&sets.1, row.1) {
                    let mark = position / GRANULE_ROWS;
                    prop_assert!(found.ranges.iter().any(|range| range.contains(&mark)), "row {row:?} lost");
                }
            }
        }
    }

    #[test]
    fn point_reads_one_granule_of_many() {
        let ascending = |point: i32| KeySet {
            ranges: KeyRanges::points(&array(vec![point])).unwrap(),
            descending: false,
        };
        let rows: Vec<_> = (0..400).map(|row| (row, 0)).collect();
        assert_eq!(prune(&index(&rows), &[ascending(201)], 100).ranges, vec![50..51]);
        assert_eq!(prune(&index(&rows), &[ascending(201), ascending(7)], 100).selected(), 1);
        let rows: Vec<_> = (0..400).rev().map(|row| (row, 0)).collect();
        let descending = KeySet { descending: true, ..ascending(201) };
        assert_eq!(prune(&index(&rows), &[descending], 100).ranges, vec![49..50]);
    }
}
