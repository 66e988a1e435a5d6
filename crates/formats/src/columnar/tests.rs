//! Tests of the columnar formats: files of ClickHouse and pyarrow are read, and damaged ones are errors.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use basalt_base::types::Wide;
use basalt_base::{Column, Columns, ErrorCode, SqlType};

use crate::{Block, Defaulted, FormatSettings, Statistics, infer_schema, open_reader, open_writer};

/// The formats, and the endings of their files.
const FORMATS: [(&str, &str); 3] = [("Parquet", "parquet"), ("Arrow", "arrow"), ("ArrowStream", "arrows")];

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/columnar").join(name)).unwrap()
}

fn read(format: &str, columns: &Columns, bytes: &[u8]) -> basalt_base::Result<Vec<Block>> {
    let settings = FormatSettings { max_block_rows: 2, ..FormatSettings::default() };
    let mut reader = open_reader(format, columns, &settings, Box::new(Cursor::new(bytes.to_vec())))?;
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block()? {
        blocks.push(block);
    }
    Ok(blocks)
}

fn as_tsv(columns: &Columns, blocks: &[Block]) -> String {
    let mut out = Vec::new();
    let mut writer = open_writer("TSV", columns, &FormatSettings::default()).unwrap();
    for block in blocks {
        writer.write(&block.batch, &mut out).unwrap();
    }
    writer.finish(&Statistics::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn numbers(ty: SqlType) -> Columns {
    Columns::new(vec![Column::new("u8", ty)])
}

#[test]
fn files_of_clickhouse_are_read_as_the_types_that_were_written() {
    let enumeration = SqlType::Enum8([("a".into(), 1), ("b".into(), -2)].into());
    for (format, ending) in FORMATS {
        let bytes = sample(&format!("types.{ending}"));
        let inferred = infer_schema(format, &mut &bytes[..], &FormatSettings::default()).unwrap();
        // A file does not tell these types from others with the same values.
        let declared = inferred.iter().map(|column| {
            let ty = match column.name.as_str() {
                "d" => SqlType::Date,
                "dt" => SqlType::DateTime(Some("UTC".into())),
                "ip4" => SqlType::Ipv4,
                "ip6" => SqlType::Ipv6,
                "uuid" => SqlType::Uuid,
                "e" => enumeration.clone(),
                _ => column.ty.clone(),
            };
            Column::new(&column.name, ty)
        });
        let columns: Columns = declared.collect();
        let blocks = read(format, &columns, &bytes).unwrap_or_else(|error| panic!("{format}: {error}"));
        let expected = String::from_utf8(sample("types.tsv")).unwrap();
        assert_eq!(as_tsv(&columns, &blocks), expected, "{format}");
    }
}

fn wide_columns() -> Columns {
    let [int128, uint128, int256, uint256] = Wide::ALL.map(SqlType::Wide);
    Columns::new(vec![
        Column::new("i", int128.clone()),
        Column::new("u", uint128),
        Column::new("k", int256.clone()),
        Column::new("w", uint256.clone()),
        Column::new("n", int128.clone().into_nullable()),
        Column::new("a", SqlType::array_of(uint256)),
        Column::new("m", SqlType::Map(Arc::new(int128), Arc::new(int256))),
    ])
}

#[test]
fn wide_integers_are_read_as_declared_and_written_as_clickhouse_reads_them() {
    let columns = wide_columns();
    let expected = String::from_utf8(sample("wide.tsv")).unwrap();
    for (format, ending) in FORMATS {
        let blocks = read(format, &columns, &sample(&format!("wide.{ending}"))).unwrap();
        assert_eq!(as_tsv(&columns, &blocks), expected, "{format}");
        let (mut out, settings) = (Vec::new(), FormatSettings::default());
        let mut writer = open_writer(format, &columns, &settings).unwrap();
        writer.start(&mut out);
        blocks.iter().for_each(|block| writer.write(&block.batch, &mut out).unwrap());
        writer.finish(&Statistics::default(), &mut out).unwrap();
        assert_eq!(as_tsv(&columns, &read(format, &columns, &out).unwrap()), expected, "{format}");
        // The file does not tell what the bytes are, as in ClickHouse.
        let inferred = infer_schema(format, &mut &out[..], &settings).unwrap();
        assert_eq!(inferred[0].ty, SqlType::FixedString(16), "{format}");
    }
}

#[test]
fn files_of_pyarrow_are_read_as_clickhouse_reads_them() {
    for (format, ending) in FORMATS {
        let bytes = sample(&format!("foreign.{ending}"));
        let columns = infer_schema(format, &mut &bytes[..], &FormatSettings::default()).unwrap();
        let blocks = read(format, &columns, &bytes).unwrap_or_else(|error| panic!("{format}: {error}"));
        let expected = String::from_utf8(sample("foreign.tsv")).unwrap();
        for (found, wanted) in as_tsv(&columns, &blocks).lines().zip(expected.lines()) {
            let cells = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
            let pairs = cells(found).into_iter().zip(cells(wanted)).zip(columns.iter());
            for ((found, wanted), column) in pairs {
                // Arrow keeps a zone and a date with time that Parquet does not.
                if format == "Parquet"
                    || !matches!(column.name.as_str(), "date64" | "seconds" | "nanoseconds")
                {
                    assert_eq!(found, wanted, "{format} {} {}", column.name, column.ty);
                }
            }
        }
    }
}

#[test]
fn values_of_other_types_are_converted_or_refused() {
    for (format, ending) in FORMATS {
        let bytes = sample(&format!("types.{ending}"));
        for ty in [SqlType::Int64, SqlType::Float64, SqlType::String, SqlType::UInt8.into_nullable()] {
            let columns = numbers(ty);
            assert_eq!(as_tsv(&columns, &read(format, &columns, &bytes).unwrap()), "0\n1\n2\n3\n4\n");
        }
        let negative = Columns::new(vec![Column::new("i64", SqlType::UInt8)]);
        let refused = read(format, &negative, &bytes).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::ValueIsOutOfRange, "{format}: {refused}");
        assert!(refused.message().contains("column `i64` of type UInt8"), "{refused}");
        let list = numbers(SqlType::array_of(SqlType::UInt8));
        assert_eq!(read(format, &list, &bytes).unwrap_err().code(), ErrorCode::TypeMismatch);
    }
}

#[test]
fn columns_match_by_name_and_missing_ones_have_their_default() {
    for (format, ending) in FORMATS {
        let bytes = sample(&format!("types.{ending}"));
        let columns = Columns::new(vec![
            Column::new("missing", SqlType::String),
            Column::new("n", SqlType::Int32),
            Column::new("u8", SqlType::UInt8),
        ]);
        let blocks = read(format, &columns, &bytes).unwrap();
        assert_eq!(as_tsv(&columns, &blocks), "\t0\t0\n\t0\t1\n\t2\t2\n\t3\t3\n\t4\t4\n", "{format}");
        assert_eq!(blocks[0].defaulted[0], Defaulted::Always);
        assert_eq!(blocks[0].defaulted[1], Defaulted::Rows(vec![false, true].into()));
        assert_eq!(blocks[0].defaulted[2], Defaulted::Never);
    }
}

#[test]
fn settings_decide_what_matches() {
    let check = |name: &str, set: &[(&str, &str)]| {
        let mut settings = FormatSettings::default();
        for (name, value) in set {
            assert!(settings.set(name, value).unwrap(), "{name}");
        }
        let columns = Columns::new(vec![Column::new(name, SqlType::UInt8)]);
        let input = Box::new(Cursor::new(sample("types.parquet")));
        let mut reader = open_reader("Parquet", &columns, &settings, input).unwrap();
        let block = reader.next_block().map_err(|error| error.code())?.unwrap();
        Ok(block.defaulted[0] == Defaulted::Never)
    };
    assert_eq!(check("U8", &[]), Ok(false));
    assert_eq!(check("U8", &[("input_format_parquet_case_insensitive_column_matching", "1")]), Ok(true));
    let missing = check("U8", &[("input_format_parquet_allow_missing_columns", "0")]);
    assert_eq!(missing, Err(ErrorCode::ThereIsNoColumn));
    let unknown = check("u8", &[("input_format_skip_unknown_fields", "0")]);
    assert_eq!(unknown, Err(ErrorCode::IncorrectData));
}

#[test]
fn bytes_that_are_no_text_survive_an_arrow_file() {
    let columns = Columns::new(vec![Column::new("s", SqlType::String)]);
    let bytes: arrow::array::ArrayRef =
        std::sync::Arc::new(arrow::array::BinaryViewArray::from_iter_values([&b"\xff\xfe"[..], b"text"]));
    let batch = arrow::array::RecordBatch::try_new(columns.to_arrow(), vec![bytes]).unwrap();
    for format in ["Arrow", "ArrowStream"] {
        let (mut out, settings) = (Vec::new(), FormatSettings::default());
        let mut writer = open_writer(format, &columns, &settings).unwrap();
        writer.start(&mut out);
        writer.write(&batch, &mut out).unwrap();
        writer.finish(&Statistics::default(), &mut out).unwrap();
        let blocks = read(format, &columns, &out).unwrap();
        assert_eq!(blocks[0].batch, batch, "{format}");
    }
}

#[test]
fn damaged_files_are_errors_or_other_values() {
    for (format, ending) in FORMATS {
        for name in ["types", "foreign", "wide"] {
            let bytes = sample(&format!("{name}.{ending}"));
            let columns = match name {
                "wide" => wide_columns(),
                _ => infer_schema(format, &mut &bytes[..], &FormatSettings::default()).unwrap(),
            };
            let attempt = |damaged: &[u8]| {
                let _ = infer_schema(format, &mut &*damaged, &FormatSettings::default());
                let _ = read(format, &columns, damaged);
            };
            // The step shares no factor with 8: all places in a byte come in turn.
            for bit in (0..bytes.len() * 8).step_by(7) {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                attempt(&damaged);
            }
            for end in 0..bytes.len() {
                attempt(&bytes[..end]);
            }
        }
    }
}
