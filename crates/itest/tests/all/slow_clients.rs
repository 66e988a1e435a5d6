//! Slow clients do not delay others, and are disconnected in time.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use basalt_itest::http::Connection;
use basalt_itest::raw_client;
use basalt_itest::server::Server;
use basalt_itest::waiting::{check, wait_until};
use tempfile::tempdir;

/// Far more than the number of threads, and than the maximum number of connections.
const CLIENTS_MAX: usize = 10_000;

/// File descriptors that the test needs in addition to sockets.
const OTHER_FILES: usize = 200;

/// The time limit of an answer on a busy server.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of sockets that this process may open.
fn clients() -> usize {
    CLIENTS_MAX.min(open_files().saturating_sub(OTHER_FILES))
}

fn open_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").expect("Linux tells");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("it is there");
    line.split_whitespace().nth(3).and_then(|word| word.parse().ok()).unwrap_or(1024)
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

/// The hello and the addendum of a client of the native protocol, and the first message of one of PostgreSQL.
const LOGINS: [&[u8]; 2] =
    [b"\x00\x04test\x01\x00\xbc\xa9\x03\x00\x07default\x00\x00", b"\0\0\0\x16\0\x03\0\0user\0default\0\0"];

#[test]
fn idle_and_silent_clients_are_disconnected_in_time() {
    let dir = tempdir().expect("a directory");
    let server = Server::start_with(dir.path(), &["--login-timeout", "1", "--idle_connection_timeout=1"]);
    for (address, login) in [server.tcp_address(), server.postgres_address()].into_iter().zip(LOGINS) {
        for (bytes, why) in [(&login[..3], "did not log in within 1 s"), (login, "sent nothing for 1 s")] {
            let started = Instant::now();
            let answer = raw_client::answer(address, bytes, false);
            let text = String::from_utf8_lossy(&answer).into_owned();
            assert!(text.contains(why), "{why}: {}", answer.escape_ascii());
            assert!(started.elapsed() < Duration::from_secs(20));
        }
    }
}

#[test]
fn one_address_has_its_own_limit() {
    let dir = tempdir().expect("a directory");
    let server = Server::start_with(dir.path(), &["--max-connections-per-address", "3"]);
    let open = || TcpStream::connect(server.address()).expect("the server accepts");
    let all = [open(), open(), open()];
    let http = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (address, bytes, beginning) in [
        (server.address(), &http[..], &b"HTTP/1.1 503 "[..]),
        (server.tcp_address(), LOGINS[0], b"\x02\xca\0\0\0"),
        (server.postgres_address(), LOGINS[1], b"E"),
    ] {
        let answer = raw_client::answer(address, bytes, false);
        assert!(answer.starts_with(beginning), "{}", answer.escape_ascii());
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert!(text.contains("`127.0.0.1` has 3 open connections"), "{text}");
    }
    drop(all);
    wait_until(|| {
        let answer = raw_client::answer(server.address(), b"GET /ping HTTP/1.0\r\n\r\n", false);
        check(answer.starts_with(b"HTTP/1.0 200"), String::from_utf8_lossy(&answer).into_owned())
    });
}

/// Clients of all interfaces, as many as this process may open, send a byte now and then.
#[test]
fn ten_thousand_slow_clients_cost_sockets_only() {
    let dir = tempdir().expect("a directory");
    let server = Server::start_with(dir.path(), &["--max-connections", "20000"]);
    let count = clients().min(open_files() / 2 - OTHER_FILES);
    let slow: [(SocketAddr, &[u8]); 3] = [
        (server.address(), b"POST / HTTP/1.1\r\nHost: loc"),
        (server.tcp_address(), &LOGINS[0][..9]),
        (server.postgres_address(), &LOGINS[1][..9]),
    ];
    let mut all: Vec<(TcpStream, &[u8])> = Vec::new();
    server.ask("SELECT 1");
    let before = resident_kib(&server);
    for index in 0..count {
        let (address, bytes) = slow[index % slow.len()];
        all.push((TcpStream::connect(address).expect("the server accepts"), bytes));
    }
    for at in 0..9 {
        for (stream, bytes) in &mut all {
            // The server may have ended the connection: its login took too long.
            let _ = stream.write_all(&bytes[at..=at]);
        }
        check_answers(&server);
    }
    let grown = resident_kib(&server).saturating_sub(before);
    // Buffers of the sockets, and the state of a task.
    assert!(grown < count * 40, "{grown} KiB for {count} clients");
    basalt_itest::note(&format!("{count} slow clients take {grown} KiB"));
}

#[test]
fn statements_have_one_limit_on_all_interfaces() {
    let dir = tempdir().expect("a directory");
    let server = Server::start_with(dir.path(), &["--max_query_size=1000", "--idle_connection_timeout=2"]);
    let statement = format!("SELECT {} AS x", "1 + ".repeat(500) + "1");
    let why = "the statement has 2013 bytes, more than max_query_size, 1000";
    let answer = server.post("", statement.as_bytes());
    assert!(answer.status == 400 && answer.text().contains(why), "{}", answer.text());
    let mut message = LOGINS[1].to_vec();
    message.push(b'Q');
    message.extend_from_slice(&(statement.len() as u32 + 5).to_be_bytes());
    message.extend_from_slice(format!("{statement}\0").as_bytes());
    let answer = raw_client::answer(server.postgres_address(), &message, true);
    assert!(String::from_utf8_lossy(&answer).contains(why), "{}", answer.escape_ascii());
    // A query without settings, and the empty block after it.
    let mut message = LOGINS[0].to_vec();
    message.extend_from_slice(b"\x01\x00\x00\x00\x00\x02\x00");
    message.extend_from_slice(&[(statement.len() & 0x7f) as u8 | 0x80, (statement.len() >> 7) as u8]);
    message.extend_from_slice(statement.as_bytes());
    message.extend_from_slice(b"\x00\x02\x00\x01\x00\x02\xff\xff\xff\xff\x00\x00\x00");
    // The end of its bytes would cancel the statement.
    let answer = raw_client::answer(server.tcp_address(), &message, false);
    assert!(String::from_utf8_lossy(&answer).contains(why), "{}", answer.escape_ascii());
}

#[test]
fn more_queries_than_may_run_are_refused() {
    let dir = tempdir().expect("a directory");
    let server = Server::start_with(dir.path(), &["--max-concurrent-queries", "1"]);
    let endless = server.take_the_only_slot();
    let answer = server.post("", b"SELECT 1");
    assert_eq!(answer.status, 503);
    assert!(answer.text().starts_with("Code: 202."), "{}", answer.text());
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
    memory_kib(server, "VmHWM")
}

fn resident_kib(server: &Server) -> usize {
    memory_kib(server, "VmRSS")
}

fn memory_kib(server: &Server, figure: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("it runs");
    let line = status.lines().find(|line| line.starts_with(figure)).expect("Linux tells");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
}
