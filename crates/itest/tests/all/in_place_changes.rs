//! Changes of a key/value table in place: none is lost, none is seen half, and one that waits or works can be killed.

use std::sync::atomic::{AtomicBool, Ordering};

use basalt_itest::server::Server;
use basalt_itest::waiting::{check, wait_until};
use tempfile::tempdir;

const CONNECTIONS: usize = 32;
const TURNS: usize = 10;
/// More than are written as one batch.
const MANY_ROWS: u64 = 150_000;

fn start(dir: &std::path::Path) -> Server {
    let server = Server::start(dir);
    server.ask("CREATE TABLE c (k UInt64, n Int64) ENGINE = EmbeddedRocksDB PRIMARY KEY k");
    server
}

#[test]
fn increments_from_many_connections_are_all_counted_and_durable() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path());
    server.ask("INSERT INTO c SELECT number, 0 FROM numbers(100)");
    std::thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            let server = &server;
            scope.spawn(move || {
                let own = 1000 + connection;
                for turn in 0..TURNS {
                    server.ask("UPDATE c SET n = n + 1 WHERE k = 1");
                    match turn % 4 {
                        0 => server.ask(&format!("INSERT INTO c VALUES ({own}, 0)")),
                        1 => server.ask(&format!("DELETE FROM c WHERE k = {own}")),
                        2 => server.ask(
                            "ALTER TABLE c UPDATE n = n + 1 WHERE k IN (2, 3), UPDATE n = n + 1 WHERE k = 2",
                        ),
                        _ => server
                            .ask(&format!("UPDATE c SET n = n + 1 WHERE k >= 10 AND k < 20 OR k = {own}")),
                    };
                }
            });
        }
    });
    // Turns 0, 4 and 8 insert, 1, 5 and 9 delete, 2 and 6 change, 3 and 7 change.
    let all = (CONNECTIONS * TURNS, 4 * CONNECTIONS, 2 * CONNECTIONS);
    let expected = format!("{}\t{}\t{}\t{}\t100\n", all.0, all.1, all.2, 10 * 2 * CONNECTIONS);
    let sums = "SELECT sumIf(n, k = 1), sumIf(n, k = 2), sumIf(n, k = 3), sumIf(n, k BETWEEN 10 AND 19), count() FROM c";
    assert_eq!(server.ask(sums), expected);
    server.kill();
    assert_eq!(Server::start(dir.path()).ask(sums), expected);
}

#[test]
fn change_of_many_rows_is_seen_whole() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path());
    server.ask(&format!("INSERT INTO c SELECT number, 0 FROM numbers({MANY_ROWS})"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut readings = 0;
            while !is_over.load(Ordering::Relaxed) {
                let seen = server.ask("SELECT count(), max(n) - min(n) FROM c");
                assert_eq!(seen, format!("{MANY_ROWS}\t0\n"));
                readings += 1;
            }
            readings
        });
        for _ in 0..3 {
            server.ask("UPDATE c SET n = n + 1 WHERE 1");
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(reader.join().expect("no reading differs") > 0);
    });
    assert_eq!(server.ask("SELECT count(), sum(n) FROM c"), format!("{MANY_ROWS}\t{}\n", 3 * MANY_ROWS));
    server.ask("ALTER TABLE c UPDATE n = -1 WHERE k % 3 = 0, DELETE WHERE k % 2 = 0");
    assert_eq!(server.ask("SELECT count(), sum(n < 0), sum(k % 2) FROM c"), "75000\t25000\t75000\n");
    server.kill();
    let server = Server::start(dir.path());
    assert_eq!(server.ask("SELECT count(), sum(n < 0), sum(k % 2) FROM c"), "75000\t25000\t75000\n");
}

/// The error code of a statement that fails.
fn code(server: &Server, id: &str, statement: &str) -> Option<String> {
    let answer = server.post(&format!("query_id={id}"), statement.as_bytes());
    answer.header("x-clickhouse-exception-code").map(str::to_owned)
}

#[test]
fn killed_change_changes_nothing_and_lets_others_go_on() {
    const CANCELLED: Option<&str> = Some("394");
    let dir = tempdir().expect("a directory");
    let server = start(dir.path());
    server.ask("INSERT INTO c SELECT number, 0 FROM numbers(100000)");
    std::thread::scope(|scope| {
        // The condition is computed when the change has begun.
        let slow = "UPDATE c SET n = 1 WHERE k < (SELECT countIf(cityHash64(number) > 0) FROM numbers(1000000000000))";
        let works = scope.spawn(|| code(&server, "works", slow));
        wait_until_runs(&server, "works");
        let waits = scope.spawn(|| code(&server, "waits", "UPDATE c SET n = 2 WHERE k = 1"));
        let inserts = scope.spawn(|| code(&server, "inserts", "INSERT INTO c VALUES (1, 3)"));
        let goes_on = scope.spawn(|| code(&server, "goes_on", "UPDATE c SET n = n + 4 WHERE k = 2"));
        for id in ["waits", "inserts", "goes_on"] {
            wait_until_runs(&server, id);
        }
        // Reading does not wait.
        assert_eq!(server.ask("SELECT sum(n) FROM c"), "0\n");
        for (id, killed) in [("waits", waits), ("inserts", inserts), ("works", works)] {
            server.ask(&format!("KILL QUERY WHERE query_id = '{id}' SYNC"));
            assert_eq!(killed.join().expect("it answers").as_deref(), CANCELLED, "{id}");
        }
        assert_eq!(goes_on.join().expect("it answers"), None);
    });
    assert_eq!(server.ask("SELECT count(), sum(n), sumIf(n, k = 2) FROM c"), "100000\t4\t4\n");
}

fn wait_until_runs(server: &Server, id: &str) {
    let asked = format!("SELECT count() FROM system.processes WHERE query_id = '{id}'");
    wait_until(|| check(server.ask(&asked) == "1\n", format!("`{id}` does not run")));
}
