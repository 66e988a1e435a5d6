//! Merge modes: merges, inserts and FINAL agree for any distribution of rows over parts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, AsArray, Int8Array, Int64Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{Int8Type, Int64Type, UInt8Type, UInt64Type};
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use proptest::prelude::*;

use super::{TableParts, open};
use crate::key::prune::MarkRanges;
use crate::mode::MergeMode;
use crate::part::view::Part;
use crate::spec::PartSpec;
use crate::table::{FinalInput, FinalLayer, FinalScan, InsertOptions};

/// Key, value, sign, deleted.
type Row = (u64, i64, i8, u8);

fn spec(mode: MergeMode) -> PartSpec {
    let columns = Columns::new(vec![
        Column::new("k", SqlType::UInt64),
        Column::new("v", SqlType::Int64),
        Column::new("s", SqlType::Int8),
        Column::new("d", SqlType::UInt8),
    ]);
    let sort_key = if matches!(mode, MergeMode::VersionedCollapsing { .. }) { vec![0, 1] } else { vec![0] };
    let sort_key = sort_key.into_iter().map(crate::key::element::KeyElement::column).collect();
    PartSpec { sort_key, primary_key_len: 1, granule_rows: 4, mode, ..PartSpec::new(columns) }
}

fn table(mode: MergeMode) -> TableParts {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    open(&storage, spec(mode)).unwrap()
}

fn insert(parts: &TableParts, rows: &[Row], optimize: bool) {
    let columns: Vec<Arc<dyn Array>> = vec![
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(Int8Array::from_iter_values(rows.iter().map(|row| row.2))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.3))),
    ];
    let block = RecordBatch::try_new(parts.spec().schema(), columns).unwrap();
    let mut insert = parts.begin_insert(InsertOptions { optimize, ..InsertOptions::default() }).unwrap();
    insert.write(block).unwrap();
    insert.commit().unwrap();
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let (k, v) = (batch.column(0).as_primitive::<UInt64Type>(), batch.column(1).as_primitive::<Int64Type>());
    let (s, d) = (batch.column(2).as_primitive::<Int8Type>(), batch.column(3).as_primitive::<UInt8Type>());
    (0..batch.num_rows()).map(|row| (k.value(row), v.value(row), s.value(row), d.value(row))).collect()
}

fn stored(parts: &TableParts) -> Vec<Row> {
    let snapshot = parts.snapshot();
    let read = |part: &Arc<crate::Part>| part.read(&[0, 1, 2, 3], 0..part.mark_count(), &Default::default());
    snapshot.iter().flat_map(|part| rows_of(&read(part).unwrap())).collect()
}

fn seen_final(parts: &TableParts) -> Vec<Row> {
    let snapshot = parts.snapshot();
    let all = |part: &Arc<Part>| FinalInput {
        part: Arc::clone(part),
        marks: MarkRanges::all(part.mark_count()),
        first_place: None,
    };
    let inputs = snapshot.iter().map(all).collect();
    let layer = FinalLayer::whole(inputs);
    let scan = FinalScan::new(&layer, &[0, 1, 2, 3], &Arc::default()).unwrap();
    scan.flat_map(|batch| rows_of(&batch.unwrap())).collect()
}

/// Inserts the rows in several parts; FINAL and OPTIMIZE FINAL give the expected rows.
fn check(mode: &MergeMode, inserts: &[Vec<Row>], expected: &[Row], expected_final: &[Row]) {
    for optimize in [false, true] {
        let parts = table(mode.clone());
        inserts.iter().for_each(|rows| insert(&parts, rows, optimize));
        assert_eq!(seen_final(&parts), expected_final, "{mode:?} before the merge, optimize {optimize}");
        parts.optimize_final(&Default::default(), &Default::default()).unwrap();
        assert_eq!(stored(&parts), expected, "{mode:?}, optimize {optimize}");
        assert_eq!(seen_final(&parts), expected_final, "{mode:?} after the merge");
    }
}

#[test]
fn replacing_keeps_the_highest_version_and_of_equal_ones_the_last() {
    let mode = MergeMode::Replacing { version: Some(1), is_deleted: Some(3) };
    let inserts =
        [vec![(1, 5, 1, 0), (2, 1, 1, 0), (3, 1, 1, 0)], vec![(1, 5, 2, 0), (2, 0, 2, 0), (3, 2, 2, 1)]];
    check(&mode, &inserts, &[(1, 5, 2, 0), (2, 1, 1, 0), (3, 2, 2, 1)], &[(1, 5, 2, 0), (2, 1, 1, 0)]);
}

#[test]
fn summing_adds_up_and_drops_zeroes() {
    let inserts = [vec![(1, 5, 1, 7), (2, 3, 1, 1), (3, 0, 0, 0)], vec![(1, 6, 2, 8), (2, -3, 2, 2)]];
    check(&MergeMode::Summing { columns: vec![1] }, &inserts, &[(1, 11, 1, 7)], &[(1, 11, 1, 7)]);
}

#[test]
fn collapsing_follows_the_counts_of_the_signs() {
    // Recorded from ClickHouse.
    let inserts = [vec![
        (1, 1, 1, 0),
        (1, 1, -1, 0),
        (2, 1, 1, 0),
        (2, 1, -1, 0),
        (2, 2, 1, 0),
        (3, 5, -1, 0),
        (3, 6, 1, 0),
        (4, 1, 1, 0),
        (4, 2, 1, 0),
        (4, 3, 1, 0),
        (5, 9, -1, 0),
        (5, 8, -1, 0),
        (6, 1, -1, 0),
        (6, 2, 1, 0),
        (6, 3, -1, 0),
    ]];
    let expected = [(2, 2, 1, 0), (3, 5, -1, 0), (3, 6, 1, 0), (4, 3, 1, 0), (5, 9, -1, 0), (6, 1, -1, 0)];
    check(
        &MergeMode::Collapsing { sign: 2 },
        &inserts,
        &expected,
        &[(2, 2, 1, 0), (3, 6, 1, 0), (4, 3, 1, 0)],
    );
}

#[test]
fn versioned_rows_remove_each_other_in_any_order() {
    let inserts = [vec![(1, 1, -1, 0), (2, 7, 1, 0)], vec![(1, 1, 1, 0), (1, 2, 1, 0)]];
    let expected = [(1, 2, 1, 0), (2, 7, 1, 0)];
    check(&MergeMode::VersionedCollapsing { sign: 2 }, &inserts, &expected, &expected);
}

#[test]
fn rows_that_remove_each_other_leave_no_part() {
    let parts = table(MergeMode::Collapsing { sign: 2 });
    insert(&parts, &[(1, 1, 1, 0)], true);
    insert(&parts, &[(1, 1, -1, 0)], true);
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert!(parts.snapshot().is_empty());
    insert(&parts, &[(1, 1, 1, 0), (1, 1, -1, 0)], true);
    assert!(parts.snapshot().is_empty());
}

#[test]
fn wrong_signs_are_refused() {
    let parts = table(MergeMode::Collapsing { sign: 2 });
    let columns: Vec<Arc<dyn Array>> = vec![
        Arc::new(UInt64Array::from(vec![1])),
        Arc::new(Int64Array::from(vec![1])),
        Arc::new(Int8Array::from(vec![2])),
        Arc::new(UInt8Array::from(vec![0])),
    ];
    let block = RecordBatch::try_new(parts.spec().schema(), columns).unwrap();
    let error = basalt_base::Error::from(parts.insert(block).unwrap_err());
    assert_eq!(error.code(), basalt_base::ErrorCode::IncorrectData, "{error}");
}

fn rows() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (0..6_u64, -2..3_i64, prop_oneof![Just(-1_i8), Just(1_i8)], 0..2_u8);
    prop::collection::vec(prop::collection::vec(row, 1..40), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn sums_are_those_of_a_map(inserts in rows()) {
        let mut sums: BTreeMap<u64, i64> = BTreeMap::new();
        for (key, value, _, _) in inserts.iter().flatten() {
            *sums.entry(*key).or_default() += value;
        }
        let parts = table(MergeMode::Summing { columns: vec![1] });
        inserts.iter().for_each(|rows| insert(&parts, rows, false));
        let expected: Vec<(u64, i64)> = sums.into_iter().filter(|(_, sum)| *sum != 0).collect();
        let pairs = |rows: Vec<Row>| rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>();
        prop_assert_eq!(&pairs(seen_final(&parts)), &expected);
        parts.optimize_final(&Default::default(), &Default::default()).unwrap();
        prop_assert_eq!(&pairs(stored(&parts)), &expected);
    }

    #[test]
    fn newest_rows_are_those_of_a_map(inserts in rows()) {
        let mut newest: BTreeMap<u64, Row> = BTreeMap::new();
        for row in inserts.iter().flatten() {
            let best = newest.entry(row.0).or_insert(*row);
            if row.1 >= best.1 {
                *best = *row;
            }
        }
        let parts = table(MergeMode::Replacing { version: Some(1), is_deleted: None });
        inserts.iter().for_each(|rows| insert(&parts, rows, false));
        let expected: Vec<Row> = newest.into_values().collect();
        prop_assert_eq!(&seen_final(&parts), &expected);
        parts.optimize_final(&Default::default(), &Default::default()).unwrap();
        prop_assert_eq!(&stored(&parts), &expected);
    }

    #[test]
    fn deleted_rows_are_stored_and_not_seen(inserts in rows(), optimize in any::<bool>()) {
        let mut newest: BTreeMap<u64, Row> = BTreeMap::new();
        for row in inserts.iter().flatten() {
            let best = newest.entry(row.0).or_insert(*row);
            if row.1 >= best.1 {
                *best = *row;
            }
        }
        let parts = table(MergeMode::Replacing { version: Some(1), is_deleted: Some(3) });
        inserts.iter().for_each(|rows| insert(&parts, rows, optimize));
        let kept: Vec<Row> = newest.into_values().collect();
        let seen: Vec<Row> = kept.iter().copied().filter(|row| row.3 == 0).collect();
        prop_assert_eq!(&seen_final(&parts), &seen);
        parts.optimize_final(&Default::default(), &Default::default()).unwrap();
        prop_assert_eq!(&stored(&parts), &kept);
        prop_assert_eq!(&seen_final(&parts), &seen);
    }

    #[test]
    fn versioned_rows_are_those_of_a_count(inserts in rows(), optimize in any::<bool>()) {
        let mut counts: BTreeMap<(u64, i64), i64> = BTreeMap::new();
        for (key, version, sign, _) in inserts.iter().flatten() {
            *counts.entry((*key, *version)).or_default() += i64::from(*sign);
        }
        let parts = table(MergeMode::VersionedCollapsing { sign: 2 });
        inserts.iter().for_each(|rows| insert(&parts, rows, optimize));
        let left = |(&(key, version), &count): (&(u64, i64), &i64)| {
            std::iter::repeat_n((key, version, count.signum() as i8), count.unsigned_abs() as usize)
        };
        let expected: Vec<(u64, i64, i8)> = counts.iter().flat_map(left).collect();
        let signed = |rows: Vec<Row>| rows.iter().map(|row| (row.0, row.1, row.2)).collect::<Vec<_>>();
        prop_assert_eq!(&signed(seen_final(&parts)), &expected);
        parts.optimize_final(&Default::default(), &Default::default()).unwrap();
        prop_assert_eq!(&signed(stored(&parts)), &expected);
        prop_assert_eq!(&signed(seen_final(&parts)), &expected);
    }
}
