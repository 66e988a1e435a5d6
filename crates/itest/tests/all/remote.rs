//! `remote` and `remoteSecure`: tables of another server, which answers, refuses, is slow or does not exist.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use basalt_itest::certificates::{Certificates, NO_OPENSSL, Proxy};
use basalt_itest::server::Server;
use basalt_itest::skipped;
use basalt_itest::waiting::{check, wait_until};
use tempfile::tempdir;

/// The time limit for any refusal.
const SOON: Duration = Duration::from_secs(20);

/// Types with the text of a value.
const VALUES: &[(&str, &str)] = &[
    ("UInt8", "255"),
    ("UInt64", "18446744073709551615"),
    ("Int8", "-128"),
    ("Int16", "-2"),
    ("Int32", "-3"),
    ("Int64", "-9223372036854775808"),
    ("Float32", "1.5"),
    ("Float64", "-0.1"),
    ("Bool", "true"),
    ("String", "'a\\t\\0\\xff'"),
    ("FixedString(3)", "'abc'"),
    ("Date", "'2026-01-02'"),
    ("Date32", "'1950-01-02'"),
    ("DateTime", "'2026-01-02 03:04:05'"),
    ("DateTime('Asia/Tokyo')", "'2026-01-02 03:04:05'"),
    ("DateTime64(3, 'UTC')", "'2026-01-02 03:04:05.678'"),
    ("Decimal(9, 2)", "-1.25"),
    ("Decimal(38, 10)", "12345678901234567890.0123456789"),
    ("Decimal(76, 5)", "0.00001"),
    ("UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"),
    ("Int128", "'-170141183460469231731687303715884105728'"),
    ("UInt256", "'115792089237316195423570985008687907853269984665640564039457584007913129639935'"),
    ("IPv4", "'10.0.0.1'"),
    ("IPv6", "'2001:db8::1'"),
    ("Enum8('a' = 1, 'b' = -1)", "'b'"),
    ("Enum16('x' = 1000)", "'x'"),
    ("Nullable(Float64)", "NULL"),
    ("LowCardinality(String)", "'low'"),
    ("LowCardinality(Nullable(String))", "NULL"),
    ("Array(Nullable(String))", "['a', NULL]"),
    ("Array(Array(UInt8))", "[[1], [], [2, 3]]"),
    ("Array(LowCardinality(String))", "['a', 'b', 'a']"),
    ("Map(String, UInt8)", "{'k': 1}"),
    ("Tuple(a UInt8, b Nullable(String))", "(1, 'x')"),
];

/// A call of `remote` for a table or a function on `server`.
fn remote(server: &Server, rest: &str) -> String {
    format!("remote('{}', {rest})", server.tcp_address())
}

/// A server with a configuration file.
fn configured(dir: &Path, text: &str) -> Server {
    std::fs::create_dir_all(dir).expect("ours");
    let file = dir.join("basalt.toml");
    std::fs::write(&file, text).expect("a new file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("its owner may");
    Server::start_with(&dir.join("data"), &["--config", file.to_str().expect("UTF-8")])
}

/// A server whose user has the password `hello`.
fn protected(dir: &Path) -> Server {
    configured(dir, "[users.default]\npassword = 'hello'\n")
}

/// Two servers: one that is far, and one that asks it.
fn servers(dir: &Path) -> (Server, Server) {
    (Server::start(&dir.join("far")), Server::start(&dir.join("near")))
}

#[track_caller]
fn check_refused(server: &Server, statement: &str, code: &str, why: &str) {
    let started = Instant::now();
    let answer = server.post("", statement.as_bytes());
    let text = answer.text();
    assert_ne!(answer.status, 200, "{statement}: {text}");
    assert!(text.contains(&format!("({code})")) && text.contains(why), "{statement}: {text}");
    assert!(started.elapsed() < SOON, "{statement}: {:?}", started.elapsed());
}

#[test]
fn values_of_all_types_come_and_go() {
    let dir = tempdir().expect("a directory");
    let (far, near) = servers(dir.path());
    let columns = VALUES.iter().enumerate().map(|(at, (ty, _))| format!("c{at} {ty}"));
    let columns: Vec<String> = columns.collect();
    for table in ["t", "copy"] {
        far.ask(&format!(
            "CREATE TABLE {table} (k UInt32, {}) ENGINE = MergeTree ORDER BY k",
            columns.join(", ")
        ));
    }
    let values: Vec<&str> = VALUES.iter().map(|(_, value)| *value).collect();
    far.ask(&format!("INSERT INTO t VALUES (1, {})", values.join(", ")));
    far.ask("INSERT INTO t (k) SELECT number + 2 FROM numbers(1000)");
    let (there, copy) = (remote(&far, "default.t"), remote(&far, "'default', 'copy'"));
    near.ask(&format!("INSERT INTO FUNCTION {copy} SELECT * FROM {there}"));
    let rows = far.ask("SELECT * FROM t ORDER BY k");
    assert_eq!(far.ask("SELECT * FROM copy ORDER BY k"), rows);
    assert_eq!(near.ask(&format!("SELECT * FROM {there} ORDER BY k")), rows);
    let describe = |from: &str| format!("DESCRIBE TABLE {from}");
    let types = |text: String| -> Vec<String> {
        text.lines().map(|line| line.split('\t').take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(types(near.ask(&describe(&there))), types(far.ask(&describe("t"))));
    assert_eq!(near.ask(&format!("SELECT count() FROM {there}")), "1001\n");
    assert_eq!(near.ask(&format!("SELECT count() FROM {there} WHERE k < 11 AND c0 = 0")), "9\n");
}

#[test]
fn the_other_server_fills_columns() {
    let dir = tempdir().expect("a directory");
    let (far, near) = servers(dir.path());
    far.ask(
        "CREATE TABLE t (a UInt32, b String DEFAULT concat('b', toString(a)), m UInt64 MATERIALIZED a * 2, \
         l String ALIAS concat(b, '!')) ENGINE = MergeTree ORDER BY a",
    );
    let there = remote(&far, "default.t");
    near.ask(&format!("INSERT INTO FUNCTION {there} (a) VALUES (1), (2)"));
    near.ask(&format!("INSERT INTO FUNCTION {there} VALUES (3, 'three'), (4, DEFAULT)"));
    near.ask(&format!("INSERT INTO FUNCTION {there} FORMAT JSONEachRow {{\"a\": 5}}"));
    let rows = "1\tb1\n2\tb2\n3\tthree\n4\tb4\n5\tb5\n";
    assert_eq!(near.ask(&format!("SELECT * FROM {there} ORDER BY a")), rows);
    assert_eq!(near.ask(&format!("SELECT m, l FROM {there} WHERE a = 3")), "6\tthree!\n");
    check_refused(&near, &format!("INSERT INTO FUNCTION {there} (m) VALUES (1)"), "ILLEGAL_COLUMN", "`m`");
    check_refused(
        &near,
        &format!("INSERT INTO FUNCTION {there} (x) VALUES (1)"),
        "NO_SUCH_COLUMN_IN_TABLE",
        "`x`",
    );
    // Rows of an INSERT that fails are not there.
    let failing =
        format!("INSERT INTO FUNCTION {there} (a) SELECT throwIf(number = 900000) FROM numbers(1000000)");
    check_refused(&near, &failing, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO", "");
    wait_until(|| {
        let count = far.ask("SELECT count() FROM t");
        check(count == "5\n", format!("{count} rows"))
    });
}

#[test]
fn columns_filters_and_limits_go_to_the_other_server() {
    let dir = tempdir().expect("a directory");
    let (far, near) = servers(dir.path());
    far.ask("CREATE TABLE t (a UInt32, `b c` String) ENGINE = MergeTree ORDER BY a");
    far.ask("INSERT INTO t SELECT number, if(number % 2 = 0, 'even', 'it''s odd') FROM numbers(1000)");
    let there = remote(&far, "default.t");
    let text = format!("SELECT a FROM {there} WHERE a IN (3, 4, 5) AND `b c` = 'it\\'s odd' ORDER BY a");
    assert_eq!(near.ask(&text), "3\n5\n");
    let plan = |query: &str| near.post("default_format=TSVRaw", format!("EXPLAIN {query}").as_bytes()).text();
    let filtered = plan(&text);
    assert!(filtered.contains("WHERE a IN (3, 4, 5) AND `b c` IN ('it\\'s odd')"), "{filtered}");
    let plan = plan(&format!("SELECT `b c` FROM {there} LIMIT 3"));
    assert!(plan.contains("SELECT `b c` FROM `default`.t LIMIT 3"), "{plan}");
    assert_eq!(near.ask(&format!("SELECT sum(a) FROM {there} WHERE a >= 990")), "9945\n");
    assert_eq!(
        near.ask(&format!("SELECT count() FROM {there} AS x JOIN {there} AS y ON x.a = y.a")),
        "1000\n"
    );
}

#[test]
fn errors_of_the_other_server_keep_their_code() {
    let dir = tempdir().expect("a directory");
    let (far, near) = servers(dir.path());
    let address = far.tcp_address().to_string();
    let select = |rest: &str| format!("SELECT * FROM {}", remote(&far, rest));
    check_refused(&near, &select("default.nothing"), "UNKNOWN_TABLE", &address);
    check_refused(&near, &select("nowhere.t"), "UNKNOWN_DATABASE", &address);
    check_refused(&near, &select("default.t, 'nobody'"), "AUTHENTICATION_FAILED", &address);
    let protected = protected(&dir.path().join("protected"));
    let ask = |user: &str| format!("SELECT * FROM {}", remote(&protected, &format!("system.one{user}")));
    assert_eq!(near.ask(&ask(", 'default', 'hello'")), "0\n");
    for user in ["", ", 'default', 'hallo'", ", 'nobody', 'hello'"] {
        let address = protected.tcp_address().to_string();
        check_refused(&near, &ask(user), "AUTHENTICATION_FAILED", &address);
    }
    far.ask("CREATE VIEW v AS SELECT throwIf(number = 500000, 'enough') AS x FROM numbers(1000000)");
    let failing = format!("SELECT sum(x) FROM {}", remote(&far, "default.v"));
    check_refused(&near, &failing, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO", "enough");
    check_refused(&near, &select("'default'"), "BAD_ARGUMENTS", "the name of a table");
    let http = format!("SELECT * FROM remote('{}', default.t)", far.address());
    check_refused(&near, &http, "UNEXPECTED_PACKET_FROM_SERVER", "speaks HTTP");
    assert_eq!(near.ask(&select("system.one")), "0\n");
}

#[test]
fn a_large_result_takes_little_memory() {
    let dir = tempdir().expect("a directory");
    let (far, near) = servers(dir.path());
    let there = remote(&far, "numbers(20000000)");
    let text = format!(
        "SELECT count(), sum(number), max(toString(number)) FROM {there} SETTINGS max_memory_usage = 60000000"
    );
    assert_eq!(near.ask(&text), "20000000\t199999990000000\t9999999\n");
    far.ask("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
    let target = remote(&far, "default.t");
    near.ask(&format!("INSERT INTO FUNCTION {target} SELECT number FROM numbers(5000000) SETTINGS max_memory_usage = 100000000"));
    assert_eq!(far.ask("SELECT count(), sum(a) FROM t"), "5000000\t12499997500000\n");
}

#[test]
fn a_reader_that_stops_cancels_the_query() {
    let dir = tempdir().expect("a directory");
    let (far, near) = servers(dir.path());
    let there = remote(&far, "numbers(1000000000000)");
    let idle = || {
        wait_until(|| {
            let count = far.ask("SELECT count() FROM system.processes");
            check(count == "1\n", format!("{count} queries"))
        });
    };
    assert_eq!(near.ask(&format!("SELECT number FROM {there} WHERE number % 1000 = 7 LIMIT 2")), "7\n1007\n");
    idle();
    let text = format!("SELECT sum(number) FROM {there}");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| near.post("query_id=endless", text.as_bytes()));
        near.wait_until("SELECT count() FROM system.processes WHERE query_id = 'endless'", |count| {
            count == "1\n"
        });
        near.ask("KILL QUERY WHERE query_id = 'endless' SYNC");
        let answer = running.join().expect("no panic").text();
        assert!(answer.contains("(QUERY_WAS_CANCELLED)"), "{answer}");
    });
    idle();
}

#[test]
fn shards_are_joined_and_replicas_replace_each_other() {
    let dir = tempdir().expect("a directory");
    let (far, near) = servers(dir.path());
    let closed = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("bound");
    let (a, b) = (far.tcp_address(), near.tcp_address());
    for (server, value) in [(&far, 1), (&near, 2)] {
        server.ask("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a");
        server.ask(&format!("INSERT INTO t VALUES ({value})"));
    }
    let rows =
        |addresses: &str| near.ask(&format!("SELECT a FROM remote('{addresses}', default.t) ORDER BY a"));
    assert_eq!(rows(&format!("{a},{b}")), "1\n2\n");
    assert_eq!(rows(&format!("{a}|{b}")), "1\n");
    assert_eq!(rows(&format!("{closed}|{b}")), "2\n");
    let two = format!("INSERT INTO FUNCTION remote('{a},{b}', default.t) VALUES (3)");
    check_refused(&near, &two, "STORAGE_REQUIRES_PARAMETER", "sharding key");
    let none = format!("SELECT * FROM remote('{closed}|{closed}', default.t)");
    check_refused(&near, &none, "ALL_CONNECTION_TRIES_FAILED", &closed.to_string());
    check_refused(
        &near,
        &format!("SELECT * FROM remote('{closed}', default.t)"),
        "NETWORK_ERROR",
        &closed.to_string(),
    );
    check_refused(&near, "SELECT * FROM remote('a{1,2}', default.t)", "NOT_IMPLEMENTED", "");
}

/// A server that sends `bytes` to each client, and then nothing; or that ends the connection.
fn sending(bytes: &'static [u8], ends: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                // The client may have gone.
                let _ = stream.write_all(bytes);
                if ends {
                    let _ = stream.shutdown(Shutdown::Write);
                }
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    address
}

/// The hello of a server of revision 54460, UTC, without a display name.
const HELLO: &[u8] = b"\0\x04test\x1a\x09\xbc\xa9\x03\x03UTC\0\0";

#[test]
fn servers_that_send_nonsense_or_nothing_are_refused_in_time() {
    let dir = tempdir().expect("a directory");
    let near = Server::start(dir.path());
    let with = |more: &[u8]| -> &'static [u8] { Box::leak([HELLO, more].concat().into_boxed_slice()) };
    let endless: &'static [u8] = Box::leak([0xff; 1 << 16].to_vec().into_boxed_slice());
    let cases: [(&'static [u8], &str); 10] = [
        (b"", "NETWORK_ERROR"),
        (&HELLO[..4], "NETWORK_ERROR"),
        (b"garbage", "UNEXPECTED_PACKET_FROM_SERVER"),
        (endless, "UNEXPECTED_PACKET_FROM_SERVER"),
        (b"\0\x04test\x1a\x09\x01\x03UTC\0\0", "NOT_IMPLEMENTED"),
        (with(b""), "NETWORK_ERROR"),
        (with(b"\x63"), "UNEXPECTED_PACKET_FROM_SERVER"),
        (with(b"\x05"), "UNEXPECTED_PACKET_FROM_SERVER"),
        (with(b"\x01\0 half of a frame"), "NETWORK_ERROR"),
        (with(&[b"\x01\0".as_slice(), &[0xff; 200]].concat()), "CANNOT_DECOMPRESS"),
    ];
    for (bytes, code) in cases {
        let address = sending(bytes, true);
        check_refused(&near, &format!("SELECT * FROM remote('{address}', a.b)"), code, &address);
    }
    for (bytes, setting) in [(b"".as_slice(), "connect_timeout"), (HELLO, "receive_timeout")] {
        let address = sending(bytes, false);
        let select = format!("SELECT * FROM remote('{address}', a.b) SETTINGS");
        check_refused(
            &near,
            &format!("{select} {setting} = 0.3"),
            "TIMEOUT_EXCEEDED",
            "did not answer in time",
        );
        check_refused(
            &near,
            &format!("{select} max_execution_time = 0.3"),
            "TIMEOUT_EXCEEDED",
            "max_execution_time",
        );
    }
    assert_eq!(near.ask("SELECT 1"), "1\n");
}

#[test]
fn only_listed_hosts_are_asked() {
    let dir = tempdir().expect("a directory");
    let far = Server::start(&dir.path().join("far"));
    let text = format!("remote_url_allow_hosts = ['{}']\n", far.tcp_address());
    let near = configured(&dir.path().join("near"), &text);
    assert_eq!(near.ask(&format!("SELECT * FROM {}", remote(&far, "system.one"))), "0\n");
    let listed = far.tcp_address();
    for addresses in
        ["127.0.0.1:1".to_owned(), format!("localhost:{}", listed.port()), format!("{listed}|127.0.0.1:1")]
    {
        for function in ["remote", "remoteSecure"] {
            for statement in ["SELECT * FROM", "INSERT INTO FUNCTION"] {
                let rest = if statement.starts_with("INSERT") { "VALUES (1)" } else { "" };
                let text = format!("{statement} {function}('{addresses}', system.one) {rest}");
                check_refused(&near, &text, "UNACCEPTABLE_URL", "remote_url_allow_hosts");
            }
        }
    }
}

#[test]
fn passwords_are_not_shown() {
    let dir = tempdir().expect("a directory");
    let (far, near) = (protected(&dir.path().join("far")), Server::start(&dir.path().join("near")));
    let call = remote(&far, "system.one, 'default', 'se' || 'cret'");
    check_refused(&near, &format!("SELECT * FROM {call}"), "AUTHENTICATION_FAILED", "");
    near.post("", format!("SELECT FROM WHERE {}", remote(&far, "a.b, 'default', 'secret'")).as_bytes());
    near.ask(&format!(
        "CREATE VIEW v AS SELECT * FROM {}",
        remote(&far, "'system', 'one', 'default', 'hello'")
    ));
    assert_eq!(near.ask("SELECT * FROM v"), "0\n");
    let shown = near.ask("SHOW CREATE TABLE v")
        + &near.ask("SELECT create_table_query, as_select FROM system.tables");
    assert!(shown.contains("[HIDDEN]") && !shown.contains("hello"), "{shown}");
    near.ask("SYSTEM FLUSH LOGS");
    let log = near.ask("SELECT query, exception FROM system.query_log");
    assert!(log.contains("[HIDDEN]") && !log.contains("cret'") && !log.contains("hello"), "{log}");
}

#[test]
fn remote_secure_checks_the_certificate() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let present = |name: &str| {
        let both = certificates.path(&format!("{name}.both"));
        std::fs::copy(both, certificates.path("server.both")).expect("ours");
    };
    present("good");
    let dir = tempdir().expect("a directory");
    let far = Server::start(&dir.path().join("far"));
    let Some(proxy) = Proxy::start(&certificates, far.tcp_address().port()) else {
        return skipped(NO_OPENSSL);
    };
    let ca = certificates.text("ca.pem");
    let near = Server::start_with(&dir.path().join("near"), &["--tls-ca-file", &ca]);
    far.ask("CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a");
    let call = |function: &str| format!("{function}('127.0.0.1:{}', default.t)", proxy.port);
    near.ask(&format!("INSERT INTO FUNCTION {} SELECT number FROM numbers(300000)", call("remoteSecure")));
    let select = |function: &str| format!("SELECT count(), sum(a) FROM {}", call(function));
    assert_eq!(near.ask(&select("remoteSecure")), "300000\t44999850000\n");
    check_refused(&near, &select("remote"), "NETWORK_ERROR", "");
    let plain = format!("SELECT * FROM remoteSecure('{}', default.t)", far.tcp_address());
    check_refused(&near, &plain, "NETWORK_ERROR", "TLS");
    for name in ["elsewhere", "expired", "own"] {
        present(name);
        check_refused(&near, &select("remoteSecure"), "NETWORK_ERROR", "TLS");
    }
}
