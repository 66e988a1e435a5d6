//! Access control of a server: who may log in, what they may change and reach.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use basalt_itest::http::{Response, encode, request};
use basalt_itest::program::run;
use basalt_itest::server::Server;
use tempfile::tempdir;

#[track_caller]
fn check(answer: &Response, status: u16, text: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert!(answer.text().contains(text), "{}", answer.text());
}

#[test]
fn a_link_changes_nothing_whatever_it_says() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    server.ask("CREATE DATABASE shop");
    for query in ["DROP DATABASE shop", "SELECT 1 SETTINGS readonly = 0", "SET readonly = 0"] {
        for readonly in ["", "readonly=0&", "readonly=1&"] {
            check(&server.get(&format!("/?{readonly}query={}", encode(query))), 403, "(READONLY)");
        }
    }
    check(&server.get("/?max_threads=2&query=SELECT+getSetting('max_threads')"), 200, "2\n");
    check(&server.get("/?query=SELECT+1+SETTINGS+readonly=1"), 403, "(READONLY)");
    assert_eq!(server.ask("EXISTS DATABASE shop"), "1\n");
}

#[test]
fn readonly_of_a_session_stays() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    check(&server.post("session_id=s", b"SET readonly = 1"), 200, "");
    let create = b"CREATE TABLE t (a UInt8) ENGINE = Memory";
    check(&server.post("session_id=s", create), 403, "(READONLY)");
    check(&server.post("session_id=s&readonly=0", create), 403, "(READONLY)");
    check(&server.post("session_id=s", b"SET readonly = 0"), 403, "(READONLY)");
    check(&server.post("session_id=s&max_threads=1", b"SELECT 1"), 403, "(READONLY)");
    check(&server.post("session_id=s&readonly=1", b"SELECT 1"), 200, "1\n");
    check(&server.post("session_id=s", b"SELECT 1"), 200, "1\n");
    check(&server.get("/?session_id=s&query=SELECT+1"), 200, "1\n");
    check(&server.post("session_id=other", create), 200, "");
}

#[test]
fn readonly_of_a_server_stays() {
    let dir = tempdir().expect("a directory");
    let server = Server::start_with(dir.path(), &["--readonly=1", "--session_timezone=UTC"]);
    let create = b"CREATE TABLE t (a UInt8) ENGINE = Memory";
    for query in ["", "readonly=0", "readonly=2", "session_id=s&readonly=0"] {
        check(&server.post(query, create), 403, "(READONLY)");
    }
    check(&server.post("", b"SET readonly = 0"), 403, "(READONLY)");
    check(&server.get("/?query=SELECT+1"), 200, "1\n");
    check(&server.post("", b"SELECT timezone()"), 200, "UTC\n");
}

#[test]
fn pages_of_other_sites_may_not_ask() {
    let dir = tempdir().expect("a directory");
    let server = Server::start(dir.path());
    let ask = |server: &Server, headers: &[(&str, &str)]| {
        request(server.address(), "POST", "/?query=SELECT+1", headers, b"")
    };
    check(&ask(&server, &[]), 200, "1\n");
    check(&ask(&server, &[("Origin", "https://evil.example")]), 403, "allowed_origins");
    check(&ask(&server, &[("Host", "evil.example")]), 403, "allowed_hosts");
    check(&ask(&server, &[("Sec-Fetch-Site", "cross-site")]), 403, "another site");
    let lists = ["--allowed-hosts", "db.home", "--allowed-origins", "https://page.example"];
    let other = tempdir().expect("a directory");
    let server = Server::start_with(other.path(), &lists);
    let page = ("Origin", "https://page.example");
    let answer = ask(&server, &[("Host", "db.home:8123"), page]);
    check(&answer, 200, "1\n");
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://page.example"));
    let beforehand = request(server.address(), "OPTIONS", "/", &[page], b"");
    assert_eq!(beforehand.status, 204);
    assert!(beforehand.header("access-control-allow-methods").is_some_and(|names| names.contains("POST")));
    check(&ask(&server, &[("Origin", "https://evil.example")]), 403, "allowed_origins");
}

#[test]
fn other_machines_need_a_password() {
    let dir = tempdir().expect("a directory");
    let (code, text) = Server::refusal(dir.path(), &["--listen-host", "0.0.0.0"]);
    assert_ne!(code, Some(0));
    assert!(text.contains("password_sha256_hex") && text.contains("--allow-no-password"), "{text}");
    let server = Server::start_with(dir.path(), &["--listen-host", "0.0.0.0", "--allow-no-password"]);
    assert_eq!(server.ask("SELECT 1"), "1\n");
    let evil = request(server.address(), "POST", "/", &[("Origin", "https://evil.example")], b"SELECT 1");
    check(&evil, 403, "allowed_origins");
}

fn configured(dir: &Path, text: &str) -> Server {
    let file = dir.join("basalt.toml");
    std::fs::write(&file, text).expect("a new file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("its owner may");
    Server::start_with(&dir.join("data"), &["--config", file.to_str().expect("UTF-8")])
}

#[test]
fn password_is_asked_for() {
    let dir = tempdir().expect("a directory");
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    for line in ["password = 'hello'".to_owned(), format!("password_sha256_hex = '{digest}'")] {
        let server = configured(dir.path(), &format!("listen_host = '0.0.0.0'\n[users.default]\n{line}\n"));
        check(&server.post("", b"SELECT 1"), 403, "Code: 516.");
        check(&server.post("password=hallo", b"SELECT 1"), 403, "(AUTHENTICATION_FAILED)");
        check(&server.post("user=default&password=hello", b"SELECT 1"), 200, "1\n");
        check(&server.get("/ping"), 200, "Ok.\n");
        let port = server.address().port().to_string();
        let client = |password: &[&str]| {
            let arguments = [&["client", "--port", &port, "--query", "SELECT 2"], password].concat();
            run(&arguments, b"")
        };
        assert_eq!(client(&["--user", "default", "--password", "hello"]).expect(), "2\n");
        client(&["--password", "x"]).expect_error("AUTHENTICATION_FAILED");
        client(&[]).expect_error("AUTHENTICATION_FAILED");
    }
}

#[test]
fn files_stay_below_user_files() {
    let dir = tempdir().expect("a directory");
    let outside = dir.path().join("outside.csv");
    std::fs::write(&outside, "1\n").expect("a new file");
    let server = configured(dir.path(), "");
    let files = dir.path().join("data/user_files");
    std::fs::write(files.join("inside.csv"), "7\n").expect("the directory is there");
    assert_eq!(server.ask("SELECT * FROM file('inside.csv', 'CSV', 'a UInt8')"), "7\n");
    server.ask("CREATE TABLE t (a UInt8) ENGINE = Memory");
    server.ask("INSERT INTO t FROM INFILE 'inside.csv' FORMAT CSV");
    let path = outside.to_str().expect("UTF-8");
    for path in [path, "../../outside.csv", "/etc/passwd", "/nosuch"] {
        for statement in [
            format!("SELECT * FROM file('{path}', 'CSV', 'a String')"),
            format!("INSERT INTO t FROM INFILE '{path}' FORMAT CSV"),
            format!("COPY t FROM '{path}' (FORMAT CSV)"),
        ] {
            check(&server.post("", statement.as_bytes()), 403, "(DATABASE_ACCESS_DENIED)");
        }
        server.ask(&format!(
            "CREATE OR REPLACE DICTIONARY d (a UInt64, b String) PRIMARY KEY a LAYOUT(FLAT()) LIFETIME(0) \
             SOURCE(FILE(PATH '{path}' FORMAT 'CSV'))"
        ));
        check(&server.post("", b"SELECT dictGet('d', 'b', 1)"), 403, "(PATH_ACCESS_DENIED)");
    }
}

#[test]
fn only_listed_hosts_are_asked() {
    let dir = tempdir().expect("a directory");
    let server = configured(dir.path(), "remote_url_allow_hosts = ['127.0.0.1:1']\n");
    let load = |source: &str| {
        server.ask(&format!(
            "CREATE OR REPLACE DICTIONARY d (a UInt64, b String) PRIMARY KEY a LAYOUT(FLAT()) LIFETIME(0) SOURCE({source})"
        ));
        server.post("", b"SELECT dictGet('d', 'b', 1)").text()
    };
    for source in [
        "HTTP(URL 'http://127.0.0.1:2/x' FORMAT 'CSV')",
        "HTTP(URL 'http://127.0.0.1:1@localhost/x' FORMAT 'CSV')",
        "CLICKHOUSE(HOST '127.0.0.2' PORT 8123 TABLE 't')",
        "POSTGRESQL(HOST '127.0.0.1' PORT 2 TABLE 't')",
        "POSTGRESQL(HOST '/var/run/postgresql' PORT 1 TABLE 't')",
        "MYSQL(HOST 'db.example' TABLE 't')",
        "REDIS(HOST '127.0.0.1' PORT 2)",
    ] {
        let text = load(source);
        assert!(
            text.contains("(UNACCEPTABLE_URL)") && text.contains("remote_url_allow_hosts"),
            "{source}: {text}"
        );
    }
    for source in ["HTTP(URL 'http://127.0.0.1:1/x' FORMAT 'CSV')", "REDIS(HOST '127.0.0.1' PORT 1)"] {
        let text = load(source);
        assert!(!text.contains("(UNACCEPTABLE_URL)"), "{source}: {text}");
    }
}

#[test]
fn others_cannot_read_passwords() {
    let dir = tempdir().expect("a directory");
    let data = dir.path().join("data");
    let server = Server::start(&data);
    server.ask("CREATE NAMED COLLECTION c AS password = 'secret'");
    server.ask(
        "CREATE DICTIONARY d (a UInt64, b String) PRIMARY KEY a LAYOUT(FLAT()) LIFETIME(0) \
         SOURCE(POSTGRESQL(PASSWORD 'secret' TABLE 't'))",
    );
    let mode = |path: &str| {
        let metadata = std::fs::metadata(data.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        metadata.permissions().mode() & 0o777
    };
    for path in ["", "metadata", "metadata/default", "named_collections"] {
        assert_eq!(mode(path), 0o700, "{path}");
    }
    for path in ["metadata/default/d.sql", "named_collections/c.sql"] {
        assert_eq!(mode(path), 0o600, "{path}");
    }
}
