//! The HTTP interface at the level of bytes.

use std::io::Write;
use std::process::{Command, Stdio};

use basalt_itest::http::{Connection, Response, encode, request};
use basalt_itest::server::Server;
use tempfile::{TempDir, tempdir};

fn server() -> (TempDir, Server) {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    (dir, server)
}

#[track_caller]
fn check(answer: &Response, status: u16, body: &str) {
    assert_eq!((answer.status, answer.text().as_str()), (status, body), "{:?}", answer.headers);
}

#[track_caller]
fn check_error(answer: &Response, status: u16, number: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("x-clickhouse-exception-code"), Some(number));
    assert!(answer.text().starts_with(&format!("Code: {number}. DB::Exception: ")), "{}", answer.text());
}

#[test]
fn health_checks_answer_ok() {
    let (_dir, server) = server();
    for path in ["/", "/ping", "/replicas_status"] {
        check(&server.get(path), 200, "Ok.\n");
    }
    let lost = server.get("/nowhere");
    assert_eq!(lost.status, 404);
    assert!(lost.text().contains("/nowhere"));
    assert_eq!(request(server.address(), "DELETE", "/", &[], b"").status, 405);
}

#[test]
fn query_comes_from_url_or_body() {
    let (_dir, server) = server();
    check(&server.get("/?query=SELECT%201"), 200, "1\n");
    check(&server.post("", b"SELECT 2"), 200, "2\n");
    check(&server.post("query=SELECT+3", b""), 200, "3\n");
    check(&server.post("query=SELECT+4", b"FORMAT CSVWithNames"), 200, "\"4\"\n4\n");
    check(
        &server.get(&format!("/?query={}", encode("SELECT '\u{e9}', length('\\xff')"))),
        200,
        "\u{e9}\t1\n",
    );
}

#[test]
fn head_of_an_answer_tells_about_it() {
    let (_dir, server) = server();
    let answer = server.post("query_id=my-query&default_format=JSONEachRow", b"SELECT 1 AS a");
    check(&answer, 200, "{\"a\":1}\n");
    assert_eq!(answer.header("x-clickhouse-query-id"), Some("my-query"));
    assert_eq!(answer.header("x-clickhouse-format"), Some("JSONEachRow"));
    assert!(answer.header("x-clickhouse-timezone").is_some());
    let summary = answer.header("x-clickhouse-summary").expect("a summary");
    assert!(summary.contains("\"result_rows\":\"1\""), "{summary}");
    let csv = request(server.address(), "POST", "/", &[("X-ClickHouse-Format", "CSV")], b"SELECT 1, 'a'");
    check(&csv, 200, "1,\"a\"\n");
    assert!(csv.header("content-type").expect("a type").starts_with("text/csv"));
}

#[test]
fn errors_have_a_status_and_a_number() {
    let (_dir, server) = server();
    check_error(&server.post("", b"SELEC 1"), 400, "62");
    check_error(&server.post("", b"SELECT * FROM nosuch"), 404, "60");
    check_error(&server.post("", b"SELECT nosuch"), 404, "47");
    check_error(&server.post("nosuch_setting=1", b"SELECT 1"), 404, "115");
    check_error(&server.post("database=nosuch", b"SELECT 1"), 404, "81");
    check_error(&server.post("", b""), 400, "62");
    check(&server.post("", b"SELECT 1"), 200, "1\n");
}

#[test]
fn only_the_default_user_gets_in() {
    let (_dir, server) = server();
    let ask = |query: &str, headers: &[(&str, &str)]| {
        request(server.address(), "POST", &format!("/?{query}"), headers, b"SELECT 1")
    };
    check(&ask("user=default", &[]), 200, "1\n");
    check(&ask("", &[("Authorization", "Basic ZGVmYXVsdDo=")]), 200, "1\n");
    check_error(&ask("user=admin", &[]), 403, "516");
    check_error(&ask("", &[("X-ClickHouse-User", "default"), ("X-ClickHouse-Key", "x")]), 403, "516");
}

#[test]
fn get_only_reads() {
    let (_dir, server) = server();
    check_error(&server.get("/?query=CREATE+TABLE+t+(a+Int8)+ENGINE=Memory"), 403, "164");
    server.ask("CREATE TABLE t (a Int8) ENGINE = Memory");
    check_error(&server.get("/?query=INSERT+INTO+t+VALUES+(1)"), 403, "164");
    check(&server.get("/?query=SELECT+count()+FROM+t"), 200, "0\n");
}

const MAX_THREADS: &[u8] = b"SELECT value FROM system.settings WHERE name = 'max_threads'";

#[test]
fn settings_and_parameters_come_in_the_url() {
    let (_dir, server) = server();
    check(&server.post("max_threads=3", MAX_THREADS), 200, "3\n");
    let query = encode("SELECT {a:UInt32} + 1, {b:String}");
    check(&server.get(&format!("/?query={query}&param_a=41&param_b=x%20y")), 200, "42\tx y\n");
}

#[test]
fn session_keeps_its_state() {
    let (_dir, server) = server();
    server.ask("CREATE DATABASE shop");
    check(&server.post("session_id=s", b"USE shop"), 200, "");
    check(&server.post("session_id=s", b"SET max_threads = 5"), 200, "");
    check(&server.post("session_id=s", b"SELECT currentDatabase()"), 200, "shop\n");
    check(&server.post("session_id=s", MAX_THREADS), 200, "5\n");
    check(&server.post("", b"SELECT currentDatabase()"), 200, "default\n");
    check_error(&server.post("session_id=other&session_check=1", b"SELECT 1"), 404, "372");
}

#[test]
fn insert_takes_its_data_from_the_body() {
    let (_dir, server) = server();
    server.ask("CREATE TABLE t (a UInt32, b String) ENGINE = MergeTree ORDER BY a");
    let insert = encode("INSERT INTO t FORMAT CSV");
    check(&server.post(&format!("query={insert}"), b"1,x\n2,y\n"), 200, "");
    check(&server.post("", b"INSERT INTO t FORMAT TabSeparated\n3\tz\n"), 200, "");
    check(&server.post("query=INSERT+INTO+t+VALUES", b"(4, 'v')"), 200, "");
    assert_eq!(server.ask("SELECT count(), sum(a) FROM t"), "4\t10\n");
    check_error(&server.post(&format!("query={insert}"), b"x,y\n"), 400, "27");
    assert_eq!(server.ask("SELECT count() FROM t"), "4\n");
}

#[test]
fn large_body_streams_in_and_a_large_answer_out() {
    let (_dir, server) = server();
    server.ask("CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a");
    let rows: String = (0..400_000).map(|n| format!("{n}\tvalue number {n}\n")).collect();
    check(&server.post("query=INSERT+INTO+t+FORMAT+TSV", rows.as_bytes()), 200, "");
    let whole = format!("INSERT INTO t FORMAT TSV\n{rows}");
    check(&server.post("", whole.as_bytes()), 200, "");
    assert_eq!(server.ask("SELECT count(), sum(a) FROM t"), "800000\t159999600000\n");
    let answer = server.post("", b"SELECT * FROM t ORDER BY a, s");
    assert!(answer.is_whole);
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.text().lines().count(), 800_000);
}

#[test]
fn connection_serves_several_requests() {
    let (_dir, server) = server();
    let mut connection = Connection::open(server.address());
    for n in 0..5 {
        connection.send("POST", "/", &[], format!("SELECT {n}").as_bytes());
        check(&connection.receive(), 200, &format!("{n}\n"));
    }
    connection.send("POST", "/", &[], b"SELECT nosuch");
    assert_eq!(connection.receive().status, 404);
    connection.send("GET", "/ping", &[], b"");
    check(&connection.receive(), 200, "Ok.\n");
}

/// Fails after most of the answer was sent.
const LATE_ERROR: &str =
    "SELECT throwIf(number = 3000000, 'late') FROM numbers(4000000) SETTINGS max_threads = 1";

#[test]
fn late_error_breaks_the_answer_off() {
    let (_dir, server) = server();
    let answer = server.post("", LATE_ERROR.as_bytes());
    assert_eq!(answer.status, 200);
    assert!(!answer.is_whole, "a client would take the answer for whole");
    let text = answer.text();
    let tag = answer.header("x-clickhouse-exception-tag").expect("a tag");
    let (_, error) = text.split_once(&format!("\r\n__exception__\r\n{tag}\r\n")).expect("the error line");
    assert!(error.starts_with("Code: 395. DB::Exception: "), "{error}");
    let message = error.split_once('\n').expect("a line").0;
    assert!(error.ends_with(&format!("\n{} {tag}\r\n__exception__\r\n", message.len() + 1)), "{error}");
    let waited = server.post("wait_end_of_query=1", LATE_ERROR.as_bytes());
    check_error(&waited, waited.status, "395");
    assert_ne!(waited.status, 200);
}

#[test]
fn query_of_a_client_that_left_is_cancelled() {
    let (_dir, server) = server();
    let mut connection = Connection::open(server.address());
    let endless = b"SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
    connection.send("POST", "/?query_id=endless", &[], endless);
    let running = || server.ask("SELECT count() FROM system.processes WHERE query_id = 'endless'");
    while running() == "0\n" {
        std::thread::yield_now();
    }
    drop(connection);
    while running() != "0\n" {
        std::thread::yield_now();
    }
}

#[test]
fn nonsense_on_the_wire_does_not_hurt() {
    let (_dir, mut server) = server();
    for bytes in
        [&b"\x00\x01\x02\r\n\r\n"[..], b"GET\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n"]
    {
        let mut connection = Connection::open(server.address());
        connection.send_raw(bytes);
    }
    let long = format!("/?query=SELECT+1&x={}", "y".repeat(70_000));
    assert_eq!(server.get(&long).status, 414);
    assert!(server.is_alive());
    check(&server.get("/ping"), 200, "Ok.\n");
}

#[test]
fn broken_body_inserts_nothing() {
    let (_dir, server) = server();
    server.ask("CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a");
    let mut connection = Connection::open(server.address());
    connection.send_raw(
        b"POST /?query=INSERT+INTO+t+FORMAT+TSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n1\n2\n",
    );
    drop(connection);
    assert_eq!(server.ask("SELECT count() FROM t"), "0\n");
}

#[test]
fn server_ends_when_it_is_told_to() {
    let (dir, server) = server();
    server.ask("CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a");
    server.ask("INSERT INTO t VALUES (1)");
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(Server::start(dir.path()).ask("SELECT a FROM t"), "1\n");
}

#[test]
fn answer_is_compressed_where_the_request_asks_for_it() {
    let (_dir, server) = server();
    let ask = |target: &str, accepted: &str| {
        request(
            server.address(),
            "POST",
            target,
            &[("Accept-Encoding", accepted)],
            b"SELECT * FROM numbers(1000)",
        )
    };
    let plain = ask("/", "gzip");
    assert_eq!(plain.header("content-encoding"), None);
    let zstd = ask("/?enable_http_compression=1", "gzip, zstd");
    assert_eq!(zstd.header("content-encoding"), Some("zstd"));
    assert!(zstd.is_whole && zstd.body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    let gzip = ask("/?enable_http_compression=1", "gzip");
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert_eq!(gunzip(&gzip.body), plain.body);
}

#[test]
fn body_may_be_compressed() {
    let (_dir, server) = server();
    let send = |target: &str, encoding: &str, body: &[u8]| {
        request(server.address(), "POST", target, &[("Content-Encoding", encoding)], body)
    };
    send("/", "", b"CREATE TABLE packed (a UInt64) ENGINE = Memory");
    let rows = (0..100_000).map(|row| format!("{row}\n")).collect::<String>();
    let data = gzip(&["-c"], rows.as_bytes());
    assert_eq!(send("/?query=INSERT+INTO+packed+FORMAT+TSV", "gzip", &data).status, 200);
    let whole = gzip(&["-c"], format!("INSERT INTO packed FORMAT TSV\n{rows}").as_bytes());
    assert_eq!(send("/", "gzip", &whole).status, 200);
    let sum = send("/", "gzip", &gzip(&["-c"], b"SELECT sum(a) FROM packed"));
    assert_eq!(sum.body, b"9999900000\n");
    let cut = send("/?query=INSERT+INTO+packed+FORMAT+TSV", "gzip", &data[..data.len() - 1]);
    assert!(cut.status == 400 && String::from_utf8_lossy(&cut.body).contains("INCORRECT_DATA"));
    assert_eq!(send("/", "compress", b"SELECT 1").status, 501);
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    gzip(&["-dc"], bytes)
}

/// Uses the program that every machine has.
fn gzip(arguments: &[&str], bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip");
    let mut input = gzip.stdin.take().expect("piped");
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes).expect("gzip reads"));
        gzip.wait_with_output().expect("gzip ends").stdout
    })
}

/// KILL QUERY ends a query of another connection, and reports which one.
#[test]
fn killed_query_ends_with_its_error() {
    let (_dir, server) = server();
    let address = server.address();
    let endless = std::thread::spawn(move || {
        let text = b"SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
        request(address, "POST", "/?query_id=endless", &[], text)
    });
    let running = "SELECT count() FROM system.processes WHERE query_id = 'endless'";
    while server.ask(running) == "0\n" {
        std::thread::yield_now();
    }
    assert_eq!(server.ask("KILL QUERY WHERE query_id = 'nobody'"), "");
    let killed = server.ask("KILL QUERY WHERE query_id = 'endless' SYNC");
    assert!(killed.starts_with("finished\tendless\tdefault\tSELECT count()"), "{killed}");
    check_error(&endless.join().expect("an answer"), 500, "394");
    assert_eq!(server.ask(running), "0\n");
}

#[test]
fn bodies_may_be_in_compressed_frames() {
    let (_dir, server) = server();
    // The server writes the frames that it is to read.
    let text = "SELECT arrayJoin(range(100000)) AS n FORMAT TSV";
    let frames = server.post("compress=1", format!("SELECT '{text}' FORMAT RawBLOB").as_bytes());
    assert!(frames.is_whole && !frames.text().contains("SELECT arrayJoin(range(100000)) AS n"));
    let rows = server.post("decompress=1", &frames.body);
    assert_eq!((rows.status, rows.text().lines().count()), (200, 100_000));
    let packed = server.post("decompress=1&compress=1", &frames.body);
    assert!(packed.is_whole && packed.body.len() < rows.body.len());
    server.ask("CREATE TABLE t (n UInt32) ENGINE = MergeTree ORDER BY n");
    let stored = server.post("decompress=1&query=INSERT+INTO+t+FORMAT+TSV", &packed.body);
    assert_eq!(stored.status, 200, "{}", stored.text());
    assert_eq!(server.ask("SELECT count(), max(n) FROM t"), "100000\t99999\n");
    let mut damaged = packed.body.clone();
    damaged[100] ^= 1;
    for body in
        [&damaged[..], &packed.body[..packed.body.len() - 1], b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n"]
    {
        let refused = server.post("decompress=1&query=INSERT+INTO+t+FORMAT+TSV", body);
        assert_ne!(refused.status, 200, "{}", refused.text());
    }
    assert_eq!(server.ask("SELECT count() FROM t"), "100000\n");
}

#[test]
fn parts_of_a_form_are_external_tables_and_parameters() {
    let (_dir, server) = server();
    let form = "--B\r\nContent-Disposition: form-data; name=\"ext\"; filename=\"e.csv\"\r\n\r\n1,a\n2,b\n\r\n--B\r\n\
                Content-Disposition: form-data; name=\"param_x\"\r\n\r\n7\r\n--B--\r\n";
    let send = |target: &str, form: &str| {
        let headers = [("Content-Type", "multipart/form-data; boundary=B")];
        request(server.address(), "POST", target, &headers, form.as_bytes())
    };
    let query =
        "/?query=SELECT+sum(a),max(s),{x:UInt8}+FROM+ext&ext_format=CSV&ext_structure=a+UInt8,s+String";
    assert_eq!(send(query, form).text(), "3\tb\t7\n");
    let query = "/?query=SELECT+sum(_1),max(_2)+FROM+ext&ext_format=CSV&ext_types=UInt8,String";
    assert_eq!(send(query, form).text(), "3\tb\n");
    let query = "/?query=SELECT+1+FROM+ext&ext_format=CSV&ext_structure=a+UInt8,s+Date";
    let refused = send(query, form);
    assert!(refused.status == 400 && refused.text().contains("external table `ext`"), "{}", refused.text());
    assert_eq!(send("/?query=SELECT+1", "--B garbage").status, 400);
    assert_eq!(server.post("", b"SELECT * FROM ext").status, 404);
}
