//! A mutation that cannot be applied reports why, is retried with growing delays, and can be ended by KILL MUTATION.

use basalt_itest::server::Server;
use tempfile::tempdir;

const FAILED: &str = "SELECT is_done, latest_failed_part, position(latest_fail_reason, 'throwIf') > 0 OR \
                      position(latest_fail_reason, 'non-zero') > 0, parts_to_do FROM system.mutations WHERE table = 't'";

#[test]
fn mutation_that_fails_on_a_row_is_shown_and_killed_and_the_table_is_free() {
    let dir = tempdir().expect("a directory");
    let mut server = Server::start(dir.path());
    server.ask("CREATE TABLE t (k UInt32, v UInt32) ENGINE = MergeTree ORDER BY k");
    server.ask("INSERT INTO t SELECT number, number FROM numbers(100)");
    // It starts, and fails after the statement has returned.
    server.ask("ALTER TABLE t UPDATE v = if(throwIf(v = 50) = 0, v + 1, v) WHERE 1");
    server.wait_until(FAILED, |answer| answer == "0\tall_1_1_0\t1\t1\n");
    assert!(server.is_alive());
    // Its effects are not visible; it does not apply to later rows.
    server.ask("INSERT INTO t VALUES (1000, 7)");
    assert_eq!(server.ask("SELECT count(), sum(v) FROM t"), "101\t4957\n");
    // A column that it needs cannot be renamed.
    let refused = server.post("", b"ALTER TABLE t RENAME COLUMN v TO w");
    assert_eq!(refused.header("x-clickhouse-exception-code"), Some("36"), "{}", refused.text());
    // A later mutation waits for it, and reports that.
    let waits = server.post("mutations_sync=1", b"ALTER TABLE t UPDATE v = 0 WHERE k = 1");
    assert_eq!(waits.header("x-clickhouse-exception-code"), Some("341"), "{}", waits.text());
    assert!(waits.text().contains("KILL MUTATION"), "{}", waits.text());
    server.ask("KILL MUTATION WHERE table = 't' AND NOT is_done AND position(command, 'throwIf') > 0");
    // The later mutation continues, and the table is free.
    server.wait_until("SELECT countIf(NOT is_done) FROM system.mutations WHERE table = 't'", |answer| {
        answer == "0\n"
    });
    assert_eq!(server.ask("SELECT sum(v) FROM t"), "4956\n");
    server.ask("ALTER TABLE t RENAME COLUMN v TO w");
    let answer = server.post("mutations_sync=1", b"ALTER TABLE t UPDATE w = 1 WHERE 1");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(server.ask("SELECT sum(w) FROM t"), "101\n");
    server.ask("OPTIMIZE TABLE t FINAL");
}

#[test]
fn mutation_that_fails_survives_a_restart_and_is_killed_then() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE TABLE t (k UInt32, v UInt32) ENGINE = MergeTree ORDER BY k");
    server.ask("INSERT INTO t VALUES (1, 1)");
    let failed = server.post("mutations_sync=1", b"ALTER TABLE t DELETE WHERE throwIf(v = 1)");
    assert_eq!(failed.header("x-clickhouse-exception-code"), Some("341"), "{}", failed.text());
    server.kill();
    let server = Server::start(dir.path());
    server.wait_until(FAILED, |answer| answer == "0\tall_1_1_0\t1\t1\n");
    server.ask("KILL MUTATION WHERE mutation_id = 'mutation_2.txt'");
    assert_eq!(server.ask("SELECT count() FROM system.mutations"), "0\n");
    server.kill();
    let server = Server::start(dir.path());
    assert_eq!(server.ask("SELECT count() FROM system.mutations"), "0\n");
    assert_eq!(server.ask("SELECT * FROM t"), "1\t1\n");
}
