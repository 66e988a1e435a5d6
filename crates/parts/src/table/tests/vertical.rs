//! A vertical merge makes the same files as a horizontal one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int8Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::UInt64Type;
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};
use proptest::prelude::*;

use super::{DIR, TableParts, WorkControl, files, open};
use crate::key::element::KeyElement;
use crate::limits::MergeLimits;
use crate::mode::MergeMode;
use crate::sample::{self, Noise};
use crate::spec::PartSpec;
use crate::table::{InsertOptions, OptimizeOptions, RowChange, RowsAfter};

/// Key, version, sign, deletion flag.
type Row = (u64, u64, i8, u8);

const DECIDING: usize = 4;

/// The columns of [`Row`], and one of every type.
fn spec(mode: MergeMode, merges: MergeLimits) -> PartSpec {
    let deciding =
        [("k", SqlType::UInt64), ("v", SqlType::UInt64), ("s", SqlType::Int8), ("d", SqlType::UInt8)];
    let deciding = deciding.into_iter().map(|(name, ty)| Column::new(name, ty));
    let others = sample::types().into_iter().enumerate().map(|(n, ty)| Column::new(format!("c{n}"), ty));
    // The key is not the first column, and the deciding columns are not adjacent.
    let mut columns: Vec<Column> = others.collect();
    deciding.enumerate().for_each(|(place, column)| columns.insert(place * 5 + 2, column));
    let position = |name: &str| columns.iter().position(|column| column.name == name).unwrap();
    let is_versioned = matches!(mode, MergeMode::VersionedCollapsing { .. });
    let key = if is_versioned { vec!["k", "v"] } else { vec!["k"] };
    let sort_key = key.into_iter().map(|name| KeyElement::column(position(name))).collect();
    let partition_key = vec![KeyElement::column(position("d"))];
    let partition_key = if is_versioned { partition_key } else { Vec::new() };
    let mode = mode.moved(|column| position(["k", "v", "s", "d"][column]));
    PartSpec {
        sort_key,
        partition_key,
        primary_key_len: 1,
        granule_rows: 4,
        wide_bytes_min: 0,
        mode,
        merges,
        ..PartSpec::new(Columns::new(columns))
    }
}

fn block(spec: &PartSpec, rows: &[Row], noise: &mut Noise) -> RecordBatch {
    let column = |column: &Column| -> ArrayRef {
        match column.name.as_str() {
            "k" => Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.0))),
            "v" => Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.1))),
            "s" => Arc::new(Int8Array::from_iter_values(rows.iter().map(|row| row.2))),
            "d" => Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.3))),
            _ => sample::array(&column.ty, rows.len(), noise),
        }
    };
    RecordBatch::try_new(spec.schema(), spec.columns.iter().map(column).collect()).unwrap()
}

/// Marks the rows with an even key as deleted.
struct DeleteEven([String; 1]);

impl RowChange for DeleteEven {
    fn reads(&self) -> &[String] {
        &self.0
    }

    fn writes(&self) -> &[String] {
        &[]
    }

    fn is_light(&self) -> bool {
        true
    }

    fn deletes_rows(&self) -> bool {
        true
    }

    fn apply(&self, rows: &RecordBatch) -> basalt_base::Result<RowsAfter> {
        let keys = rows.column(0).as_primitive::<UInt64Type>();
        let keep = BooleanArray::from_unary(keys, |key| key % 2 == 1);
        Ok(RowsAfter { is_touched: true, keep: Some(keep), columns: Vec::new() })
    }
}

/// The files after the inserts and OPTIMIZE FINAL, with their bytes.
fn merged(
    spec: PartSpec,
    inserts: &[Vec<Row>],
    deletes: bool,
    by: Option<&[usize]>,
) -> Vec<(PathBuf, Vec<u8>)> {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let parts: TableParts = open(&storage, spec.clone()).unwrap();
    let mut noise = Noise(inserts.len() as u64);
    for (number, rows) in inserts.iter().enumerate() {
        let options = InsertOptions { optimize: false, ..InsertOptions::default() };
        let mut insert = parts.begin_insert(options).unwrap();
        insert.write(block(&spec, rows, &mut noise)).unwrap();
        insert.commit().unwrap();
        if deletes && number == 0 {
            let version = parts.begin_mutation("DELETE").unwrap();
            for part in parts.snapshot().iter() {
                parts.mutate(part, version, &DeleteEven(["k".into()]), &Default::default()).unwrap();
            }
        }
    }
    let options = OptimizeOptions { deduplicate: by.map(<[_]>::to_vec), ..OptimizeOptions::default() };
    let control = WorkControl::default();
    let has_work =
        parts.snapshot().chunk_by(|a, b| a.name().partition == b.name().partition).any(|g| g.len() > 1);
    parts.optimize_final(&options, &control).unwrap();
    assert!(!has_work || control.is_vertical() == spec.merges.is_vertical_allowed);
    let found = files(&storage, Path::new(DIR)).into_iter();
    let found = found.filter(|path| !path.to_string_lossy().contains("mutation"));
    found.map(|path| (path.clone(), storage.read(&path, u64::MAX).unwrap())).collect()
}

fn check(mode: &MergeMode, inserts: &[Vec<Row>], deletes: bool, by: Option<&[usize]>) {
    let horizontal = MergeLimits { is_vertical_allowed: false, ..MergeLimits::default() };
    let expected = merged(spec(mode.clone(), horizontal), inserts, deletes, by);
    // Batches limited by rows, and by bytes so small that granules are read one by one.
    for (batch_rows, batch_bytes) in [(8192, 10 << 20), (3, 10 << 20), (8192, 100), (1, 1)] {
        let vertical = MergeLimits {
            batch_rows,
            batch_bytes,
            vertical_rows_min: 0,
            vertical_columns_min: 1,
            ..MergeLimits::default()
        };
        let found = merged(spec(mode.clone(), vertical), inserts, deletes, by);
        let names =
            |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{mode:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found == expected, "{mode:?}: {} differs", found.0.display());
        }
    }
}

fn modes() -> Vec<MergeMode> {
    vec![
        MergeMode::Ordinary,
        MergeMode::Replacing { version: Some(1), is_deleted: Some(3) },
        MergeMode::Replacing { version: None, is_deleted: None },
        MergeMode::Summing { columns: vec![1] },
        MergeMode::Collapsing { sign: 2 },
        MergeMode::VersionedCollapsing { sign: 2 },
    ]
}

fn inserts() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (0..20_u64, 0..4_u64, prop_oneof![Just(-1_i8), Just(1_i8)], 0..2_u8);
    prop::collection::vec(prop::collection::vec(row, 1..60), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn columns_one_by_one_make_the_files_of_all_at_once(
        inserts in inserts(),
        mode in prop::sample::select(modes()),
        deletes: bool,
        deduplicates: bool,
    ) {
        let names = spec(mode.clone(), MergeLimits::default());
        let by: Vec<usize> = ["k", "v", "d"].iter().map(|name| names.columns.position(name).unwrap()).collect();
        check(&mode, &inserts, deletes, deduplicates.then_some(&by));
    }
}

#[test]
fn inputs_that_follow_each_other_are_copied_in_runs() {
    let rows = |start: u64| (start..start + 500).map(|key| (key, key % 3, 1, 0)).collect::<Vec<Row>>();
    check(&MergeMode::Ordinary, &[rows(0), rows(500), rows(900)], false, None);
}

#[test]
fn merge_of_rows_that_all_go_leaves_no_part() {
    let inserts = [vec![(1, 1, 1, 0), (2, 1, 1, 0)], vec![(1, 1, -1, 0), (2, 1, -1, 0)]];
    check(&MergeMode::Collapsing { sign: 2 }, &inserts, false, None);
}

#[test]
fn crash_or_full_disk_in_a_merge_leaves_the_parts_and_no_file_of_rows() {
    let vertical = MergeLimits { vertical_rows_min: 0, vertical_columns_min: 1, ..MergeLimits::default() };
    let spec = spec(MergeMode::Ordinary, vertical);
    assert!(spec.columns.len() > DECIDING);
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let parts = open(&storage, spec.clone()).unwrap();
    for key in 0..2 {
        parts.insert(block(&spec, &[(key, 0, 1, 0), (key + 5, 0, 1, 0)], &mut Noise(key))).unwrap();
    }
    for space in [10, 1000, 5000] {
        storage.set_space_left(Some(space));
        parts.optimize_final(&OptimizeOptions::default(), &WorkControl::default()).unwrap_err();
        assert_eq!(parts.snapshot().len(), 2);
        assert!(files(&storage, &Path::new(DIR).join("tmp")).is_empty());
    }
    storage.set_space_left(None);
    parts.optimize_final(&OptimizeOptions::default(), &WorkControl::default()).unwrap();
    assert_eq!(parts.row_count(), 4);
}

#[test]
fn memory_is_given_back_after_every_column() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let vertical = MergeLimits { vertical_rows_min: 0, vertical_columns_min: 1, ..MergeLimits::default() };
    let spec = spec(MergeMode::Ordinary, vertical);
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let parts = open(&storage, spec.clone()).unwrap();
    parts.release_memory_by(|| {
        CALLS.fetch_add(1, Ordering::Relaxed);
    });
    for key in 0..2 {
        parts.insert(block(&spec, &[(key, 0, 1, 0)], &mut Noise(key))).unwrap();
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    parts.optimize_final(&OptimizeOptions::default(), &WorkControl::default()).unwrap();
    // For the key alone, no other column is gathered.
    assert_eq!(CALLS.load(Ordering::Relaxed), spec.columns.len() - 1 + 1);
}
