//! Tests of columns matched by name and converted.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch};
use basalt_base::{Columns, Error, ErrorCode, Result, SqlType};

use crate::recorded_binary::{batch, columns, written};
use crate::{Block, Callbacks, Defaulted, FormatSettings, TypeConverter, open_reader_with};

/// Reads a Native block of `found` rows into `wanted` columns.
fn matched(
    found: (&Columns, &RecordBatch),
    wanted: &Columns,
    settings: &FormatSettings,
    callbacks: Callbacks,
) -> Result<Block> {
    let bytes = written("Native", found.0, found.1);
    let mut reader = open_reader_with("Native", wanted, settings, Box::new(Cursor::new(bytes)), callbacks)?;
    reader.next_block().map(Option::unwrap)
}

#[test]
fn columns_are_matched_by_name() {
    let found = columns(&[("z", "UInt8"), ("b", "LowCardinality(String)"), ("a", "Nullable(Int8)")]);
    let rows = batch(&found, &[&["1", "'x'", "NULL"], &["2", "'y'", "5"]]);
    let wanted = columns(&[("a", "Int8"), ("b", "Nullable(String)"), ("c", "UInt16")]);
    let mut settings = FormatSettings::default();
    let block = matched((&found, &rows), &wanted, &settings, Callbacks::default()).unwrap();
    assert_eq!(block.batch, batch(&wanted, &[&["0", "'x'", "0"], &["5", "'y'", "0"]]));
    let first = Defaulted::Rows(vec![true, false].into());
    assert_eq!(block.defaulted, [first, Defaulted::Never, Defaulted::Always]);
    settings.text.null_as_default = false;
    let error = matched((&found, &rows), &wanted, &settings, Callbacks::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CannotInsertNullInOrdinaryColumn);
    settings = FormatSettings { skip_unknown_fields: false, ..FormatSettings::default() };
    let error = matched((&found, &rows), &wanted, &settings, Callbacks::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NoSuchColumnInTable);
}

/// Converts to the default of Int64, plus one.
struct Ones;

impl TypeConverter for Ones {
    fn convert(&self, array: &ArrayRef, _: &SqlType, to: &SqlType) -> Result<ArrayRef> {
        assert_eq!(*to, SqlType::Int64);
        Ok(Arc::new(Int64Array::from_value(1, array.len())))
    }
}

#[test]
fn other_types_are_converted_by_the_caller() {
    let (found, wanted) = (columns(&[("a", "Nullable(UInt8)")]), columns(&[("a", "Int64")]));
    let rows = batch(&found, &[&["NULL"], &["7"]]);
    let settings = FormatSettings::default();
    let error: Error = matched((&found, &rows), &wanted, &settings, Callbacks::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TypeMismatch);
    let what = "the input has values of type Nullable(UInt8), but the column is of type Int64: column `a`";
    assert_eq!(error.message(), what);
    let callbacks = Callbacks { converter: Some(Arc::new(Ones)), ..Callbacks::default() };
    let block = matched((&found, &rows), &wanted, &settings, callbacks).unwrap();
    assert_eq!(block.batch, batch(&wanted, &[&["0"], &["1"]]));
}
