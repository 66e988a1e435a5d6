//! Granules of wide rows have fewer rows, for every writer; readers use the part's own number.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryViewArray, RecordBatch, UInt64Array};
use basalt_base::fs::{FaultyStorage, Storage};
use basalt_base::{Column, Columns, SqlType};

use super::{TableParts, open};
use crate::key::element::KeyElement;
use crate::key::ranges::{KeyCondition, KeyRanges};
use crate::limits::GRANULE_BYTES_DEFAULT;
use crate::metrics::ReadMetrics;
use crate::spec::PartSpec;

const STRING_BYTES: usize = 1 << 20;

/// A table of a number and a string, sorted by the number.
fn table(granule_bytes: u64) -> TableParts {
    let storage = FaultyStorage::new();
    storage.create_dir_all(Path::new("/store")).unwrap();
    let columns = Columns::new(vec![Column::new("n", SqlType::UInt64), Column::new("s", SqlType::String)]);
    let sort_key = vec![KeyElement::column(0)];
    let spec = PartSpec { sort_key, primary_key_len: 1, granule_bytes, ..PartSpec::new(columns) };
    open(&storage, spec).unwrap()
}

/// Rows with these numbers; every string begins with its number, so that all are distinct.
fn insert(parts: &TableParts, numbers: std::ops::Range<u64>, string_bytes: usize) {
    let string = |number: u64| {
        let mut string = vec![b'x'; string_bytes];
        string[..8].copy_from_slice(&number.to_be_bytes());
        string
    };
    let strings: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(numbers.clone().map(string)));
    let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(numbers));
    parts.insert(RecordBatch::try_new(parts.spec().schema(), vec![numbers, strings]).unwrap()).unwrap();
}

#[test]
fn point_read_of_wide_rows_touches_one_granule() {
    let parts = table(GRANULE_BYTES_DEFAULT);
    insert(&parts, 0..25, STRING_BYTES);
    insert(&parts, 25..50, STRING_BYTES);
    assert_eq!(parts.snapshot().iter().map(|part| part.mark_count()).collect::<Vec<_>>(), [3, 3]);
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    let part = Arc::clone(&parts.snapshot()[0]);
    // A little more than nine rows of a MiB.
    assert_eq!(part.mark_count(), 50_usize.div_ceil(9));
    let wanted: ArrayRef = Arc::new(UInt64Array::from(vec![30]));
    let ranges = KeyRanges::points(&wanted).unwrap();
    let marks =
        part.prune(&[KeyCondition { column: 0, ranges }], &crate::index::predicate::Predicate::Any).unwrap();
    assert_eq!(marks.selected(), 1);
    let metrics = Arc::new(ReadMetrics::default());
    let rows = part.read(&[0, 1], marks.ranges[0].clone(), &metrics).unwrap();
    assert!(
        (0..rows.num_rows())
            .any(|row| rows.column(1).as_binary_view().value(row)[..8] == 30_u64.to_be_bytes())
    );
    let bytes = metrics.snapshot().uncompressed_bytes;
    assert!(bytes < GRANULE_BYTES_DEFAULT + (1 << 20), "{bytes} bytes were decoded");
}

#[test]
fn row_larger_than_a_granule_is_one() {
    let parts = table(1000);
    insert(&parts, 0..7, 5000);
    assert_eq!(parts.snapshot()[0].mark_count(), 7);
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert_eq!(parts.snapshot()[0].mark_count(), 7);
}

#[test]
fn granules_without_a_limit_of_bytes_have_the_tables_rows() {
    let parts = table(0);
    insert(&parts, 0..7, 5000);
    assert_eq!(parts.snapshot()[0].mark_count(), 1);
}

/// Equal strings are stored once in a part, and still count once for each row.
#[test]
fn coded_strings_count_with_their_length() {
    let parts = table(100_000);
    for _ in 0..2 {
        let strings: ArrayRef =
            Arc::new(BinaryViewArray::from_iter_values(std::iter::repeat_n([b'x'; 1000], 400)));
        let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..400));
        parts.insert(RecordBatch::try_new(parts.spec().schema(), vec![numbers, strings]).unwrap()).unwrap();
    }
    let marks = |parts: &TableParts| parts.snapshot().iter().map(|part| part.mark_count()).sum::<usize>();
    let before = marks(&parts);
    assert!(before >= 8);
    parts.optimize_final(&Default::default(), &Default::default()).unwrap();
    assert!(marks(&parts) >= before - 1, "{} of {before}", marks(&parts));
}
