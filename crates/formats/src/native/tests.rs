//! Tests of blocks: what a revision changes, sparse columns, damaged and hostile bytes.

use std::io::Cursor;

use arrow::array::{Array, RecordBatch};
use basalt_base::{Columns, ErrorCode, Result};

use super::{BlockDecoder, BlockLimits, REVISION_MAX, write_block, write_empty_block};
use crate::recorded_binary::{LIMIT_BYTES, batch, columns, damage, types_and_nulls};

fn decoded(bytes: &[u8], revision: u64, bytes_max: usize) -> Result<Option<(Columns, RecordBatch)>> {
    let limits = BlockLimits { bytes_max: bytes_max as u64 };
    BlockDecoder::new(revision, limits)?.read(&mut Cursor::new(bytes))
}

#[test]
fn a_revision_decides_what_is_in_front_of_values() {
    let columns = columns(&[("check", "LowCardinality(String)"), ("d", "DateTime('UTC')")]);
    let rows = batch(&columns, &[&["'x'", "1"]]);
    let bytes = |revision| {
        let mut out = Vec::new();
        write_block(&columns, &rows, revision, &mut out).unwrap();
        out
    };
    let contains = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(bytes(0).starts_with(b"\x02\x01\x05check\x16LowCardinality(String)\x01"));
    assert!(contains(&bytes(0), b"\x01d\x08DateTime\x01\0\0\0"));
    assert!(
        bytes(1)
            .starts_with(b"\x01\0\x02\xff\xff\xff\xff\0\x02\x01\x05check\x06String\x01x\x01d\x08DateTime")
    );
    assert!(contains(&bytes(54_337), b"\x01d\x0fDateTime('UTC')\x01\0\0\0"));
    assert!(contains(&bytes(54_405), b"\x05check\x16LowCardinality(String)\x01"));
    assert!(contains(&bytes(54_454), b"\x05check\x16LowCardinality(String)\0\x01\0"));
    assert!(bytes(54_480).starts_with(b"\x01\0\x02\xff\xff\xff\xff\x03\0\0\x02\x01"));
    for revision in [0, 1, 54_337, 54_405, 54_454, 54_480, REVISION_MAX] {
        let (found, batch) = decoded(&bytes(revision), revision, LIMIT_BYTES).unwrap().unwrap();
        assert_eq!((found.len(), batch.columns()), (2, rows.columns()), "{revision}");
    }
    assert!(write_block(&columns, &rows, REVISION_MAX + 1, &mut Vec::new()).is_err());
    assert!(decoded(b"", REVISION_MAX + 1, LIMIT_BYTES).is_err());
}

#[test]
fn a_block_without_rows_is_a_header() {
    let (columns, rows) = types_and_nulls();
    for revision in [0, 54_460] {
        let (mut header, mut sliced) = (Vec::new(), Vec::new());
        write_empty_block(&columns, revision, &mut header).unwrap();
        write_block(&columns, &rows.slice(0, 0), revision, &mut sliced).unwrap();
        assert_eq!(header, sliced);
        let (found, batch) = decoded(&header, revision, LIMIT_BYTES).unwrap().unwrap();
        assert_eq!((found, batch.num_rows()), (columns.clone(), 0));
    }
    let end = Columns::new(Vec::new());
    let mut bytes = Vec::new();
    write_empty_block(&end, 54_460, &mut bytes).unwrap();
    assert_eq!(decoded(&bytes, 54_460, LIMIT_BYTES).unwrap().unwrap().0, end);
    assert!(decoded(b"\0\x05", 0, LIMIT_BYTES).is_err());
}

#[test]
fn a_decoder_takes_no_byte_beyond_its_block() {
    let (columns, rows) = types_and_nulls();
    let mut bytes = Vec::new();
    write_block(&columns, &rows, 54_460, &mut bytes).unwrap();
    let length = bytes.len();
    bytes.extend_from_slice(b"the next packet");
    let mut input = Cursor::new(bytes);
    let limits = BlockLimits { bytes_max: LIMIT_BYTES as u64 };
    BlockDecoder::new(54_460, limits).unwrap().read(&mut input).unwrap().unwrap();
    assert_eq!(input.position(), length as u64);
}

#[test]
fn sparse_columns_are_read() {
    let block = |kind: u8, places: &[u8]| {
        let mut bytes = b"\x01\0\x02\xff\xff\xff\xff\0\x01\x06\x01n\x06UInt16\x01".to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(places);
        bytes.extend_from_slice(b"\x07\0\x08\0");
        decoded(&bytes, 54_465, LIMIT_BYTES)
    };
    // Two defaults, a value, a value, two defaults.
    let places = b"\x02\0\x82\x80\x80\x80\x80\x80\x80\x80\x40";
    let (_, batch) = block(1, places).unwrap().unwrap();
    let expected = arrow::array::UInt16Array::from(vec![0, 0, 7, 8, 0, 0]);
    assert_eq!(batch.column(0).as_ref(), &expected as &dyn Array);
    assert!(block(1, b"\x02\0\x83\x80\x80\x80\x80\x80\x80\x80\x40").is_err());
    assert!(block(1, b"\x02\0\x81\x80\x80\x80\x80\x80\x80\x80\x40").is_err());
    let error = block(2, places).unwrap_err();
    assert!(error.code() == ErrorCode::NotImplemented && error.message().contains("`n`"), "{error}");
}

#[test]
fn numbers_in_headers_allocate_nothing() {
    let limit = 1 << 40;
    let hostile: [&[u8]; 5] = [
        b"\x01\x80\x80\x80\x80\x10\x01a\x06UInt64",
        b"\x01\x80\x80\x80\x80\x10\x01a\x06String\xff\xff\xff\xff\x0f",
        b"\x01\x01\x01a\x0dArray(UInt64)\xff\xff\xff\x7f\0\0\0\0",
        b"\xff\xff\xff\xff\x0f\x00",
        b"\x01\x01\x01a\x19FixedString(\x31\x30\x30\x30\x30\x30\x30\x30)",
    ];
    for bytes in hostile {
        assert!(decoded(bytes, 0, limit).is_err(), "{}", bytes.escape_ascii());
    }
    // Defaults of a sparse column count as bytes.
    let sparse = b"\x01\0\x02\xff\xff\xff\xff\0\x01\x80\x80\x80\x01\x01n\x06UInt64\x01\x01\x80\x80\x80\x81\x80\x80\x80\x80\x40";
    assert!(decoded(sparse, 54_465, LIMIT_BYTES).is_err());
}

#[test]
fn damaged_blocks_are_refused_or_read() {
    let (columns, rows) = types_and_nulls();
    for revision in [1, 54_454, REVISION_MAX] {
        let mut bytes = Vec::new();
        write_block(&columns, &rows, revision, &mut bytes).unwrap();
        damage(|bytes| decoded(bytes, revision, LIMIT_BYTES).is_ok(), &bytes);
    }
}
