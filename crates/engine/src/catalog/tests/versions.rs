//! A query reads a table as it was when the query was planned, whatever ALTER does meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Database;
use crate::{Outcome, Request};

const READERS: usize = 3;
const ALTERS: usize = 60;

#[test]
fn select_beside_alter_reads_one_version() {
    let mut database = Database::new();
    database.ask("CREATE TABLE t (k UInt64, c UInt32) ENGINE = ReplacingMergeTree ORDER BY k");
    database.ask("INSERT INTO t SELECT number, number FROM numbers(1000)");
    database.ask("INSERT INTO t SELECT number + 1000, number FROM numbers(1000)");
    let is_done = AtomicBool::new(false);
    let (engine, _) = database.session.as_ref().unwrap();
    let (engine, handle) = (Arc::clone(engine), database.runtime.handle().clone());
    let failures = std::thread::scope(|scope| {
        let reader = |query: &'static str| {
            let (mut session, handle, is_done) = (engine.session(), handle.clone(), &is_done);
            scope.spawn(move || {
                let mut failures = Vec::new();
                while !is_done.load(Ordering::Relaxed) {
                    let answer = handle.block_on(async {
                        let Outcome::Rows(rows) = session.execute(Request::new(query)).await? else {
                            return Ok(());
                        };
                        let mut bytes = rows.into_bytes()?;
                        while bytes.next().await?.is_some() {}
                        crate::Result::Ok(())
                    });
                    failures.extend(answer.err().map(|error: crate::Error| error.to_string()));
                }
                failures
            })
        };
        let queries = ["SELECT * FROM t", "SELECT sum(c) FROM t WHERE c > 10", "SELECT * FROM t FINAL"];
        let readers: Vec<_> = (0..READERS).map(|at| reader(queries[at])).collect();
        for alter in 0..ALTERS {
            let ty = if alter % 2 == 0 { "UInt64" } else { "UInt32" };
            database.ask(&format!("ALTER TABLE t MODIFY COLUMN c {ty}"));
        }
        is_done.store(true, Ordering::Relaxed);
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect::<Vec<String>>()
    });
    assert_eq!(failures, Vec::<String>::new());
}
