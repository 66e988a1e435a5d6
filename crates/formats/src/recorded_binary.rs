//! Compares Native and RowBinary with bytes recorded from ClickHouse, in both directions, and damages them.

use std::io::Cursor;

use arrow::array::RecordBatch;
use basalt_base::types::IntervalUnit;
use basalt_base::{Column, Columns, Result, SqlType};

use crate::binary::named_type;
use crate::text::ColumnBuilder;
use crate::{Block, FormatSettings, Statistics, infer_schema, open_reader, open_writer};

const FORMATS: [&str; 4] = ["Native", "RowBinary", "RowBinaryWithNames", "RowBinaryWithNamesAndTypes"];

/// Memory of a block in tests of damaged bytes.
pub(crate) const LIMIT_BYTES: usize = 1 << 20;

fn recorded(name: &str, format: &str) -> Vec<u8> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read(root.join(format!("testdata/clickhouse/{name}.{format}"))).unwrap()
}

pub(crate) fn columns(described: &[(&str, &str)]) -> Columns {
    described.iter().map(|(name, ty)| Column::new(*name, named_type(ty.as_bytes()).unwrap())).collect()
}

pub(crate) fn batch(columns: &Columns, rows: &[&[&str]]) -> RecordBatch {
    let arrays = columns.iter().enumerate().map(|(at, column)| {
        let mut builder = ColumnBuilder::new(&column.ty, &FormatSettings::default().text).unwrap();
        for row in rows {
            builder.parse_quoted(row[at].as_bytes()).unwrap();
        }
        builder.finish()
    });
    RecordBatch::try_new(columns.to_arrow(), arrays.collect()).unwrap()
}

pub(crate) fn written(format: &str, columns: &Columns, batch: &RecordBatch) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = open_writer(format, columns, &FormatSettings::default()).unwrap();
    writer.start(&mut out);
    writer.write(batch, &mut out).unwrap();
    writer.finish(&Statistics::default(), &mut out).unwrap();
    out
}

pub(crate) fn blocks(
    format: &str,
    columns: &Columns,
    settings: &FormatSettings,
    bytes: &[u8],
) -> Result<Vec<Block>> {
    let mut reader = open_reader(format, columns, settings, Box::new(Cursor::new(bytes.to_vec())))?;
    std::iter::from_fn(|| reader.next_block().transpose()).collect()
}

/// Expects the bytes recorded as `name` for `batch`, and `batch` for the bytes.
fn check(name: &str, columns: &Columns, batch: &RecordBatch) {
    for format in FORMATS {
        let expected = recorded(name, format);
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        assert_eq!(shown(&written(format, columns, batch)), shown(&expected), "{name} in {format}");
        let found = blocks(format, columns, &FormatSettings::default(), &expected).unwrap();
        assert_eq!(found.len(), 1, "{name} in {format}");
        for (at, column) in columns.iter().enumerate() {
            assert_eq!(found[0].batch.column(at), batch.column(at), "{} in {format}", column.name);
        }
    }
}

/// The rows recorded as `binary`: types that `big` has not, and NULL.
pub(crate) fn types_and_nulls() -> (Columns, RecordBatch) {
    let long = format!("'{}'", "x".repeat(300));
    let uuid = "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'";
    let one = "'00000000-0000-0000-0000-000000000001'";
    let described: [(&str, &str, [&str; 3]); 22] = [
        ("f32", "Float32", ["1.5", "-0.5", "0"]),
        ("f64", "Nullable(Float64)", ["nan", "NULL", "-1"]),
        ("i16", "Int16", ["-2", "300", "0"]),
        ("u32", "Nullable(UInt32)", ["7", "NULL", "0"]),
        ("e16", "Enum16('x' = 300, 'y' = -1)", ["'x'", "'y'", "'x'"]),
        ("ne", "Nullable(Enum8('a' = 1))", ["'a'", "NULL", "'a'"]),
        ("ip6", "IPv6", ["'::1:2'", "'2001:db8::'", "'::'"]),
        ("d9", "Decimal(9, 2)", ["1.25", "-1.25", "0"]),
        ("d18", "Nullable(Decimal(18, 3))", ["-1.5", "NULL", "0"]),
        ("d38", "Decimal(38, 3)", ["-3.125", "0", "1"]),
        ("d76", "Decimal(76, 3)", ["4.5", "-4.5", "0"]),
        ("nu", "Nullable(UUID)", [uuid, "NULL", one]),
        ("ns", "Nullable(String)", ["'ns'", "NULL", "''"]),
        ("nfs", "Nullable(FixedString(2))", ["'q'", "NULL", "'zz'"]),
        ("nb", "Nullable(Bool)", ["true", "NULL", "false"]),
        ("lcn", "LowCardinality(Nullable(String))", ["'k'", "NULL", "''"]),
        ("lcf", "LowCardinality(FixedString(2))", ["'ab'", "''", "'ab'"]),
        ("alc", "Array(LowCardinality(String))", ["['u','v','u']", "[]", "['','u']"]),
        (
            "mlc",
            "Map(LowCardinality(String), Array(LowCardinality(Nullable(String))))",
            ["{'m':['z',NULL]}", "{}", "{'m':[],'n':['z']}"],
        ),
        (
            "tlc",
            "Tuple(a LowCardinality(String), `b c` Nullable(Int8))",
            ["('t',-5)", "('',NULL)", "('t',1)"],
        ),
        ("att", "Array(Tuple(UInt8, String))", ["[(1,'p')]", "[]", "[(2,''),(3,'pq')]"]),
        ("long", "String", [&long, "''", "'a string of more than twelve bytes'"]),
    ];
    let columns = columns(&described.map(|(name, ty, _)| (name, ty)));
    let rows: Vec<[&str; 22]> = (0..3).map(|row| described.map(|(_, _, values)| values[row])).collect();
    let rows = batch(&columns, &rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
    (columns, rows)
}

/// The least and the greatest integers of 128 and 256 bits, recorded as `wide`.
fn wide_integers() -> (Columns, RecordBatch) {
    let columns = columns(&[
        ("i", "Int128"),
        ("u", "UInt128"),
        ("k", "Int256"),
        ("w", "UInt256"),
        ("n", "Nullable(Int128)"),
        ("a", "Array(UInt256)"),
        ("m", "Map(Int128, Int256)"),
    ]);
    let rows: [&[&str]; 3] = [
        &[
            "-170141183460469231731687303715884105728",
            "340282366920938463463374607431768211455",
            "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
            "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            "NULL",
            "[1,2]",
            "{-1:-2}",
        ],
        &[
            "170141183460469231731687303715884105727",
            "0",
            "57896044618658097711785492504343953926634992332820282019728792003956564819967",
            "0",
            "-5",
            "[]",
            "{}",
        ],
        &["-1", "1", "-1", "258", "7", "[12345678901234567890123]", "{1:2}"],
    ];
    let rows = batch(&columns, &rows);
    (columns, rows)
}

#[test]
fn wide_integers_have_the_bytes_of_clickhouse() {
    let (columns, rows) = wide_integers();
    check("wide", &columns, &rows);
}

#[test]
fn every_type_has_the_bytes_of_clickhouse() {
    let (columns, rows) = types_and_nulls();
    check("binary", &columns, &rows);
    let (columns, row) = crate::recorded::one_row_of_every_type();
    check("big", &columns, &row);
}

#[test]
fn values_without_bytes_have_those_of_clickhouse() {
    let columns = Columns::new(vec![
        Column::new("i", SqlType::Interval(IntervalUnit::Day)),
        Column::new("j", SqlType::Interval(IntervalUnit::Month)),
        Column::new("e", SqlType::tuple_of([])),
        Column::new("ae", SqlType::array_of(SqlType::tuple_of([]))),
        Column::new("te", SqlType::tuple_of([SqlType::UInt8, SqlType::tuple_of([])])),
        Column::new("an", SqlType::array_of(SqlType::Nothing.into_nullable())),
        Column::new("ea", SqlType::array_of(SqlType::Nothing)),
        Column::new("x", SqlType::Int64),
    ]);
    let row = batch(&columns, &[&["3", "-1", "()", "[(),()]", "(1,())", "[NULL,NULL]", "[]", "-1"]]);
    check("empty_values", &columns, &row);
}

#[test]
fn many_keys_have_wide_positions() {
    let columns = columns(&[("c", "LowCardinality(String)")]);
    let rows: Vec<[String; 1]> = (0..1000).map(|number| [format!("'{}'", number * 7919 % 300)]).collect();
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let rows = batch(&columns, &rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_eq!(written("Native", &columns, &rows), recorded("keys", "Native"));
    let found = blocks("Native", &columns, &FormatSettings::default(), &recorded("keys", "Native")).unwrap();
    assert_eq!(found[0].batch, rows);
}

#[test]
fn schemas_are_those_of_the_file() {
    let (columns, _) = types_and_nulls();
    for format in ["Native", "RowBinaryWithNamesAndTypes"] {
        let bytes = recorded("binary", format);
        let found = infer_schema(format, &mut &bytes[..], &FormatSettings::default()).unwrap();
        assert_eq!(found, columns, "{format}");
        let empty = infer_schema(format, &mut &b""[..], &FormatSettings::default());
        assert!(empty.is_err(), "{format}");
    }
}

/// Every truncation and every flipped bit gives rows or an error, in little memory.
pub(crate) fn damage(read: impl Fn(&[u8]) -> bool, bytes: &[u8]) {
    assert!(read(bytes));
    for cut in 0..bytes.len() {
        read(&bytes[..cut]);
    }
    let mut damaged = bytes.to_vec();
    for bit in 0..bytes.len() * 8 {
        damaged[bit / 8] ^= 1 << (bit % 8);
        read(&damaged);
        damaged[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn damaged_bytes_are_rows_or_an_error() {
    let settings = FormatSettings { max_row_bytes: LIMIT_BYTES, ..FormatSettings::default() };
    let (columns, _) = types_and_nulls();
    for name in ["big", "binary", "wide"] {
        for format in FORMATS {
            let columns = match name {
                "big" => crate::recorded::one_row_of_every_type().0,
                "wide" => wide_integers().0,
                _ => columns.clone(),
            };
            let read = |bytes: &[u8]| {
                // Rows that were read can be written as text, whatever their values.
                let found = blocks(format, &columns, &settings, bytes);
                found.iter().flatten().for_each(|block| drop(written("TSV", &columns, &block.batch)));
                found.is_ok()
            };
            damage(read, &recorded(name, format));
        }
    }
}
