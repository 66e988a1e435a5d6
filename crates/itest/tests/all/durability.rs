//! `kill -9` at any moment of a load loses no acknowledged rows.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_itest::http;
use basalt_itest::note;
use basalt_itest::program::local;
use basalt_itest::server::Server;
use tempfile::tempdir;

const ROWS_PER_INSERT: u64 = 1000;
/// This many rows are ingested as files instead of a batch.
const ROWS_PER_LOAD: u64 = 120_000;
const ROUNDS: u64 = 5;
const SEED: u64 = 20;

/// Repeatedly loads until the server is killed, in one directory, and counts the rows after each restart.
#[track_caller]
fn check(table: &str, rows_per_insert: u64) {
    let dir = tempdir().expect("a directory");
    local(dir.path(), table).expect();
    note(&format!("SEED {SEED}"));
    let mut random = SEED;
    let mut acknowledged_before = 0;
    for round in 0..ROUNDS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let server = Server::start(dir.path());
        let acknowledged = Arc::new(AtomicU64::new(0));
        let loading = {
            let (address, acknowledged) = (server.address(), Arc::clone(&acknowledged));
            let first = 1000 * round;
            std::thread::spawn(move || load_until_it_breaks(address, first, rows_per_insert, &acknowledged))
        };
        let enough = 1 + (random >> 33) % (12_000 / rows_per_insert).max(3);
        while acknowledged.load(Ordering::Acquire) < enough && !loading.is_finished() {
            std::thread::yield_now();
        }
        server.kill();
        // The connection breaks in the middle of a request, which ends the thread.
        let _ = loading.join();
        acknowledged_before += acknowledged.load(Ordering::Acquire);
        let counted =
            local(dir.path(), "SELECT count(), uniqExact(batch), countIf(v != batch * 1000000 + n) FROM t");
        let counted = counted.expect();
        let numbers: Vec<u64> = counted.split_whitespace().filter_map(|text| text.parse().ok()).collect();
        let [rows, batches, wrong] = numbers[..] else { panic!("{counted}") };
        assert!(batches >= acknowledged_before, "{batches} of {acknowledged_before} inserts are there");
        assert_eq!(rows, batches * rows_per_insert, "an insert is there in part");
        assert_eq!(wrong, 0, "rows with other values than were sent");
        // Rows that were sent but not acknowledged may exist: count them as acknowledged.
        acknowledged_before = batches;
    }
}

fn load_until_it_breaks(address: SocketAddr, first: u64, rows_per_insert: u64, acknowledged: &AtomicU64) {
    for batch in first.. {
        let rows: String = (0..rows_per_insert)
            .map(|n| format!("{}\t{batch}\t{n}\t{}\n", batch * rows_per_insert + n, batch * 1_000_000 + n))
            .collect();
        let answer = http::request(address, "POST", "/?query=INSERT+INTO+t+FORMAT+TSV", &[], rows.as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        acknowledged.fetch_add(1, Ordering::Release);
    }
}

#[test]
fn merge_tree_keeps_what_it_acknowledged() {
    check(
        "CREATE TABLE t (k UInt64, batch UInt64, n UInt64, v UInt64) ENGINE = MergeTree ORDER BY k",
        ROWS_PER_INSERT,
    );
}

#[test]
fn embedded_rocksdb_keeps_what_it_acknowledged() {
    check(
        "CREATE TABLE t (k UInt64, batch UInt64, n UInt64, v UInt64, PRIMARY KEY k) ENGINE = EmbeddedRocksDB",
        ROWS_PER_INSERT,
    );
}

#[test]
fn embedded_rocksdb_keeps_a_load_that_it_acknowledged() {
    check(
        "CREATE TABLE t (k UInt64, batch UInt64, n UInt64, v UInt64, PRIMARY KEY k) ENGINE = EmbeddedRocksDB",
        ROWS_PER_LOAD,
    );
}

#[test]
fn succinct_keeps_what_it_acknowledged_while_segments_are_built() {
    check(
        "CREATE TABLE t (k UInt64, batch UInt64, n UInt64, v UInt64, INDEX by_v (v), COLUMN GROUP g (n, v)) \
         ENGINE = Succinct PRIMARY KEY k SETTINGS segment_bytes = 60000, max_segments = 3",
        ROWS_PER_INSERT,
    );
}

#[test]
fn objects_survive_a_kill() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE DATABASE shop");
    server.ask("CREATE TABLE shop.t (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
    server.ask("INSERT INTO shop.t VALUES (1, 'one'), (2, 'two')");
    server.ask("CREATE VIEW shop.v AS SELECT id * 10 AS tens FROM shop.t");
    server.ask(
        "CREATE DICTIONARY shop.d (id UInt64, name String) PRIMARY KEY id SOURCE(CLICKHOUSE(DB 'shop' TABLE 't')) LIFETIME(0) LAYOUT(HASHED())",
    );
    server.ask("ALTER TABLE shop.t ADD COLUMN extra UInt8 DEFAULT 5");
    for rename in ["RENAME TABLE shop.t TO shop.kept", "RENAME TABLE shop.kept TO shop.t"] {
        let renamed = server.post("check_table_dependencies=0", rename.as_bytes());
        assert_eq!(renamed.status, 200, "{}", renamed.text());
    }
    server.ask("CREATE TABLE shop.gone (a UInt8) ENGINE = MergeTree ORDER BY a");
    server.ask("DROP TABLE shop.gone");
    server.kill();
    let server = Server::start(dir.path());
    assert_eq!(server.ask("SELECT * FROM shop.t ORDER BY id"), "1\tone\t5\n2\ttwo\t5\n");
    assert_eq!(server.ask("SELECT sum(tens) FROM shop.v"), "30\n");
    assert_eq!(server.ask("SELECT dictGet('shop.d', 'name', toUInt64(2))"), "two\n");
    assert_eq!(server.ask("EXISTS TABLE shop.gone"), "0\n");
}
