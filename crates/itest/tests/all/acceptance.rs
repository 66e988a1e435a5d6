//! Every statement of the acceptance documents, unchanged, in `basalt local` and over HTTP.
//!
//! The statements are in a file outside the checkout; the tests are skipped without it. Only row counts and the path
//! of the input file are replaced.

use std::path::Path;

use basalt_engine::Session;
use basalt_itest::program::{Ended, local};
use basalt_itest::server::Server;
use basalt_itest::shared;
use tempfile::{TempDir, tempdir};

/// Tables that the statements use but do not create.
const ASSUMED: &str = "CREATE TABLE hits (WatchID UInt64, EventTime DateTime, URL String) ENGINE = MergeTree ORDER BY WatchID;\
     INSERT INTO hits SELECT number, toDateTime('2024-01-01 00:00:00') + number, \
     if(number % 3 = 0, '', concat('http://example.com/', toString(number))) FROM numbers(10000)";

const HITS_ROWS: usize = 500;

/// Fills a table that the statements create and expect to be full: a time series in each column.
const FILL_CODECS: &str = "INSERT INTO codec_example SELECT t, t, t, t, t FROM \
     (SELECT toDateTime('2024-01-01 00:00:00') + number * 5 AS t FROM numbers(200000))";

/// The answer to a statement, or its error.
type Answer = Result<String, String>;

/// Separates the answers of a script.
const MARK: &str = "<end of an answer>";

/// Runs a script in `basalt local`; after an error, the rest runs in a new process.
fn run_locally(data: &Path, statements: &[String]) -> Vec<Answer> {
    let mut answers = Vec::new();
    while answers.len() < statements.len() {
        let rest = &statements[answers.len()..];
        let script: String = rest.iter().map(|text| format!("{text}\n;SELECT '{MARK}';\n")).collect();
        let Ended { stdout, stderr, code } = local(data, &script);
        let pieces: Vec<&str> = stdout.split(&format!("{MARK}\n")).collect();
        answers.extend(pieces[..pieces.len() - 1].iter().map(|text| Ok((*text).to_owned())));
        if code != Some(0) {
            answers.push(Err(stderr));
        }
    }
    answers
}

fn run_over_http(server: &Server, statements: &[String]) -> Vec<Answer> {
    statements.iter().map(|statement| ask(server, statement)).collect()
}

fn ask(server: &Server, statement: &str) -> Answer {
    let answer = server.post("session_id=documents", statement.as_bytes());
    if answer.status == 200 && answer.is_whole { Ok(answer.text()) } else { Err(answer.text()) }
}

/// The statements with smaller row counts, if the file exists.
fn statements(files: &Path) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(shared::file("acceptance/seeds.sql")?).expect("readable");
    let hits = files.join("hits.tsv");
    let rows: String = (0..HITS_ROWS)
        .map(|n| format!("{}\t2024-02-01 00:00:00\thttp://loaded/{n}\n", 1_000_000 + n))
        .collect();
    std::fs::write(&hits, rows).expect("writable");
    let text = text
        .replace("(1000000000)", "(100000)")
        .replace("(100000000)", "(100000)")
        .replace("%100000000", "%100000")
        .replace("/path/to/hits.tsv", hits.to_str().expect("UTF-8"));
    let statements = Session::split(text.as_bytes()).expect("the statements parse");
    Some(statements.into_iter().map(|text| String::from_utf8(text).expect("UTF-8")).collect())
}

/// `statement` without comments and line breaks, to identify it.
fn plain(statement: &str) -> String {
    let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// The statements of the documents, with the missing ones inserted where they are needed.
fn script(statements: Vec<String>) -> Vec<String> {
    let mut script: Vec<String> = ASSUMED.split(';').map(str::to_owned).collect();
    for statement in statements {
        let fill = plain(&statement).starts_with("CREATE TABLE codec_example");
        script.push(statement);
        script.extend(fill.then(|| FILL_CODECS.to_owned()));
    }
    script
}

fn check(statements: &[String], answers: &[Answer]) {
    let mut failures = Vec::new();
    let mut point_lookups = 0;
    for (statement, answer) in statements.iter().zip(answers) {
        let text = plain(statement);
        match answer {
            Ok(answer) => failures.extend(wrong(&text, answer, &mut point_lookups)),
            Err(error) => failures.push(format!("{text}\n    {error}")),
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), statements.len(), failures.join("\n"));
}

/// Checks the answer to `text` against the documents; the error, if there is one.
fn wrong(text: &str, answer: &str, point_lookups: &mut usize) -> Option<String> {
    let lines: Vec<&str> = answer.lines().collect();
    let right = if text.starts_with("select * from rocksDB where A=15645646") {
        *point_lookups += 1;
        // The key is beyond the reduced row count until it is inserted explicitly.
        if *point_lookups == 1 { answer.is_empty() } else { answer == "15645646\txxxx\n" }
    } else if text.starts_with("select count() from ( select dictGet(") {
        lines == ["100000"] || lines == ["1000000"]
    } else if text.contains("!= Value SETTINGS max_threads = 1") {
        lines == ["0"]
    } else if text.contains("WITH TOTALS SETTINGS extremes = 1") {
        // The row, the totals and the two extremes, separated by empty lines.
        lines.len() == 6
            && lines[1].is_empty()
            && lines[3].is_empty()
            && lines[0] == lines[2]
            && lines[4] == lines[5]
    } else if text.contains("FROM system.parts_columns") {
        // dt_none keeps its size; DoubleDelta compresses a time series to almost nothing.
        let none = lines.iter().find(|line| line.starts_with("dt_none\t"));
        let ratio = none.and_then(|line| line.split('\t').nth(3)).and_then(|text| text.parse::<f64>().ok());
        lines.len() == 5
            && lines[4].starts_with("dt_dd_lz4\t")
            && ratio.is_some_and(|ratio| (0.95..1.05).contains(&ratio))
    } else if text.starts_with("SELECT formatReadableQuantity(element_count)") {
        lines.len() == 1 && lines[0].starts_with("100.00 thousand\t")
    } else {
        true
    };
    (!right).then(|| format!("{text}\n    answered: {answer}"))
}

/// Checks the state after the statements.
fn check_after(server: &Server) {
    let ask = |statement: &str| ask(server, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    assert_eq!(ask("SELECT cityHash64(15645646)"), "12517841379565221195\n");
    assert_eq!(ask("SELECT count() FROM rocksDB"), "100001\n");
    assert_eq!(ask("SELECT B = toString(cityHash64(777)) FROM rocksDB WHERE A = 777"), "1\n");
    assert_eq!(
        ask("SELECT count() FROM hits WHERE startsWith(URL, 'http://loaded/')"),
        format!("{HITS_ROWS}\n")
    );
    let bytes = "SELECT column_data_uncompressed_bytes FROM system.parts_columns \
         WHERE table = 'codec_example' AND column = 'dt_none' AND active";
    assert_eq!(ask(bytes), "800000\n");
    let load =
        "SELECT load_factor BETWEEN 0.1 AND 1 FROM system.dictionaries WHERE name = 'ranks_sparse_hashed'";
    assert_eq!(ask(load), "1\n");
}

#[test]
fn documents_run_in_local() {
    let (files, data) = folders();
    let Some(statements) = statements(files.path()).map(script) else { return };
    check(&statements, &run_locally(data.path(), &statements));
}

#[test]
fn documents_run_over_http() {
    let (files, data) = folders();
    let Some(statements) = statements(files.path()).map(script) else { return };
    let server = Server::start(data.path());
    check(&statements, &run_over_http(&server, &statements));
    check_after(&server);
}

/// The log has the figures of a query by its id, under the names in the documents.
#[test]
fn query_log_has_measured_events() {
    let (_files, data) = folders();
    let server = Server::start(data.path());
    server.ask("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
    server.ask("INSERT INTO t SELECT number FROM numbers(100000)");
    let sum = server.post("query_id=measured&log_queries=1", b"SELECT sum(a) FROM t");
    assert_eq!(sum.status, 200, "{}", sum.text());
    let events = server.ask(
        "SELECT pe.Names FROM system.query_log ARRAY JOIN ProfileEvents AS pe \
         WHERE event_date = today() AND type = 'QueryFinish' AND query_id = 'measured' ORDER BY pe.Names",
    );
    for name in ["DiskReadElapsedMicroseconds", "RealTimeMicroseconds", "SelectedRows", "SelectedMarks"] {
        assert!(events.lines().any(|line| line == name), "no {name} in: {events}");
    }
    let rows = "SELECT ProfileEvents['SelectedRows'], read_rows FROM system.query_log \
         WHERE query_id = 'measured' AND type = 'QueryFinish'";
    assert_eq!(server.ask(rows), "100000\t100000\n");
}

fn folders() -> (TempDir, TempDir) {
    (tempdir().expect("a directory"), tempdir().expect("a directory"))
}
