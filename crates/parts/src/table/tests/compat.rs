//! Parts of older format versions, recorded as files, are still readable.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, Decimal128Array, ListArray, RecordBatch, UInt16Array, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use basalt_base::fs::RealStorage;
use basalt_base::{Column, Columns, SqlType};
use basalt_codec::{CodecChain, CodecSpec};

use crate::error::Error;
use crate::index::predicate::Predicate;
use crate::key::element::KeyElement;
use crate::key::prune::MarkRanges;
use crate::key::ranges::{KeyCondition, KeyRanges};
use crate::part::meta::META_FILE;
use crate::spec::PartSpec;
use crate::table::TableParts;

/// Each part of each version holds the rows of [`rows`]; `tests/compat/make` records them.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/compat/part");

fn spec() -> PartSpec {
    let columns = Columns::new(vec![
        Column::new("n", SqlType::UInt64),
        Column::new("s", SqlType::String.into_nullable()),
        Column::new("a", SqlType::array_of(SqlType::UInt16)),
        Column::new("d", SqlType::Decimal { precision: 9, scale: 2 }),
        Column::new("l", SqlType::LowCardinality(Arc::new(SqlType::String))),
    ]);
    let mut spec = PartSpec {
        sort_key: vec![KeyElement::column(0)],
        primary_key_len: 1,
        granule_rows: 4,
        ..PartSpec::new(columns)
    };
    spec.codecs[0] = CodecChain::new(vec![CodecSpec::Delta { width: 0 }, CodecSpec::Zstd { level: 1 }]);
    spec
}

fn rows() -> RecordBatch {
    let count = 10_u64;
    let word = |row: u64| (row != 3).then(|| "word ".repeat(row as usize));
    let element = SqlType::UInt16.carrier();
    let DataType::List(field) = SqlType::array_of(SqlType::UInt16).carrier() else {
        panic!("an array is carried by a list of {element}")
    };
    let elements: ArrayRef = Arc::new(UInt16Array::from_iter_values(0..20));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values((0..count).map(|row| row * row))),
        Arc::new((0..count).map(word).collect::<BinaryViewArray>()),
        Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([2; 10]), elements, None)),
        Arc::new(
            Decimal128Array::from_iter_values((0..count).map(|row| row as i128 - 5))
                .with_data_type(DataType::Decimal128(9, 2)),
        ),
        Arc::new(BinaryViewArray::from_iter_values((0..count).map(|row| ["red", "blue"][row as usize % 2]))),
    ];
    RecordBatch::try_new(spec().schema(), columns).unwrap()
}

/// A table with a copy of the recorded part: opening may change a directory.
fn open(version: &str, name: &str) -> (tempfile::TempDir, TableParts) {
    let dir = tempfile::tempdir().unwrap();
    let from = Path::new(FIXTURES).join(version).join(name);
    let to = dir.path().join(name);
    fs::create_dir(&to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file: PathBuf = file.unwrap().path();
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
    let parts = TableParts::open(Arc::new(RealStorage), dir.path(), spec()).unwrap();
    (dir, parts)
}

/// Checks the part, of whose three granules the first `granules` may hold the string of row 5.
#[track_caller]
fn check(version: &str, name: &str, granules: usize) {
    let (_dir, parts) = open(version, name);
    assert_eq!(parts.detached(), []);
    let part = Arc::clone(&parts.snapshot()[0]);
    let read = || part.read(&[0, 1, 2, 3, 4], 0..3, &Default::default()).unwrap();
    assert_eq!(read(), rows());
    part.check().unwrap();
    let points = |column: usize, row: usize| {
        let ranges = KeyRanges::points(&rows().column(column).slice(row, 1)).unwrap();
        part.prune(&[KeyCondition { column, ranges }], &Predicate::Any).unwrap()
    };
    assert_eq!(points(0, 5), MarkRanges { ranges: vec![Range { start: 1, end: 2 }], total: 3 });
    assert_eq!(points(1, 5), MarkRanges { ranges: vec![Range { start: 0, end: granules }], total: 3 });
    parts.insert(rows()).unwrap();
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(parts.row_count(), 20);
}

#[test]
fn part_of_version_1_is_read_pruned_and_merged() {
    // It has no zone maps.
    check("v1", "all_1_1_0", 3);
}

#[test]
fn compact_part_of_version_2_is_read_pruned_and_merged() {
    check("v2", "all_1_1_0", 2);
}

#[test]
fn wide_part_of_version_2_is_read_pruned_and_merged() {
    check("v2", "all_2_2_0", 2);
}

#[test]
fn part_of_a_newer_version_is_refused_and_stays_where_it_is() {
    let (dir, parts) = open("v1", "all_1_1_0");
    drop(parts);
    let path = dir.path().join("all_1_1_0").join(META_FILE);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 4);
    bytes[8] = 99;
    let crc = basalt_base::checksum::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let error = TableParts::open(Arc::new(RealStorage), dir.path(), spec()).unwrap_err();
    assert!(error.to_string().contains("has format version 99, this build reads up to 2"), "{error}");
    let Error::NewerFormat { known, .. } = error else { panic!("{error}") };
    assert!(
        Path::new(FIXTURES).join(format!("v{known}")).is_dir(),
        "tests/compat/make records a new version"
    );
    assert!(path.exists());
}
