//! Tests of rows: marks of missing values, and rows longer than a chunk.

use crate::recorded_binary::{batch, blocks, columns, written};
use crate::{Defaulted, FormatSettings};

#[test]
fn marks_say_which_values_are_missing() {
    let columns = columns(&[("a", "UInt8"), ("b", "Enum8('x' = 3)"), ("c", "Nullable(UInt8)")]);
    let settings = FormatSettings::default();
    let rows = b"\x01\0\x03\0\0\x07\0\x02\x01\0\x01";
    let found = blocks("RowBinaryWithDefaults", &columns, &settings, rows).unwrap();
    assert_eq!(found[0].batch, batch(&columns, &[&["0", "'x'", "7"], &["2", "'x'", "NULL"]]));
    let rows_missing = |rows: Vec<bool>| Defaulted::Rows(rows.into());
    let (first, second) = (rows_missing(vec![true, false]), rows_missing(vec![false, true]));
    assert_eq!(found[0].defaulted, [first, second, Defaulted::Never]);
    let error = blocks("RowBinaryWithDefaults", &columns, &settings, &rows[..5]).unwrap_err();
    assert_eq!(
        error.message(),
        "the input ends within a row or its header: column `c` of type Nullable(UInt8): row 1 at byte 0"
    );
}

#[test]
fn rows_longer_than_a_chunk_are_read() {
    let columns = columns(&[("s", "String"), ("a", "Array(UInt64)")]);
    let long = format!("'{}'", "y".repeat(3 << 20));
    let numbers = format!("[{}]", vec!["12345"; 200_000].join(","));
    let rows = batch(&columns, &[&["'x'", "[1]"], &[&long, &numbers], &["''", "[]"]]);
    for format in ["RowBinary", "RowBinaryWithNamesAndTypes", "Native"] {
        let bytes = written(format, &columns, &rows);
        let found = blocks(format, &columns, &FormatSettings::default(), &bytes).unwrap();
        assert_eq!(found[0].batch, rows, "{format}");
    }
    let settings = FormatSettings { max_row_bytes: 1 << 20, ..FormatSettings::default() };
    assert!(blocks("RowBinary", &columns, &settings, &written("RowBinary", &columns, &rows)).is_err());
}

#[test]
fn rows_without_bytes_are_refused() {
    let none = columns(&[("a", "Tuple()")]);
    assert!(blocks("RowBinary", &none, &FormatSettings::default(), b"\x01").is_err());
    // A header without columns: every row of it is empty.
    let some = columns(&[("a", "UInt8")]);
    for format in ["RowBinaryWithNamesAndTypes", "RowBinaryWithNamesAndTypesAndDefaults"] {
        assert!(blocks(format, &some, &FormatSettings::default(), b"\0\x01").is_err(), "{format}");
        assert_eq!(blocks(format, &some, &FormatSettings::default(), b"").unwrap().len(), 0, "{format}");
    }
}
