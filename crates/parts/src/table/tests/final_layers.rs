//! FINAL in layers gives the rows of one merge, for any parts, keys and layers.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int8Array, Int64Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{Int8Type, Int64Type, UInt64Type};
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use proptest::prelude::*;

use super::{TableParts, open};
use crate::index::predicate::Predicate;
use crate::key::element::KeyElement;
use crate::key::prune::MarkRanges;
use crate::key::ranges::{KeyCondition, KeyRanges};
use crate::mode::MergeMode;
use crate::part::view::Part;
use crate::spec::PartSpec;
use crate::table::{FinalInput, FinalLayer, FinalScan, InsertOptions, final_layers, with_same_keys};

/// Two key elements, value, sign; a negative sign also means deleted.
type Row = (u64, u64, i64, i8);

#[derive(Clone, Debug)]
struct Case {
    mode: MergeMode,
    primary_key_len: usize,
    descending: (bool, bool),
    /// The rows of each insert, whether they are reduced before they are written, and whether the last two parts
    /// are merged afterwards.
    inserts: Vec<(Vec<Row>, bool, bool)>,
    granules: usize,
    wanted: i64,
}

fn case() -> impl Strategy<Value = Case> {
    let modes = prop_oneof![
        Just(MergeMode::Replacing { version: None, is_deleted: None }),
        Just(MergeMode::Replacing { version: Some(2), is_deleted: None }),
        Just(MergeMode::Summing { columns: vec![2] }),
        Just(MergeMode::Replacing { version: Some(2), is_deleted: Some(4) }),
        Just(MergeMode::Collapsing { sign: 3 }),
        // `b` is the version.
        Just(MergeMode::VersionedCollapsing { sign: 3 }),
    ];
    let row = (0..12_u64, 0..3_u64, 0..4_i64, prop_oneof![Just(1_i8), Just(-1_i8)]);
    // Some inserts have a range of keys of their own.
    let rows = (0..4_u64, prop::collection::vec(row, 1..40)).prop_map(|(shift, rows)| {
        rows.into_iter().map(|(a, b, v, s)| (a + shift * 6, b, v, s)).collect::<Vec<Row>>()
    });
    let inserts = prop::collection::vec((rows, any::<bool>(), any::<bool>()), 1..6);
    (modes, 1..3_usize, any::<(bool, bool)>(), inserts, 1..12_usize, 0..4_i64).prop_map(
        |(mode, primary_key_len, descending, inserts, granules, wanted)| Case {
            mode,
            primary_key_len,
            descending,
            inserts,
            granules,
            wanted,
        },
    )
}

fn table(case: &Case) -> TableParts {
    let columns = Columns::new(vec![
        Column::new("a", SqlType::UInt64),
        Column::new("b", SqlType::UInt64),
        Column::new("v", SqlType::Int64),
        Column::new("s", SqlType::Int8),
        Column::new("d", SqlType::UInt8),
    ]);
    let element = |column, descending| KeyElement { descending, ..KeyElement::column(column) };
    let sort_key = vec![element(0, case.descending.0), element(1, case.descending.1)];
    let (primary_key_len, mode) = (case.primary_key_len, case.mode.clone());
    let spec = PartSpec { sort_key, primary_key_len, granule_rows: 2, mode, ..PartSpec::new(columns) };
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let parts = open(&storage, spec).unwrap();
    for (rows, optimize, merge) in &case.inserts {
        insert(&parts, rows, *optimize);
        if let (true, [.., one, other]) = (*merge, &parts.snapshot()[..]) {
            parts.merge(&[Arc::clone(one), Arc::clone(other)], &Default::default()).unwrap();
        }
    }
    parts
}

fn insert(parts: &TableParts, rows: &[Row], optimize: bool) {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.2))),
        Arc::new(Int8Array::from_iter_values(rows.iter().map(|row| row.3))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| u8::from(row.3 < 0)))),
    ];
    let block = RecordBatch::try_new(parts.spec().schema(), columns).unwrap();
    let mut insert = parts.begin_insert(InsertOptions { optimize, ..InsertOptions::default() }).unwrap();
    insert.write(block).unwrap();
    insert.commit().unwrap();
}

fn inputs(parts: &[Arc<Part>], marks: Vec<MarkRanges>) -> Vec<FinalInput> {
    let input = |(part, marks): (&Arc<Part>, MarkRanges)| FinalInput {
        part: Arc::clone(part),
        marks,
        first_place: None,
    };
    parts.iter().zip(marks).map(input).collect()
}

fn all(parts: &[Arc<Part>]) -> Vec<MarkRanges> {
    parts.iter().map(|part| MarkRanges::all(part.mark_count())).collect()
}

fn rows(layers: &[FinalLayer]) -> Vec<Row> {
    let mut rows = Vec::new();
    for layer in layers {
        for batch in FinalScan::new(layer, &[0, 1, 2, 3], &Arc::default()).unwrap() {
            let batch = batch.unwrap();
            let number = |column: usize| batch.column(column).as_primitive::<UInt64Type>().clone();
            let (a, b) = (number(0), number(1));
            let v = batch.column(2).as_primitive::<Int64Type>();
            let s = batch.column(3).as_primitive::<Int8Type>();
            rows.extend((0..a.len()).map(|row| (a.value(row), b.value(row), v.value(row), s.value(row))));
        }
    }
    rows
}

fn check_layers(case: &Case) {
    let parts = table(case);
    let snapshot = parts.snapshot();
    let whole = rows(&[FinalLayer::whole(inputs(&snapshot, all(&snapshot)))]);
    let layers = final_layers(inputs(&snapshot, all(&snapshot)), case.granules).unwrap();
    // In key order, too.
    assert_eq!(rows(&layers), whole, "{} layers", layers.len());
}

/// A condition on a column outside the key skips granules, but no row of a matching key.
fn check_pruned(case: &Case) {
    if matches!(case.mode, MergeMode::Summing { .. }) {
        return;
    }
    let parts = table(case);
    let snapshot = parts.snapshot();
    let is_wanted = |row: &Row| row.2 == case.wanted;
    let whole = rows(&[FinalLayer::whole(inputs(&snapshot, all(&snapshot)))]);
    let expected: Vec<Row> = whole.into_iter().filter(is_wanted).collect();
    let point: ArrayRef = Arc::new(Int64Array::from(vec![case.wanted]));
    let condition = KeyCondition { column: 2, ranges: KeyRanges::points(&point).unwrap() };
    let conditions = [condition];
    let wanted = snapshot.iter().map(|part| part.prune(&conditions, &Predicate::Any).unwrap());
    let marks = with_same_keys(&snapshot, &all(&snapshot), &wanted.collect::<Vec<_>>()).unwrap();
    let layers = final_layers(inputs(&snapshot, marks), case.granules).unwrap();
    let found: Vec<Row> = rows(&layers).into_iter().filter(is_wanted).collect();
    assert_eq!(found, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn layers_have_the_rows_of_one_merge(case in case()) {
        check_layers(&case);
    }

    #[test]
    fn granules_with_the_keys_of_wanted_ones_are_enough(case in case()) {
        check_pruned(&case);
    }
}

#[test]
fn parts_that_do_not_overlap_are_layers_of_their_own() {
    let rows = |from: u64| (from..from + 40).map(|a| (a, 0, 1, 1)).collect::<Vec<Row>>();
    let case = Case {
        mode: MergeMode::Replacing { version: None, is_deleted: None },
        primary_key_len: 2,
        descending: (false, false),
        inserts: vec![(rows(0), true, false), (rows(100), true, false), (rows(120), true, false)],
        granules: 1000,
        wanted: 0,
    };
    let parts = table(&case);
    let snapshot = parts.snapshot();
    let layers = final_layers(inputs(&snapshot, all(&snapshot)), case.granules).unwrap();
    let counts: Vec<usize> = layers.iter().map(|layer| layer.inputs.len()).collect();
    assert_eq!(counts, [1, 1, 2, 1], "the first, the second alone, both of them, the third alone");
}
