//! A table is dropped under running statements, and its space is freed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_engine::{Engine, EngineOptions, Outcome, QueryResult, Request, Session};
use basalt_itest::waiting::{check, wait_until};
use tempfile::tempdir;
use tokio::runtime::Runtime;

async fn run(session: &mut Session, sql: &str) {
    let outcome = session.execute(Request::new(sql)).await.expect("the statement runs");
    assert!(matches!(outcome, Outcome::Done(_)), "{sql}");
}

async fn rows(session: &mut Session, sql: &str) -> Box<QueryResult> {
    match session.execute(Request::new(sql)).await.expect("the query runs") {
        Outcome::Rows(rows) => rows,
        Outcome::Done(_) => panic!("{sql} has no rows"),
    }
}

fn tables_on_disk(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join("store")).expect("the directory of tables");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

#[track_caller]
fn wait_until_empty(dir: &Path) {
    wait_until(|| {
        let tables = tables_on_disk(dir);
        check(tables.is_empty(), format!("{tables:?} is still there"))
    });
}

fn with_engine(work: impl AsyncFnOnce(&Path, &Arc<Engine>)) {
    let dir = tempdir().expect("a directory");
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let options = EngineOptions { path: Some(dir.path().to_owned()), ..EngineOptions::default() };
        let engine = Engine::open(options).expect("the directory opens");
        work(dir.path(), &engine).await;
        engine.shutdown().await;
    });
}

#[test]
fn query_reads_on_in_a_table_that_is_dropped() {
    check_reader("MergeTree ORDER BY n", 2_000_000);
    check_reader("Succinct PRIMARY KEY n", 500_000);
}

#[track_caller]
fn check_reader(table_engine: &str, count: usize) {
    with_engine(async |dir, engine| {
        let mut session = engine.session();
        run(&mut session, &format!("CREATE TABLE t (n UInt64, s String) ENGINE = {table_engine}")).await;
        run(&mut session, &format!("INSERT INTO t SELECT number, toString(number) FROM numbers({count})"))
            .await;
        run(&mut session, "OPTIMIZE TABLE t").await;
        let mut reader = engine.session();
        let rows = rows(&mut reader, "SELECT n, s FROM t SETTINGS max_block_size = 1000 FORMAT TSV").await;
        run(&mut session, "DROP TABLE t").await;
        let mut bytes = rows.into_bytes().expect("a format");
        let mut lines = 0;
        while let Some(piece) = bytes.next().await.expect("the query goes on") {
            lines += piece.iter().filter(|&&byte| byte == b'\n').count();
        }
        drop(bytes);
        assert_eq!(lines, count);
        wait_until_empty(dir);
    });
}

#[test]
fn table_is_dropped_while_its_parts_are_merged() {
    with_engine(async |dir, engine| {
        let mut session = engine.session();
        for round in 0..10 {
            run(&mut session, "CREATE TABLE t (n UInt64, s String) ENGINE = MergeTree ORDER BY n").await;
            for _ in 0..4 + round {
                run(&mut session, "INSERT INTO t SELECT number, toString(number) FROM numbers(20000)").await;
            }
            run(&mut session, "DROP TABLE t").await;
        }
        wait_until_empty(dir);
    });
}

#[test]
fn space_is_free_when_drop_sync_returns() {
    with_engine(async |dir, engine| {
        let mut session = engine.session();
        for engine in ["MergeTree ORDER BY n", "EmbeddedRocksDB PRIMARY KEY n", "Succinct PRIMARY KEY n"] {
            run(&mut session, &format!("CREATE TABLE t (n UInt64, s String) ENGINE = {engine}")).await;
            run(&mut session, "INSERT INTO t SELECT number, 's' FROM numbers(1000)").await;
            run(&mut session, "OPTIMIZE TABLE t").await;
            run(&mut session, "DROP TABLE t SYNC").await;
            assert!(tables_on_disk(dir).is_empty(), "{engine}");
        }
    });
}
