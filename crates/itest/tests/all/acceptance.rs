//! Every statement of the documents that Basalt exists for, as it stands, in `basalt local` and over HTTP.
//!
//! The statements are in a file outside the checkout; without it these tests say so and pass. Only row
//! counts are replaced, and the path of the file to load.

use std::path::Path;

use basalt_engine::Session;
use basalt_itest::program::{Ended, local};
use basalt_itest::server::Server;
use basalt_itest::shared;
use tempfile::{TempDir, tempdir};

/// What the statements assume, and do not make themselves.
const ASSUMED: &str = "CREATE TABLE hits (WatchID UInt64, EventTime DateTime, URL String) ENGINE = MergeTree ORDER BY WatchID;\
     INSERT INTO hits SELECT number, toDateTime('2024-01-01 00:00:00') + number, \
     if(number % 3 = 0, '', concat('http://example.com/', toString(number))) FROM numbers(10000)";

const HITS_ROWS: usize = 500;

/// Fills the table that the statements make and assume to be full: a time series in each column.
const FILL_CODECS: &str = "INSERT INTO codec_example SELECT t, t, t, t, t FROM \
     (SELECT toDateTime('2024-01-01 00:00:00') + number * 5 AS t FROM numbers(200000))";

/// Something that runs one statement after another and answers its text.
trait Place {
    fn run(&self, statement: &str) -> Result<String, String>;
}

struct Locally<'a>(&'a Path);

impl Place for Locally<'_> {
    fn run(&self, statement: &str) -> Result<String, String> {
        let Ended { code, stdout, stderr } = local(self.0, statement);
        if code == Some(0) { Ok(stdout) } else { Err(stderr) }
    }
}

struct OverHttp<'a>(&'a Server);

impl Place for OverHttp<'_> {
    fn run(&self, statement: &str) -> Result<String, String> {
        let answer = self.0.post("session_id=documents", statement.as_bytes());
        if answer.status == 200 && answer.is_whole { Ok(answer.text()) } else { Err(answer.text()) }
    }
}

/// The statements with their row counts scaled down, if they are there.
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

/// `statement` without its comments and line ends, to be recognised by.
fn plain(statement: &str) -> String {
    let lines = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn check(place: &dyn Place, statements: &[String]) {
    for statement in ASSUMED.split(';') {
        place.run(statement).expect("what the statements assume can be made");
    }
    let mut failures = Vec::new();
    let mut point_lookups = 0;
    for statement in statements {
        let text = plain(statement);
        match place.run(statement) {
            Ok(answer) => failures.extend(wrong(&text, &answer, &mut point_lookups)),
            Err(error) => failures.push(format!("{text}\n    {error}")),
        }
        if text.starts_with("CREATE TABLE codec_example") {
            place.run(FILL_CODECS).expect("the time series can be made");
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), statements.len(), failures.join("\n"));
}

/// What is wrong with the answer to `text`, by what the documents say about it.
fn wrong(text: &str, answer: &str, point_lookups: &mut usize) -> Option<String> {
    let lines: Vec<&str> = answer.lines().collect();
    let right = if text.starts_with("select * from rocksDB where A=15645646") {
        *point_lookups += 1;
        // The key lies behind the scaled-down rows until it is inserted by itself.
        if *point_lookups == 1 { answer.is_empty() } else { answer == "15645646\txxxx\n" }
    } else if text.starts_with("select count() from ( select dictGet(") {
        lines == ["100000"] || lines == ["1000000"]
    } else if text.contains("!= Value SETTINGS max_threads = 1") {
        lines == ["0"]
    } else if text.contains("WITH TOTALS SETTINGS extremes = 1") {
        // The row, the totals, the two extremes, with an empty line between each kind.
        lines.len() == 6
            && lines[1].is_empty()
            && lines[3].is_empty()
            && lines[0] == lines[2]
            && lines[4] == lines[5]
    } else if text.contains("FROM system.parts_columns") {
        // dt_none is not compressed at all, DoubleDelta of a time series nearly to nothing.
        lines.len() == 5 && lines[0].starts_with("dt_none\t") && lines[4].starts_with("dt_dd_lz4\t")
    } else if text.starts_with("SELECT formatReadableQuantity(element_count)") {
        lines.len() == 1 && lines[0].starts_with("100.00 thousand\t")
    } else {
        true
    };
    (!right).then(|| format!("{text}\n    answered: {answer}"))
}

/// What the statements left behind.
fn check_after(place: &dyn Place) {
    let ask = |statement: &str| place.run(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    assert_eq!(ask("SELECT cityHash64(15645646)"), "12517841379565221195\n");
    assert_eq!(ask("SELECT count() FROM rocksDB"), "100001\n");
    assert_eq!(ask("SELECT B = toString(cityHash64(777)) FROM rocksDB WHERE A = 777"), "1\n");
    assert_eq!(
        ask("SELECT count() FROM hits WHERE startsWith(URL, 'http://loaded/')"),
        format!("{HITS_ROWS}\n")
    );
    let compressed = "SELECT column_data_uncompressed_bytes = 800000 FROM system.parts_columns \
         WHERE table = 'codec_example' AND column = 'dt_none' AND active";
    assert_eq!(ask(compressed), "1\n");
    let load = "SELECT round(load_factor, 4) BETWEEN 0.1 AND 0.98 FROM system.dictionaries WHERE name = 'ranks_sparse_hashed'";
    ask("SYSTEM RELOAD DICTIONARY ranks_sparse_hashed");
    assert_eq!(ask(load), "1\n");
}

#[test]
fn documents_run_in_local() {
    let (files, data) = folders();
    let Some(statements) = statements(files.path()) else { return };
    let place = Locally(data.path());
    check(&place, &statements);
}

#[test]
fn documents_run_over_http() {
    let (files, data) = folders();
    let Some(statements) = statements(files.path()) else { return };
    let server = Server::start(data.path());
    let place = OverHttp(&server);
    check(&place, &statements);
    check_after(&place);
}

/// The figures of a query are in the log by its id, under the names that the documents use.
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
