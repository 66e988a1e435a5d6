//! Slow clients do not delay others, and are disconnected in time.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use basalt_itest::http::{Connection, request};
use basalt_itest::server::Server;
use tempfile::tempdir;

/// Far more than the number of threads, and than the maximum number of connections.
const CLIENTS_MAX: usize = 10_000;

/// File descriptors that the test needs in addition to sockets.
const OTHER_FILES: usize = 200;

/// The time limit of an answer on a busy server.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of sockets that this process may open.
fn clients() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux tells");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("it is there");
    let files: usize = line.split_whitespace().nth(3).and_then(|word| word.parse().ok()).unwrap_or(1024);
    CLIENTS_MAX.min(files.saturating_sub(OTHER_FILES))
}

/// Connections that send `bytes` and then nothing.
fn crowd(server: &Server, count: usize, bytes: &[u8]) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(server.address()).expect("the server accepts");
        stream.write_all(bytes).expect("the server reads");
        stream
    };
    (0..count).map(open).collect()
}

/// All kinds of statements are answered promptly.
fn check_answers(server: &Server) {
    for statement in [
        "SELECT 1",
        "CREATE OR REPLACE TABLE other (a UInt8) ENGINE = MergeTree ORDER BY a",
        "INSERT INTO other VALUES (1)",
        "INSERT INTO other VALUES (2)",
        "OPTIMIZE TABLE other FINAL",
        "SELECT count() FROM other",
        "DROP TABLE other",
    ] {
        let started = Instant::now();
        server.ask(statement);
        assert!(started.elapsed() < PATIENCE, "{statement}: {:?}", started.elapsed());
    }
}

#[test]
fn a_crowd_of_slow_clients_keeps_nobody_out() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a");
    let insert = "POST /?query=INSERT+INTO+t+FORMAT+TSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    let row = "1\tx\n";
    let count = clients();
    let heads = crowd(&server, count / 4, b"POST / HTTP/1.1\r\nHost: loc");
    check_answers(&server);
    let bodies = crowd(&server, count / 2, format!("{insert}{row}").as_bytes());
    check_answers(&server);
    // Their INSERTs have started.
    let large = crowd(&server, 600, format!("{insert}{}", row.repeat(40_000)).as_bytes());
    check_answers(&server);
    drop((heads, bodies, large));
    assert_eq!(server.ask("SELECT count() FROM t"), "0\n");
}

#[test]
fn the_server_waits_for_nobody_for_ever() {
    let dir = tempdir().expect("a directory");
    let limits = ["--keep-alive-timeout", "1", "--http_receive_timeout=1", "--http_send_timeout=1"];
    let server = Server::start_with(dir.path(), &limits);
    server.ask("CREATE TABLE t (a UInt64) ENGINE = Memory");
    let mut body = Connection::open(server.address());
    body.send_raw(
        b"POST /?query=INSERT+INTO+t+FORMAT+TSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n1\n",
    );
    let answer = body.receive();
    assert_eq!(answer.status, 408, "{}", answer.text());
    assert!(answer.text().contains("http_receive_timeout"), "{}", answer.text());
    let mut head = Connection::open(server.address());
    head.send_raw(b"POST / HTTP/1.1\r\nHost: loc");
    assert!(head.is_closed());
    let mut idle = Connection::open(server.address());
    idle.send("GET", "/ping", &[], b"");
    assert_eq!(idle.receive().status, 200);
    assert!(idle.is_closed());
    // The answer is not read, so the query ends.
    let mut unread = Connection::open(server.address());
    unread.send("POST", "/?query_id=unread", &[], b"SELECT * FROM numbers(1000000000)");
    let running = "SELECT count() FROM system.processes WHERE query_id = 'unread'";
    while server.ask(running) == "0\n" {
        std::thread::yield_now();
    }
    while server.ask(running) == "1\n" {
        std::thread::yield_now();
    }
}

#[test]
fn more_queries_than_may_run_are_refused() {
    let dir = tempdir().expect("a directory");
    let server = Server::start_with(dir.path(), &["--max-concurrent-queries", "1"]);
    let address = server.address();
    let endless = std::thread::spawn(move || {
        let text = b"SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
        loop {
            let answer = request(address, "POST", "/?query_id=endless", &[], text);
            // It may arrive while a query of the other thread has the only slot.
            if answer.status != 503 {
                return answer;
            }
        }
    });
    loop {
        let answer = server.post("", b"SELECT 1");
        if answer.status != 200 {
            assert_eq!(answer.status, 503);
            assert!(answer.text().starts_with("Code: 202."), "{}", answer.text());
            break;
        }
    }
    server.ask("KILL QUERY WHERE query_id = 'endless' SYNC");
    assert_ne!(endless.join().expect("an answer").status, 200);
    assert_eq!(server.ask("SELECT 1"), "1\n");
}

#[test]
fn held_back_answers_do_not_fill_the_memory() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let before = peak_kib(&server);
    let answer =
        server.post("buffer_size=10000000000000", b"SELECT number, toString(number) FROM numbers(20000000)");
    assert_eq!(answer.status, 200);
    assert!(answer.is_whole && answer.body.len() > 300_000_000, "{}", answer.body.len());
    let grown = peak_kib(&server) - before;
    assert!(grown < 250_000, "{grown} KiB");
}

fn peak_kib(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("Linux tells");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
}
