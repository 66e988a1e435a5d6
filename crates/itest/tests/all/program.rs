//! `basalt local` and `basalt client` as scripts use them.

use basalt_itest::program::{Ended, load, local, run};
use basalt_itest::server::Server;
use tempfile::tempdir;

#[test]
fn several_statements_answer_in_order() {
    let ended = run(&["local", "--query", "SELECT 1; SELECT 'a;b'", "--query", "SELECT 3;"], b"");
    assert_eq!(ended.expect(), "1\na;b\n3\n");
}

#[test]
fn piped_text_is_a_script() {
    assert_eq!(run(&["local"], b"SELECT 1;\n-- nothing\nSELECT 2").expect(), "1\n2\n");
}

#[test]
fn error_stops_the_script_and_is_the_exit_code() {
    let ended = run(&["local", "--query", "SELECT 1; SELECT * FROM nosuch; SELECT 2"], b"");
    assert_eq!(ended.stdout, "1\n");
    assert_eq!(ended.code, Some(60));
    let text = ended.expect_error("UNKNOWN_TABLE");
    assert!(text.starts_with("Code: 60. DB::Exception: "), "{text}");
    let large = run(&["local", "--query", "SELECT CAST(1, 'Nullable(UInt8)') SETTINGS nosuch = 1"], b"");
    assert_eq!(large.code, Some(115));
}

#[test]
fn data_of_an_insert_comes_from_standard_input_or_the_text() {
    let dir = tempdir().expect("a directory");
    let data = dir.path();
    local(data, "CREATE TABLE t (a UInt32, b String) ENGINE = MergeTree ORDER BY a").expect();
    load(data, "INSERT INTO t FORMAT CSV", b"1,x\n2,\"y,z\"\n").expect();
    load(data, "INSERT INTO t FORMAT TabSeparated;", b"3\ttab\\there\n").expect();
    let script = "INSERT INTO t VALUES (4, 'v'); INSERT INTO t FORMAT JSONEachRow {\"a\": 5, \"b\": \"j\"}";
    local(data, script).expect();
    let rows = local(data, "SELECT * FROM t ORDER BY a").expect();
    assert_eq!(rows, "1\tx\n2\ty,z\n3\ttab\\there\n4\tv\n5\tj\n");
}

#[test]
fn format_option_is_a_default_and_the_clause_wins() {
    let ended = run(&["local", "--format", "CSV", "--query", "SELECT 1, 'a'; SELECT 2 FORMAT TSV"], b"");
    assert_eq!(ended.expect(), "1,\"a\"\n2\n");
}

#[test]
fn time_is_printed_on_standard_error() {
    let ended = run(&["local", "--time", "--query", "SELECT 1; SELECT 2"], b"");
    let times: Vec<f64> = ended.stderr.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(times.len(), 2, "{}", ended.stderr);
    assert_eq!(ended.expect(), "1\n2\n");
}

#[test]
fn settings_and_parameters_come_from_the_command_line() {
    let query = "SELECT value, {who:String}, {n:UInt8} + 1 FROM system.settings WHERE name = 'max_threads'";
    let ended = run(&["local", "--max_threads", "1", "--param_who=me", "--param_n=6", "--query", query], b"");
    assert_eq!(ended.expect(), "1\tme\t7\n");
    run(&["local", "--nosuch_setting=1", "--query", "SELECT 1"], b"").expect_error("UNKNOWN_SETTING");
}

#[test]
fn outfile_is_written_and_never_overwritten() {
    let dir = tempdir().expect("a directory");
    let file = dir.path().join("out.csv");
    let query = format!("SELECT number FROM numbers(3) INTO OUTFILE '{}' FORMAT CSV", file.display());
    assert_eq!(run(&["local", "--query", &query], b"").expect(), "");
    assert_eq!(std::fs::read_to_string(&file).expect("was written"), "0\n1\n2\n");
    assert_ne!(run(&["local", "--query", &query], b"").code, Some(0));
    assert_eq!(std::fs::read_to_string(&file).expect("is still there"), "0\n1\n2\n");
}

#[test]
fn queries_file_runs_with_data_from_standard_input() {
    let dir = tempdir().expect("a directory");
    let file = dir.path().join("load.sql");
    std::fs::write(
        &file,
        "CREATE TABLE t (a UInt8) ENGINE = Memory;\nINSERT INTO t FORMAT TSV;\nSELECT sum(a) FROM t",
    )
    .expect("written");
    let ended = run(&["local", "--queries-file", file.to_str().expect("UTF-8")], b"1\n2\n3\n");
    assert_eq!(ended.expect(), "6\n");
}

/// The options of `basalt client` for each protocol of `server`.
fn protocols(server: &Server) -> [Vec<String>; 2] {
    let options = |protocol: &str, port: u16| {
        ["client", "--protocol", protocol, "--port", &port.to_string()].map(str::to_owned).to_vec()
    };
    [options("http", server.address().port()), options("native", server.tcp_address().port())]
}

fn client(options: &[String], more: &[&str], input: &[u8]) -> Ended {
    let options: Vec<&str> = options.iter().map(String::as_str).chain(more.iter().copied()).collect();
    run(&options, input)
}

#[test]
fn client_behaves_as_local_does() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    for options in protocols(&server) {
        let client = |query: &str, input: &[u8]| client(&options, &["--query", query], input);
        client("CREATE OR REPLACE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a", b"").expect();
        client("INSERT INTO t FORMAT TSV", b"1\n2\n").expect();
        let asked = client(
            "SELECT sum(a) FROM t; SET max_threads = 1; \
             SELECT value FROM system.settings WHERE name = 'max_threads'",
            b"",
        );
        assert_eq!(asked.expect(), "3\n1\n");
        let failed = client("SELECT 1; SELECT nosuch; SELECT 2", b"");
        assert_eq!((failed.code, failed.stdout.as_str()), (Some(47), "1\n"));
        let many = client("SELECT number FROM numbers(300000) FORMAT TSV", b"").expect();
        assert_eq!(many.lines().count(), 300_000);
    }
    for protocol in ["http", "native"] {
        let nobody = run(&["client", "--protocol", protocol, "--port", "1", "--query", "SELECT 1"], b"");
        nobody.expect_error("NETWORK_ERROR");
    }
}

#[test]
fn client_of_either_protocol_writes_and_reads_the_same() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask(
        "CREATE TABLE t (a UInt8, b String DEFAULT concat('of ', toString(a)), c DateTime) ENGINE = Memory",
    );
    for options in protocols(&server) {
        server.ask("TRUNCATE TABLE t");
        let client = |more: &[&str], input: &[u8]| client(&options, more, input);
        let ask = |query: &str| client(&["--query", query], b"").expect();
        let rows = b"{\"a\": 1, \"c\": 0}\n{\"a\": 2, \"b\": \"given\", \"c\": 0}\n{\"a\": 3, \"c\": 0}\n";
        client(&["--query", "INSERT INTO t FORMAT JSONEachRow"], rows).expect();
        ask("INSERT INTO t (a, b, c) VALUES (2 + 2, upper('v'), 0)");
        ask("INSERT INTO t (a, b, c) FORMAT CSV 5,\"x,y\",0");
        client(&["--query", "INSERT INTO t (a, b, c) VALUES"], b"(6, 'six', 0)").expect();
        assert_eq!(ask("SELECT b FROM t ORDER BY a"), "of 1\ngiven\nof 3\nV\nx,y\nsix\n");
        let csv = "SELECT a, b FROM t WHERE a = 5 FORMAT CSV SETTINGS format_csv_delimiter = ';'";
        assert_eq!(ask(csv), "5;\"x,y\"\n");
        let set = "SET format_csv_delimiter = '|', session_timezone = 'Asia/Tokyo'; SELECT a, c FROM t WHERE a = 5 FORMAT CSV";
        assert_eq!(ask(set), "5|\"1970-01-01 09:00:00\"\n");
        let json = client(
            &[
                "--query",
                "SELECT 1::UInt64 AS x FORMAT JSONEachRow",
                "--output_format_json_quote_64bit_integers=1",
            ],
            b"",
        );
        assert_eq!(json.expect(), "{\"x\":\"1\"}\n");
        let parameters = client(&["--query", "SELECT {p:Array(String)}", "--param_p=['it''s']"], b"");
        assert_eq!(parameters.expect(), "['it\\'s']\n");
        assert_eq!(
            ask("SELECT a, count() FROM t WHERE a < 3 GROUP BY a WITH TOTALS ORDER BY a"),
            "1\t1\n2\t1\n\n0\t2\n"
        );
        assert_eq!(ask("SHOW TABLES FORMAT JSONCompactEachRow"), "[\"t\"]\n");
        assert_eq!(ask("SELECT a FROM t WHERE a > 100"), "");
        let temporary = "CREATE TEMPORARY TABLE own (x UInt8); INSERT INTO own VALUES (7); SELECT x FROM own";
        assert_eq!(ask(temporary), "7\n");
        let bad = client(&["--query", "INSERT INTO t FORMAT JSONEachRow"], b"{\"a\": 7}\n{\"a\": \"x\"}\n");
        assert_ne!(bad.code, Some(0));
        assert_eq!(ask("SELECT count() FROM t"), "6\n", "nothing of an INSERT that failed is stored");
        client(&["--nosuch_setting=1", "--query", "SELECT 1"], b"").expect_error("UNKNOWN_SETTING");
        client(&["--user", "nobody", "--query", "SELECT 1"], b"").expect_error("AUTHENTICATION_FAILED");
    }
}

#[test]
fn closed_pipe_ends_the_program_quietly() {
    let mut child = std::process::Command::new(basalt_itest::program::path())
        .args(["local", "--query", "SELECT number FROM numbers(100000000)"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn client_writes_the_file_on_its_own_side() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    for (options, name) in protocols(&server).into_iter().zip(["http.csv", "native.csv"]) {
        let file = dir.path().join(name);
        let ask = |table: &str| {
            let query = format!("SELECT number FROM {table} INTO OUTFILE '{}' FORMAT CSV", file.display());
            client(&options, &["--query", &query], b"")
        };
        ask("nosuch").expect_error("UNKNOWN_TABLE");
        assert!(!file.exists(), "a statement that was refused leaves no file");
        assert_eq!(ask("numbers(3)").expect(), "");
        assert_eq!(std::fs::read_to_string(&file).expect("was written"), "0\n1\n2\n");
        assert_ne!(ask("numbers(3)").code, Some(0), "a file is never overwritten");
    }
}
