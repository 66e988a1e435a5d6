//! The Postgres dialect becomes the tree of the same meaning.

use super::*;
use crate::ast::Statement;
use crate::postgres::{ParameterValue, PostgresCommand};

fn printed(text: &str) -> String {
    match parse_postgres(text.as_bytes(), &[]) {
        Ok(parsed) => parsed.statement.to_string(),
        Err(error) => panic!("{text}: {error}"),
    }
}

fn check(text: &str, expected: &str) {
    assert_eq!(printed(text), expected, "{text}");
}

#[test]
fn backslashes_are_kept_outside_of_escape_strings() {
    check(r"SELECT a WHERE 'a\b'", r"SELECT a WHERE 'a\\b'");
    check(r"SELECT a WHERE E'a\nb' = 'it''s'", r"SELECT a WHERE 'a\nb' = 'it\'s'");
    check(r"SELECT a WHERE '\'", r"SELECT a WHERE '\\'");
}

#[test]
fn casts_keep_null() {
    check("SELECT a WHERE '5'::int4", "SELECT a WHERE CAST('5' AS Nullable(Int32))");
    check("SELECT a WHERE x::varchar(10)", "SELECT a WHERE CAST(x AS Nullable(String))");
    check("SELECT a WHERE x::numeric(10,2)", "SELECT a WHERE CAST(x AS Nullable(Decimal(10, 2)))");
    check("SELECT a WHERE '{1,2}'::int[]", "SELECT a WHERE CAST('[\\'1\\',\\'2\\']' AS Array(Int32))");
    check("SELECT a WHERE CAST(x AS pg_catalog.text)", "SELECT a WHERE CAST(x AS Nullable(String))");
    check("SELECT a WHERE x::UInt8", "SELECT a WHERE CAST(x AS Nullable(UInt8))");
}

#[test]
fn positions_of_a_substring_may_be_before_the_text() {
    check("SELECT a WHERE substring(x FROM 2 FOR 3)", "SELECT a WHERE substring(x, 2, 3)");
    check(
        "SELECT a WHERE substring(x FROM 0 FOR 6)",
        "SELECT a WHERE substring(x, greatest(0, 1), greatest(0 + 6 - greatest(0, 1), 0))",
    );
    check("SELECT a WHERE substr(x, n)", "SELECT a WHERE substring(x, greatest(n, 1))");
    check("SELECT a WHERE substring(x FROM '^a+')", "SELECT a WHERE extract(x, '^a+')");
}

#[test]
fn names_of_objects_become_calls() {
    check("SELECT a WHERE 't'::regclass", "SELECT a WHERE regclass('t')");
    check(
        "SELECT a WHERE 't'::regclass::text",
        "SELECT a WHERE CAST(regclass(regclass('t')) AS Nullable(String))",
    );
}

#[test]
fn patterns_are_matches() {
    check(
        "SELECT a WHERE a ~ '^x$' AND b !~* 'y'",
        "SELECT a WHERE match(a, '^x$') AND NOT match(b, concat('(?i)', 'y'))",
    );
    check(
        "SELECT a WHERE c OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default",
        "SELECT a WHERE match(c, '^(t)$')",
    );
}

#[test]
fn comparisons_with_any_element_are_memberships() {
    check("SELECT a WHERE a = ANY('{r,p}')", "SELECT a WHERE a IN ('r', 'p')");
    check("SELECT a WHERE a = ANY(ARRAY[1, 2])", "SELECT a WHERE a IN (1, 2)");
    check("SELECT a WHERE a <> ALL(b)", "SELECT a WHERE NOT has(b, a)");
    check("SELECT a WHERE a = ANY(SELECT b)", "SELECT a WHERE a IN (SELECT b)");
    let gathered = "(SELECT groupArray(element) AS `array` FROM (SELECT b) AS elements (element))";
    check("SELECT a WHERE a = ANY(ARRAY(SELECT b))", &format!("SELECT a WHERE has({gathered}, a)"));
}

#[test]
fn parameters_have_the_types_of_their_casts() {
    let parsed = parse_postgres(b"SELECT $1::int8, $2 LIMIT $3", &[]).expect("a query");
    assert_eq!(parsed.parameter_count, 3);
    let types: Vec<String> = parsed.cast_types.iter().map(|(n, ty)| format!("{n} {ty}")).collect();
    assert_eq!(types, ["1 Int64", "3 Int64"]);
}

#[test]
fn values_of_an_insert_are_printed_for_clickhouse() {
    let value =
        |text: &str| PostgresParameter { ty: None, value: ParameterValue::Text(text.as_bytes().to_vec()) };
    let parsed = parse_postgres(b"INSERT INTO t VALUES ($1, 'a\\'), (2, NULL)", &[value("it's")]);
    let Ok(Statement::Insert(insert)) = parsed.map(|parsed| parsed.statement) else { panic!("an INSERT") };
    let crate::ast::InsertSource::Values { text } = insert.source else { panic!("VALUES") };
    assert_eq!(String::from_utf8_lossy(&text), r"('it\'s','a\\'),(2,NULL)");
}

#[test]
fn statement_that_the_session_answers_is_a_command() {
    let command = |text: &str| parse_postgres_command(text.as_bytes()).expect("a command");
    assert_eq!(command("begin isolation level serializable"), PostgresCommand::Begin);
    let set = |name: &str, value: &str| PostgresCommand::Set { name: name.into(), value: Some(value.into()) };
    assert_eq!(command("SET extra_float_digits = 3"), set("extra_float_digits", "3"));
    assert_eq!(command("SET search_path TO a, \"B\""), set("search_path", "a, B"));
    assert_eq!(command("SHOW search_path"), PostgresCommand::Show { name: "search_path".into() });
    assert_eq!(command("SHOW TABLES"), PostgresCommand::Statement { tag: "SHOW" });
    assert_eq!(command("(SELECT 1)"), PostgresCommand::Statement { tag: "SELECT" });
    assert!(matches!(command("COPY t (a) FROM STDIN (FORMAT csv)"), PostgresCommand::Copy(_)));
    assert!(matches!(command("COPY t FROM 'x.csv'"), PostgresCommand::Statement { .. }));
}

#[test]
fn scripts_are_split_outside_of_quotes() {
    let script = b"SELECT ';'; ; BEGIN; SELECT $$;$$ -- ;\n";
    let spans = split_postgres(script).expect("a script");
    let texts: Vec<&[u8]> = spans.into_iter().map(|span| &script[span]).collect();
    assert_eq!(texts, [&b"SELECT ';'"[..], b"BEGIN", b"SELECT $$;$$"]);
}

#[test]
fn columns_without_an_alias_have_the_names_of_postgres() {
    let names = |text: &str| -> Vec<String> {
        let Ok(Statement::Query(query)) = parse_postgres(text.as_bytes(), &[]).map(|parsed| parsed.statement)
        else {
            panic!("{text} is no query")
        };
        let crate::ast::SetExpr::Select(select) = query.body else { panic!("{text} is no SELECT") };
        select.items.into_iter().map(|item| item.alias.unwrap_or_else(|| item.expr.to_string())).collect()
    };
    let check = |text: &str, expected: &[&str]| assert_eq!(names(text), expected, "{text}");
    check("SELECT a, t.b, * FROM t", &["a", "b", "*"]);
    check(
        "SELECT count(*), pg_catalog.format_type(a, b), array_agg(a)",
        &["count", "format_type", "array_agg"],
    );
    check("SELECT 1, a + 1, a = ANY(b), 'x'", &["?column?"; 4]);
    check("SELECT a::int4, '5'::int4, f(a)::text, t.oid::regclass", &["a", "int4", "f", "oid"]);
    check("SELECT CASE WHEN a THEN 1 END, CASE WHEN a THEN 1 ELSE b END", &["case", "b"]);
    check(
        "SELECT (SELECT max(a) FROM t), EXISTS (SELECT 1), ARRAY(SELECT a FROM t)",
        &["max", "exists", "array"],
    );
    check("SELECT current_date, true, ARRAY[1]", &["current_date", "bool", "array"]);
}

#[test]
fn sets_in_from_are_subqueries() {
    check("SELECT x FROM pg_catalog.unnest(a) x", "SELECT x FROM (SELECT arrayJoin(a) AS x) AS x");
    check(
        "SELECT n FROM generate_series(1, 3) AS s(n)",
        "SELECT n FROM (SELECT arrayJoin(range(1, 3 + 1)) AS n) AS s",
    );
}

#[test]
fn types_of_asyncpg_are_looked_up_without_recursion() {
    let text = "WITH RECURSIVE typeinfo_tree(\n    oid, ns) AS (SELECT 1) SELECT * FROM typeinfo_tree";
    assert!(printed(text).contains("elemtype_name"));
}

#[test]
fn aggregates_take_an_order() {
    check(
        "SELECT array_agg(a ORDER BY b DESC) AS x FROM t",
        "SELECT arrayMap(row -> row.1, arrayReverseSort(row -> (row.2,), groupArray((a, b)))) AS x FROM t",
    );
    check("SELECT string_agg(a, ',') AS x", "SELECT array_to_string(groupArray(a), ',') AS x");
}

#[test]
fn sets_of_one_list_grow_together() {
    check(
        "SELECT unnest(a) AS x, generate_subscripts(a, 1) AS y",
        "SELECT arrayJoin(arrayZip(a, arrayEnumerate(a))).1 AS x, arrayJoin(arrayZip(a, arrayEnumerate(a))).2 AS y",
    );
}

#[test]
fn like_takes_an_escape() {
    check(
        "SELECT a WHERE a LIKE 'x/_%' ESCAPE '/'",
        r"SELECT a WHERE a LIKE replaceAll(replaceAll('x/_%', '\\', '\\\\'), '/', '\\')",
    );
}

#[test]
fn columns_of_a_key_have_no_null() {
    check(
        "CREATE TABLE t (a int8 PRIMARY KEY, b text)",
        "CREATE TABLE t (a Int64, b Nullable(String)) PRIMARY KEY a",
    );
}

#[test]
fn times_become_calls() {
    check("SELECT a WHERE extract(hour FROM t) = 1", "SELECT a WHERE toHour(t) = 1");
    check(
        "SELECT a WHERE EXTRACT('epoch' FROM t) = 1",
        "SELECT a WHERE toUnixTimestamp64Micro(toDateTime64(t, 6)) / 1000000 = 1",
    );
    check("SELECT a WHERE extract(dow FROM t) = 0", "SELECT a WHERE toDayOfWeek(t) % 7 = 0");
    check("SELECT a WHERE t AT TIME ZONE 'UTC' > b", "SELECT a WHERE toTimeZone(t, 'UTC') > b");
    check(
        "SELECT a WHERE t >= timestamp with time zone '2024-01-01'",
        "SELECT a WHERE t >= CAST('2024-01-01' AS Nullable(DateTime64(6, 'UTC')))",
    );
}

#[test]
fn unknown_fields_of_a_time_are_refused() {
    parse_postgres(b"SELECT extract(aeon FROM t)", &[]).expect_err("no such field");
}

#[test]
fn columns_of_types_with_digits_accept_null() {
    check(
        "CREATE TABLE t (n numeric(9,2), at timestamptz, d Decimal(9, 2)) ENGINE = Memory",
        "CREATE TABLE t (n Nullable(Decimal(9, 2)), at Nullable(DateTime64(6, 'UTC')), d Decimal(9, 2)) ENGINE = Memory",
    );
}

#[test]
fn patterns_of_format_become_texts() {
    check(
        "SELECT a WHERE FORMAT('%I.x%%', b) = c",
        "SELECT a WHERE concat('', '', quote_ident(toString(b)), '.x%') = c",
    );
    check("SELECT a WHERE format('{}', b) = c", "SELECT a WHERE format('{}', b) = c");
}
