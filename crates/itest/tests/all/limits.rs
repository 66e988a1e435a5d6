//! A query over its limit gets an error, and the process keeps running.

use basalt_itest::server::Server;
use tempfile::tempdir;

#[track_caller]
fn check(statement: &str, number: &str) {
    let dir = tempdir().expect("a directory");
    let mut server = Server::start(dir.path());
    let answer = server.post("", statement.as_bytes());
    assert_eq!(answer.header("x-clickhouse-exception-code"), Some(number), "{}", answer.text());
    assert!(server.is_alive());
    assert_eq!(server.ask("SELECT count() FROM numbers(1000)"), "1000\n");
}

#[test]
fn query_over_its_memory_is_refused() {
    check(
        "SELECT length(groupArray(toString(number))) FROM numbers(20000000) SETTINGS max_memory_usage = 50000000",
        "241",
    );
}

#[test]
fn query_over_its_time_is_ended() {
    check(
        "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1 SETTINGS max_execution_time = 1",
        "159",
    );
}

#[test]
fn sort_over_its_memory_goes_to_disk() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let answer = server.ask(
        "SELECT sum(k), count() FROM (SELECT cityHash64(number) % 1000 AS k FROM numbers(3000000) ORDER BY cityHash64(number)) \
         SETTINGS max_bytes_before_external_sort = 10000000, max_memory_usage = 400000000",
    );
    assert!(answer.ends_with("\t3000000\n"), "{answer}");
}

#[test]
fn deep_nesting_is_an_error() {
    let dir = tempdir().expect("a directory");
    let mut server = Server::start(dir.path());
    let nested = |depth: usize| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(server.ask(&nested(150)), "1\n");
    for depth in [250, 2_000, 100_000] {
        let answer = server.post("", nested(depth).as_bytes());
        assert_eq!(answer.header("x-clickhouse-exception-code"), Some("306"), "{depth}: {}", answer.text());
        assert!(server.is_alive());
    }
    assert_eq!(server.ask("SELECT 1"), "1\n");
}
