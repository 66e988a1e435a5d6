//! Statements as people write them: each parses, and what it prints parses back to the same tree.

use basalt_sql::ast::Statement;
use basalt_sql::{Script, parse_expr, parse_statement};

/// Statements of every family and with every clause, separated by `;`.
const STATEMENTS: &str = include_str!("statements.sql");

fn check(text: &str) {
    let tree = match parse_statement(text.as_bytes()) {
        Ok(tree) => tree,
        Err(error) => panic!("{text}\n{error}"),
    };
    let printed = tree.to_string();
    match parse_statement(printed.as_bytes()) {
        Ok(again) => assert_eq!(again, tree, "{text}\nprints as\n{printed}"),
        Err(error) => panic!("{text}\nprints as\n{printed}\n{error}"),
    }
}

/// The expression prints as `expected`.
fn check_expr(text: &str, expected: &str) {
    match parse_expr(text.as_bytes()) {
        Ok(tree) => assert_eq!(tree.to_string(), expected, "{text}"),
        Err(error) => panic!("{text}\n{error}"),
    }
}

#[test]
fn every_statement_round_trips() {
    for parsed in Script::new(STATEMENTS.as_bytes()) {
        match parsed {
            Ok(parsed) => check(&String::from_utf8_lossy(parsed.text)),
            Err(error) => panic!("{error}"),
        }
    }
    check("INSERT INTO t FORMAT CSV\n1,2\n3,4\n");
    check("INSERT INTO db.t (a, b) SETTINGS async_insert = 1 FORMAT JSONEachRow {\"a\": 1}");
}

#[test]
fn operators_bind_as_in_clickhouse() {
    check_expr("1 + 2 * 3", "1 + 2 * 3");
    check_expr("(1 + 2) * 3", "(1 + 2) * 3");
    check_expr("NOT a = b AND c", "NOT a = b AND c");
    check_expr("NOT (a AND b)", "NOT (a AND b)");
    check_expr("a - (b - c)", "a - (b - c)");
    check_expr("a BETWEEN 1 AND 2 AND b", "a BETWEEN 1 AND 2 AND b");
    check_expr("a ? b : c ? d : e", "a ? b : c ? d : e");
    check_expr("- -1", "-(-1)");
    check_expr("-1::Int8", "CAST(-1 AS Int8)");
    check_expr("x -> x + 1", "x -> x + 1");
    check_expr("t.1.2", "t.1.2");
    check_expr("(1, 2).1", "(1, 2).1");
    check_expr("f(x).a[1]", "f(x).a[1]");
    check_expr("a IS NOT DISTINCT FROM b", "a <=> b");
    check_expr("a == b <> c", "a = b != c");
}

#[test]
fn forms_of_the_standard_are_calls() {
    check_expr("DATE '2024-01-01'", "toDate('2024-01-01')");
    check_expr("TIMESTAMP '2024-01-01 00:00:00'", "toDateTime('2024-01-01 00:00:00')");
    check_expr("EXTRACT(YEAR FROM d)", "toYear(d)");
    check_expr("SUBSTRING(s FROM 2 FOR 3)", "substring(s, 2, 3)");
    check_expr("TRIM(BOTH 'x' FROM s)", "trimBoth(s, 'x')");
    check_expr("POSITION('a' IN s)", "position(s, 'a')");
    check_expr("DATE_ADD(DAY, 1, d)", "d + INTERVAL 1 DAY");
    check_expr("date_sub(d, INTERVAL '2 hours')", "d - INTERVAL 2 HOUR");
    check_expr("dateDiff(day, a, b)", "dateDiff('day', a, b)");
    check_expr("CAST(x, 'UInt8')", "CAST(x, 'UInt8')");
    check_expr("cast(x as Nullable(UInt8))", "CAST(x AS Nullable(UInt8))");
}

#[test]
fn indexes_and_column_groups_print_as_show_create_shows_them() {
    let check_element = |text: &str, expected: &str| {
        let statement = parse_statement(format!("CREATE TABLE t (a UInt8, {text}) ENGINE = E").as_bytes());
        let Ok(Statement::CreateTable(create)) = statement else { panic!("{text}: {statement:?}") };
        assert_eq!(format!("{:#}", create.elements[1]), expected);
    };
    check_element("INDEX by_a (a)", "INDEX by_a (a)");
    check_element("INDEX by_a a", "INDEX by_a (a)");
    check_element("index by_two (a, n.b)", "INDEX by_two (a, n.b)");
    check_element("INDEX grams (a) TYPE trigram", "INDEX grams a TYPE trigram");
    check_element("column group hot (a, `from`, n.b,)", "COLUMN GROUP hot (a, `from`, `n.b`)");
    check_element("column String", "`column` String");
}

#[test]
fn keywords_are_names_where_nothing_else_fits() {
    for name in
        ["date", "key", "value", "column", "table", "type", "name", "format", "settings", "interval", "final"]
    {
        check(&format!("SELECT {name}, t.{name} FROM t WHERE {name} = 1 ORDER BY {name} ASC"));
        check(&format!("CREATE TABLE t ({name} UInt8, x UInt8) ENGINE = Memory"));
    }
    check("SELECT 1 AS select, left('a', 1), any(x), date(x), format('{}', x), array(1), if(a, b, c)");
}
