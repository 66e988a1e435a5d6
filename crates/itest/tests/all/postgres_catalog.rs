//! The statements that Postgres' clients send about the catalog run, and have the columns that PostgreSQL gives them.
//!
//! `tests/postgres` has the statements: a statement, `----`, and a line `name|type` for each column of PostgreSQL 15's
//! answer.

use basalt_engine::postgres::{ParameterValue, PostgresParameter};
use basalt_engine::{EngineOptions, Request, Session};
use basalt_itest::in_process::InProcess;
use basalt_itest::shared;

/// Statements that make the objects of the recorded session.
const OBJECTS: &[&str] = &[
    "CREATE TABLE t (id int8 primary key, name text, at timestamptz, amount numeric(10, 2)) ENGINE = EmbeddedRocksDB",
    "CREATE VIEW v AS SELECT id, name FROM t",
];

fn open() -> (InProcess, Session) {
    let engine = InProcess::open(EngineOptions::default());
    let mut session = engine.session();
    session.start_postgres().expect("the settings exist");
    for statement in OBJECTS {
        run(&engine, &mut session, statement);
    }
    (engine, session)
}

fn run(engine: &InProcess, session: &mut Session, statement: &str) -> String {
    match engine.answer(session, Request::new(statement)) {
        Ok(rows) => String::from_utf8_lossy(&rows.unwrap_or_default()).trim_end().to_owned(),
        Err(error) => panic!("{statement}\n{error}"),
    }
}

fn check(session: &mut Session, engine: &InProcess, statement: &str, expected: &str) {
    assert_eq!(run(engine, session, statement), expected, "{statement}");
}

#[test]
fn statements_of_psql_run_with_the_columns_of_postgres() {
    check_corpus("psql.txt");
}

#[test]
fn statements_of_grafana_run_with_the_columns_of_postgres() {
    check_corpus("grafana.txt");
}

#[test]
fn statements_of_metabase_run_with_the_columns_of_postgres() {
    check_corpus("metabase.txt");
}

#[test]
fn statements_of_dbeaver_run_with_the_columns_of_postgres() {
    check_corpus("dbeaver.txt");
}

fn check_corpus(file: &str) {
    let (engine, mut session) = open();
    let table = run(&engine, &mut session, "SELECT to_regclass('t')");
    let view = run(&engine, &mut session, "SELECT to_regclass('v')");
    let file = shared::checkout().join("tests/postgres").join(file);
    let corpus = std::fs::read_to_string(file).expect("the corpus");
    let (mut count, mut failures) = (0, Vec::new());
    for record in corpus.split("\n\n").map(str::trim).filter(|record| record.contains("\n----\n")) {
        let (statement, columns) = record.split_once("\n----\n").expect("a record");
        let lines = statement.lines().filter(|line| !line.starts_with('#'));
        let statement = lines.collect::<Vec<_>>().join("\n").replace("{t}", &table).replace("{v}", &view);
        count += 1;
        let expected: Vec<&str> = columns.lines().filter_map(|line| line.split('|').next()).collect();
        match engine.columns(&mut session, &statement) {
            Err(error) => failures.push(format!("{statement}\n{error}")),
            Ok(found) if found != expected => {
                failures.push(format!("{statement}\n{found:?}, not {expected:?}"))
            }
            Ok(_) => {}
        }
    }
    assert!(count > 9, "the corpus has {count} statements");
    assert!(failures.is_empty(), "{} of {count} fail:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn numbers_of_objects_lead_from_table_to_table() {
    let (engine, mut session) = open();
    let columns = "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a \
                   JOIN pg_class c ON a.attrelid = c.oid WHERE c.oid = 't'::regclass AND a.attnum > 0 ORDER BY a.attnum";
    let expected = "id\tbigint\nname\ttext\nat\ttimestamp with time zone\namount\tnumeric(10,2)";
    check(&mut session, &engine, columns, expected);
    check(&mut session, &engine, "SELECT relname FROM pg_class WHERE relname ~ '^(t|v)$' ORDER BY 1", "t\nv");
    check(&mut session, &engine, "SELECT pg_get_constraintdef(oid) FROM pg_constraint", "PRIMARY KEY (id)");
    check(&mut session, &engine, "SELECT split_part(version(), ' ', 1)", "PostgreSQL");
}

#[test]
fn a_statement_is_described_without_running() {
    let (engine, mut session) = open();
    let text = b"SELECT name, $2 FROM t WHERE id = $1 LIMIT $3";
    let described = engine.wait(session.describe_postgres(text, &[])).expect("described");
    let types: Vec<String> = described.parameters.iter().map(ToString::to_string).collect();
    assert_eq!(types, ["Int64", "String", "Int64"]);
    let list = engine.wait(session.describe_postgres(b"SELECT 1 FROM t WHERE id = ANY($1)", &[]));
    assert_eq!(list.expect("described").parameters[0].to_string(), "Array(Int64)");
    let insert = b"INSERT INTO t (name, id) VALUES ($1, $2)";
    let described = engine.wait(session.describe_postgres(insert, &[])).expect("described");
    let types: Vec<String> = described.parameters.iter().map(ToString::to_string).collect();
    assert_eq!((types, described.columns.is_none()), (vec!["String".to_owned(), "Int64".to_owned()], true));
}

#[test]
fn values_of_parameters_are_inserted_as_they_are() {
    let (engine, mut session) = open();
    let value = |text: &str| {
        PostgresParameter::new(None, ParameterValue::Text(text.into())).expect("no type is no error")
    };
    let mut request = Request::new("INSERT INTO t (id, name) VALUES ($1, $2)");
    request.postgres_parameters = vec![value("7"), value(r"it's \n")];
    engine.answer(&mut session, request).expect("inserted");
    check(&mut session, &engine, r"SELECT count(*) FROM t WHERE id = 7 AND name = 'it''s \n'", "1");
}

#[test]
fn names_are_found_in_any_case_if_not_in_their_own() {
    let (engine, mut session) = open();
    let statement = "SELECT r.TABLE_name FROM (SELECT relname AS TABLE_NAME, 'x' AS a, 'y' AS A FROM pg_class) r \
                     WHERE r.table_name = 't' AND A = 'y' ORDER BY TABLE_name";
    check(&mut session, &engine, statement, "t");
}

#[test]
fn the_information_schema_has_the_columns_of_a_table() {
    let (engine, mut session) = open();
    let columns = "SELECT column_name, data_type, udt_name, is_nullable, numeric_precision, datetime_precision \
                   FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position";
    let expected = "id\tbigint\tint8\tNO\t64\t\\N\nname\ttext\ttext\tYES\t\\N\t\\N\n\
                    at\ttimestamp with time zone\ttimestamptz\tYES\t\\N\t6\namount\tnumeric\tnumeric\tYES\t10\t\\N";
    check(&mut session, &engine, columns, expected);
    let keys = "SELECT column_name, constraint_type FROM information_schema.key_column_usage \
                JOIN information_schema.table_constraints USING (constraint_name)";
    check(&mut session, &engine, keys, "id\tPRIMARY KEY");
    check(
        &mut session,
        &engine,
        "SELECT TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'v'",
        "VIEW",
    );
}

#[test]
fn times_are_split_by_the_rules_of_postgres() {
    let (engine, mut session) = open();
    let fields = "SELECT extract(epoch FROM x), extract(dow FROM x), extract(hour FROM x AT TIME ZONE 'Europe/Berlin') \
                  FROM (SELECT timestamp with time zone '2024-01-07 23:00:00.5Z' AS x)";
    check(&mut session, &engine, fields, "1704668400.5\t0\t0");
    check(&mut session, &engine, r#"SELECT (parse_ident('"a.b".c'))[1], (parse_ident('t'))[1]"#, "a.b\tt");
}
