//! Dictionary sources that fail, change or send wrong data: the error is clear, the previous rows stay, and the
//! server keeps running.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use basalt_itest::foreign::{Foreign, NO_MARIADB, NO_POSTGRESQL, NO_REDIS, run};
use basalt_itest::server::Server;
use basalt_itest::skipped;

use crate::dictionary_sources::ask;

/// The time limit for any refusal.
pub(crate) const SOON: Duration = Duration::from_secs(40);

/// `SYSTEM RELOAD DICTIONARY d` fails with `code` and `why`, and key 1 keeps its value.
#[track_caller]
pub(crate) fn check_refused(server: &Server, what: &str, code: &str, why: &str) {
    let started = Instant::now();
    let answer = server.post("", b"SYSTEM RELOAD DICTIONARY d");
    assert_ne!(answer.status, 200, "{what}: loads {}", server.ask("SELECT * FROM d LIMIT 10"));
    let error = answer.text();
    assert!(error.contains(code) && error.contains(why), "{what}: not {code}, {why}: {error}");
    assert!(started.elapsed() < SOON, "{what}: {:?}", started.elapsed());
    let after = "SELECT dictGet('d', 'name', tuple(1::UInt8)), status, last_exception != '' \
                 FROM system.dictionaries WHERE name = 'd'";
    assert_eq!(ask(server, after), "one\tLOADED\t1\n", "{what}");
}

/// Creates the dictionary `d` over `source` and loads it.
#[track_caller]
pub(crate) fn define(server: &Server, source: &str, settings: &str) {
    ask(
        server,
        &format!(
            "CREATE OR REPLACE DICTIONARY d (id UInt8, name String) PRIMARY KEY id SOURCE({source}) LAYOUT(\
             COMPLEX_KEY_HASHED()) LIFETIME(0) SETTINGS({settings})"
        ),
    );
    ask(server, "SYSTEM RELOAD DICTIONARY d");
    assert_eq!(ask(server, "SELECT dictGet('d', 'name', tuple(1::UInt8))"), "one\n", "{source}");
}

/// The head of an HTTP answer and packets of the native protocol contain figures of varying length.
const FIGURES: usize = 40;

/// The fate of the bytes that a server sends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// All of them arrive.
    Whole,
    /// The connection ends after this many.
    Cut(usize),
    /// Nothing comes after this many.
    Stall(usize),
    /// The byte at this position is changed.
    Garble(usize),
}

/// A proxy for connections to a server, one after the other, with a fate for each.
struct Line {
    port: u16,
    fate: Arc<std::sync::Mutex<Fate>>,
    /// Bytes that the server sent on the last connection.
    sent: Arc<AtomicUsize>,
}

impl Line {
    fn to(server_port: u16) -> Line {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let line = Line { port, fate: Arc::new(std::sync::Mutex::new(Fate::Whole)), sent: Arc::default() };
        let (fate, sent) = (Arc::clone(&line.fate), Arc::clone(&line.sent));
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server_port)) else { return };
                let (fate, sent) = (*fate.lock().expect("no panics"), Arc::clone(&sent));
                sent.store(0, Ordering::SeqCst);
                let (mut to, mut from) =
                    (far.try_clone().expect("a copy"), near.try_clone().expect("a copy"));
                std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
                std::thread::spawn(move || forward(far, &near, fate, &sent));
            }
        });
        line
    }

    fn set(&self, fate: Fate) {
        *self.fate.lock().expect("no panics") = fate;
    }
}

fn forward(mut far: TcpStream, mut near: &TcpStream, fate: Fate, sent: &AtomicUsize) {
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = far.read(&mut piece) {
        let before = sent.fetch_add(count, Ordering::SeqCst);
        let end = match fate {
            Fate::Cut(end) | Fate::Stall(end) => end.saturating_sub(before).min(count),
            _ => count,
        };
        if let Fate::Garble(at) = fate
            && let Some(byte) = at.checked_sub(before).and_then(|at| piece[..count].get_mut(at))
        {
            *byte ^= 0x55;
        }
        if near.write_all(&piece[..end]).is_err() {
            break;
        }
        match fate {
            Fate::Cut(_) if end < count => break,
            // By then the test is over, or the client has disconnected.
            Fate::Stall(_) if end < count => drop(near.read(&mut [0; 1 << 10])),
            _ => {}
        }
    }
    let _ = near.shutdown(Shutdown::Both);
    let _ = far.shutdown(Shutdown::Both);
}

/// Makes the proxied server fail at many positions of its answer, whose length varies by up to `slack`.
fn check_line(line: &Line, source: &str, slack: usize) {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    define(&server, source, "max_execution_time = 1");
    let bytes = line.sent.load(Ordering::SeqCst) - slack;
    assert!(bytes > 20, "{source} sends {bytes} bytes");
    let places = [0, 1, 3, bytes / 8, bytes / 4, bytes / 2, bytes * 3 / 4, bytes - 20, bytes - 5, bytes - 1];
    for place in places {
        line.set(Fate::Cut(place));
        check_refused(&server, &format!("{source} cut at {place} of {bytes}"), "NETWORK_ERROR", "");
    }
    for place in [0, bytes / 3, bytes - 1] {
        line.set(Fate::Stall(place));
        let what = format!("{source} stalled at {place} of {bytes}");
        check_refused(&server, &what, "TIMEOUT_EXCEEDED", "in time");
    }
    // Any result is fine, except a hang or the end of the server.
    for place in (0..bytes).step_by(bytes / 40 + 1) {
        line.set(Fate::Garble(place));
        server.post("", b"SYSTEM RELOAD DICTIONARY d");
        assert_eq!(ask(&server, "SELECT count() FROM system.dictionaries WHERE status = 'LOADED'"), "1\n");
    }
    line.set(Fate::Whole);
    ask(&server, "SYSTEM RELOAD DICTIONARY d");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', tuple(1::UInt8))"), "one\n");
}

#[test]
fn a_postgresql_that_breaks_off_changes_nothing() {
    let Some(postgresql) = Foreign::postgresql() else {
        return skipped(NO_POSTGRESQL);
    };
    let line = Line::to(postgresql.port);
    check_line(
        &line,
        &format!(
            "POSTGRESQL(HOST '127.0.0.1' PORT {} USER 'postgres' PASSWORD 'secret' DB 'postgres' SSLMODE 'disable' \
             QUERY 'SELECT i AS id, ''one'' AS name FROM generate_series(1, 100) AS i')",
            line.port
        ),
        0,
    );
}

#[test]
fn a_mariadb_that_breaks_off_changes_nothing() {
    let Some(mariadb) = Foreign::mariadb() else {
        return skipped(NO_MARIADB);
    };
    let line = Line::to(mariadb.port);
    check_line(
        &line,
        &format!(
            "MYSQL(HOST '127.0.0.1' PORT {} USER 'basalt' PASSWORD 'secret' DB 'shop' SSL_MODE 'disable' QUERY \
             'SELECT seq AS id, ''one'' AS name FROM seq_1_to_100')",
            line.port
        ),
        0,
    );
}

#[test]
fn a_redis_that_breaks_off_changes_nothing() {
    let Some(redis) = Foreign::redis() else {
        return skipped(NO_REDIS);
    };
    let mut command = Command::new("redis-cli");
    command.args(["--no-auth-warning", "-a", "secret", "-p", &redis.port.to_string(), "MSET"]);
    command.args((1..100).flat_map(|key| [key.to_string(), "one".to_owned()]));
    run(&mut command).expect("a valid command");
    let line = Line::to(redis.port);
    check_line(&line, &format!("REDIS(HOST '127.0.0.1' PORT {} PASSWORD 'secret')", line.port), 0);
}

#[test]
fn a_basalt_that_breaks_off_changes_nothing() {
    let data = tempfile::tempdir().expect("a directory");
    let far = Server::start(data.path());
    ask(&far, "CREATE TABLE t (id UInt8, name String) ENGINE = MergeTree ORDER BY id");
    ask(&far, "INSERT INTO t SELECT number + 1, 'one' FROM numbers(100)");
    let line = Line::to(far.tcp_address().port());
    check_line(&line, &format!("CLICKHOUSE(HOST '127.0.0.1' PORT {} TABLE 't')", line.port), FIGURES);
    let line = Line::to(far.address().port());
    let url = format!("http://127.0.0.1:{}/?query=SELECT+*+FROM+t", line.port);
    check_line(&line, &format!("HTTP(URL '{url}' FORMAT 'TSV')"), FIGURES);
}

/// Answers each request with the next of `answers`, unchanged, and repeats the last one.
fn answering(answers: Vec<Vec<u8>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        let mut answers = answers.into_iter().peekable();
        let mut last = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            while !request.windows(4).any(|four| four == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(count @ 1..) => request.extend_from_slice(&piece[..count]),
                    _ => break,
                }
            }
            last = answers.next().unwrap_or(last);
            // The client may have disconnected.
            let _ = stream.write_all(&last);
            let _ = stream.shutdown(Shutdown::Write);
            let _ = std::io::copy(&mut stream.take(1 << 20), &mut std::io::sink());
        }
    });
    port
}

#[test]
fn answers_of_http_servers_that_will_not_do_are_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let ok = |head: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes();
    let good = ok("Content-Length: 6", "1\tone\n");
    let endless_head = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1 << 20)).into_bytes();
    let cases: [(&str, Vec<u8>, &str, &str); 15] = [
        ("too short", ok("Content-Length: 20", "1\tone\n2\ttwo\n"), "NETWORK_ERROR", ""),
        ("broken chunks", ok("Transfer-Encoding: chunked", "6\r\n1\tone\n\r\nxyz\r\n"), "NETWORK_ERROR", ""),
        ("chunks without end", ok("Transfer-Encoding: chunked", "6\r\n1\tone\n\r\n"), "NETWORK_ERROR", ""),
        ("no HTTP", b"220 mail.example ESMTP\r\n".to_vec(), "NETWORK_ERROR", ""),
        ("no end of the head", endless_head, "NETWORK_ERROR", ""),
        ("nothing", Vec::new(), "NETWORK_ERROR", ""),
        (
            "not found",
            b"HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone".to_vec(),
            "RECEIVED_ERROR_FROM_REMOTE_IO_SERVER",
            "gone",
        ),
        (
            "a bad error",
            b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n\xff\xfe".to_vec(),
            "RECEIVED_ERROR_FROM_REMOTE_IO_SERVER",
            "500",
        ),
        ("a redirect to nowhere", b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n".to_vec(), "", ""),
        ("another column", ok("Content-Length: 8", "1\tone\t2\n"), "CANNOT_PARSE", ""),
        ("a column less", ok("Content-Length: 2", "1\n"), "CANNOT_PARSE", ""),
        ("a key outside the type", ok("Content-Length: 8", "300\tone\n"), "id", ""),
        ("a key that is no number", ok("Content-Length: 7", "\u{7f}\u{7f}\tone\n"), "CANNOT_PARSE", "id"),
        ("a key that is NULL", ok("Content-Length: 7", "\\N\tone\n"), "", "id"),
        ("no rows", ok("Content-Length: 0", ""), "DICTIONARY_IS_EMPTY", "require_nonempty"),
    ];
    for (what, answer, code, why) in cases {
        let port = answering(vec![good.clone(), answer]);
        let source = format!("HTTP(URL 'http://127.0.0.1:{port}/' FORMAT 'TSV')");
        define(&server, &source, "require_nonempty = 1, max_execution_time = 5, http_max_tries = 1");
        check_refused(&server, what, code, why);
    }
}

#[test]
fn redirects_that_go_round_in_a_loop_end() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let good = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n1\tone\n".to_vec();
    let again =
        b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    let port = answering(vec![good, again]);
    let source = format!("HTTP(URL 'http://127.0.0.1:{port}/' FORMAT 'TSV')");
    define(&server, &source, "max_execution_time = 5, max_http_get_redirects = 10");
    check_refused(&server, "a loop", "TOO_MANY_REDIRECTS", "max_http_get_redirects");
}

#[test]
fn a_body_without_end_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for (at, mut stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n1\tone\n");
            let mut is_there = at > 0;
            while is_there {
                std::thread::sleep(Duration::from_millis(20));
                is_there = stream.write_all(b"1\ttwo\n").is_ok();
            }
        }
    });
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    define(&server, &format!("HTTP(URL 'http://127.0.0.1:{port}/' FORMAT 'TSV')"), "max_execution_time = 1");
    check_refused(&server, "no end", "TIMEOUT_EXCEEDED", "in time");
}

/// A format, rows that load, and rows that fail, each with a part of its error.
type BadFiles = (&'static str, &'static [u8], &'static [(&'static [u8], &'static str)]);

#[test]
fn files_that_will_not_do_are_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(&data.path().join("basalt"));
    let path = data.path().join("rows");
    let write = |bytes: &[u8]| std::fs::write(&path, bytes).expect("writable");
    let cases: [BadFiles; 5] = [
        (
            "TSV",
            b"1\tone\n",
            &[
                (b"256\tone\n", "id"),
                (b"-1\tone\n", "id"),
                (b"99999999999999999999999\tone\n", "id"),
                (b"\\N\tone\n", "id"),
                (b"\xff\tone\n", "id"),
                (b"1\tone\ttwo\n", "CANNOT_PARSE"),
                (b"1\n", "CANNOT_PARSE"),
                (b"", "DICTIONARY_IS_EMPTY"),
            ],
        ),
        (
            "CSV",
            b"1,one\n",
            &[
                (b"256,one\n", "id"),
                (b"-1,one\n", "id"),
                (b"\\N,one\n", "id"),
                (b",one\n", "id"),
                (b"1,\"one\n", "CANNOT_PARSE"),
                (b"1,one,two\n", "INCORRECT_DATA"),
            ],
        ),
        (
            "JSONEachRow",
            b"{\"id\": 1, \"name\": \"one\"}\n",
            &[
                (b"{\"id\": 256, \"name\": \"one\"}\n", "id"),
                (b"{\"id\": null, \"name\": \"one\"}\n", "id"),
                (b"{\"id\": 1.5, \"name\": \"one\"}\n", "id"),
                (b"{\"name\": \"one\"}\n", "id"),
                (b"{\"id\": 2, \"name\": \"o", "CANNOT_PARSE"),
                (b"[1, 2, 3]", ""),
            ],
        ),
        ("TSVWithNames", b"id\tname\n1\tone\n", &[(b"key\tname\n1\tone\n", "id"), (b"", "")]),
        (
            "Values",
            b"(1, 'one')",
            &[(b"(1)", ""), (b"(300, 'one')", ""), (b"(NULL, 'one')", ""), (b"(1, 'one", "")],
        ),
    ];
    for (format, good, bad) in cases {
        write(good);
        let source = format!("FILE(PATH '{}' FORMAT '{format}')", path.display());
        define(&server, &source, "require_nonempty = 1");
        for (bytes, why) in bad {
            write(bytes);
            let what = format!("{format} {}", String::from_utf8_lossy(bytes));
            check_refused(&server, &what, why, "");
        }
        // The file is removed, then replaced by a directory.
        std::fs::remove_file(&path).expect("ours");
        check_refused(&server, format, "FILE_DOESNT_EXIST", "rows");
        std::fs::create_dir(&path).expect("ours");
        check_refused(&server, format, "CANNOT_READ_FROM_FILE", "rows");
        std::fs::remove_dir(&path).expect("ours");
    }
    // Bytes that are not UTF-8 are values, too.
    write(b"1\t\xff\xfe\n");
    let source = format!("FILE(PATH '{}' FORMAT 'TSV')", path.display());
    ask(
        &server,
        &format!(
            "CREATE OR REPLACE DICTIONARY d (id UInt8, name String) PRIMARY KEY id SOURCE({source}) LAYOUT(COMPLEX_KEY_HASHED())"
        ),
    );
    assert_eq!(ask(&server, "SELECT hex(dictGet('d', 'name', tuple(1::UInt8)))"), "FFFE\n");
}

#[test]
fn tables_that_are_gone_or_changed_are_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let make = "CREATE TABLE shop.t (id Nullable(Int16), name String) ENGINE = MergeTree ORDER BY tuple()";
    ask(&server, "CREATE DATABASE shop");
    ask(&server, make);
    ask(&server, "INSERT INTO shop.t VALUES (1, 'one')");
    let change = |statement: &str| {
        let answer = server.post("check_table_dependencies=0", statement.as_bytes());
        assert_eq!(answer.status, 200, "{statement}: {}", answer.text());
    };
    define(&server, "CLICKHOUSE(DB 'shop' TABLE 't')", "require_nonempty = 1");
    ask(&server, "INSERT INTO shop.t VALUES (NULL, 'none')");
    check_refused(&server, "a key that is NULL", "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN", "shop.t");
    ask(&server, "ALTER TABLE shop.t DELETE WHERE id IS NULL SETTINGS mutations_sync = 1");
    ask(&server, "INSERT INTO shop.t VALUES (300, 'much')");
    check_refused(&server, "a key outside the type", "CANNOT_CONVERT_TYPE", "shop.t");
    ask(&server, "TRUNCATE TABLE shop.t");
    check_refused(&server, "no rows", "DICTIONARY_IS_EMPTY", "require_nonempty");
    ask(&server, "ALTER TABLE shop.t RENAME COLUMN name TO title");
    check_refused(&server, "another column", "UNKNOWN_IDENTIFIER", "name");
    change("DROP TABLE shop.t SYNC");
    check_refused(&server, "no table", "UNKNOWN_TABLE", "shop.t");
    change("DROP DATABASE shop");
    check_refused(&server, "no database", "UNKNOWN_DATABASE", "shop");
    ask(&server, "CREATE DATABASE shop");
    ask(&server, make);
    ask(&server, "INSERT INTO shop.t VALUES (1, 'again')");
    ask(&server, "SYSTEM RELOAD DICTIONARY d");
    assert_eq!(ask(&server, "SELECT dictGet('d', 'name', tuple(1::UInt8))"), "again\n");
}
