//! Memory limits hold: the process stays close to them, and the query gets an error.

use std::fs;

use basalt_itest::server::Server;
use tempfile::tempdir;

const LIMIT: u64 = 50_000_000;

/// The memory in addition to the limit: the allocator's own, and what threads retain.
const ALLOWANCE: u64 = 40 << 20;

/// A line of `/proc/<pid>/status`, in bytes.
fn memory(server: &Server, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it runs");
    let line = status.lines().find(|text| text.starts_with(line)).expect("Linux");
    line.split_ascii_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") << 10
}

/// Runs `statement` under the limit. Returns its error, and the peak of the process's memory above its initial value.
fn run(statement: &str) -> (Option<String>, u64) {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("SELECT sum(cityHash64(number)) FROM numbers(1000000)");
    let before = memory(&server, "VmRSS:");
    let settings = format!("max_memory_usage={LIMIT}&max_query_size=20000000&max_execution_time=60");
    let answer = server.post(&settings, statement.as_bytes());
    let most = memory(&server, "VmHWM:").saturating_sub(before);
    (answer.header("x-clickhouse-exception-code").map(str::to_owned), most)
}

#[track_caller]
fn check(statement: &str) {
    let (code, most) = run(statement);
    assert_eq!(code.as_deref(), Some("241"), "{statement}");
    assert!(most < LIMIT * 3 / 2 + ALLOWANCE, "{statement}: {most} bytes");
}

#[track_caller]
fn check_spills(statement: &str) {
    let (code, most) = run(statement);
    assert_eq!(code, None, "{statement}");
    assert!(most < LIMIT * 3 / 2 + ALLOWANCE, "{statement}: {most} bytes");
}

#[test]
fn functions_that_multiply_bytes_are_stopped() {
    check("SELECT max(length(concat(repeat('x', 100000), toString(number)))) FROM numbers(50000)");
    check("SELECT length(format(repeat('{0}', 100), repeat('x', 1000000)))");
    check("SELECT length(replaceAll(repeat('x', 200000), 'x', repeat('y', 20000)))");
    check("SELECT length(replaceRegexpAll(repeat('x', 200000), 'x', repeat('y', 20000)))");
}

#[test]
fn arrays_are_stopped() {
    check("SELECT sum(length(range(number))) FROM numbers(30000)");
    check("SELECT sum(length(arrayResize([range(number)], 1000, range(10000)))) FROM numbers(10000, 1000)");
    check(
        "SELECT max(length(x)) FROM (SELECT groupArray(number) OVER (ORDER BY number) AS x FROM numbers(30000))",
    );
}

#[test]
fn sets_are_stopped() {
    check(
        "SELECT count() FROM numbers(10) WHERE toString(number) IN (SELECT toString(number) FROM numbers(3000000))",
    );
    check("SELECT count() FROM numbers(10) WHERE number IN (SELECT number FROM numbers(10000000))");
    check("SELECT count() FROM numbers(10) WHERE number IN (SELECT arrayJoin(range(10000000)))");
}

#[test]
fn states_of_aggregates_are_stopped() {
    check("SELECT uniqExact(number) FROM numbers(10000000)");
    check("SELECT length(groupArray(number)) FROM numbers(10000000)");
    check("SELECT quantileExact(number) FROM numbers(20000000)");
}

#[test]
fn sorts_go_to_disk() {
    let strings = "SELECT concat('some string ', toString(cityHash64(number))) AS s FROM numbers(3000000)";
    check_spills(&format!("SELECT count() FROM ({strings} ORDER BY s) WHERE NOT ignore(s)"));
}

#[test]
fn groups_go_to_disk() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let groups = "SELECT count() FROM (SELECT number AS k, count() FROM numbers(20000000) GROUP BY k)";
    assert_eq!(server.post("max_memory_usage=200000000", groups.as_bytes()).text(), "20000000\n");
    assert!(memory(&server, "VmHWM:") < 500_000_000);
}

#[test]
fn row_without_an_end_is_stopped() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE TABLE t (s String) ENGINE = MergeTree ORDER BY s");
    let before = memory(&server, "VmRSS:");
    let settings = format!("max_memory_usage={LIMIT}&query=INSERT+INTO+t+FORMAT+TSV");
    let answer = server.post(&settings, &vec![b'x'; 300 << 20]);
    assert_eq!(answer.header("x-clickhouse-exception-code"), Some("241"), "{}", answer.text());
    let most = memory(&server, "VmHWM:") - before;
    assert!(most < LIMIT * 3 / 2 + ALLOWANCE, "{most} bytes");
    let settings = format!("max_memory_usage={LIMIT}&max_execution_time=20");
    let answer = server.post(&settings, b"SELECT count() FROM file('/dev/zero', 'TSV', 'l String')");
    assert_eq!(answer.header("x-clickhouse-exception-code"), Some("241"), "{}", answer.text());
}

#[test]
fn process_keeps_its_limit() {
    let dir = tempdir().expect("a directory");
    let limit = 400 << 20;
    let server = Server::start_with(dir.path(), &["--max-server-memory-usage", &limit.to_string()]);
    for statement in [
        "SELECT uniqExact(number) FROM numbers(50000000)",
        "SELECT length(groupArray(number)) FROM numbers(100000000)",
    ] {
        let answer = server.post("", statement.as_bytes());
        assert_eq!(answer.header("x-clickhouse-exception-code"), Some("241"), "{}", answer.text());
        assert!(answer.text().contains("(total) memory limit exceeded"), "{}", answer.text());
    }
    // The limit is for anonymous memory; the peak has mapped files too, the program among them.
    let most = memory(&server, "VmHWM:") - memory(&server, "RssFile:");
    assert!(most < limit * 3 / 2, "{most} bytes");
    assert_eq!(server.ask("SELECT count() FROM numbers(1000)"), "1000\n");
}

#[test]
fn query_says_what_it_holds() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.post("query_id=counted", b"SELECT length(groupArray(number)) FROM numbers(3000000)");
    let peak = "SELECT memory_usage > 24000000 FROM system.query_log WHERE query_id = 'counted' AND type = 'QueryFinish'";
    assert_eq!(server.ask(peak), "1\n");
    assert_eq!(
        server.ask("SELECT memory_usage >= 0, peak_memory_usage >= memory_usage FROM system.processes"),
        "1\t1\n"
    );
}

#[test]
fn query_that_ended_holds_nothing() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let before = memory(&server, "VmRSS:");
    let answer = server.post(
        "max_execution_time=1",
        b"SELECT max(length(x)) FROM (SELECT groupArray(number) OVER (ORDER BY number) AS x FROM numbers(20000))",
    );
    assert_eq!(answer.header("x-clickhouse-exception-code"), Some("159"), "{}", answer.text());
    for _ in 0..300 {
        if memory(&server, "VmRSS:") < before + (200 << 20) {
            return;
        }
        server.ask("SELECT sleep(0.01)");
    }
    panic!("{} bytes are still held", memory(&server, "VmRSS:") - before);
}
