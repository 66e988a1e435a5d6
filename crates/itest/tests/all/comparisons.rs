//! Comparisons of a column with a constant of another type. However a table engine evaluates the condition, it finds
//! the rows for which the comparison holds when computed row by row.

use basalt_itest::http;
use basalt_itest::server::Server;

/// The engines, with the column as a key, with an index, and with neither.
const TABLES: &[&str] = &[
    "(x {}, bit UInt64) ENGINE = Memory",
    "(x {}, bit UInt64) ENGINE = MergeTree ORDER BY x SETTINGS index_granularity = 1, allow_nullable_key = 1",
    "(x {}, bit UInt64, INDEX i x TYPE minmax GRANULARITY 1) ENGINE = MergeTree ORDER BY bit \
     SETTINGS index_granularity = 1",
    "(x {}, bit UInt64, INDEX i x TYPE set(0) GRANULARITY 1) ENGINE = MergeTree ORDER BY bit \
     SETTINGS index_granularity = 1",
    "(x {}, bit UInt64, INDEX i x TYPE bloom_filter GRANULARITY 1) ENGINE = MergeTree ORDER BY bit \
     SETTINGS index_granularity = 1",
    "(x {}, bit UInt64) ENGINE = EmbeddedRocksDB PRIMARY KEY x",
    "(x {}, bit UInt64) ENGINE = Succinct PRIMARY KEY x",
    "(x {}, bit UInt64, INDEX i (x)) ENGINE = Succinct PRIMARY KEY bit",
];

/// Types that are compared with the same constants, each with its own values.
struct Family {
    columns: &'static [(&'static str, &'static [&'static str])],
    constants: &'static [&'static str],
}

const NUMBERS: Family = Family {
    columns: &[
        ("UInt8", &["0", "1", "2", "33", "127", "128", "254", "255"]),
        ("UInt16", &["0", "1", "33", "255", "256", "65535"]),
        ("UInt32", &["0", "1", "33", "255", "256", "4294967295"]),
        ("UInt64", &["0", "1", "33", "255", "9007199254740993", "18446744073709551615"]),
        ("Int8", &["-128", "-1", "0", "1", "33", "127"]),
        ("Int16", &["-32768", "-1", "0", "1", "33", "32767"]),
        ("Int32", &["-2147483648", "-1", "0", "1", "33", "2147483647"]),
        ("Int64", &["-9223372036854775808", "-1", "0", "33", "9007199254740993", "9223372036854775807"]),
        ("Int128", &["-9223372036854775809", "-1", "0", "33", "9007199254740993", "18446744073709551616"]),
        ("UInt256", &["0", "1", "33", "255", "9007199254740993", "18446744073709551616"]),
        ("Nullable(Int256)", &["-1", "NULL", "0", "33"]),
        ("Bool", &["false", "true"]),
        ("Float32", &["0", "-0.0", "0.1", "1.5", "nan", "inf", "-inf", "33", "16777216"]),
        ("Float64", &["0", "-0.0", "0.1", "1.5", "nan", "inf", "-inf", "33", "9007199254740992"]),
        ("Decimal(9, 1)", &["-1.5", "0", "0.1", "1", "33.3", "33.4", "9999999.9"]),
        ("Decimal(18, 4)", &["-1.5", "0", "0.1", "1", "33.3", "33.33", "99999999999"]),
        ("Decimal(38, 10)", &["-1.5", "0", "0.1", "1", "33.3", "33.33", "99999999999"]),
        ("Nullable(UInt8)", &["0", "1", "NULL", "33", "255"]),
        ("Nullable(Float64)", &["0", "1.5", "NULL", "nan"]),
        ("Nullable(Decimal(9, 1))", &["0", "33.3", "NULL", "33.4"]),
    ],
    constants: &[
        "0",
        "1",
        "-1",
        "1.5",
        "33",
        "127",
        "255",
        "256",
        "257",
        "toInt128(33)",
        "toInt128('-170141183460469231731687303715884105728')",
        "toUInt256('18446744073709551616')",
        "'1'",
        "'257'",
        "1e300",
        "inf",
        "-inf",
        "nan",
        "-0.0",
        "0.1",
        "9007199254740993",
        "18446744073709551615",
        "9007199254740992.0",
        "toDecimal32('33.3', 1)",
        "toDecimal32('33.33', 2)",
        "toDecimal64('1', 12)",
        "true",
        "toFloat32(0.1)",
        "NULL",
    ],
};

const TIMES: Family = Family {
    columns: &[
        ("Date", &["'1970-01-01'", "'2019-12-31'", "'2020-01-01'", "'2020-01-02'", "'2149-06-06'"]),
        ("Date32", &["'1925-02-01'", "'1970-01-01'", "'2020-01-01'", "'2020-01-02'", "'2200-01-01'"]),
        (
            "DateTime",
            &[
                "'1970-01-01 00:00:00'",
                "'2019-12-31 23:59:59'",
                "'2020-01-01 00:00:00'",
                "'2020-01-01 00:00:01'",
                "'2020-01-01 10:00:00'",
                "'2020-01-02 00:00:00'",
                "'2106-02-07 06:28:15'",
            ],
        ),
        (
            "DateTime('Asia/Tokyo')",
            &[
                "'2019-12-31 23:59:59'",
                "'2020-01-01 00:00:00'",
                "'2020-01-01 10:00:00'",
                "'2020-01-01 19:00:00'",
            ],
        ),
        (
            "DateTime64(0)",
            &[
                "'1925-02-01 00:00:00'",
                "'2020-01-01 00:00:00'",
                "'2020-01-01 10:00:00'",
                "'2200-01-01 00:00:00'",
            ],
        ),
        (
            "DateTime64(3)",
            &[
                "'1925-02-01 00:00:00'",
                "'2020-01-01 00:00:00'",
                "'2020-01-01 00:00:00.001'",
                "'2020-01-01 10:00:00.5'",
                "'2200-01-01 00:00:00'",
            ],
        ),
        (
            "DateTime64(9)",
            &[
                "'1925-02-01 00:00:00'",
                "'2020-01-01 00:00:00.000000001'",
                "'2020-01-01 10:00:00.5'",
                "'2250-01-01 00:00:00'",
            ],
        ),
        ("Nullable(DateTime)", &["'2020-01-01 00:00:00'", "NULL", "'2020-01-01 10:00:00'"]),
    ],
    constants: &[
        "toDate('2020-01-01')",
        "toDate('2149-06-06')",
        "toDate32('2020-01-01')",
        "toDate32('1925-02-01')",
        "toDate32('2200-01-01')",
        "toDateTime('2020-01-01 00:00:00')",
        "toDateTime('2020-01-01 10:00:00')",
        "toDateTime('2020-01-01 00:00:00', 'Asia/Tokyo')",
        "toDateTime64('2020-01-01 10:00:00', 0)",
        "toDateTime64('2020-01-01 10:00:00.5', 3)",
        "toDateTime64('2020-01-01 00:00:00.000000001', 9)",
        "toDateTime64('1925-02-01 00:00:00', 3)",
        "'2020-01-01'",
        "1577872800",
        "-1",
        "1577872800.5",
    ],
};

const TEXTS: Family = Family {
    columns: &[
        ("String", &["''", "'a'", "'a\\0'", "'ab'", "'abc'", "'abcd'", "'b'"]),
        ("FixedString(3)", &["''", "'a'", "'ab'", "'abc'", "'abd'", "'b'"]),
        ("LowCardinality(String)", &["''", "'a'", "'ab'", "'abc'"]),
        ("LowCardinality(Nullable(String))", &["''", "'a'", "NULL", "'abc'"]),
    ],
    constants: &[
        "''",
        "'a'",
        "'a\\0'",
        "'abc'",
        "'abcd'",
        "'b'",
        "toFixedString('a', 2)",
        "toFixedString('abc', 3)",
        "toFixedString('abcd', 4)",
        "toLowCardinality('a')",
    ],
};

const ENUMS: Family = Family {
    columns: &[
        ("Enum8('a' = 1, 'b' = 2, 'z' = -1)", &["'a'", "'b'", "'z'"]),
        ("Enum16('a' = 1, 'b' = 1000, 'z' = -1)", &["'a'", "'b'", "'z'"]),
    ],
    constants: &["'a'", "'zz'", "1", "-1", "300", "1.5", "CAST('a', 'Enum8(\\'a\\' = 2)')", "true"],
};

const ADDRESSES: Family = Family {
    columns: &[
        (
            "UUID",
            &[
                "'00000000-0000-0001-0000-000000000002'",
                "'00000000-0000-0002-0000-000000000001'",
                "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'",
                "'ffffffff-ffff-ffff-0000-000000000000'",
            ],
        ),
        ("IPv4", &["'0.0.0.0'", "'1.2.3.4'", "'127.0.0.1'", "'255.255.255.255'"]),
        ("IPv6", &["'::'", "'::1'", "'::ffff:1.2.3.4'", "'2001:db8::1'", "'ff00::'"]),
    ],
    constants: &[
        "toUUID('00000000-0000-0002-0000-000000000001')",
        "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')",
        "toIPv4('1.2.3.4')",
        "toIPv6('::ffff:1.2.3.4')",
        "toIPv6('2001:db8::1')",
        "16909060",
        "99999999999",
    ],
};

fn ask(server: &Server, statement: &str) -> Result<String, String> {
    let answer = http::request(server.address(), "POST", "/", &[], statement.as_bytes());
    let text = answer.text().trim_end().to_owned();
    if text.starts_with("Code: ") { Err(text) } else { Ok(text) }
}

/// Each condition, and its equivalent computed row by row.
fn conditions(constant: &str, other: &str) -> Vec<(String, String)> {
    // Only constant text is parsed as a value of the other type.
    let is_text = constant.starts_with('\'') || constant == "NULL";
    let row = if is_text { constant.to_owned() } else { format!("materialize({constant})") };
    let compared = ["=", "!=", "<", "<=", ">", ">="]
        .map(|op| (format!("x {op} {constant}"), format!("materialize(x) {op} {row}")));
    let members = [
        (format!("x IN ({constant})"), format!("materialize(x) IN ({constant})")),
        (format!("x NOT IN ({constant})"), format!("materialize(x) NOT IN ({constant})")),
        (format!("x IN ({constant}, {other})"), format!("materialize(x) IN ({constant}, {other})")),
        (format!("x BETWEEN {other} AND {constant}"), format!("materialize(x) BETWEEN {other} AND {row}")),
        (format!("{constant} > x"), format!("materialize(x) < {row}")),
    ];
    compared.into_iter().chain(members).collect()
}

/// The conditions whose result differs from that computed row by row.
fn differences(server: &Server, ty: &str, constants: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, constant) in constants.iter().enumerate() {
        let other = constants[(at + 1) % constants.len()];
        let conditions = conditions(constant, other);
        let columns = |condition: &(String, String)| {
            let (filter, row) = condition;
            format!("sum(bit * ({row})), (SELECT sum(bit) FROM t WHERE {filter})")
        };
        let all: Vec<String> = conditions.iter().map(columns).collect();
        // Incomparable types are covered by other tests.
        let answers: Vec<(&(String, String), String)> =
            match ask(server, &format!("SELECT {} FROM t", all.join(", "))) {
                Ok(line) => {
                    let values: Vec<&str> = line.split('\t').collect();
                    conditions.iter().zip(values.chunks(2).map(|pair| pair.join("\t"))).collect()
                }
                Err(_) => conditions
                    .iter()
                    .zip(&all)
                    .filter_map(|(condition, columns)| {
                        Some((condition, ask(server, &format!("SELECT {columns} FROM t")).ok()?))
                    })
                    .collect(),
            };
        let number = |text: &str| text.parse::<u64>().unwrap_or(0);
        let differs =
            |pair: &str| pair.split_once('\t').is_none_or(|(row, rows)| number(row) != number(rows));
        let wrong = answers.into_iter().filter(|(_, pair)| differs(pair));
        found.extend(wrong.map(|((filter, _), pair)| format!("{ty}: {filter}: {pair:?}")));
    }
    found
}

#[track_caller]
fn check(family: &Family) {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::start(directory.path());
    let mut wrong = Vec::new();
    for (ty, values) in family.columns {
        for table in TABLES {
            let table = table.replace("{}", ty);
            // Not every type can be a key or have every index.
            if ask(&server, &format!("CREATE OR REPLACE TABLE t {table}")).is_err() {
                continue;
            }
            let rows: Vec<String> =
                values.iter().enumerate().map(|(row, value)| format!("({value}, {})", 1 << row)).collect();
            for half in rows.chunks(rows.len().div_ceil(2)) {
                // The first half of the rows is in a part or a segment when the others come.
                let _ = ask(&server, "OPTIMIZE TABLE t");
                ask(&server, &format!("INSERT INTO t VALUES {}", half.join(", "))).expect("an INSERT");
            }
            let found = differences(&server, ty, family.constants);
            wrong.extend(found.into_iter().map(|difference| format!("{difference} in {table}")));
        }
    }
    assert!(wrong.is_empty(), "{} conditions\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn numbers_are_found_as_they_compare() {
    check(&NUMBERS);
}

#[test]
fn times_are_found_as_they_compare() {
    check(&TIMES);
}

#[test]
fn texts_are_found_as_they_compare() {
    check(&TEXTS);
}

#[test]
fn enums_and_addresses_are_found_as_they_compare() {
    check(&ENUMS);
    check(&ADDRESSES);
}
