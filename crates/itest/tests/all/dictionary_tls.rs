//! Dictionary sources over TLS: trusted and untrusted servers.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use basalt_itest::certificates::{Certificates, NO_OPENSSL, Proxy};
use basalt_itest::foreign::{Foreign, NO_MARIADB, NO_POSTGRESQL, NO_REDIS, NO_REDIS_TLS, run};
use basalt_itest::server::Server;
use basalt_itest::skipped;
use tempfile::TempDir;

use crate::dictionary_sources::{ask, ask_error, check_compression, serve};

/// Creates the dictionary `d` over `source`.
#[track_caller]
fn define(server: &Server, columns: &str, source: &str, layout: &str) {
    ask(
        server,
        &format!(
            "CREATE OR REPLACE DICTIONARY d ({columns}) PRIMARY KEY id SOURCE({source}) LAYOUT({layout})"
        ),
    );
}

/// Checks the only value of `d` over `source`, at key 1, or the error, which must come quickly.
#[track_caller]
fn check(server: &Server, source: &str, expected: Result<&str, &str>) {
    define(server, "id UInt64, name String", source, "COMPLEX_KEY_HASHED()");
    let query = "SELECT dictGet('d', 'name', tuple(1::UInt64))";
    let started = Instant::now();
    match expected {
        Ok(value) => assert_eq!(ask(server, query).trim_end(), value, "{source}"),
        Err(why) => {
            let error = ask_error(server, query);
            assert!(error.contains(why), "{source}: {error}");
            let is_of_connection =
                ["NETWORK_ERROR", "AUTHENTICATION_FAILED"].map(|code| error.contains(code));
            assert!(is_of_connection.contains(&true), "{source}: {error}");
        }
    }
    assert!(started.elapsed() < Duration::from_secs(30), "{source}");
}

/// A server that trusts only the machine's authorities, and one that also trusts `ca`.
fn servers(certificates: &Certificates) -> [(TempDir, Server); 2] {
    let ca = certificates.text("ca.pem");
    [&[][..], &["--tls-ca-file", &ca]].map(|arguments| {
        let data = tempfile::tempdir().expect("a directory");
        let server = Server::start_with(data.path(), arguments);
        (data, server)
    })
}

fn present(certificates: &Certificates, name: &str) {
    let both = certificates.path(&format!("{name}.both"));
    std::fs::copy(both, certificates.path("server.both")).expect("ours");
}

#[test]
fn https_servers_are_sources() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let (plain_port, _) = serve(|request| match request {
        _ if request.starts_with("POST") => ("200 OK", "7\tseven\n".to_owned()),
        _ => ("200 OK", "1\tone\n".to_owned()),
    });
    present(&certificates, "good");
    let Some(proxy) = Proxy::start(&certificates, plain_port) else { return skipped(NO_OPENSSL) };
    let [(_dir, strict), (_data, server)] = servers(&certificates);
    let ca = certificates.text("ca.pem");
    let source = |host: &str, port: u16, more: &str| {
        format!("HTTP(URL 'https://{host}:{port}/rows' FORMAT 'TSV' {more})")
    };
    let here = |more: &str| source("127.0.0.1", proxy.port, more);
    check(&server, &here(""), Ok("one"));
    check(&server, &source("localhost", proxy.port, ""), Ok("one"));
    check(&strict, &here(""), Err("no authority that is trusted here"));
    check(&strict, &here(&format!("SSL_CA '{ca}'")), Ok("one"));
    check(&strict, &here("SSL_MODE 'require'"), Ok("one"));
    let stranger = format!("SSL_CA '{}'", certificates.text("stranger.pem"));
    check(&server, &here(&stranger), Err("no authority that is trusted here"));
    define(&server, "id UInt64, name String DEFAULT '-'", &here(""), "DIRECT()");
    let direct = "SELECT dictGet('d', 'name', arrayJoin([7, 8])::UInt64)";
    assert_eq!(ask(&server, direct), "seven\n-\n");
    // Peers without TLS, and silent peers, are not waited for.
    check(&server, &source("127.0.0.1", server.address().port(), ""), Err("speak"));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("bound").port();
    define(
        &server,
        "id UInt64, name String",
        &source("127.0.0.1", port, ""),
        "HASHED()) SETTINGS(max_execution_time = 0.3",
    );
    assert!(ask_error(&server, "SELECT dictHas('d', 1::UInt64)").contains("TIMEOUT_EXCEEDED"));
}

#[test]
fn certificates_that_will_not_do_are_refused_and_the_rows_of_before_stay() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let (plain_port, _) = serve(|_| ("200 OK", "1\tone\n".to_owned()));
    present(&certificates, "good");
    let Some(proxy) = Proxy::start(&certificates, plain_port) else { return skipped(NO_OPENSSL) };
    let [_strict, (_data, server)] = servers(&certificates);
    let source = |more: &str| format!("HTTP(URL 'https://127.0.0.1:{}/' FORMAT 'TSV' {more})", proxy.port);
    check(&server, &source(""), Ok("one"));
    let refused = [
        ("expired", "certificate has expired"),
        ("elsewhere", "not for `127.0.0.1` but for"),
        ("nameless", "for no host at all"),
        ("own", "if the server signs for itself"),
    ];
    for (name, why) in refused {
        present(&certificates, name);
        let error = ask_error(&server, "SYSTEM RELOAD DICTIONARY d");
        assert!(error.contains(why) && error.contains("NETWORK_ERROR"), "{name}: {error}");
        assert!(error.contains("127.0.0.1"), "{name}: {error}");
        assert_eq!(ask(&server, "SELECT dictGet('d', 'name', tuple(1::UInt64))"), "one\n");
    }
    // Which of them the other modes accept.
    present(&certificates, "elsewhere");
    check(&server, &source("SSL_MODE 'VERIFY_CA'"), Ok("one"));
    present(&certificates, "expired");
    check(&server, &source("SSL_MODE 'verify-ca'"), Err("certificate has expired"));
    check(&server, &source("SSL_MODE 'require'"), Ok("one"));
    // A self-signed server is identified by its certificate.
    present(&certificates, "own");
    check(&server, &source(&format!("SSL_CA '{}'", certificates.text("own.pem"))), Ok("one"));
}

#[test]
fn what_was_asked_over_tls_is_not_answered_without() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let (open_port, open) = serve(|_| ("200 OK", "1\topen\n".to_owned()));
    let (sending_port, _) = serve(move |_| {
        let head = format!("302 Found\r\nLocation: http://127.0.0.1:{open_port}/");
        (Box::leak(head.into_boxed_str()), String::new())
    });
    present(&certificates, "good");
    let Some(proxy) = Proxy::start(&certificates, sending_port) else { return skipped(NO_OPENSSL) };
    let [_strict, (_data, server)] = servers(&certificates);
    let source = format!("HTTP(URL 'https://127.0.0.1:{}/' FORMAT 'TSV')", proxy.port);
    check(&server, &format!("{source}) SETTINGS(max_http_get_redirects = 1"), Err("not protected by TLS"));
    assert_eq!(open.lock().expect("no panics").len(), 0);
}

#[test]
fn a_clickhouse_server_over_tls_is_a_source() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    present(&certificates, "good");
    let far_data = tempfile::tempdir().expect("a directory");
    let far = Server::start(far_data.path());
    ask(&far, "CREATE TABLE t (id UInt64, name String) ENGINE = MergeTree ORDER BY id");
    ask(&far, "INSERT INTO t VALUES (1, 'one')");
    let Some(proxy) = Proxy::start(&certificates, far.tcp_address().port()) else {
        return skipped(NO_OPENSSL);
    };
    let [(_dir, strict), (_data, server)] = servers(&certificates);
    let source = |more: &str| format!("CLICKHOUSE(HOST '127.0.0.1' PORT {} TABLE 't' {more})", proxy.port);
    check(&server, &source("SECURE 1"), Ok("one"));
    check(&strict, &source("SECURE 1"), Err("no authority that is trusted here"));
    check(&strict, &source(&format!("SSL_CA '{}'", certificates.text("ca.pem"))), Ok("one"));
    present(&certificates, "elsewhere");
    check(&server, &source("SECURE 1"), Err("elsewhere.example"));
}

#[test]
fn postgresql_over_tls_is_a_source() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let Some(postgresql) = Foreign::postgresql_with(Some(&certificates)) else {
        return skipped(NO_POSTGRESQL);
    };
    let psql = |statement: &str| {
        let mut command = Command::new("psql");
        command.env("PGPASSWORD", "secret").args(["-h", "127.0.0.1", "-U", "postgres", "-c", statement]);
        run(command.args(["-p", &postgresql.port.to_string()])).expect("a valid statement");
    };
    psql("CREATE DATABASE private");
    let [(_dir, strict), (_data, server)] = servers(&certificates);
    // Whether the connection uses TLS.
    let of = |database: &str, more: &str| {
        format!(
            "POSTGRESQL(HOST '127.0.0.1' PORT {} USER 'postgres' PASSWORD 'secret' DB '{database}' QUERY \
             'SELECT 1 AS id, ssl::text AS name FROM pg_stat_ssl WHERE pid = pg_backend_pid()' {more})",
            postgresql.port
        )
    };
    let source = |more: &str| of("postgres", more);
    check(&strict, &source(""), Ok("true"));
    check(&strict, &source("SSLMODE 'disable'"), Ok("false"));
    check(&strict, &source("SSLMODE 'require'"), Ok("true"));
    check(&strict, &source("SSLMODE 'verify-ca'"), Err("no authority that is trusted here"));
    check(&strict, &source("SECURE 1"), Err("no authority that is trusted here"));
    check(&strict, &source(&format!("SSLROOTCERT '{}'", certificates.text("ca.pem"))), Ok("true"));
    let stranger = certificates.text("stranger.pem");
    let required = format!("SSLMODE 'require' SSLROOTCERT '{stranger}'");
    check(&strict, &source(&required), Err("no authority that is trusted here"));
    check(&server, &source("SSLMODE 'verify-full'"), Ok("true"));
    // A client certificate.
    let files = |name: &str| {
        format!(
            "SSL_CERT '{}' SSL_KEY '{}'",
            certificates.text(&format!("{name}.pem")),
            certificates.text(&format!("{name}.key"))
        )
    };
    check(&server, &of("private", ""), Err("certificate"));
    check(&server, &of("private", &files("client")), Ok("true"));
}

#[test]
fn a_postgresql_without_tls_is_told_so() {
    let Some(postgresql) = Foreign::postgresql() else {
        return skipped(NO_POSTGRESQL);
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let source = |more: &str| {
        format!(
            "POSTGRESQL(HOST '127.0.0.1' PORT {} USER 'postgres' PASSWORD 'secret' DB 'postgres' QUERY \
             'SELECT 1 AS id, ssl::text AS name FROM pg_stat_ssl WHERE pid = pg_backend_pid()' {more})",
            postgresql.port
        )
    };
    check(&server, &source(""), Ok("false"));
    check(&server, &source("SSLMODE 'prefer'"), Ok("false"));
    // The first reachable replica answers; parameters outside of the replicas apply to all.
    let away = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("bound").port();
    let replica =
        |port: u16, priority: u8| format!("REPLICA(HOST '127.0.0.1' PORT {port} PRIORITY {priority})");
    let here = postgresql.port;
    check(&server, &source(&format!("{} {}", replica(here, 2), replica(away, 1))), Ok("false"));
    let none = format!("{} {}", replica(away, 1), replica(away, 2));
    check(&server, &source(&none), Err("no replica answers"));
    check(&server, &source("SSLMODE 'require'"), Err("has no TLS"));
}

#[test]
fn mariadb_over_tls_is_a_source() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let Some(mariadb) = Foreign::mariadb_with(Some(&certificates)) else {
        return skipped(NO_MARIADB);
    };
    let [(_dir, strict), (_data, server)] = servers(&certificates);
    let of = |user: &str, more: &str| {
        format!(
            "MYSQL(HOST '127.0.0.1' PORT {} USER '{user}' PASSWORD 'secret' DB 'shop' QUERY \
             'SELECT 1 AS id, if(VARIABLE_VALUE = \"\", \"plain\", \"tls\") AS name FROM information_schema.SESSION_STATUS \
             WHERE VARIABLE_NAME = \"Ssl_cipher\"' {more})",
            mariadb.port
        )
    };
    let source = |more: &str| of("basalt", more);
    check(&strict, &source(""), Ok("tls"));
    check(&strict, &source("SSL_MODE 'DISABLED'"), Ok("plain"));
    check(&strict, &of("guarded", "SSL_MODE 'DISABLED'"), Err("Access denied"));
    check(&strict, &of("guarded", "SSL_MODE 'REQUIRED'"), Ok("tls"));
    check(&strict, &source(&format!("SSL_CA '{}'", certificates.text("ca.pem"))), Ok("tls"));
    let stranger = format!("SSL_CA '{}'", certificates.text("stranger.pem"));
    check(&strict, &source(&stranger), Err("no authority that is trusted here"));
    check(&strict, &source("SECURE 1"), Err("no authority that is trusted here"));
    check(&server, &source("SSL_MODE 'VERIFY_IDENTITY'"), Ok("tls"));
    let port = mariadb.port;
    let guarded = format!("MYSQL(HOST '127.0.0.1' PORT {port} USER 'guarded' PASSWORD 'secret' DB 'shop'");
    check_compression(&server, &guarded);
}

#[test]
fn redis_over_tls_is_a_source() {
    let Some(certificates) = Certificates::make() else { return skipped(NO_OPENSSL) };
    let Some(redis) = Foreign::redis_with(Some(&certificates)) else {
        return skipped(NO_REDIS_TLS);
    };
    let ca = certificates.text("ca.pem");
    let mut command = Command::new("redis-cli");
    command.args(["--tls", "--cacert", &ca, "--no-auth-warning", "-a", "secret"]);
    run(command.args(["-p", &redis.port.to_string(), "SET", "1", "one"])).expect("a valid command");
    let [(_dir, strict), (_data, server)] = servers(&certificates);
    let source = |more: &str| format!("REDIS(HOST '127.0.0.1' PORT {} PASSWORD 'secret' {more})", redis.port);
    check(&server, &source("SECURE 1"), Ok("one"));
    check(&strict, &source("SECURE 1"), Err("no authority that is trusted here"));
    check(&strict, &source(&format!("SSL_CA '{ca}'")), Ok("one"));
    check(&strict, &source("SSL_MODE 'require'"), Ok("one"));
    check(&server, &source(""), Err(""));
    let Some(plain) = Foreign::redis() else { return skipped(NO_REDIS) };
    let source = format!("REDIS(HOST '127.0.0.1' PORT {} PASSWORD 'secret' SECURE 1)", plain.port);
    define(&server, "id UInt64, name String", &source, "HASHED()) SETTINGS(max_execution_time = 0.3");
    let error = ask_error(&server, "SELECT dictHas('d', 1::UInt64)");
    assert!(error.contains("may speak no TLS"), "{error}");
}

#[test]
fn parameters_of_tls_that_contradict_each_other_are_refused() {
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start_with(
        &data.path().join("basalt"),
        &["--user-files-path", data.path().to_str().expect("UTF-8")],
    );
    let create = |source: &str| {
        format!(
            "CREATE OR REPLACE DICTIONARY d (id UInt64, name String) PRIMARY KEY id SOURCE({source}) LAYOUT(HASHED())"
        )
    };
    let cases = [
        "REDIS(HOST 'a' PORT 1 SSL_MODE 'prefer')",
        "REDIS(HOST 'a' PORT 1 SECURE 1 SSL_MODE 'disable')",
        "REDIS(HOST 'a' PORT 1 SECURE 0 SSL_CA 'x')",
        "POSTGRESQL(HOST 'a' TABLE 't' SSLCERT 'x')",
        "HTTP(URL 'http://a/' FORMAT 'TSV' SSL_CA 'x')",
        "HTTP(URL 'https://a/' FORMAT 'TSV' SSL_MODE 'disable')",
        "SQLITE(PATH 'a' TABLE 't' SECURE 1)",
    ];
    for source in cases {
        let error = ask_error(&server, &create(source));
        assert!(error.contains("INCORRECT_DICTIONARY_DEFINITION"), "{source}: {error}");
    }
    let error = ask_error(&server, &create("MYSQL(HOST 'a' TABLE 't' SSL_MODE 'maybe')"));
    assert!(error.contains("verify-full"), "{error}");
    // The usual rules for files apply, and the contents must be valid.
    let load = |path: &Path| {
        ask(
            &server,
            &create(&format!("HTTP(URL 'https://127.0.0.1:1/' FORMAT 'TSV' SSL_CA '{}')", path.display())),
        );
        ask_error(&server, "SELECT dictHas('d', 1::UInt64)")
    };
    assert!(load(Path::new("/etc/passwd")).contains("outside the directory of user files"));
    assert!(load(&data.path().join("none.pem")).contains("FILE_DOESNT_EXIST"));
    let empty = data.path().join("empty.pem");
    std::fs::write(&empty, "").expect("ours");
    assert!(load(&empty).contains("INVALID_CONFIG_PARAMETER"));
}
