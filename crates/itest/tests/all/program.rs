//! `basalt local` and `basalt client` as scripts use them.

use basalt_itest::program::{load, local, run};
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

#[test]
fn client_behaves_as_local_does() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let port = server.address().port().to_string();
    let client = |query: &str, input: &[u8]| run(&["client", "--port", &port, "--query", query], input);
    client("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a", b"").expect();
    client("INSERT INTO t FORMAT TSV", b"1\n2\n").expect();
    let asked = client(
        "SELECT sum(a) FROM t; SET max_threads = 1; SELECT value FROM system.settings WHERE name = 'max_threads'",
        b"",
    );
    assert_eq!(asked.expect(), "3\n1\n");
    let failed = client("SELECT 1; SELECT nosuch; SELECT 2", b"");
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(47), "1\n"));
    let many = client("SELECT number FROM numbers(300000) FORMAT TSV", b"").expect();
    assert_eq!(many.lines().count(), 300_000);
    let nobody = run(&["client", "--port", "1", "--query", "SELECT 1"], b"");
    nobody.expect_error("NETWORK_ERROR");
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
    let port = server.address().port().to_string();
    let file = dir.path().join("out.csv");
    let ask = |table: &str| {
        let query = format!("SELECT number FROM {table} INTO OUTFILE '{}' FORMAT CSV", file.display());
        run(&["client", "--port", &port, "--query", &query], b"")
    };
    ask("nosuch").expect_error("UNKNOWN_TABLE");
    assert!(!file.exists(), "a statement that was refused leaves no file");
    assert_eq!(ask("numbers(3)").expect(), "");
    assert_eq!(std::fs::read_to_string(&file).expect("was written"), "0\n1\n2\n");
    assert_ne!(ask("numbers(3)").code, Some(0), "a file is never overwritten");
}
