//! Extreme values of all types, from real databases into dictionaries.

use std::process::Command;

use basalt_itest::foreign::{Foreign, NO_MARIADB, NO_POSTGRESQL, NO_SQLITE, find, run};
use basalt_itest::server::Server;
use basalt_itest::{http, skipped};

use crate::dictionary_sources::{ask, ask_error};

fn psql(postgresql: &Foreign, statement: &str) {
    let mut command = Command::new("psql");
    command.env("PGPASSWORD", "secret").args(["-h", "127.0.0.1", "-U", "postgres", "-q"]);
    command.args(["-v", "ON_ERROR_STOP=1", "-p", &postgresql.port.to_string(), "-c", statement]);
    run(&mut command).unwrap_or_else(|| panic!("{statement}"));
}

/// A type and a value in the other database, and the type and text of the attribute.
type Case = (&'static str, String, &'static str, String);

fn case(foreign: &'static str, value: &str, ty: &'static str, text: &str) -> Case {
    (foreign, value.to_owned(), ty, text.to_owned())
}

/// The differences of the attribute `v` of key 7, loaded, and looked up directly in the source.
fn failures(server: &Server, source: &str, (foreign, value, ty, expected): &Case) -> Vec<String> {
    let layouts = ["COMPLEX_KEY_HASHED()) LIFETIME(0", "COMPLEX_KEY_DIRECT()"];
    let got = layouts.map(|layout| {
        ask(
            server,
            &format!(
                "CREATE OR REPLACE DICTIONARY d (`the id` UInt64, v {ty}) PRIMARY KEY `the id` SOURCE({source}) \
                 LAYOUT({layout})"
            ),
        );
        http::request(server.address(), "POST", "/", &[], b"SELECT dictGet('d', 'v', tuple(7::UInt64))").text()
    });
    let wrong = got.iter().map(|got| got.trim_end_matches('\n')).filter(|got| got != expected);
    wrong.map(|got| format!("{foreign} {value:.80} as {ty}: {got:.300}")).collect()
}

#[track_caller]
fn check(server: &Server, source: &str, cases: &[Case], put: impl Fn(&Case)) {
    let wrong: Vec<String> = cases
        .iter()
        .flat_map(|case| {
            put(case);
            failures(server, source, case)
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Statements that create the table `t` with the row 7 and a column of type `ty`.
fn table(ty: &str, value: &str) -> [String; 3] {
    [
        "DROP TABLE IF EXISTS t".to_owned(),
        format!("CREATE TABLE t (the_id BIGINT, v {ty})"),
        format!("INSERT INTO t VALUES (7, {value})"),
    ]
}

#[test]
fn values_of_postgresql_arrive_as_they_are() {
    let Some(postgresql) = Foreign::postgresql() else {
        return skipped(NO_POSTGRESQL);
    };
    let psql = |statement: &str| psql(&postgresql, statement);
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let source = format!(
        "POSTGRESQL(HOST '127.0.0.1' PORT {} USER 'postgres' PASSWORD 'secret' DB 'postgres' \
         QUERY 'SELECT the_id AS \"the id\", v FROM t')",
        postgresql.port
    );
    let digits = "9".repeat(66);
    let wide = format!("{digits}.0123456789");
    let cases = [
        case("numeric", &wide, "Decimal256(10)", &wide),
        case("numeric", &format!("-{wide}"), "Decimal256(10)", &format!("-{wide}")),
        case("bigint", "-9223372036854775808", "Int64", "-9223372036854775808"),
        case("numeric", "18446744073709551615", "UInt64", "18446744073709551615"),
        case("float8", "'NaN'", "Float64", "nan"),
        case("float8", "'-Infinity'", "Float64", "-inf"),
        case("float8", "1.7976931348623157e308", "Float64", "1.7976931348623157e308"),
        case("float8", "'-0'", "Float64", "-0"),
        case("float4", "5e-42", "Float32", "5e-42"),
        case("bool", "true", "Bool", "true"),
        case("bool", "false", "UInt8", "0"),
        case("bool", "true", "Int32", "1"),
        case(
            "uuid",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
            "UUID",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ),
        case("inet", "'fe80::1'", "IPv6", "fe80::1"),
        case("inet", "'10.0.0.255'", "IPv4", "10.0.0.255"),
        case(
            "timestamp",
            "'2262-04-11 23:47:16.854775'",
            "DateTime64(9, 'UTC')",
            "2262-04-11 23:47:16.854775000",
        ),
        case(
            "timestamp",
            "'1900-01-01 00:00:00.000001'",
            "DateTime64(6, 'UTC')",
            "1900-01-01 00:00:00.000001",
        ),
        case("timestamptz", "'2026-01-01 02:00:00.5+02'", "DateTime64(1, 'UTC')", "2026-01-01 00:00:00.5"),
        case("timestamptz", "'2106-02-07 06:28:15+00'", "DateTime('UTC')", "2106-02-07 06:28:15"),
        case("date", "'2149-06-06'", "Date", "2149-06-06"),
        case("date", "'1900-01-01'", "Date32", "1900-01-01"),
        case("date", "'2299-12-31'", "Date32", "2299-12-31"),
        case("text", "'b'", "Enum8('a' = 1, 'b' = -128)", "b"),
        case("text", "repeat('x', 70000)", "LowCardinality(String)", &"x".repeat(70000)),
        case("text", "'N'", "Nullable(String)", "N"),
        case("text", r"E'\\N'", "Nullable(String)", r"\\N"),
        case("text", "'NULL'", "Nullable(String)", "NULL"),
        case("text", "NULL", "Nullable(String)", r"\N"),
        case("text", "NULL", "String DEFAULT 'none'", "none"),
        case("text", "''", "String DEFAULT 'none'", ""),
        case("text", r"E'a\tb\n\\ ''\u00e9'", "String", "a\\tb\\n\\\\ \\'\u{e9}"),
        case("integer[]", "'{1,-2,2147483647}'", "Array(Int32)", "[1,-2,2147483647]"),
        case("integer[]", "'{}'", "Array(Int32)", "[]"),
        case("integer[]", "NULL", "Array(Int32)", "[]"),
        case("integer[][]", "'{{1,2},{3,4}}'", "Array(Array(Int32))", "[[1,2],[3,4]]"),
        case("integer[]", "'{1,NULL}'", "Array(Nullable(Int32))", "[1,NULL]"),
        case(
            "text[]",
            r#"ARRAY['a,b', 'c"d', 'e\f', '{g}', 'it''s', '', NULL, 'NULL', 'h']"#,
            "Array(Nullable(String))",
            r#"['a,b','c"d','e\\f','{g}','it\'s','',NULL,'NULL','h']"#,
        ),
        case("date[]", "ARRAY['2026-01-01'::date]", "Array(Date)", "['2026-01-01']"),
        case(
            "timestamptz[]",
            "ARRAY['2026-01-01 00:00:00+00'::timestamptz]",
            "Array(DateTime('UTC'))",
            "['2026-01-01 00:00:00']",
        ),
        case("boolean[]", "ARRAY[true, false]", "Array(Bool)", "[true,false]"),
        case(
            "uuid[]",
            "ARRAY['00000000-0000-0000-0000-000000000001'::uuid]",
            "Array(UUID)",
            "['00000000-0000-0000-0000-000000000001']",
        ),
    ];
    check(&server, &source, &cases, |(foreign, value, ..)| {
        table(foreign, value).iter().for_each(|statement| psql(statement));
    });
}

#[test]
fn values_of_mariadb_arrive_as_they_are() {
    let Some(mariadb) = Foreign::mariadb() else {
        return skipped(NO_MARIADB);
    };
    let mysql = |statement: &str| {
        let mut command = Command::new("mariadb");
        command.args(["--no-defaults", "-h", "127.0.0.1", "-u", "basalt", "-psecret", "shop"]);
        run(command.args(["-P", &mariadb.port.to_string(), "-e", statement]))
            .unwrap_or_else(|| panic!("{statement}"));
    };
    // For text that is longer than a packet.
    mysql("SET GLOBAL max_allowed_packet = 67108864");
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let source = format!(
        "MYSQL(HOST '127.0.0.1' PORT {} USER 'basalt' PASSWORD 'secret' DB 'shop' QUERY 'SELECT the_id AS `the id`, v FROM t')",
        mariadb.port
    );
    let wide = format!("{}.0123456789", "9".repeat(55));
    let cases = [
        case("DECIMAL(65,10)", &wide, "Decimal256(10)", &wide),
        case("DECIMAL(65,10)", &format!("-{wide}"), "Decimal256(10)", &format!("-{wide}")),
        case("BIGINT UNSIGNED", "18446744073709551615", "UInt64", "18446744073709551615"),
        case("BIGINT", "-9223372036854775808", "Int64", "-9223372036854775808"),
        case("TINYINT(1)", "TRUE", "Bool", "true"),
        case("BIT(1)", "b'1'", "Bool", "true"),
        case(
            "BIT(64)",
            "b'1000000000000000000000000000000000000000000000000000000000000001'",
            "UInt64",
            "9223372036854775809",
        ),
        case("DOUBLE", "1.7976931348623157e308", "Float64", "1.7976931348623157e308"),
        case("DOUBLE", "-2.2250738585072014e-308", "Float64", "-2.2250738585072014e-308"),
        case(
            "DATETIME(6)",
            "'2262-04-11 23:47:16.854775'",
            "DateTime64(9, 'UTC')",
            "2262-04-11 23:47:16.854775000",
        ),
        case("TIMESTAMP", "'2026-01-01 00:00:00'", "DateTime", "2026-01-01 00:00:00"),
        case("DATE", "'1900-01-01'", "Date32", "1900-01-01"),
        case("DATE", "'2299-12-31'", "Date32", "2299-12-31"),
        case(
            "UUID",
            "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
            "UUID",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ),
        case("INET6", "'fe80::1'", "IPv6", "fe80::1"),
        case("ENUM('a', 'b')", "'b'", "Enum8('a' = 1, 'b' = -128)", "b"),
        case("VARBINARY(5)", "X'00FF27095C'", "String", "\\0\u{fffd}\\'\\t\\\\"),
        case("LONGTEXT", "repeat('x', 17000000)", "Nullable(String)", &"x".repeat(17_000_000)),
        case("VARCHAR(9)", "NULL", "Nullable(String)", r"\N"),
        case("VARCHAR(9)", "NULL", "String DEFAULT 'none'", "none"),
        case("VARCHAR(9)", "''", "String DEFAULT 'none'", ""),
        case("INT", "NULL", "UInt8 DEFAULT 9", "9"),
        case("JSON", "'[1,2]'", "Array(UInt8)", "[1,2]"),
        case("VARCHAR(9) CHARACTER SET latin1", "'\u{e9}'", "String", "\u{e9}"),
    ];
    check(&server, &source, &cases, |(foreign, value, ..)| {
        table(foreign, value).iter().for_each(|statement| mysql(statement));
    });
}

#[test]
fn values_of_sqlite_arrive_as_they_are() {
    if find("sqlite3").is_none() {
        return skipped(NO_SQLITE);
    }
    let data = tempfile::tempdir().expect("a directory");
    let file = data.path().join("shop.db");
    let server = Server::start(&data.path().join("basalt"));
    let source = format!("SQLITE(PATH '{}' QUERY 'SELECT the_id AS `the id`, v FROM t')", file.display());
    let cases = [
        case("INTEGER", "-9223372036854775808", "Int64", "-9223372036854775808"),
        case("TEXT", "'18446744073709551615'", "UInt64", "18446744073709551615"),
        case("REAL", "1e999", "Float64", "inf"),
        case("REAL", "1.7976931348623157e308", "Float64", "1.7976931348623157e308"),
        case("REAL", "2.0", "Int32", "2"),
        case("REAL", "1e20", "Float32", "100000000000000000000"),
        case("BLOB", "X'0027FF'", "String", "\\0\\'\u{fffd}"),
        case("TEXT", "NULL", "String DEFAULT 'none'", "none"),
        case("TEXT", "'2299-12-31'", "Date32", "2299-12-31"),
        case("TEXT", "'[''a'']'", "Array(LowCardinality(String))", "['a']"),
    ];
    check(&server, &source, &cases, |(foreign, value, ..)| {
        for statement in table(foreign, value) {
            run(Command::new("sqlite3").arg(&file).arg(&statement)).unwrap_or_else(|| panic!("{statement}"));
        }
    });
}

#[test]
fn names_of_any_letters_are_quoted() {
    let Some(postgresql) = Foreign::postgresql() else {
        return skipped(NO_POSTGRESQL);
    };
    let psql = |statement: &str| psql(&postgresql, statement);
    psql(r#"CREATE SCHEMA "Sch""ema""#);
    psql(r#"CREATE TABLE "Sch""ema"."T.a`b" ("Ke""y" bigint, "va'l `ue" text, "select" int)"#);
    psql(
        r#"INSERT INTO "Sch""ema"."T.a`b" VALUES (-9223372036854775808, 'one', 1), (9223372036854775807, 'two', 2)"#,
    );
    psql(
        "CREATE SCHEMA s; CREATE TABLE s.t (id bigint, name text); INSERT INTO s.t SELECT i, i FROM generate_series(1, 1000000) i",
    );
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let to = format!(
        "POSTGRESQL(HOST '127.0.0.1' PORT {} USER 'postgres' PASSWORD 'secret' DB 'postgres'",
        postgresql.port
    );
    for layout in ["COMPLEX_KEY_HASHED()) LIFETIME(0", "COMPLEX_KEY_DIRECT()"] {
        ask(
            &server,
            &format!(
                "CREATE OR REPLACE DICTIONARY d (`Ke\"y` Int64, `va'l \\`ue` String, `select` UInt8) PRIMARY KEY `Ke\"y` \
                 SOURCE({to} SCHEMA 'Sch\"ema' TABLE 'T.a`b')) LAYOUT({layout})"
            ),
        );
        let query = "SELECT dictGet('d', ('va''l `ue', 'select'), tuple(toInt64(arrayJoin(['-9223372036854775808', \
                     '9223372036854775807']))))";
        assert_eq!(ask(&server, query), "('one',1)\n('two',2)\n");
    }
    // A million rows, and no rows.
    for (condition, rows) in [("", "1000000"), ("WHERE 'id < 0'", "0")] {
        ask(
            &server,
            &format!(
                "CREATE OR REPLACE DICTIONARY m (id UInt64, name String) PRIMARY KEY id SOURCE({to} TABLE 's.t' {condition})) \
                 LAYOUT(HASHED()) LIFETIME(0)"
            ),
        );
        assert_eq!(
            ask(&server, "SELECT count(), countIf(name != toString(id)) FROM m"),
            format!("{rows}\t0\n")
        );
    }
}

#[test]
fn lookups_keep_their_connection_until_it_is_lost() {
    let Some(postgresql) = Foreign::postgresql() else {
        return skipped(NO_POSTGRESQL);
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    ask(
        &server,
        &format!(
            "CREATE DICTIONARY d (id UInt64, pid UInt64) PRIMARY KEY id SOURCE(POSTGRESQL(HOST '127.0.0.1' PORT {} USER \
             'postgres' PASSWORD 'secret' QUERY 'SELECT 1 AS id, pg_backend_pid() AS pid')) LAYOUT(DIRECT())",
            postgresql.port
        ),
    );
    let pid = || ask(&server, "SELECT dictGet('d', 'pid', 1::UInt64)").trim().to_owned();
    let first = pid();
    assert_eq!(pid(), first);
    psql(&postgresql, &format!("SELECT pg_terminate_backend({first})"));
    let second = pid();
    assert_ne!(second, first);
    // A failed query breaks its connection, not the next query.
    psql(&postgresql, "CREATE TABLE t (id bigint, n text); INSERT INTO t VALUES (1, 'x'), (2, '2')");
    ask(
        &server,
        &format!(
            "CREATE OR REPLACE DICTIONARY e (id UInt64, n UInt64) PRIMARY KEY id SOURCE(POSTGRESQL(HOST '127.0.0.1' PORT {} \
             USER 'postgres' PASSWORD 'secret' TABLE 't')) LAYOUT(DIRECT())",
            postgresql.port
        ),
    );
    let get = |key: u64| format!("SELECT dictGet('e', 'n', {key}::UInt64)");
    for _ in 0..20 {
        assert!(ask_error(&server, &get(1)).contains("CANNOT_PARSE"));
    }
    assert_eq!(ask(&server, &get(2)), "2\n");
}
