//! Tests of all formats at once: what is written reads back, and no bytes make a reader panic.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_base::types::{U256, Wide};
use basalt_base::{Column, Columns, SqlType};
use proptest::prelude::*;

use crate::text::ColumnBuilder;
use crate::{Block, Defaulted, FormatSettings, Statistics, open_reader, open_writer};

/// Formats that preserve every value.
const FAITHFUL: &[&str] = &[
    "TSV",
    "TSVWithNames",
    "TSVWithNamesAndTypes",
    "CSV",
    "CSVWithNames",
    "CSVWithNamesAndTypes",
    "JSONEachRow",
    "JSONCompactEachRow",
    "JSONCompactEachRowWithNamesAndTypes",
    "JSONStringsEachRow",
    "JSONCompactStringsEachRowWithNames",
    "JSONCompactStringsEachRowWithNamesAndTypes",
    "JSONObjectEachRow",
    "JSONColumns",
    "JSONCompactColumns",
    "JSONColumnsWithMetadata",
    "CustomSeparated",
    "CustomSeparatedWithNamesAndTypes",
    "TSKV",
    "Values",
    "Native",
    "RowBinary",
    "RowBinaryWithNames",
    "RowBinaryWithNamesAndTypes",
    "Arrow",
    "ArrowStream",
    "Parquet",
];

fn every_type() -> Vec<SqlType> {
    let labels: Arc<[(String, i8)]> = Arc::new([("a'b".into(), 1), ("c\t".into(), -2)]);
    let wide_labels: Arc<[(String, i16)]> = Arc::new([("x".into(), 300), ("y".into(), 0)]);
    let map = SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::array_of(SqlType::Int16)));
    let flat = [
        SqlType::UInt8,
        SqlType::UInt16,
        SqlType::UInt32,
        SqlType::UInt64,
        SqlType::Int8,
        SqlType::Int16,
        SqlType::Int32,
        SqlType::Int64,
        SqlType::Float32,
        SqlType::Float64,
        SqlType::Bool,
        SqlType::String,
        SqlType::FixedString(3),
        SqlType::Uuid,
        SqlType::Date,
        SqlType::Date32,
        SqlType::DateTime(Some("Asia/Kathmandu".into())),
        SqlType::DateTime64 { precision: 6, zone: None },
        SqlType::Decimal { precision: 9, scale: 2 },
        SqlType::Decimal { precision: 50, scale: 10 },
        SqlType::Enum8(labels),
        SqlType::Enum16(wide_labels),
        SqlType::Ipv4,
        SqlType::Ipv6,
        SqlType::Wide(Wide::Int128),
        SqlType::Wide(Wide::UInt256),
    ];
    let nullable = flat.iter().cloned().map(SqlType::into_nullable);
    let lists = flat.iter().cloned().map(SqlType::array_of);
    let more = [
        SqlType::LowCardinality(Arc::new(SqlType::String.into_nullable())),
        SqlType::array_of(SqlType::array_of(SqlType::String.into_nullable())),
        SqlType::tuple_of([SqlType::String, SqlType::Int8.into_nullable()]),
        SqlType::array_of(SqlType::tuple_of([SqlType::Date, SqlType::String])),
        map,
    ];
    flat.iter().cloned().chain(nullable).chain(lists).chain(more).collect()
}

/// The literal of some value of `ty`, chosen by `seed`.
fn literal(ty: &SqlType, seed: u64) -> String {
    let next = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    let quoted = |text: &str| basalt_base::types::quote_string(text);
    match ty {
        SqlType::Nullable(_) if seed.is_multiple_of(4) => "NULL".into(),
        SqlType::Nullable(inner) | SqlType::LowCardinality(inner) => literal(inner, next),
        SqlType::UInt8 => (seed as u8).to_string(),
        SqlType::UInt16 => (seed as u16).to_string(),
        SqlType::UInt32 => (seed as u32).to_string(),
        SqlType::UInt64 => seed.to_string(),
        SqlType::Int8 => (seed as i8).to_string(),
        SqlType::Int16 => (seed as i16).to_string(),
        SqlType::Int32 => (seed as i32).to_string(),
        SqlType::Int64 => (seed as i64).to_string(),
        SqlType::Float32 => format!("{:e}", f32::from_bits(seed as u32 & 0xbf7f_ffff)),
        SqlType::Float64 => format!("{:e}", f64::from_bits(seed & 0xbfef_ffff_ffff_ffff)),
        SqlType::Bool => (seed % 2 == 1).to_string(),
        SqlType::String => {
            let letters = ["a", "'", "\"", "\\", "\t", "\n", "\r", ",", "\0", "\u{e9}", "\\N", " ", "{", "]"];
            let text = (0..seed % 7).map(|at| letters[(next >> (at * 4)) as usize % letters.len()]);
            quoted(&text.collect::<String>())
        }
        SqlType::FixedString(_) => quoted(["", "ab", "\t\"\n"][(seed % 3) as usize]),
        SqlType::Uuid => quoted(&format!("{:032x}", u128::from(seed) << 64 | u128::from(next))),
        SqlType::Date => quoted(&format!("20{:02}-{:02}-{:02}", seed % 100, next % 12 + 1, next % 28 + 1)),
        SqlType::Date32 => quoted(&format!("19{:02}-{:02}-{:02}", seed % 100, next % 12 + 1, next % 28 + 1)),
        SqlType::DateTime(_) => (seed as u32 | 1 << 31).to_string(),
        SqlType::DateTime64 { .. } => format!("{}.{:06}", seed % 4_000_000_000 + 10_000, next % 1_000_000),
        SqlType::Decimal { .. } => format!("{}.{:02}", seed as i16, next % 100),
        SqlType::Enum8(values) => quoted(&values[seed as usize % values.len()].0),
        SqlType::Enum16(values) => quoted(&values[seed as usize % values.len()].0),
        SqlType::Ipv6 => {
            let bits = (u128::from(seed) << 64 | u128::from(next)) & (u128::MAX << (seed % 128));
            quoted(&std::net::Ipv6Addr::from_bits(bits).to_string())
        }
        SqlType::Wide(wide) => {
            let bits = U256::from(seed).wrapping_mul(U256::from(next)).wrapping_pow(1 + (seed % 4) as u32);
            wide.wrap(bits).to_string()
        }
        SqlType::Ipv4 => quoted(&std::net::Ipv4Addr::from_bits(seed as u32).to_string()),
        SqlType::Array(element) => {
            let items: Vec<String> =
                (0..seed % 4).map(|at| literal(element, next.wrapping_mul(at + 1))).collect();
            format!("[{}]", items.join(","))
        }
        SqlType::Tuple(elements) => {
            let items: Vec<String> = elements.iter().map(|element| literal(&element.ty, next)).collect();
            format!("({})", items.join(","))
        }
        SqlType::Map(key, value) => {
            format!("{{{}:{},'second':[]}}", literal(key, next), literal(value, next.rotate_left(9)))
        }
        other => panic!("no literal for {other}"),
    }
}

/// A batch with every type.
fn any_batch(seeds: &[u64]) -> (Columns, RecordBatch) {
    let settings = FormatSettings::default();
    let columns: Columns =
        every_type().into_iter().enumerate().map(|(at, ty)| Column::new(format!("c{at}"), ty)).collect();
    let arrays = columns.iter().enumerate().map(|(at, column)| {
        let mut builder = ColumnBuilder::new(&column.ty, &settings.text).unwrap();
        for seed in seeds {
            let literal = literal(&column.ty, seed.wrapping_add(at as u64 * 7_919).rotate_left(at as u32));
            builder.parse_quoted(literal.as_bytes()).unwrap_or_else(|e| panic!("{literal}: {e}"));
        }
        builder.finish()
    });
    let batch = RecordBatch::try_new(columns.to_arrow(), arrays.collect()).unwrap();
    (columns, batch)
}

fn write(format: &str, columns: &Columns, batch: &RecordBatch, settings: &FormatSettings) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = open_writer(format, columns, settings).unwrap();
    writer.start(&mut out);
    writer.write(batch, &mut out).unwrap();
    writer.finish(&Statistics::default(), &mut out).unwrap();
    out
}

fn read(
    format: &str,
    columns: &Columns,
    bytes: &[u8],
    settings: &FormatSettings,
) -> basalt_base::Result<Vec<Block>> {
    let mut reader = open_reader(format, columns, settings, Box::new(Cursor::new(bytes.to_vec())))?;
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block()? {
        blocks.push(block);
    }
    Ok(blocks)
}

fn joined(columns: &Columns, blocks: &[Block]) -> RecordBatch {
    arrow::compute::concat_batches(&columns.to_arrow(), blocks.iter().map(|block| &block.batch)).unwrap()
}

/// Writes `batch` in `format` and reads it back, on one thread and on three.
fn check_round_trip(format: &str, columns: &Columns, batch: &RecordBatch) {
    let mut settings = FormatSettings { max_block_rows: 3, ..FormatSettings::default() };
    let bytes = write(format, columns, batch, &settings);
    for threads in [1, 3] {
        settings.threads = threads;
        let blocks = read(format, columns, &bytes, &settings)
            .unwrap_or_else(|error| panic!("{format}: {error}\n{}", String::from_utf8_lossy(&bytes)));
        let back = joined(columns, &blocks);
        for (at, column) in columns.iter().enumerate() {
            assert_eq!(back.column(at), batch.column(at), "{format} {}", column.ty);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_reads_back(seeds in prop::collection::vec(any::<u64>(), 0..9)) {
        let (columns, batch) = any_batch(&seeds);
        for format in FAITHFUL.iter().chain(&["JSON", "JSONCompact"]) {
            check_round_trip(format, &columns, &batch);
        }
    }

    #[test]
    fn broken_bytes_never_panic(seed: u64, cut: prop::sample::Index, flip: prop::sample::Index, bit in 0_u8..8) {
        let (columns, batch) = any_batch(&[seed, seed.rotate_left(7)]);
        let settings = FormatSettings::default();
        for format in FAITHFUL.iter().chain(&["JSON", "JSONCompact", "LineAsString", "TSVRaw"]) {
            let mut bytes = write(format, &columns, &batch, &settings);
            let _ = read(format, &columns, &bytes[..cut.index(bytes.len())], &settings);
            let at = flip.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let _ = read(format, &columns, &bytes, &settings);
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes: Vec<u8>) {
        let columns: Columns = every_type().into_iter().take(2).map(|ty| Column::new("c", ty)).collect();
        for info in crate::formats().filter(|info| info.can_read) {
            let _ = read(info.name, &columns, &bytes, &FormatSettings::default());
        }
    }
}

#[test]
fn text_of_copy_reads_back_with_any_delimiter() {
    let (columns, batch) = any_batch(&[3, 5, 6, 13, 27]);
    for delimiter in [b'|', b',', b';', b':'] {
        let mut settings = FormatSettings::default();
        settings.tsv.delimiter = delimiter;
        let bytes = write("TSV", &columns, &batch, &settings);
        let back = joined(&columns, &read("TSV", &columns, &bytes, &settings).unwrap());
        assert_eq!(back, batch, "{}", char::from(delimiter));
    }
}

#[test]
fn every_format_writes_every_type() {
    let (columns, batch) = any_batch(&[1, 2, 3]);
    for info in crate::formats().filter(|info| info.can_write) {
        let bytes = write(info.name, &columns, &batch, &FormatSettings::default());
        assert_eq!(bytes.is_empty(), info.name == "Null", "{}", info.name);
    }
}

/// Reads columns `a UInt8, b String, c Nullable(Int8)` from `text` with the default settings; expects these rows as
/// JSON lines, or the error.
fn check(format: &str, text: &str, expected: &str) {
    let columns = Columns::new(vec![
        Column::new("a", SqlType::UInt8),
        Column::new("b", SqlType::String),
        Column::new("c", SqlType::Int8.into_nullable()),
    ]);
    let settings = FormatSettings::default();
    let found = match read(format, &columns, text.as_bytes(), &settings) {
        Ok(blocks) => {
            let lines = write("JSONCompactEachRow", &columns, &joined(&columns, &blocks), &settings);
            String::from_utf8(lines).unwrap().trim_end().replace('\n', " ")
        }
        Err(error) => error.message().to_owned(),
    };
    assert_eq!(found, expected, "{format} of {text:?}");
}

#[test]
fn tab_separated_follows_clickhouse() {
    check("TSV", "1\tx\\ty\t\\N\n2\t\t3", r#"[1, "x\ty", null] [2, "", 3]"#);
    check("TSV", "1\tx\t\\N\r\n", r#"[1, "x", null]"#);
    check("TSV", "1\tx\\\ny\t5\n", r#"[1, "x\ny", 5]"#);
    check("TSV", "c\tb\ta\n1\tx\t5\n", r#"[5, "x", 1]"#);
    check("TSVWithNames", "b\tzz\na\t9\n", r#"[0, "a", null]"#);
    check("TSVRaw", "1\tx\\ty\t\\N\n", r#"[1, "x\\ty", null]"#);
    check("TSV", "1\tx\n", "the row has 2 fields, expected 3: row 1 at byte 0");
    check("TSV", "1\tx\t1\n2\ty\t1\t1\n", "the row has more than 3 fields: row 2 at byte 6");
    let out_of_range = "`256` is out of the type's range: column `a` of type UInt8: row 2 at byte 6";
    check("TSV", "1\tx\t1\n256\ty\t1\n", out_of_range);
}

#[test]
fn csv_follows_clickhouse() {
    check("CSV", "1,\"x,\"\"y\"\"\n\",\\N\r\n 2 , a b , 3 \n", r#"[1, "x,\"y\"\n", null] [2, "a b", 3]"#);
    check("CSV", ",,\n", r#"[0, "", null]"#);
    check("CSV", "1,it's,5,\n", r#"[1, "it's", 5]"#);
    check("CSV", "\"c\",\"b\",\"a\"\n1,x,5\n", r#"[5, "x", 1]"#);
    check("CSVWithNames", "b,zz\na,9\n", r#"[0, "a", null]"#);
    check("CSV", "1,x\n", "the row has 2 fields, expected 3: row 1 at byte 0");
    check(
        "CSV",
        "1,\"x\n",
        "a quoted field has no closing quote: column `b` of type String: row 1 at byte 0",
    );
}

#[test]
fn json_follows_clickhouse() {
    check(
        "JSONEachRow",
        r#"{"a":"5","b":5,"zz":{"q":[1]}} {"a":true,"b":{"x": 1},"c":null},"#,
        r#"[5, "5", null] [1, "{\"x\": 1}", null]"#,
    );
    check("JSONEachRow", "[{\"a\":1},\n{\"a\":2}]", r#"[1, "", null] [2, "", null]"#);
    check("JSONEachRow", "", "");
    check("JSONCompactEachRow", "[1, \"x\", 3]\n[2,\"\",null]", r#"[1, "x", 3] [2, "", null]"#);
    check("JSONEachRow", "{\"a\":1,\"a\":2}", "key `a` is in the object twice: row 1 at byte 0");
    check("JSONEachRow", "{\"a\":1}\n{\"b\"}", "`}` is not `:`, which is expected here: row 2 at byte 7");
}

#[test]
fn values_follow_clickhouse() {
    check("Values", "(1, 'x', NULL) , (2,'it''s',-3);", r#"[1, "x", null] [2, "it's", -3]"#);
    check("Values", "(default, 'x)', 1)", r#"[0, "x)", 1]"#);
    check("Values", "(1, 'x', 1", "a row of VALUES has no closing bracket: row 1 at byte 0");
    check(
        "Values",
        "(1, x, 1)",
        "`x` is not a string in single quotes: column `b` of type String: row 1 at byte 0",
    );
}

#[test]
fn missing_values_are_told_apart_from_given_ones() {
    let columns = Columns::new(vec![Column::new("a", SqlType::UInt8), Column::new("b", SqlType::UInt8)]);
    let blocks = read("JSONEachRow", &columns, b"{\"a\":0}{\"a\":null}", &FormatSettings::default()).unwrap();
    let second = arrow::buffer::BooleanBuffer::from(vec![false, true]);
    assert_eq!(blocks[0].defaulted, [Defaulted::Rows(second), Defaulted::Always]);
}

#[test]
fn parallel_reading_keeps_order_and_counts_rows() {
    let columns = Columns::new(vec![Column::new("a", SqlType::UInt64), Column::new("b", SqlType::String)]);
    let settings = FormatSettings { threads: 3, ..FormatSettings::default() };
    let mut text: Vec<u8> = Vec::new();
    for row in 0..300_000 {
        text.extend_from_slice(format!("{row}\tsome text to make the line longer {row}\n").as_bytes());
    }
    let blocks = read("TSV", &columns, &text, &settings).unwrap();
    assert!(blocks.len() > 3);
    let whole = joined(&columns, &blocks);
    let numbers = arrow::array::AsArray::as_primitive::<arrow::datatypes::UInt64Type>(whole.column(0));
    assert!(numbers.values().iter().copied().eq(0..300_000));
    text.extend_from_slice(b"x\ty\n");
    let error = read("TSV", &columns, &text, &settings).unwrap_err();
    assert!(error.message().contains("row 300001 at byte"), "{error}");
}
