//! Small queries in this process, one after another: the time of each, without a socket.
//!
//! ```sh
//! cargo run --release -p basalt-itest --example small_queries -- [queries [rows]]
//! ```

#![expect(clippy::print_stdout, reason = "the figures are what the program is for")]

use std::time::Instant;

use basalt_engine::{EngineOptions, Request, Session};
use basalt_itest::in_process::InProcess;

const MICROSECONDS: f64 = 1e6;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let queries: u64 = arguments.next().unwrap_or(20_000);
    let rows: u64 = arguments.next().unwrap_or(1_000_000);
    let engine = InProcess::open(EngineOptions::default());
    let mut session = engine.session();
    for statement in [
        "CREATE TABLE kv (k UInt64, v String) ENGINE = EmbeddedRocksDB PRIMARY KEY k".to_owned(),
        "CREATE TABLE columns (k UInt64, v String) ENGINE = MergeTree ORDER BY k".to_owned(),
        format!("INSERT INTO kv SELECT number, toString(cityHash64(number)) FROM numbers({rows})"),
        format!("INSERT INTO columns SELECT number, toString(cityHash64(number)) FROM numbers({rows})"),
    ] {
        ask(&engine, &mut session, Request::new(statement));
    }
    println!("{:40} {:>8} {:>8} {:>8}", "statement", "p50 us", "p99 us", "max us");
    for text in [
        "SELECT v FROM kv WHERE k = {k:UInt64}",
        "SELECT * FROM kv WHERE k IN ({k:UInt64}, 5)",
        "SELECT v FROM kv WHERE k = {k:UInt64} AND v != ''",
        "SELECT count() FROM kv WHERE k = {k:UInt64}",
        "SELECT v FROM columns WHERE k = {k:UInt64}",
        "SELECT {k:UInt64} + 1",
    ] {
        measure(&engine, &mut session, text, queries, rows);
    }
}

fn measure(engine: &InProcess, session: &mut Session, text: &str, queries: u64, rows: u64) {
    let mut times: Vec<f64> = (0..queries)
        .map(|query| {
            let key = query.wrapping_mul(0x9E37_79B9_7F4A_7C15) % rows;
            let mut request = Request::new(text);
            request.parameters.insert("k".to_owned(), key.to_string());
            let started = Instant::now();
            ask(engine, session, request);
            started.elapsed().as_secs_f64() * MICROSECONDS
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{text:40} {:8.1} {:8.1} {:8.1}", at(0.5), at(0.99), at(1.0));
}

fn ask(engine: &InProcess, session: &mut Session, request: Request) -> Option<Vec<u8>> {
    match engine.answer(session, request) {
        Ok(answer) => answer,
        Err(error) => panic!("{error}"),
    }
}
