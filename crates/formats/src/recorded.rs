//! Compares the writers with output recorded from ClickHouse, byte for byte.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_base::types::TupleElement;
use basalt_base::{Column, Columns, SqlType};

use crate::text::ColumnBuilder;
use crate::{FormatSettings, Statistics, open_writer};

/// A result: its columns, and the literals of its rows.
struct Case {
    columns: Columns,
    data: RecordBatch,
    totals: Option<RecordBatch>,
    extremes: Option<RecordBatch>,
    settings: FormatSettings,
}

impl Case {
    fn new(columns: Vec<(&str, SqlType)>, rows: &[&[&str]]) -> Case {
        let columns: Columns = columns.into_iter().map(|(name, ty)| Column::new(name, ty)).collect();
        let settings = FormatSettings::default();
        Case { data: batch(&columns, rows), columns, totals: None, extremes: None, settings }
    }

    /// Checks every recorded output called `name.<format>`.
    fn check(&self, name: &str, formats: &[&str]) {
        for format in formats {
            let mut out = Vec::new();
            let mut writer = open_writer(format, &self.columns, &self.settings).unwrap();
            writer.start(&mut out);
            if self.data.num_rows() > 0 {
                writer.write(&self.data, &mut out).unwrap();
            }
            if let Some(totals) = &self.totals {
                writer.totals(totals, &mut out).unwrap();
            }
            if let Some(extremes) = &self.extremes {
                writer.extremes(extremes, &mut out).unwrap();
            }
            writer.finish(&Statistics::default(), &mut out).unwrap();
            let path =
                Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/clickhouse/{name}.{format}"));
            let expected = std::fs::read(&path).unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(&out), text(&expected), "{name} in {format}");
            assert_eq!(out, expected, "{name} in {format}");
        }
    }
}

fn batch(columns: &Columns, rows: &[&[&str]]) -> RecordBatch {
    let arrays = columns.iter().enumerate().map(|(at, column)| {
        let mut builder = ColumnBuilder::new(&column.ty, &FormatSettings::default().text).unwrap();
        for row in rows {
            builder.parse_quoted(row[at].as_bytes()).unwrap();
        }
        builder.finish()
    });
    RecordBatch::try_new(columns.to_arrow(), arrays.collect()).unwrap()
}

/// The row recorded as `big`.
fn big() -> Case {
    let utc = || Some("UTC".into());
    let named = |name: &str, ty: SqlType| TupleElement { name: Some(name.into()), ty };
    let pair = SqlType::Tuple(vec![named("p", SqlType::Int8), named("q", SqlType::String)].into());
    let labels: Arc<[(String, i8)]> = Arc::new([("a".into(), 1), ("b".into(), 2)]);
    let map = |key: SqlType, value: SqlType| SqlType::Map(Arc::new(key), Arc::new(value));
    let times = SqlType::array_of(SqlType::DateTime(utc()));
    let ticks = || SqlType::DateTime64 { precision: 3, zone: utc() };
    let nothing = SqlType::Nothing.into_nullable();
    let letters = "'a\\tb\\n\\\\\\'\"/\\r\\0\\b\\x01\\x7f\\xff<>&\u{e9}'";
    let uuid = "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'";
    let values: Vec<(&str, SqlType, &str)> = vec![
        ("i8", SqlType::Int8, "-5"),
        ("u64", SqlType::UInt64, "18446744073709551615"),
        ("s", SqlType::String, letters),
        ("fs", SqlType::FixedString(4), "'ab'"),
        ("b", SqlType::Bool, "true"),
        ("d", SqlType::Date, "'2024-01-02'"),
        ("d32", SqlType::Date32, "'1900-01-02'"),
        ("dt", SqlType::DateTime(utc()), "'2024-01-02 03:04:05'"),
        ("dt64", ticks(), "'2024-01-02 03:04:05.678'"),
        ("u", SqlType::Uuid, uuid),
        ("dec", SqlType::Decimal { precision: 18, scale: 4 }, "1.50"),
        ("e", SqlType::Enum8(Arc::clone(&labels)), "'a'"),
        ("ip", SqlType::Ipv4, "'1.2.3.4'"),
        ("n", nothing.clone(), "NULL"),
        ("ni", SqlType::Int32.into_nullable(), "5"),
        ("lc", SqlType::LowCardinality(Arc::new(SqlType::String)), "'lc'"),
        ("a", SqlType::array_of(SqlType::UInt8), "[1,2,3]"),
        ("sa", SqlType::array_of(SqlType::String), "['x\\'y','a\\nb']"),
        ("t", SqlType::tuple_of([SqlType::UInt8, SqlType::String, nothing]), "(1,'x',NULL)"),
        ("nt", pair, "(1,'x')"),
        ("m", map(SqlType::String, SqlType::UInt8), "{'k':1,'k2':2}"),
        ("aa", SqlType::array_of(SqlType::array_of(SqlType::UInt8)), "[[1],[]]"),
        ("ad", SqlType::array_of(SqlType::Date), "['2024-01-02']"),
        ("mt", map(SqlType::UInt8, times), "{1:['2024-01-02 03:04:05']}"),
        ("ab", SqlType::array_of(SqlType::Bool), "[true,false]"),
        ("ae", SqlType::array_of(SqlType::Enum8(labels)), "['a']"),
        ("aip", SqlType::array_of(SqlType::Ipv4), "['1.2.3.4']"),
        ("adec", SqlType::array_of(SqlType::Decimal { precision: 9, scale: 2 }), "[1.5]"),
        ("au", SqlType::array_of(SqlType::Uuid), "['61f0c404-5cb3-11e7-907b-a6006ad3dba0']"),
        ("an", SqlType::array_of(SqlType::String.into_nullable()), "[NULL,'x']"),
        ("adt64", SqlType::array_of(ticks()), "['2024-01-02 03:04:05.678']"),
    ];
    let row: Vec<&str> = values.iter().map(|(_, _, literal)| *literal).collect();
    Case::new(values.into_iter().map(|(name, ty, _)| (name, ty)).collect(), &[&row])
}

/// A row recorded as `big`: one value of nearly every type.
pub(crate) fn one_row_of_every_type() -> (Columns, RecordBatch) {
    let case = big();
    (case.columns, case.data)
}

#[test]
fn every_type_is_written_as_clickhouse_writes_it() {
    let case = big();
    case.check("big", &["TSV", "TSVRaw", "CSV", "JSONEachRow", "JSONCompactEachRow", "JSON", "JSONCompact"]);
    case.check("big", &["Values", "Vertical", "TSKV", "TSVWithNamesAndTypes", "CSVWithNamesAndTypes"]);
    case.check(
        "big",
        &["JSONStrings", "JSONCompactStrings", "JSONStringsEachRow", "JSONCompactStringsEachRow"],
    );
    case.check(
        "big",
        &["JSONCompactEachRowWithNamesAndTypes", "JSONEachRowWithProgress", "JSONObjectEachRow"],
    );
    case.check("big", &["JSONColumns", "JSONCompactColumns", "JSONColumnsWithMetadata", "PrettyJSONEachRow"]);
    case.check("big", &["XML", "Markdown", "SQLInsert", "LineAsString"]);
    case.check("big", &["CustomSeparated", "CustomSeparatedWithNamesAndTypes"]);
}

#[test]
fn totals_and_extremes_are_where_clickhouse_has_them() {
    let columns = vec![("k", SqlType::UInt8), ("c", SqlType::UInt64), ("s", SqlType::String)];
    let mut case = Case::new(columns, &[&["0", "4", "'0'"], &["1", "3", "'1'"], &["2", "3", "'2'"]]);
    case.extremes = Some(batch(&case.columns, &[&["0", "3", "'0'"], &["2", "4", "'2'"]]));
    case.check("ext", &["TSV", "JSON", "Vertical", "PrettyCompact"]);
    case.totals = Some(batch(&case.columns, &[&["0", "10", "'0'"]]));
    case.check("tot", &["TSVWithNames", "TSVRaw", "CSVWithNames", "JSON", "JSONCompact", "JSONEachRow"]);
    case.check(
        "tot",
        &["Vertical", "Pretty", "PrettyCompact", "PrettySpace", "XML", "JSONColumnsWithMetadata"],
    );
    case.check(
        "tot",
        &["JSONStrings", "JSONCompactStrings", "JSONEachRowWithProgress", "LineAsStringWithNames"],
    );
    case.check("tot", &["JSONCompactStringsEachRowWithProgress", "JSONColumns", "JSONObjectEachRow", "TSKV"]);
    case.check("tot", &["Markdown", "SQLInsert", "CustomSeparated", "PrettyJSONEachRow", "Values"]);
    case.check("tot", &["JSONCompactEachRowWithNames"]);
}

#[test]
fn tables_are_drawn_as_clickhouse_draws_them() {
    let lines = vec![("x", SqlType::String), ("y", SqlType::UInt8)];
    let lines = Case::new(lines, &[&["'a\\nb'", "5"], &["'ccc'", "6"]]);
    lines.check("multi", &["Pretty", "PrettyCompact", "PrettySpace"]);
    let large =
        Case::new(vec![("a", SqlType::UInt32), ("b", SqlType::Float64)], &[&["1234567", "12345678.5"]]);
    large.check("tip", &["PrettyCompact", "Vertical"]);
    let empty = Case::new(vec![("a", SqlType::UInt32)], &[]);
    empty.check(
        "empty",
        &["PrettyCompact", "JSON", "JSONCompact", "Vertical", "TSV", "JSONColumnsWithMetadata"],
    );
    empty.check("empty", &["JSONStrings", "JSONEachRowWithProgress", "JSONColumns", "JSONCompactColumns"]);
    empty.check(
        "empty",
        &["JSONObjectEachRow", "JSONCompactEachRowWithNames", "XML", "Markdown", "SQLInsert"],
    );
    empty.check("empty", &["CustomSeparatedWithNames", "PrettyJSONEachRow", "LineAsStringWithNames"]);
}

#[test]
fn long_tables_are_cut_as_clickhouse_cuts_them() {
    let texts: Vec<[String; 2]> = (0..60).map(|n| [n.to_string(), format!("'{}'", "x".repeat(n))]).collect();
    let rows: Vec<Vec<&str>> = texts.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
    let mut case = Case::new(vec![("number", SqlType::UInt64), ("s", SqlType::String)], &rows);
    case.check("sixty", &["Vertical", "PrettySpace"]);
    case.settings.pretty_max_rows = 5;
    case.check("cut", &["Pretty", "PrettyCompact", "PrettySpace", "Vertical"]);
    case.settings.pretty_color = true;
    case.check("color", &["Pretty", "PrettyCompact", "Vertical"]);
}

#[test]
fn nested_json_is_indented_as_clickhouse_indents_it() {
    let numbers = || SqlType::array_of(SqlType::UInt8);
    let case = Case::new(
        vec![
            ("a", SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::UInt8))),
            ("b", SqlType::array_of(SqlType::tuple_of([SqlType::UInt8, SqlType::UInt8]))),
            ("e", SqlType::array_of(SqlType::array_of(SqlType::Int8))),
            ("g", SqlType::tuple_of([numbers(), SqlType::UInt8])),
            ("c", SqlType::tuple_of([])),
        ],
        &[&["{}", "[(1,2)]", "[]", "([1,2],3)", "()"]],
    );
    case.check(
        "nested",
        &["JSON", "JSONCompact", "PrettyCompact", "PrettyJSONEachRow", "JSONColumns", "XML"],
    );
}

#[test]
fn settings_change_text_as_in_clickhouse() {
    const FORMATS: &[&str] = &[
        "TSV",
        "CSV",
        "CSVWithNames",
        "Values",
        "JSON",
        "JSONEachRow",
        "JSONCompactEachRow",
        "JSONStringsEachRow",
        "JSONStrings",
        "JSONObjectEachRow",
        "PrettyJSONEachRow",
        "XML",
        "Markdown",
        "SQLInsert",
        "CustomSeparatedWithNamesAndTypes",
        "TSKV",
        "Vertical",
    ];
    let named = |name: &str, ty: SqlType| TupleElement { name: Some(name.into()), ty };
    let (byte, text) = (named("p", SqlType::UInt8), named("q", SqlType::String.into_nullable()));
    let mut case = Case::new(
        vec![
            ("a", SqlType::UInt8),
            ("q\"m<e", SqlType::String),
            ("back`tick", SqlType::String),
            ("t", SqlType::Tuple(vec![byte, text, named("r", SqlType::String)].into())),
            ("m", SqlType::Map(Arc::new(SqlType::String), Arc::new(SqlType::Bool))),
            ("b", SqlType::Bool),
            ("f", SqlType::FixedString(4)),
            ("n", SqlType::String.into_nullable()),
            ("d", SqlType::DateTime64 { precision: 3, zone: Some("Europe/Berlin".into()) }),
        ],
        &[&[
            "1",
            "'x<>&|*'",
            "'it\\'s'",
            "(1,NULL,'z')",
            "{'k':true}",
            "true",
            "'ab'",
            "NULL",
            "'2024-01-02 03:04:05.678'",
        ]],
    );
    case.check("odd", FORMATS);
    for name in ["oddset", "unix"] {
        case.settings = FormatSettings::default();
        for (setting, value) in recorded_settings(name) {
            assert!(case.settings.set(&setting, &value).unwrap(), "{setting}");
        }
        case.check(name, FORMATS);
    }
}

/// The settings of the query `name` in the list of recorded queries.
fn recorded_settings(name: &str) -> Vec<(String, String)> {
    let list = include_str!("../testdata/clickhouse/README.md");
    let line = list.lines().find(|line| line.starts_with(&format!("- `{name}`:"))).unwrap();
    let (_, settings) = line.trim_end_matches('`').split_once("settings ").unwrap();
    let pair = |setting: &str| {
        let (name, value) = setting.split_once('=').unwrap();
        (name.to_owned(), value.trim_matches('\'').to_owned())
    };
    settings.split(", ").map(pair).collect()
}
