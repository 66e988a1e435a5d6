//! Succinct tables that are changed, read and built by many at once.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use basalt_itest::server::Server;
use basalt_itest::waiting::{check, wait_until};
use tempfile::tempdir;

const CONNECTIONS: usize = 8;
const TURNS: usize = 12;
const ROWS: u64 = 30_000;

fn start(dir: &Path, settings: &str) -> Server {
    let server = Server::start(dir);
    server.ask(&format!(
        "CREATE TABLE c (k UInt64, n Int64, s String, INDEX by_n (n)) ENGINE = Succinct PRIMARY KEY k {settings}"
    ));
    server
}

/// Runs `work` while other threads of `each` repeat their statement.
fn during(server: &Server, each: &[(&str, Option<&str>)], work: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let repeat = |statement: &str, answer: Option<&str>| {
            let mut turns = 0;
            while !is_over.load(Ordering::Relaxed) || turns == 0 {
                let found = server.ask(statement);
                assert!(answer.is_none_or(|answer| found == answer), "{statement}: {found}");
                turns += 1;
            }
        };
        let threads: Vec<_> =
            each.iter().map(|&(text, answer)| scope.spawn(move || repeat(text, answer))).collect();
        work();
        is_over.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|thread| thread.join().expect("no statement fails"));
    });
}

#[test]
fn increments_from_many_connections_are_all_counted_while_segments_are_built() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), "SETTINGS segment_bytes = 3000");
    server.ask("INSERT INTO c SELECT number, 0, '' FROM numbers(100)");
    during(&server, &[("OPTIMIZE TABLE c", None), ("OPTIMIZE TABLE c FINAL", None)], || {
        std::thread::scope(|scope| {
            for connection in 0..CONNECTIONS {
                let server = &server;
                scope.spawn(move || {
                    let own = 1000 + connection;
                    for turn in 0..TURNS {
                        server.ask("UPDATE c SET n = n + 1 WHERE k = 1");
                        match turn % 4 {
                            0 => server.ask(&format!("INSERT INTO c VALUES ({own}, 0, 'own')")),
                            1 => server.ask(&format!("DELETE FROM c WHERE k = {own}")),
                            2 => server.ask("ALTER TABLE c UPDATE n = n + 1 WHERE k IN (2, 3), UPDATE n = n + 1 WHERE k = 2"),
                            _ => server.ask(&format!("UPDATE c SET n = n + 1 WHERE k >= 10 AND k < 20 OR k = {own}")),
                        };
                    }
                });
            }
        });
    });
    // Turns 0, 4 and 8 insert, 1, 5 and 9 delete, 2, 6 and 10 change, 3, 7 and 11 change.
    let changed = 3 * CONNECTIONS;
    let expected = format!("{}\t{}\t{changed}\t{}\t100\n", CONNECTIONS * TURNS, 2 * changed, 10 * changed);
    let sums = "SELECT sumIf(n, k = 1), sumIf(n, k = 2), sumIf(n, k = 3), sumIf(n, k BETWEEN 10 AND 19), count() FROM c";
    assert_eq!(server.ask(sums), expected);
    server.kill();
    assert_eq!(Server::start(dir.path()).ask(sums), expected);
}

#[test]
fn change_is_seen_whole_while_segments_are_built() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), "");
    server.ask(&format!("INSERT INTO c SELECT number, 0, toString(number) FROM numbers({ROWS})"));
    let whole = format!("{ROWS}\t0\n");
    let in_order = format!("{ROWS}\t0\n");
    let readers = [
        ("SELECT count(), max(n) - min(n) FROM c", Some(whole.as_str())),
        ("SELECT count(), max(n) - min(n) FROM (SELECT n FROM c ORDER BY k DESC)", Some(in_order.as_str())),
        ("SELECT s, n >= 0 FROM c WHERE k = 777", Some("777\t1\n")),
        ("OPTIMIZE TABLE c", None),
    ];
    during(&server, &readers, || {
        for _ in 0..4 {
            server.ask("UPDATE c SET n = n + 1 WHERE 1");
        }
        server.ask("OPTIMIZE TABLE c FINAL");
    });
    assert_eq!(server.ask("SELECT count(), sum(n) FROM c"), format!("{ROWS}\t{}\n", 4 * ROWS));
}

#[test]
fn columns_are_added_while_rows_are_inserted() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), "SETTINGS segment_bytes = 20000");
    let inserts = [
        ("INSERT INTO c (k, n, s) SELECT number, 1, 's' FROM numbers(100)", None),
        ("INSERT INTO c (k, n, s) SELECT number + 50, 1, 's' FROM numbers(100)", None),
        ("SELECT countIf(n != 1) FROM c", Some("0\n")),
    ];
    during(&server, &inserts, || {
        for column in 0..10 {
            server.ask(&format!("ALTER TABLE c ADD COLUMN c{column} UInt32 DEFAULT k + {column}"));
        }
    });
    assert_eq!(server.ask("SELECT count(), sum(n), countIf(c9 != k + 9 OR c0 != k) FROM c"), "150\t150\t0\n");
    server.ask("OPTIMIZE TABLE c FINAL");
    assert_eq!(server.ask("SELECT count(), sum(n), countIf(c9 != k + 9 OR c0 != k) FROM c"), "150\t150\t0\n");
}

#[test]
fn background_work_stops_and_starts() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), "SETTINGS segment_bytes = 10000, max_segments = 2");
    server.ask("SYSTEM STOP MERGES c");
    for turn in 0..8 {
        server.ask(&format!("INSERT INTO c SELECT number + {turn} * 300, 1, 'text' FROM numbers(1000)"));
    }
    let states = "SELECT countIf(state = 'read-only'), countIf(state = 'frozen') FROM system.succinct_segments WHERE table = 'c'";
    assert!(server.ask(states).starts_with("0\t"), "{}", server.ask(states));
    let sums = "SELECT count(), sum(k), sum(n) FROM c";
    let expected = "3100\t4803450\t3100\n";
    assert_eq!(server.ask(sums), expected);
    server.ask("SYSTEM START MERGES c");
    server.wait_until(states, |answer| answer == "1\t0\n" || answer == "2\t0\n");
    assert_eq!(server.ask(sums), expected);
    assert_eq!(server.ask("SELECT DISTINCT last_failure FROM system.succinct_segments"), "\n");
}

#[test]
fn build_is_listed_while_it_runs_and_drop_ends_it() {
    let dir = tempdir().expect("a directory");
    let server = start(dir.path(), "");
    server.ask("SYSTEM STOP MERGES c");
    server.ask("INSERT INTO c SELECT number, number, hex(cityHash64(number)) FROM numbers(400000)");
    let listed = "SELECT table, merge_type, num_parts, result_part_name, total_size_bytes_compressed > 0 FROM system.merges";
    std::thread::scope(|scope| {
        let optimized = scope.spawn(|| server.post("", b"OPTIMIZE TABLE c FINAL"));
        wait_until(|| {
            let found = server.ask(listed);
            check(found.starts_with("c\t") || optimized.is_finished(), format!("{found} is listed"))
        });
        assert!(!optimized.is_finished(), "the build was not listed");
        server.ask("DROP TABLE c");
        // It ends with an error or has done its work before.
        optimized.join().expect("an answer");
    });
    assert_eq!(server.ask(listed), "");
    let tables = || std::fs::read_dir(dir.path().join("store")).expect("the directory of tables").count();
    wait_until(|| check(tables() == 0, "the files of the dropped table are still there"));
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
    let server = start(dir.path(), "");
    server.ask("INSERT INTO c SELECT number, 0, '' FROM numbers(10000)");
    std::thread::scope(|scope| {
        // The condition is computed when the change has begun.
        let slow = "UPDATE c SET n = 1 WHERE k < (SELECT countIf(cityHash64(number) > 0) FROM numbers(1000000000000))";
        let works = scope.spawn(|| code(&server, "works", slow));
        let waits_for = |id: &str| {
            let asked = format!("SELECT count() FROM system.processes WHERE query_id = '{id}'");
            wait_until(|| check(server.ask(&asked) == "1\n", format!("`{id}` does not run")));
        };
        waits_for("works");
        let waits = scope.spawn(|| code(&server, "waits", "UPDATE c SET n = 2 WHERE k = 1"));
        let inserts = scope.spawn(|| code(&server, "inserts", "INSERT INTO c VALUES (1, 3, '')"));
        let goes_on = scope.spawn(|| code(&server, "goes_on", "UPDATE c SET n = n + 4 WHERE k = 2"));
        ["waits", "inserts", "goes_on"].into_iter().for_each(waits_for);
        // Reading and building do not wait.
        server.ask("OPTIMIZE TABLE c");
        assert_eq!(server.ask("SELECT sum(n) FROM c"), "0\n");
        for (id, killed) in [("waits", waits), ("inserts", inserts), ("works", works)] {
            server.ask(&format!("KILL QUERY WHERE query_id = '{id}' SYNC"));
            assert_eq!(killed.join().expect("it answers").as_deref(), CANCELLED, "{id}");
        }
        assert_eq!(goes_on.join().expect("it answers"), None);
    });
    assert_eq!(server.ask("SELECT count(), sum(n), sumIf(n, k = 2) FROM c"), "10000\t4\t4\n");
}
